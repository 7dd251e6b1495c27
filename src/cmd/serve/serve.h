/* serve.h - what `cairn serve` has: the processes that it follows, the pages that look, and the threads in between.
 *
 * The main thread answers requests (route.c) and never waits. A thread for each target asks it for snapshots (follow.c), one for each
 * folder reads what is written there (folder.c), and a few make trees and do what was asked for by POST (work.c).
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_CMD_SERVE_SERVE_H
#define CAIRN_CMD_SERVE_SERVE_H

#include "cmd/serve/process.h"
#include "http/server.h"

#include <stdatomic.h>

/* Of the connections a quarter is for a unix socket; what streams leave of the rest is for requests. */
enum { CAIRN_SERVE_PROCESSES = 256,
       CAIRN_SERVE_STREAMS = 128,
       CAIRN_SERVE_CONNECTIONS = 256 };

struct cairn_serve_options {
	const char *listen, *token, *agent_token, *every, *keep, *idle;
	const char *source_path;
	const char *store, *tenant;
	uint64_t memory;
	struct cairn_option_list services;
	struct cairn_source_options source;
	bool open;
};

struct cairn_serve {
	const struct cairn_serve_options *options;
	int64_t every_ns, keep_ns; /* keep_ns is 0 where it was not said */
	int64_t idle_ns; /* the end comes when nobody has asked for that long; 0 for never */
	char token[80]; /* "" for none */
	char address[256]; /* as it is printed, without the token */
	char authority[192]; /* HOST:PORT of it; "" for a unix socket */
	bool loopback;
	int64_t started_ms;
	atomic_bool stop;
	struct cairn_server *server;

	pthread_mutex_t lock;
	pthread_cond_t changed; /* something that a thread waits for: a snapshot is wanted, or the end */
	struct cairn_serve_process *processes[CAIRN_SERVE_PROCESSES];
	size_t process_count;
	size_t unlisted_instances, unlisted_services; /* of a store, for which there is no room */
	size_t unlisted_processes; /* the same of folders */
	struct cairn_buffer events; /* what pages are to be told, as server-sent events */
	unsigned streams; /* pages that listen */
	int64_t looked_ns; /* when somebody last asked for something */
	uint64_t event_count;
};

/* Sends an event to all pages: DATA is one JSON object. Under serve->lock. */
void cairn_serve_tell(struct cairn_serve *serve, const char *event, struct cairn_bytes data);

/* Whether somebody looks, or did a moment ago. Under serve->lock. */
bool cairn_serve_is_watched(const struct cairn_serve *serve);

/* Threads. Each ends with serve->stop. */
void *cairn_serve_follow(void *process);

struct cairn_serve_folder {
	struct cairn_serve *serve;
	const char *path;
	int inotify;
	struct cairn_serve_file {
		char name[256];
		uint64_t inode, size;
		int64_t modified_ns;
		uint64_t run; /* a hash of the key of the run that it is of; 0 for none */
	} * files; /* that were read, or found to be no dump, as far as they are still there; by name */
	size_t file_count;
	bool unsettled; /* a file was not whole yet and is read again */
	size_t unlisted; /* runs that it has dumps of, for which there is no room */
	struct cairn_serve_dropped dropped;
};

/* Begins with the folder at PATH; notes on standard error if it has no dump yet. Fails if PATH is not a folder that can be read. */
bool cairn_serve_folder_open(struct cairn_serve_folder *folder, struct cairn_serve *serve, const char *path, struct cairn_error *error);
void *cairn_serve_folder_run(void *folder);

/* Starts the threads that work off requests. */
bool cairn_serve_work_start(struct cairn_serve *serve, struct cairn_error *error);

enum cairn_serve_task {
	CAIRN_TASK_TREE,
	CAIRN_TASK_PAGE,
	CAIRN_TASK_CHURN,
	CAIRN_TASK_SOURCE,
	CAIRN_TASK_STATS,
	CAIRN_TASK_DOCTOR,
	CAIRN_TASK_CPU,
	CAIRN_TASK_POST, /* a request to the agent */
	CAIRN_TASK_QUERY, /* a question of Grafana's to the store */
	CAIRN_TASK_ATTACH,
};

/* Leaves EXCHANGE to such a thread; false, with an answer, where too many wait already. PATH is that of the agent, for a POST. Under
 * serve->lock where PROCESS is not NULL. */
bool cairn_serve_work_add(struct cairn_exchange *exchange, struct cairn_serve_process *process, enum cairn_serve_task task,
			  const char *path);

/* The handlers of the HTTP server (http/server.h); their context is a struct cairn_serve. */
bool cairn_serve_admit(void *context, struct cairn_exchange *exchange, size_t *body_maximum);
bool cairn_serve_handle(void *context, struct cairn_exchange *exchange);
int cairn_serve_tick(void *context);

#endif
