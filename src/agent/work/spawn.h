/* spawn.h - runs the cairn command from inside a host that must not notice.
 *
 * The host may have gigabytes of memory (so there is no fork, and none of its memory is copied), a SIGCHLD handler or a wait() for any
 * child (so the command is not the host's child: a helper process, which shares the host's memory and never returns to it, starts the
 * command, waits for it and ends silently), and its own files (so only the descriptors below are passed on). Both end with the host.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_AGENT_WORK_SPAWN_H
#define CAIRN_AGENT_WORK_SPAWN_H

#include "base/buffer.h"
#include "base/error.h"

#include <stdatomic.h>

enum { CAIRN_SPAWN_ARGUMENTS = 12 };

struct cairn_spawn {
	const char *path;
	const char *arguments[CAIRN_SPAWN_ARGUMENTS]; /* NULL at the end; [0] is the program's name */
	char **environment;
	int input;                /* becomes standard input, from its start; -1 for none */
	int base;                 /* becomes descriptor 3 in the same way; -1 for none */
	unsigned seconds;         /* the time after which it is killed */
	uint64_t memory;          /* bytes of address space */
	const atomic_bool *gone;  /* kill it when this becomes true; may be NULL */
	const atomic_bool *stop;  /* the same */
};

enum cairn_spawn_result {
	CAIRN_SPAWN_DONE,     /* it ended with 0 */
	CAIRN_SPAWN_FAILED,   /* it could not be started, failed, or wrote more than OUT holds */
	CAIRN_SPAWN_TOO_LONG, /* its time was up */
	CAIRN_SPAWN_STOPPED,  /* `gone` or `stop` became true */
};

/* Runs it and appends its standard output to OUT. Unless it succeeds, ERROR has the reason, including its standard error,
 * and is a usage error where the command calls its arguments wrong. */
enum cairn_spawn_result cairn_spawn_run(const struct cairn_spawn *spawn, struct cairn_buffer *out, struct cairn_error *error);

#endif
