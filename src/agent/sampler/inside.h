/* inside.h - calls of an allocator that is part of the program or of a library, and is not called through relocations of names.
 *
 * The command finds its functions and has stubs lead to them (protocol/inside.h). A stub comes here if a sample is due or an object may be a
 * sample; what a function does with its arguments is in its description, so that one piece of code serves all of them. All arguments are
 * passed on, whatever they are.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_AGENT_SAMPLER_INSIDE_H
#define CAIRN_AGENT_SAMPLER_INSIDE_H

#include "agent/sampler/sample.h"
#include "protocol/inside.h"

/* Where stubs go on, with the description in a register (arch/stub.h). */
void cairn_inside_slow(void);

struct cairn_inside_answer {
	uintptr_t result;
	uintptr_t onward; /* not 0: what is to be jumped to with the same arguments instead, without a frame of ours */
};

/* Calls the function that DESCRIPTION, which may have CAIRN_STUB_DUE, describes with ARGUMENTS, and counts that. */
struct cairn_inside_answer cairn_inside_call(uintptr_t description, const uintptr_t arguments[CAIRN_ARGUMENTS]);

#endif
