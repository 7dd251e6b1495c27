/* code_table.c - a binary search, and two buffers.
 * SPDX-License-Identifier: Apache-2.0 */
#include "agent/unwind/code_table.h"

bool cairn_code_table_find(const struct cairn_code_table *table, uintptr_t address, struct cairn_code *code)
{
	unsigned sequence = atomic_load_explicit(&table->published, memory_order_acquire);
	const struct cairn_code_entry *entries = table->entries[sequence & 1];
	unsigned low = 0, high = atomic_load_explicit(&table->counts[sequence & 1], memory_order_relaxed);
	while (low < high) {
		unsigned middle = (low + high) / 2;
		if (atomic_load_explicit(&entries[middle].start, memory_order_relaxed) <= address)
			low = middle + 1;
		else
			high = middle;
	}
	if (low == 0)
		return false;
	code->start = atomic_load_explicit(&entries[low - 1].start, memory_order_relaxed);
	code->end = atomic_load_explicit(&entries[low - 1].end, memory_order_relaxed);
	code->unwind_header = atomic_load_explicit(&entries[low - 1].unwind_header, memory_order_relaxed);
	code->image_start = atomic_load_explicit(&entries[low - 1].image_start, memory_order_relaxed);
	code->image_end = atomic_load_explicit(&entries[low - 1].image_end, memory_order_relaxed);
	code->tag = atomic_load_explicit(&entries[low - 1].tag, memory_order_relaxed);
	atomic_thread_fence(memory_order_acquire);
	return atomic_load_explicit(&table->published, memory_order_relaxed) == sequence && address < code->end;
}

/* Kept sorted: the list is short and nearly in order. */
void cairn_code_table_add(struct cairn_code_table *table, unsigned *count, const struct cairn_code *code)
{
	struct cairn_code_entry *entries = table->entries[~atomic_load(&table->published) & 1];
	if (*count == CAIRN_CODE_TABLE_MOST)
		return;
	unsigned place = (*count)++;
	for (; place > 0 && entries[place - 1].start > code->start; place--) {
		entries[place].start = entries[place - 1].start;
		entries[place].end = entries[place - 1].end;
		entries[place].image_start = entries[place - 1].image_start;
		entries[place].image_end = entries[place - 1].image_end;
		entries[place].unwind_header = entries[place - 1].unwind_header;
		entries[place].tag = entries[place - 1].tag;
	}
	entries[place].start = code->start;
	entries[place].end = code->end;
	entries[place].image_start = code->image_start;
	entries[place].image_end = code->image_end;
	entries[place].unwind_header = code->unwind_header;
	entries[place].tag = code->tag;
}

void cairn_code_table_publish(struct cairn_code_table *table, unsigned count)
{
	atomic_store_explicit(&table->counts[~atomic_load(&table->published) & 1], count, memory_order_relaxed);
	atomic_fetch_add_explicit(&table->published, 1, memory_order_release);
}
