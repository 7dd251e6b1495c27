/* serve.h - the state of `cairn serve`: the processes that it follows and the pages that show them.
 *
 * The main thread answers requests (route.h) and never waits. A thread for each target asks it for snapshots (follow.c), one for each
 * folder reads the dumps that appear there (folder.c), and a few make trees and do what was requested by POST (work.h).
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_CMD_SERVE_SERVE_H
#define CAIRN_CMD_SERVE_SERVE_H

#include "cmd/serve/process.h"
#include "http/server.h"

#include <stdatomic.h>

/* A quarter of the connections is reserved for a unix socket; requests have those of the rest that streams do not use. */
enum { CAIRN_SERVE_PROCESSES = 256,
       CAIRN_SERVE_STREAMS = 128,
       CAIRN_SERVE_CONNECTIONS = 256 };

struct cairn_serve_options {
	const char *listen, *token, *every, *keep, *idle;
	const char *source_path;
	const char *store, *tenant;
	uint64_t memory;
	struct cairn_option_list services;
	struct cairn_source_options source;
	bool open;
};

struct cairn_serve {
	const struct cairn_serve_options *options;
	int64_t every_ns, keep_ns; /* keep_ns is 0 if it was not given */
	int64_t idle_ns; /* the server exits after this long without a request; 0 for never */
	char token[80]; /* "" for none */
	char address[256]; /* as printed, without the token */
	char authority[192]; /* HOST:PORT of the address; "" for a unix socket */
	bool loopback;
	int64_t started_ms;
	atomic_bool stop;
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
	bool unsettled; /* a file was not complete yet and will be read again */
	size_t unlisted; /* runs with dumps in the folder for which there is no room in the list */
	struct cairn_serve_dropped dropped;
};

/* Begins with the folder at PATH; notes on standard error if it has no dump yet. Fails if PATH is not a folder that can be read. */
bool cairn_serve_folder_open(struct cairn_serve_folder *folder, struct cairn_serve *serve, const char *path, struct cairn_error *error);

/* A thread that reads the folder, until serve->stop. */
void *cairn_serve_folder_run(void *folder);

#endif
