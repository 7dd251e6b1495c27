/* target.h - a live process with an agent, as a person names it: a PID, a unix socket, or a URL.
 *
 * A PID is found through /proc: the kernel's list of sockets in that process's network, and the path there in its own view of
 * the file system, so that containers and other users work as far as permissions go; and the socket must be answered by
 * that very process, as root or a user that it runs as. A socket named by its path must be answered by root or its owner. Anybody can
 * create a socket that looks like an agent's: no token is ever sent through one. An abstract name in another network is connected to from
 * there, which takes root.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_LIVE_TARGET_H
#define CAIRN_LIVE_TARGET_H

#include "base/buffer.h"
#include "base/error.h"

struct cairn_target {
	int pid;           /* 0 when it was not named by PID */
	char socket[256];  /* "" for a URL; begins with @ for an abstract name */
	bool inside;       /* it is one of the process's network, not ours */
	const char *url;   /* borrowed from the name; NULL for a socket */
	const char *token; /* for a URL; borrowed; NULL for none */
	bool forbidden;    /* set where finding failed: there is an agent, and we may not speak to it */
	bool foreign;      /* set where finding failed: another user answers in its place */
	bool loaded;       /* set where finding failed: the process has loaded the agent, which does not answer */
	bool asleep;       /* the process samples, and its agent has not started: only a snapshot can be had, from its ledger */
	unsigned foreign_user;
	/* Where answers are put while they arrive, in files without a name, so that the agents of many processes cannot fill our memory; NULL
	 * for memory. Then an answer may not take longer altogether than an agent may be silent. */
	const char *spool;
	unsigned patience_ms; /* for an answer, all of it; 0 for as long as it takes */
};

/* Whether NAME begins with HOST:PORT: a URL without its http://, as curl and jeprof take it. */
bool cairn_target_has_port(const char *name);

/* Where the host begins in a URL with or without its http://. */
const char *cairn_target_host(const char *url);

/* Whether NAME looks like a target rather than a file: http:// or https://, a socket, or HOST:PORT or digits that are no file. */
bool cairn_target_is(const char *name);

/* The PID that NAME is; 0 if it is none. */
int cairn_target_pid(const char *name);

/* Finds it. The message of a failure says what to do. TOKEN may be NULL; then $CAIRN_TOKEN is taken. */
bool cairn_target_find(struct cairn_target *target, const char *name, const char *token, struct cairn_error *error);

/* The same for somebody who wants a snapshot: also finds a process whose agent waits, if its ledger can be read. Nothing in it changes. */
bool cairn_target_find_ledger(struct cairn_target *target, const char *name, const char *token, struct cairn_error *error);

/* The same for a snapshot that only the agent can take: if there is no ledger, an agent that waits is started, where the system lets us. */
bool cairn_target_find_profile(struct cairn_target *target, const char *name, const char *token, struct cairn_error *error);

/* The same for somebody who wants more than that: an agent that waits is started. Where that cannot be, its ledger is better than nothing. */
bool cairn_target_find_or_start(struct cairn_target *target, const char *name, const char *token, struct cairn_error *error);

/* Starts the agent of process PID if it waits because jemalloc's profiler has samples, which no ledger has. */
bool cairn_target_start_jemalloc(int pid);

/* Lists the PIDs of all processes with an agent or a ledger that are ROOT or descend from it in *PIDS, which the caller frees, and returns
 * how many those are. WITHOUT, which may be NULL, receives how many have loaded the agent and have neither: forked children that were not
 * sampled yet. */
size_t cairn_target_tree(int root, int **pids, size_t *without);

/* Whether process PID has loaded the agent, which may not run in it; false where we may not look. */
bool cairn_target_has_loaded(int pid);

/* The PID of the process behind it on this machine; 0 for a URL. */
int cairn_target_process(const struct cairn_target *target);

/* Sends METHOD PATH to the agent and takes the body of a 200; any other answer is a failure with the agent's own words.
 * BODY is the caller's to free in either case. */
bool cairn_target_ask(const struct cairn_target *target, const char *method, const char *path, struct cairn_buffer *body,
		      struct cairn_error *error);

/* Posts SENT to PATH. */
bool cairn_target_send(const struct cairn_target *target, const char *path, struct cairn_bytes sent, struct cairn_error *error);

/* As cairn_target_ask, by the status of the answer, 0 where none came. */
int cairn_target_status(const struct cairn_target *target, const char *method, const char *path, struct cairn_buffer *body,
			struct cairn_error *error);

/* A heap profile of now: from the agent; from a URL that has a path of its own whatever it answers; and from one that has neither by the
 * endpoints that are known (endpoint.h). */
bool cairn_target_snapshot(const struct cairn_target *target, struct cairn_buffer *body, struct cairn_error *error);

/* A CPU profile of the next SECONDS, with FREQUENCY samples per second of CPU time of each thread. */
bool cairn_target_cpu(const struct cairn_target *target, unsigned seconds, unsigned frequency,
		      struct cairn_buffer *body, struct cairn_error *error);

/* The value at PATH ("agent.listen") in the JSON of /cairn/status, copied to OUT; empty when it is null or not there. */
void cairn_target_field(struct cairn_bytes status, const char *path, char *out, size_t size);

#endif
