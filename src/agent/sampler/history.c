/* history.c - reading memory and writing rows.
 * SPDX-License-Identifier: Apache-2.0 */
#include "agent/sampler/history.h"

#include "base/time.h"
#include "process/memory.h"

enum { seconds_most = 3600, minute = 60 };

static struct {
	struct cairn_memory memory;
	bool open;
} history;

void cairn_history_close(void)
{
	if (history.open)
		cairn_memory_close(&history.memory);
	history.open = false;
}

void cairn_history_in_child(void)
{
	history.open = false; /* what was open is closed with all other descriptors of the agent */
}

/* A daemon may have closed our descriptors: then once more. */
static bool read_memory(int64_t now_ns, struct cairn_memory_reading *reading)
{
	for (int i = 0; i < 2; i++) {
		if (!history.open && !cairn_memory_open(&history.memory, "", 0, &(struct cairn_error){{0}}))
			return false;
		history.open = true;
		if (cairn_memory_read(&history.memory, now_ns, reading))
			return true;
		cairn_memory_close(&history.memory);
		history.open = false;
	}
	return false;
}

static void write_row(struct cairn_record *record, struct cairn_ledger_row *to, const struct cairn_ledger_row *row)
{
	if (!cairn_record_provide(record, to, sizeof *to))
		return;
	atomic_store_explicit(&to->time_ns, CAIRN_LEDGER_BUSY, memory_order_relaxed);
	atomic_thread_fence(memory_order_release);
	for (size_t i = 1; i < sizeof *to / sizeof(uint64_t); i++)
		__atomic_store_n((uint64_t *)(void *)to + i, ((const uint64_t *)(const void *)row)[i], __ATOMIC_RELAXED);
	atomic_store_explicit(&to->time_ns, row->time_ns, memory_order_release);
}

void cairn_history_look(struct cairn_record *record, int64_t now_ns)
{
	const struct cairn_ledger_header *header = record->header;
	struct cairn_memory_reading reading;
	if (!read_memory(now_ns, &reading))
		return;
	uint64_t allocated = atomic_load(&header->allocated_bytes);
	uint64_t freed = atomic_load(&header->freed_bytes) + atomic_load(&header->thinned_bytes);
	struct cairn_ledger_row row = {
		.time_ns = now_ns,
		.resident = reading.resident,
		.usage = reading.usage,
		.limit = reading.limit,
		.live = (int64_t)(allocated - freed) > 0 ? allocated - freed : 0,
		.allocated = allocated,
	};
	uint64_t count = record->row_count, seconds = count / 2 < seconds_most ? count / 2 : seconds_most, minutes = count - seconds;
	uint64_t second = (uint64_t)(now_ns / CAIRN_SECOND_NS);
	write_row(record, &record->rows[second % seconds], &row);
	/* The newest of each minute. */
	write_row(record, &record->rows[seconds + second / minute % minutes], &row);
}
