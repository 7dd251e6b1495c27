/* stack.h - which memory around a stack pointer can be read without a fault.
 *
 * A window is a run of whole pages known to be readable. It starts as the page of the stack pointer and grows upwards as
 * frames are visited; each new page is tried once by a system call that answers EFAULT instead of faulting. What was
 * found of the thread's own stack is remembered, since that stays mapped as long as the thread lives: from the second
 * walk on a read costs two comparisons. Other stacks (fibers, alternate signal stacks) may be unmapped at any time
 * between two walks and are tried anew in each.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_AGENT_UNWIND_STACK_H
#define CAIRN_AGENT_UNWIND_STACK_H

#include "base/bytes.h"

struct cairn_stack {
	uintptr_t low, high; /* everything between can be read */
};

/* Whether the eight bytes at ADDRESS can be read at this moment; by a system call. */
bool cairn_stack_is_readable(uintptr_t address);

/* The window around STACK_POINTER, which need not be mapped. */
struct cairn_stack cairn_stack_at(uintptr_t stack_pointer);

/* Brings ADDRESS into the window or moves the window there; false when it cannot be read. */
bool cairn_stack_reach(struct cairn_stack *stack, uintptr_t address);

/* The word at ADDRESS, which must be aligned. It may be any part of a stack, also what a sanitizer holds to be out of bounds. */
__attribute__((no_sanitize("address", "thread")))
static inline bool cairn_stack_read(struct cairn_stack *stack, uintptr_t address, uint64_t *value)
{
	if ((address & 7) != 0)
		return false;
	if ((address < stack->low || address >= stack->high) && !cairn_stack_reach(stack, address))
		return false;
	*value = *(const volatile uint64_t *)address; /* other threads may write there: any value will do */
	return true;
}

#endif
