/* beside.h - `cairn attach` for a process that can have no agent inside: one beside it (live/core/companion.h).
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_CMD_ATTACH_BESIDE_H
#define CAIRN_CMD_ATTACH_BESIDE_H

#include <stdbool.h>

struct cairn_attach_beside {
	int pid;
	const char *name, *config; /* as the user named it; the settings */
	bool filtered, waits, quiet;
	bool impossible; /* what was asked for is for an agent inside */
};

/* Does it, says how it went, and returns the exit code. */
int cairn_attach_beside(const struct cairn_attach_beside *attach);

/* Undoes it where the agent beside process PID was killed. Returns false if there was nothing to undo. */
bool cairn_attach_undo(int pid);

#endif
