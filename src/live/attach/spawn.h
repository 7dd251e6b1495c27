/* spawn.h - `cairn attach` as a process of its own, for commands that find a process without an agent.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_LIVE_ATTACH_SPAWN_H
#define CAIRN_LIVE_ATTACH_SPAWN_H

#include "base/error.h"

#include <stdint.h>

/* The settings of the agent; 0 and NULL for the defaults. */
struct cairn_attach_settings {
	uint64_t period;
	const char *engine, *listen, *budget;
	const char *token; /* passed on in the environment: everybody may read the arguments of a command */
	bool filtered;     /* also where system calls are filtered (seccomp) */
	bool only_waiting; /* only an agent that waits is started, with the settings that it has; with the ENGINE jemalloc, only where that has
			    * samples */
};

/* Gives process PID an agent, unless it has one. Takes as long as it takes. False with what the command said. */
bool cairn_attach_spawn(int pid, const struct cairn_attach_settings *settings, struct cairn_error *error);

/* The same, without waiting for it and without a token. Returns the number of the child, which the caller waits for some time; 0 if it
 * cannot be started. */
int cairn_attach_spawn_aside(int pid, const struct cairn_attach_settings *settings);

/* Starts `cairn inside` for process PID, which waits at the other end of CONNECTION, and returns its PID; 0 if it cannot be started. What it has
 * to say goes to standard error. */
int cairn_attach_spawn_inside(int pid, int connection);

#endif
