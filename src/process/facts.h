/* facts.h - facts about this process, or the one that it speaks for (proc.h), read from /proc and the loader without allocating.
 *
 * If /proc is not mounted (a chroot, a strict sandbox), only the facts that come from it are missing.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_PROCESS_FACTS_H
#define CAIRN_PROCESS_FACTS_H

#include "base/buffer.h"
#include "process/life.h"

/* Appends the contents of PATH, up to what the buffer holds. Returns false with errno if it cannot be read. */
bool cairn_facts_read(const char *path, struct cairn_buffer *out);

struct cairn_facts {
	int pid;
	struct cairn_life life;
	int64_t start_ns;       /* of the program, since 1970; 0 when unknown */
	char host[65];
	char executable[256];
	char command[256];      /* the arguments, separated by spaces; may be truncated */
};

void cairn_facts_get(struct cairn_facts *facts);

/* Notes that the program of this process is being loaded now: the kernel knows when the process began, and not when it last called exec. */
void cairn_facts_program_loaded(void);

#endif
