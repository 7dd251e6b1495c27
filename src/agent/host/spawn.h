/* spawn.h - running the cairn command from inside a host that must not notice.
 *
 * The host may have gigabytes (so no fork: nothing of its memory is copied), a SIGCHLD handler or a wait() for any child
 * (so the command is not the host's child: a shepherd, which shares the host's memory and never returns to it, starts the
 * command, waits for it and ends silently), and its own files (so nothing but the descriptors below is passed on). Both die
 * with the host.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_AGENT_HOST_SPAWN_H
#define CAIRN_AGENT_HOST_SPAWN_H

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
	unsigned seconds;         /* after which it is killed */
	uint64_t memory;          /* bytes of address space */
	const atomic_bool *gone;  /* kill it when this turns true; may be NULL */
	const atomic_bool *stop;  /* the same */
};

enum cairn_spawn_result {
	CAIRN_SPAWN_DONE,     /* it ended with 0 */
	CAIRN_SPAWN_FAILED,   /* it could not be started, ended otherwise, or wrote more than OUT holds */
	CAIRN_SPAWN_TOO_LONG, /* its seconds were over */
	CAIRN_SPAWN_STOPPED,  /* `gone` or `stop` turned true */
};

/* Runs it and appends its standard output to OUT. Unless it is done, ERROR has the reason, with what it said on standard error. */
enum cairn_spawn_result cairn_spawn_run(const struct cairn_spawn *spawn, struct cairn_buffer *out, struct cairn_error *error);

#endif
