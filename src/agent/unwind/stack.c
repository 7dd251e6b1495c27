/* stack.c - pages that can be read, tried by a system call and remembered per thread.
 * SPDX-License-Identifier: Apache-2.0 */
#include "agent/unwind/stack.h"

#include "agent/unwind/local.h"
#include "arch/arch.h"

#include <errno.h>

enum {
	page_size = 4096,   /* the smallest there is: larger pages are tried more than once, no harm */
	gap_most = 64,      /* pages that a window grows by in one step; a frame that is larger starts another window */
};

static uintptr_t page_of(uintptr_t address)
{
	return address & ~(uintptr_t)(page_size - 1);
}

/* rt_sigprocmask reads the new mask before it looks at what to do with it, and there is no action of that number: EFAULT
 * tells an unreadable address, EINVAL any other (but NULL, which is no mask), and nothing is changed. Needs no descriptor
 * and no permission. */
bool cairn_stack_is_readable(uintptr_t address)
{
	return address != 0 && cairn_arch_call(SYS_rt_sigprocmask, (uintptr_t)~0, address, 0, 8) == -EINVAL;
}

/* Tries pages from the window's end up to LIMIT. Where it meets what is known of the own stack, both become one. */
static bool grow(struct cairn_stack *stack, uintptr_t limit)
{
	struct cairn_local *own = cairn_local();
	while (stack->high < limit) {
		if (stack->high >= own->stack_low && stack->high <= own->stack_high) {
			own->stack_low = stack->low < own->stack_low ? stack->low : own->stack_low;
			stack->high = own->stack_high;
			return stack->high >= limit;
		}
		if (!cairn_stack_is_readable(stack->high))
			return false;
		stack->high += page_size;
	}
	return true;
}

static bool grow_over(struct cairn_stack *stack, uintptr_t address)
{
	if (address > UINTPTR_MAX - 2 * page_size || !grow(stack, page_of(address) + page_size))
		return false;
	const struct cairn_local *own = cairn_local();
	/* What lies between here and the known part of the own stack is needed sooner or later. */
	if (own->stack_low >= stack->high && own->stack_low - stack->high <= gap_most * page_size)
		grow(stack, own->stack_low + 1);
	return true;
}

struct cairn_stack cairn_stack_at(uintptr_t stack_pointer)
{
	struct cairn_local *own = cairn_local();
	if (!own->stack_high) {
		uintptr_t top = page_of(cairn_local_stack_top()) + page_size;
		own->stack_low = top;
		own->stack_high = top;
	}
	if (stack_pointer >= own->stack_low && stack_pointer < own->stack_high)
		return (struct cairn_stack){own->stack_low, own->stack_high};
	struct cairn_stack stack = {page_of(stack_pointer), page_of(stack_pointer)};
	grow_over(&stack, stack_pointer);
	return stack;
}

bool cairn_stack_reach(struct cairn_stack *stack, uintptr_t address)
{
	if (address >= stack->high && address - stack->high < gap_most * page_size && grow_over(stack, address))
		return true;
	*stack = cairn_stack_at(address);
	return address < stack->high;
}
