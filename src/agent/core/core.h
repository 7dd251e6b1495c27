/* core.h - the sampler without libc.
 *
 * The core is made of the sources of sampler/ and unwind/ that take samples, compiled once more with CAIRN_CORE, and of the files in this
 * folder, which stand for the libc and the loader that those have in a library. It is one piece of code and one of data that work wherever
 * they lie: without relocations, without symbols of others (scripts/link-core), and without thread-local memory. Whatever is in its
 * zeroed memory the kernel wipes in forked children: there, the core is as before its first use, and nothing of a child reaches the ledger,
 * which is the parent's and is not mapped there.
 *
 * Who counts calls of an allocator and comes here when a sample is due is in arch/stub.h.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_AGENT_CORE_CORE_H
#define CAIRN_AGENT_CORE_CORE_H

#include "agent/unwind/local.h"
#include "arch/stub.h"
#include "protocol/core.h"

/* The beginning of the core's data. */
extern struct cairn_core cairn_core;

/* The entrance: called on the core's own stack by a thread that visits (arch/visit.h). */
extern char cairn_core_stack[CAIRN_CORE_STACK];
void cairn_core_enter(void);

/* A line of the table of threads. */
struct cairn_core_line {
	_Atomic uintptr_t key; /* the thread pointer; 0 for a free line */
	struct cairn_local local;
	uint32_t thread;       /* that had the line last, as the kernel numbers it */
} __attribute__((aligned(128)));

/* As stubs know them. */
enum { CAIRN_CORE_LINES = 1 << CAIRN_STUB_LINES_LOG2 };
static_assert(sizeof(struct cairn_core_line) == 1 << CAIRN_STUB_LINE_LOG2 && offsetof(struct cairn_core_line, local.countdown) == 8,
	      "stubs know a line by its size, and where it counts");
extern struct cairn_core_line cairn_core_lines[CAIRN_CORE_LINES];

#endif
