/* record_grow.c - memory for more records, before they are used.
 *
 * This runs inside a malloc of the host: a step is at most a quarter of a megabyte, and no thread waits for another one. Threads that meet
 * make the same step, which costs the kernel little the second time. A generation of a table is used once all of its steps are made.
 * SPDX-License-Identifier: Apache-2.0 */
#include "agent/sampler/record_parts.h"
#include "arch/arch.h"

#include <errno.h>
#include <sys/mman.h>

enum { step_least = 4096, step_most = 256 << 10, refusals = 1000 };

/* Through the page table, as the kernel does it for a store, so that settings about huge pages hold; by the file with an older kernel. */
bool cairn_record_provide(struct cairn_record *record, const void *at, size_t length)
{
	uintptr_t start = (uintptr_t)at & ~(record->page - 1), end = ((uintptr_t)at + length + record->page - 1) & ~(record->page - 1);
	long code = record->whole ? 0 : cairn_arch_call(SYS_madvise, start, end - start, MADV_POPULATE_WRITE);
	if (code == -EINVAL && record->descriptor >= 0) /* otherwise it was populated as a whole (record_open.c) */
		code = cairn_arch_call(SYS_fallocate, (uintptr_t)record->descriptor, 0, start - (uintptr_t)record->header, end - start);
	else if (code == -EINVAL)
		code = 0;
	return code == 0;
}

/* After a step without memory the next ones are not tried: where a control group is at its limit, each would look for memory at length. */
static bool is_refused(struct cairn_record *record)
{
	uint32_t left = atomic_load_explicit(&record->refusals_left, memory_order_relaxed);
	if (left)
		atomic_store_explicit(&record->refusals_left, left - 1, memory_order_relaxed);
	return left;
}

static bool refuse(struct cairn_record *record)
{
	atomic_store_explicit(&record->refusals_left, refusals, memory_order_relaxed);
	return false;
}

static void raise_to(_Atomic uint32_t *value, uint32_t least)
{
	uint32_t now = atomic_load_explicit(value, memory_order_relaxed);
	while (now < least && !atomic_compare_exchange_weak_explicit(value, &now, least, memory_order_release, memory_order_relaxed))
		;
}

static uint32_t least(uint64_t one, uint32_t other)
{
	return one < other ? (uint32_t)one : other;
}

static bool provide_records(struct cairn_record *record, const struct cairn_ledger_area *area, uint32_t from, uint32_t to)
{
	return cairn_record_provide(record, (const char *)record->header + area->offset + (uint64_t)from * area->size,
				    (size_t)(to - from) * area->size);
}

/* AREA, of which PROVIDED records have memory, gets half as many again. */
static bool grow_area(struct cairn_record *record, const struct cairn_ledger_area *area, _Atomic uint32_t *provided)
{
	uint32_t from = atomic_load_explicit(provided, memory_order_relaxed);
	if (from == area->count || is_refused(record))
		return false;
	uint64_t step = (uint64_t)from * area->size / 2;
	step = step < step_least ? step_least : step > step_most ? step_most : step;
	uint32_t to = least(from + step / area->size, area->count);
	if (!provide_records(record, area, from, to))
		return refuse(record);
	raise_to(provided, to);
	return true;
}

bool cairn_record_grow(struct cairn_record *record, enum cairn_ledger_area_name area)
{
	return grow_area(record, &record->header->areas[area], &record->header->provided[area]);
}

bool cairn_record_grow_mappings(struct cairn_record *record)
{
	return grow_area(record, &record->header->mappings, &record->header->mappings_provided);
}

/* The slots that the next step of TABLE gives memory to, the last ones before generation OPEN can be used or some before. */
struct step {
	uint32_t open, from, to;
};

/* Returns false if all slots have memory. */
static bool begin(struct cairn_record *record, struct cairn_record_table *table, uint32_t slots_each, struct step *step)
{
	step->from = atomic_load_explicit(&table->provided, memory_order_acquire); /* before `open`, which is not behind it then */
	step->open = atomic_load_explicit(&table->open, memory_order_acquire);
	if (step->open == table->generations || is_refused(record))
		return false;
	step->to = least((uint64_t)step->from + slots_each, table->bounds[step->open + 1]);
	return true;
}

/* They have it. */
static void end(struct cairn_record_table *table, struct step step, _Atomic uint32_t *provided, _Atomic uint32_t *beside)
{
	raise_to(&table->provided, step.to);
	if (step.to == table->bounds[step.open + 1]) {
		raise_to(provided, step.to);
		if (beside)
			raise_to(beside, step.to);
		raise_to(&table->open, step.open + 1);
	}
}

bool cairn_record_grow_samples(struct cairn_record *record)
{
	struct cairn_ledger_header *header = record->header;
	struct step step;
	if (!begin(record, &record->sample_table, step_most / (sizeof *record->samples + sizeof *record->keys), &step))
		return false;
	if (!provide_records(record, &header->areas[CAIRN_LEDGER_KEYS], step.from, step.to) ||
	    !provide_records(record, &header->areas[CAIRN_LEDGER_SAMPLES], step.from, step.to))
		return refuse(record);
	end(&record->sample_table, step, &header->provided[CAIRN_LEDGER_KEYS], &header->provided[CAIRN_LEDGER_SAMPLES]);
	return true;
}

bool cairn_record_grow_stacks(struct cairn_record *record)
{
	struct cairn_ledger_header *header = record->header;
	struct step step;
	if (!begin(record, &record->stack_table, step_most / sizeof *record->stacks, &step))
		return false;
	if (!provide_records(record, &header->areas[CAIRN_LEDGER_STACKS], step.from, step.to) ||
	    !cairn_record_provide(record, record->holds + step.from, (step.to - step.from) * sizeof *record->holds))
		return refuse(record);
	if (step.from == 0)
		atomic_store(&record->stacks[0].hash, 2); /* the unknown stack, of no frames */
	end(&record->stack_table, step, &header->provided[CAIRN_LEDGER_STACKS], NULL);
	return true;
}
