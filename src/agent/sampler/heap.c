/* heap.c - custom heaps, as cairn.h offers them.
 * SPDX-License-Identifier: Apache-2.0 */
#include "agent/sampler/heap.h"

#include "agent/sampler/sample.h"
#include "cairn.h"

#include <stdio.h>

static struct {
	atomic_uint taken;
	atomic_uint ready[CAIRN_LEDGER_HEAPS];
	char names[CAIRN_LEDGER_HEAPS][32];
} heaps = {.taken = 1};

static void copy_name(struct cairn_ledger_header *header, unsigned heap)
{
	memcpy(header->heaps[heap], heaps.names[heap], sizeof header->heaps[heap]);
}

void cairn_heap_names(struct cairn_ledger_header *header)
{
	for (unsigned i = 1; i < CAIRN_LEDGER_HEAPS; i++)
		if (atomic_load_explicit(&heaps.ready[i], memory_order_acquire))
			copy_name(header, i);
}

unsigned cairn_heap(const char *name)
{
	for (unsigned i = 1; i < CAIRN_LEDGER_HEAPS; i++)
		if (atomic_load_explicit(&heaps.ready[i], memory_order_acquire) &&
		    strncmp(heaps.names[i], name, sizeof heaps.names[i] - 1) == 0)
			return i;
	unsigned heap = atomic_fetch_add(&heaps.taken, 1);
	if (heap >= CAIRN_LEDGER_HEAPS) {
		atomic_store(&heaps.taken, CAIRN_LEDGER_HEAPS);
		return 0;
	}
	snprintf(heaps.names[heap], sizeof heaps.names[heap], "%s", name);
	atomic_store_explicit(&heaps.ready[heap], 1, memory_order_release);
	if (cairn_sample_is_ours())
		copy_name(cairn_sampling.record.header, heap);
	return heap;
}

CAIRN_SAMPLER_CODE void cairn_heap_allocated(unsigned heap, uint64_t id, size_t size)
{
	if (__builtin_expect((int64_t)(cairn_sample_thread.countdown -= size) < 0, 0))
		cairn_sample_spent_heap(id, size, heap < CAIRN_LEDGER_HEAPS ? heap : 0, (uintptr_t)cairn_heap_allocated);
}

void cairn_heap_freed(unsigned heap, uint64_t id)
{
	cairn_sample_freed_heap(id, heap < CAIRN_LEDGER_HEAPS ? heap : 0);
}
