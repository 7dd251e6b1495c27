/* serve.h - the state of `cairn serve`: the processes that it follows and the pages that show them.
 *
 * The main thread answers requests (route.h) and never waits. A thread for each target asks it for snapshots (follow.c), one for each
 * folder reads the dumps that appear there (folder.c), and a few make trees and do what was requested by POST (work.h).
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_FLEET_SERVE_SERVE_H
#define CAIRN_FLEET_SERVE_SERVE_H

#include "base/sha256.h"
#include "fleet/serve/process.h"
#include "http/server.h"

#include <stdatomic.h>

/* A quarter of the connections is reserved for a unix socket; requests have those of the rest that streams do not use. */
enum { CAIRN_SERVE_PROCESSES = 256,
       CAIRN_SERVE_STREAMS = 128,
       CAIRN_SERVE_TOKEN = 80,
       CAIRN_SERVE_CONNECTIONS = 256 };

struct cairn_serve_options {
	const char *listen, *token, *every, *keep, *idle;
	const char *source_path;
	const char *store, *tenant;
	uint64_t memory;
	struct cairn_option_list services;
	struct cairn_source_options source;
	bool open, no_token;
};

struct cairn_serve {
	const struct cairn_serve_options *options;
	int64_t every_ns, keep_ns; /* keep_ns is 0 if it was not given */
	int64_t idle_ns; /* the server exits after this long without a request; 0 for never */
	char token[CAIRN_SERVE_TOKEN]; /* "" for none */
	char ticket[CAIRN_SERVE_TOKEN]; /* stands for the token at one visit, that of the browser which --open starts; "" for none */
	char cookie[CAIRN_SHA256_DIGITS + 1]; /* the value of the cookie that stands for the token in a browser; "" for none */
	char address[256]; /* as printed, without the token */
	char authority[192]; /* HOST:PORT of the address; "" for a unix socket */
	bool loopback;
	bool any_host; /* requests may name any host: the token was chosen by somebody who may know of names that we do not */
	int64_t started_ms;
	atomic_bool stop;
	atomic_uint loading; /* folders, and the store, of which not all was read yet */
	struct cairn_server *server;

	pthread_mutex_t lock;
	pthread_cond_t changed; /* a snapshot is wanted, or `stop` was set */
	struct cairn_serve_process *processes[CAIRN_SERVE_PROCESSES];
	size_t process_count;
	size_t unlisted_instances, unlisted_services; /* those of a store for which there is no room in the list */
	size_t unlisted_processes; /* the same for folders */
	struct cairn_buffer events; /* for the pages, as server-sent events */
	unsigned streams; /* pages that receive events */
	int64_t looked_ns; /* when the last request came */
	uint64_t event_count;
};

/* A thread that follows one target, until serve->stop. */
void *cairn_serve_follow(void *process);

struct cairn_serve_folder {
	struct cairn_serve *serve;
	const char *path;
	int inotify;
	struct cairn_serve_file {
		char name[256];
		uint64_t inode, size;
		int64_t modified_ns;
		uint64_t run; /* a hash of the key of its run; 0 for none */
	} * files; /* files that exist and were read or found not to be dumps; by name */
	size_t file_count;
	struct cairn_serve_name {
		char text[256];
	} * changed; /* the names of files that may have changed since they were looked at, each once */
	size_t changed_count, changed_capacity;
	bool missed;      /* too many changed for a list of them, or the kernel lost count */
	bool unsettled;   /* a file was not complete yet: it is in that list, to be read again */
	int64_t all_ns;   /* when to look at all of the folder again */
	int64_t again_ns; /* when to look at the unsettled ones */
	size_t unlisted; /* runs with dumps in the folder for which there is no room in the list */
	struct cairn_serve_dropped dropped;
};

/* Begins with the folder at PATH; notes on standard error if it has no dump yet. Fails if PATH is not a folder that can be read. */
bool cairn_serve_folder_open(struct cairn_serve_folder *folder, struct cairn_serve *serve, const char *path, struct cairn_error *error);

/* A thread that reads the folder, until serve->stop. */
void *cairn_serve_folder_run(void *folder);

#endif
