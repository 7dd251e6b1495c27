/* heap.c - custom heaps, as cairn.h offers them.
 * SPDX-License-Identifier: Apache-2.0 */
#include "agent/sampler/heap.h"

#include "agent/sampler/sample.h"
#include "base/time.h"
#include "cairn.h"
#include "process/clock.h"

#include <stdio.h>
#include <time.h>

enum { FREE, WRITING, READY };

/* Numbers are given in order, so that two threads that ask for the same name at once meet at the first free one: one writes the name there,
 * the other waits until it can be compared. */
static struct {
	atomic_uint states[CAIRN_LEDGER_HEAPS];
	char names[CAIRN_LEDGER_HEAPS][32];
} heaps;

static void copy_name(struct cairn_ledger_header *header, unsigned heap)
{
	memcpy(header->heaps[heap], heaps.names[heap], sizeof header->heaps[heap]);
}

void cairn_heap_names(struct cairn_ledger_header *header)
{
	for (unsigned i = 1; i < CAIRN_LEDGER_HEAPS; i++)
		if (atomic_load(&heaps.states[i]) == READY)
			copy_name(header, i);
}

static bool claim(unsigned heap)
{
	unsigned expected = FREE;
	return atomic_load(&heaps.states[heap]) == FREE && atomic_compare_exchange_strong(&heaps.states[heap], &expected, WRITING);
}

static void write_name(unsigned heap, const char *name)
{
	snprintf(heaps.names[heap], sizeof heaps.names[heap], "%s", name);
	atomic_store(&heaps.states[heap], READY);
	atomic_thread_fence(memory_order_seq_cst); /* whoever opens a ledger now sees the name, or is seen here */
	if (cairn_sample_is_ours())
		copy_name(cairn_sampling.record.header, heap);
}

/* A name takes no time to write. Its writer may have been put aside all the same, so this waits, but not for ever. */
static bool has_name(unsigned heap, const char *name)
{
	static const int64_t wait_most = 2 * CAIRN_SECOND_NS;
	for (int64_t start = cairn_clock_ns(); atomic_load(&heaps.states[heap]) == WRITING && cairn_clock_ns() - start < wait_most;)
		nanosleep(&(struct timespec){0, 100000}, NULL);
	return atomic_load(&heaps.states[heap]) == READY && strncmp(heaps.names[heap], name, sizeof heaps.names[heap] - 1) == 0;
}

unsigned cairn_heap(const char *name)
{
	for (unsigned i = 1; i < CAIRN_LEDGER_HEAPS; i++) {
		if (claim(i)) {
			write_name(i, name);
			return i;
		}
		if (has_name(i, name))
			return i;
	}
	return 0;
}

void cairn_heap_in_child(void)
{
	for (unsigned i = 1; i < CAIRN_LEDGER_HEAPS; i++) {
		unsigned expected = WRITING;
		atomic_compare_exchange_strong(&heaps.states[i], &expected, FREE);
	}
}

CAIRN_SAMPLER_CODE void cairn_heap_allocated(unsigned heap, uint64_t id, size_t size)
{
	if (__builtin_expect(cairn_sample_count_down(size), 0))
		cairn_sample_spent_heap(id, size, heap < CAIRN_LEDGER_HEAPS ? heap : 0, (uintptr_t)cairn_heap_allocated);
}

void cairn_heap_freed(unsigned heap, uint64_t id)
{
	cairn_sample_freed_heap(id, heap < CAIRN_LEDGER_HEAPS ? heap : 0);
}
