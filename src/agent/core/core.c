/* core.c - the entrance, and what the sampler needs of libc.
 *
 * A thread that is sent here may have been anywhere, with anything in its vector registers, which are not saved: this file is compiled for
 * general registers only, and calls none of the others.
 * SPDX-License-Identifier: Apache-2.0 */
#include "agent/core/core.h"

#include "agent/engine/profiler.h"
#include "agent/unwind/code_table.h"
#include "arch/arch.h"
#include "protocol/inside.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <time.h>

/* First in the data (core.ld), and not in the zeroed memory: children have it, too. */
__attribute__((section(".data.cairn_core"))) struct cairn_core cairn_core = {.magic = cairn_core_magic, .version = CAIRN_CORE_VERSION};

/* Its blocks, which are put here from outside. */
struct cairn_inside cairn_inside = {.version = CAIRN_INSIDE_VERSION};

/* Of a thread that visits. */
char cairn_core_stack[CAIRN_CORE_STACK] __attribute__((aligned(64)));

/* Of the objects of the process, filled in from outside. */
struct cairn_code_table cairn_core_objects;

extern char cairn_core_zeroed[] __attribute__((visibility("hidden"))), cairn_core_end[] __attribute__((visibility("hidden")));

bool cairn_code_find(uintptr_t address, struct cairn_code *code)
{
	return cairn_code_table_find(&cairn_core_objects, address, code);
}

/* A high number, as base/descriptor.h has it: a program may count on the lowest. */
static long raise_descriptor(long descriptor)
{
	long moved = -1;
	for (uintptr_t least = 700; moved < 0 && least > 4; least /= 4)
		moved = cairn_arch_call(SYS_fcntl, (uintptr_t)descriptor, F_DUPFD_CLOEXEC, least);
	if (moved < 0)
		return descriptor;
	cairn_arch_call(SYS_close, (uintptr_t)descriptor);
	return moved;
}

/* Nothing of it is touched here: its length and its contents are set from outside. */
static long open_ledger(void)
{
	uintptr_t bytes = cairn_core.ledger_bytes;
	long code = cairn_arch_call(SYS_madvise, (uintptr_t)cairn_core_zeroed, (uintptr_t)(cairn_core_end - cairn_core_zeroed), MADV_WIPEONFORK);
	if (code < 0)
		return code;
	long descriptor = cairn_arch_call(SYS_memfd_create, (uintptr_t)"cairn-ledger", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (descriptor < 0)
		return descriptor;
	descriptor = raise_descriptor(descriptor);
	code = cairn_arch_call(SYS_mmap, 0, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, (uintptr_t)descriptor, 0);
	if (code >= 0) {
		cairn_core.ledger = (uint64_t)code;
		code = cairn_arch_call(SYS_madvise, (uintptr_t)code, bytes, MADV_DONTFORK);
	}
	if (code < 0) {
		if (cairn_core.ledger)
			cairn_arch_call(SYS_munmap, cairn_core.ledger, bytes);
		cairn_core.ledger = 0;
		cairn_arch_call(SYS_close, (uintptr_t)descriptor);
		return code;
	}
	cairn_core.descriptor = descriptor;
	return 0;
}

void cairn_core_enter(void)
{
	uint32_t ready = CAIRN_CORE_READY;
	if (!atomic_compare_exchange_strong(&cairn_core.state, &ready, CAIRN_CORE_ENTERED))
		return;
	bool stays = cairn_core.stays;
	cairn_core.failure = cairn_core.ledger ? 0 : open_ledger();
	for (uint64_t i = 0; i < cairn_core.call_count && i < CAIRN_CORE_CALLS && cairn_core.failure == 0; i++)
		cairn_core.calls[i].result = cairn_arch_call_with((long)cairn_core.calls[i].number, cairn_core.calls[i].arguments);
	atomic_store(&cairn_core.state, CAIRN_CORE_DONE);
	for (int i = 0; stays && i < CAIRN_CORE_HOLD_MS && atomic_load(&cairn_core.hold); i++)
		cairn_arch_call(SYS_pselect6, 0, 0, 0, 0, (uintptr_t)&(struct timespec){.tv_nsec = 1000000}, 0);
}

void cairn_stack_is_truncated(void)
{
}

int clock_gettime(clockid_t clock, struct timespec *now)
{
	int (*quick)(clockid_t, struct timespec *) = (int (*)(clockid_t, struct timespec *))cairn_core.clock;
	return quick ? quick(clock, now) : (int)cairn_arch_call(SYS_clock_gettime, (uintptr_t)clock, (uintptr_t)now);
}

void *memcpy(void *restrict to, const void *restrict from, size_t length)
{
	unsigned char *out = to;
	const unsigned char *in = from;
	while (length--)
		*out++ = *in++;
	return to;
}

void *memset(void *to, int byte, size_t length)
{
	unsigned char *out = to;
	while (length--)
		*out++ = (unsigned char)byte;
	return to;
}

int memcmp(const void *left, const void *right, size_t length)
{
	const unsigned char *a = left, *b = right;
	for (; length; length--, a++, b++)
		if (*a != *b)
			return *a - *b;
	return 0;
}

void *memchr(const void *in, int byte, size_t length)
{
	for (const unsigned char *at = in; length; length--, at++)
		if (*at == (unsigned char)byte)
			return (void *)(uintptr_t)at;
	return NULL;
}
