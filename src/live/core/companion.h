/* companion.h - the process of ours that stays beside a program which has a core instead of an agent.
 *
 * It is `cairn beside`, started by `cairn attach` and `cairn run`, in a session of its own: it puts the core into the program, has the
 * program's calls counted there, and then is the program's agent, with libcairn's code (protocol/beside.h), until the program ends or it is
 * asked to leave. If it is killed, the program goes on as it is, and the next `cairn attach` takes over.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_LIVE_CORE_COMPANION_H
#define CAIRN_LIVE_CORE_COMPANION_H

#include "base/error.h"

#include <stdint.h>

/* As such a process calls itself. */
#define CAIRN_COMPANION_NAME "cairn-beside"

struct cairn_companion {
	int pid;            /* of the program */
	const char *config; /* settings, as in CAIRN_CONF */
	bool filtered;      /* threads with a seccomp filter may be borrowed */
	/* The result. */
	int own_pid;        /* of the companion */
	double held_ms;     /* for how long one thread was held, */
	double stopped_ms;  /* and all of them */
};

/* Starts one, and waits until it answers requests for the program. */
bool cairn_companion_start(struct cairn_companion *companion, struct cairn_error *error);

/* Whether process PEER is one for process PID, by what it says of itself: so it matters as which user it runs. */
bool cairn_companion_is_of(int peer, int pid);

/* For a process whose companion was killed: has nothing counted any more. Returns false if it has no core, or that cannot be done. */
bool cairn_companion_undo(int pid, struct cairn_error *error);

/* What such a process does: reads settings from standard input, says on standard output how it went, and stays. */
bool cairn_companion_stay(int pid, bool filtered, struct cairn_error *error);

#endif
