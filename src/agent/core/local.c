/* local.c - a line of a table for each thread, by its thread pointer.
 *
 * Two processors write down where a thread control block is in the same way: in the thread pointer, which on x86_64 is the first word of the
 * block, too, and no two living threads share one. A thread that has ended leaves its line to the next with the same thread pointer, which
 * goes on with its countdown: how far that is says nothing about what comes. Where all lines that a thread may have are taken, it gets that
 * of a thread which has ended, or none, and is not sampled.
 * SPDX-License-Identifier: Apache-2.0 */
#include "agent/core/core.h"
#include "arch/arch.h"

#include <errno.h>
#include <stdatomic.h>

enum { window = 16 };

struct cairn_core_line cairn_core_lines[CAIRN_CORE_LINES];

static struct cairn_core_line *line_of(uintptr_t key, unsigned i)
{
	return &cairn_core_lines[((key * CAIRN_STUB_SPREAD >> (64 - CAIRN_STUB_LINES_LOG2)) + i) % CAIRN_CORE_LINES];
}

static uint32_t own_number(void)
{
	return (uint32_t)cairn_arch_call(SYS_gettid, 0);
}

static struct cairn_local *begin(struct cairn_core_line *line)
{
	line->thread = own_number();
	line->local = (struct cairn_local){0};
	return &line->local;
}

static bool take(struct cairn_core_line *line, uintptr_t from, uintptr_t key)
{
	return atomic_compare_exchange_strong_explicit(&line->key, &from, key, memory_order_acquire, memory_order_relaxed);
}

/* A free line, or that of a thread which has ended. */
static struct cairn_local *claim(uintptr_t key)
{
	for (unsigned i = 0; i < window; i++)
		if (take(line_of(key, i), 0, key))
			return begin(line_of(key, i));
	for (unsigned i = 0; i < window; i++) {
		struct cairn_core_line *line = line_of(key, i);
		uintptr_t there = atomic_load_explicit(&line->key, memory_order_relaxed);
		if (cairn_arch_call(SYS_tgkill, cairn_core.process, line->thread, 0) == -ESRCH && take(line, there, key))
			return begin(line);
	}
	return NULL;
}

struct cairn_local *cairn_local(void)
{
	static struct cairn_local nobody;
	uintptr_t key = cairn_arch_thread_word();
	for (unsigned i = 0; i < window && key; i++)
		if (atomic_load_explicit(&line_of(key, i)->key, memory_order_relaxed) == key)
			return &line_of(key, i)->local;
	struct cairn_local *claimed = key ? claim(key) : NULL;
	if (claimed)
		return claimed;
	nobody.quiet = true;
	return &nobody;
}

bool cairn_local_has_counted(const struct cairn_local *local)
{
	return local == &line_of(cairn_arch_thread_word(), 0)->local;
}

/* What is known of the stack of one that has ended would lead the unwinder into memory that is gone. */
void cairn_local_renew(struct cairn_local *local)
{
	struct cairn_core_line *line = (struct cairn_core_line *)(void *)((char *)local - offsetof(struct cairn_core_line, local));
	uint32_t number = own_number();
	if (local->quiet || line->thread == number)
		return;
	line->thread = number;
	local->ledger = 0;
	local->stack_low = local->stack_high = 0;
}

/* Libraries put the thread control block at the top of a thread's stack, but for the first thread. */
uintptr_t cairn_local_stack_top(void)
{
	return own_number() == cairn_core.process ? cairn_core.stack_top : cairn_arch_thread_word();
}
