/* attached.h - what `cairn attach` and the library that it loads tell each other, in the memory of the process.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_PROTOCOL_ATTACHED_H
#define CAIRN_PROTOCOL_ATTACHED_H

#include <assert.h>
#include <stdint.h>

enum cairn_attach_state {
	CAIRN_ATTACH_NEVER,
	CAIRN_ATTACH_WANTED,   /* written by the command */
	CAIRN_ATTACH_STARTING,
	CAIRN_ATTACH_RUNNING,
	CAIRN_ATTACH_FAILED,   /* `problem` says why */
	CAIRN_ATTACH_DETACHED,
	CAIRN_ATTACH_WAITING,  /* the agent is loaded and has not started yet (agent/host/start.c) */
	CAIRN_ATTACH_WAITING_JEMALLOC, /* the same, and jemalloc's profiler has samples, which only the agent can dump */
};

enum { CAIRN_ATTACH_VERSION = 1 };

/* What the command writes and reads from outside, by the symbol `cairn_attached`. */
struct cairn_attach {
	uint32_t version;
	_Atomic uint32_t state;
	int32_t descriptor; /* of the library's memfd plus 1, which the agent closes; 0 for none */
	char config[1536];  /* as in CAIRN_CONF; what the process has in its own stands behind it, and wins. "" for an agent that waits,
			     * which has its settings */
	char problem[512];
};

/* The command and the library may be of different versions: what one writes is where the other looks. */
static_assert(sizeof(struct cairn_attach) == 12 + 1536 + 512, "no padding");

#endif
