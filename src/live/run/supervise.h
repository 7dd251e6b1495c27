/* supervise.h - one run of a command from start to end: its signals, its terminal, and the profiles of its tree.
 *
 * A profile of all processes of the tree is taken whenever its memory is well above the previous peak, before a terminating signal is
 * passed on, and when a process ends by itself (agent/host/handover.h). Terminals send Ctrl-C to every process at once, so the command
 * gets its own process group in the background; if it reads from the terminal, it gets the terminal.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_LIVE_RUN_SUPERVISE_H
#define CAIRN_LIVE_RUN_SUPERVISE_H

#include "live/run/moment.h"

#include <sys/resource.h>
#include <sys/types.h>

enum { CAIRN_EXIT_NOT_FOUND = 127, CAIRN_EXIT_NOT_STARTED = 126 };

struct cairn_supervision {
	char **command;
	int (*complain)(const char *text); /* called in the child if the command cannot be started */
	bool takes_profiles;
	const char *beside; /* settings of the agent beside a command that can have none inside (begin.h), as in CAIRN_CONF; else NULL */
	/* The result. */
	pid_t pid;
	int status; /* as wait(2) gives it */
	struct rusage usage;
	bool had_children; /* it has waited for other processes, whose peak the usage may be */
	double seconds;
	uint64_t most;               /* anonymous memory of the tree at its peak */
	struct cairn_moment highest; /* no shots if none was taken */
	struct cairn_moment end;     /* before the terminating signal, or as its processes ended by themselves */
	size_t left;                 /* processes of the tree that still run */
};

/* Runs it. Fails if no process can be started. */
bool cairn_supervise(struct cairn_supervision *run, struct cairn_error *error);

#endif
