/* stack.c - pages that can be read, tried by a system call and remembered per thread.
 * SPDX-License-Identifier: Apache-2.0 */
#include "agent/unwind/stack.h"

#include <errno.h>
#include <pthread.h>
#include <sys/auxv.h>
#include <sys/syscall.h>
#include <unistd.h>

enum {
	page_size = 4096,   /* the smallest there is: larger pages are tried more than once, no harm */
	gap_most = 64,      /* pages that a window grows by in one step; a frame that is larger starts another window */
};

/* The part of the thread's own stack that is known to be readable: it ends at the stack's top. One word each, so that a
 * signal handler that walks in between sees sound values. */
static _Thread_local struct {
	volatile uintptr_t low, high;
} own __attribute__((tls_model("initial-exec")));

static uintptr_t page_of(uintptr_t address)
{
	return address & ~(uintptr_t)(page_size - 1);
}

/* rt_sigprocmask reads the new mask before it looks at what to do with it, and there is no action of that number: EFAULT
 * tells an unreadable address, EINVAL any other (but NULL, which is no mask), and nothing is changed. Needs no descriptor
 * and no permission. */
bool cairn_stack_is_readable(uintptr_t address)
{
	int saved = errno;
	bool readable = address != 0 && syscall(SYS_rt_sigprocmask, ~0, address, NULL, 8) == -1 && errno == EINVAL;
	errno = saved;
	return readable;
}

/* The top of the thread's own stack: the kernel puts AT_RANDOM's bytes there in the first thread, glibc the thread's
 * descriptor in all others. */
static uintptr_t find_top(void)
{
	uintptr_t top = getpid() == syscall(SYS_gettid) ? getauxval(AT_RANDOM) : (uintptr_t)pthread_self();
	return page_of(top) + page_size;
}

/* Tries pages from the window's end up to LIMIT. Where it meets what is known of the own stack, both become one. */
static bool grow(struct cairn_stack *stack, uintptr_t limit)
{
	while (stack->high < limit) {
		if (stack->high >= own.low && stack->high <= own.high) {
			own.low = stack->low < own.low ? stack->low : own.low;
			stack->high = own.high;
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
	/* What lies between here and the known part of the own stack is needed sooner or later. */
	if (own.low >= stack->high && own.low - stack->high <= gap_most * page_size)
		grow(stack, own.low + 1);
	return true;
}

struct cairn_stack cairn_stack_at(uintptr_t stack_pointer)
{
	if (!own.high) {
		uintptr_t top = find_top();
		own.low = top;
		own.high = top;
	}
	if (stack_pointer >= own.low && stack_pointer < own.high)
		return (struct cairn_stack){own.low, own.high};
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
