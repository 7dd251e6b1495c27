/* spawn.h - `cairn attach` as a process of its own, for commands that find a process without an agent.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_CMD_ATTACH_SPAWN_H
#define CAIRN_CMD_ATTACH_SPAWN_H

#include "base/error.h"

#include <stdint.h>

/* The settings of the agent; 0 and NULL for the defaults. */
struct cairn_attach_settings {
	uint64_t period;
	const char *engine, *listen, *budget;
	const char *token; /* passed on in the environment: everybody may read the arguments of a command */
	bool filtered;     /* also where system calls are filtered (seccomp) */
	bool only_waiting; /* only the agent of a forked child that waits is started, with the settings that it has */
};

/* Gives process PID an agent, unless it has one. Takes as long as it takes. False with what the command said. */
bool cairn_attach_spawn(int pid, const struct cairn_attach_settings *settings, struct cairn_error *error);

#endif
