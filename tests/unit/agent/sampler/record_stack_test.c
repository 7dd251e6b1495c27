/* record_stack_test.c - stacks without live samples make place for others, and no sample is ever found with the stack of another.
 *
 * The frames of a sample follow from its address: so whoever sees a sample knows which frames its stack must have.
 * SPDX-License-Identifier: Apache-2.0 */
#include "agent/sampler/record.h"
#include "tap.h"

#include <pthread.h>
#include <sched.h>
#include <stdlib.h>

enum { most_frames = 60 };

static struct cairn_record record;
static struct cairn_ledger ledger;

static bool open_ledger(size_t bytes)
{
	struct cairn_error error;
	record = (struct cairn_record){.descriptor = -1};
	return (cairn_record_open(&record, bytes, &error) &&
		cairn_ledger_open(&ledger, (struct cairn_bytes){(const char *)record.header, record.bytes}, &error)) ||
	       ok(false, "%s", error.text);
}

static unsigned frames_of(uint64_t address, void **pcs)
{
	unsigned count = 1 + (unsigned)(address >> 4) % most_frames;
	for (unsigned i = 0; i < count; i++)
		pcs[i] = (void *)(uintptr_t)(address * (i + 1) + i);
	return count;
}

static uint32_t add_stack(uint64_t address)
{
	void *pcs[most_frames];
	unsigned count = frames_of(address, pcs);
	return cairn_record_stack(&record, pcs, count);
}

static bool add_sample(uint64_t address, uint32_t stack)
{
	bool replaced;
	struct cairn_ledger_sample sample = {
		.address = address, .size = 1000, .period = 1, .stack = stack, .birth_ns = 1000, .objects = CAIRN_LEDGER_OBJECT};
	return cairn_record_sample(&record, address, &sample, &replaced);
}

/* Whether stack INDEX can be read. *RIGHT is set if it has the frames that follow from ADDRESS. */
static bool read_stack(uint32_t index, uint64_t address, uint32_t check, bool *right)
{
	void *pcs[most_frames];
	struct cairn_ledger_stack stack;
	unsigned count = frames_of(address, pcs);
	if (!cairn_ledger_get_stack(&ledger, index, &stack) || !cairn_ledger_is_stack_of(stack.hash, check))
		return false;
	*right = stack.depth == count;
	for (unsigned i = 0; i < count && *right; i++)
		*right = cairn_ledger_frame(&ledger, &stack, i) == (uintptr_t)pcs[i];
	return cairn_ledger_has_stack(&ledger, index, stack.hash);
}

/* One that another thread had nearly given up is not there for a moment. */
static bool is_right(uint32_t index, uint64_t address)
{
	bool right = false, there = false;
	for (int i = 0; i < 1000 && !there; i++) {
		there = read_stack(index, address, 0, &right);
		if (!there && atomic_load(&record.stacks[index].hash) != 1)
			return false;
		if (!there)
			sched_yield();
	}
	return there && right;
}

static struct {
	uint64_t samples, bytes, peak;
} sums;

/* Adds up all stacks. */
static void add_up(void)
{
	struct cairn_ledger_stack stack;
	struct cairn_ledger_peak peak;
	uint64_t number = cairn_ledger_peak_number(&ledger);
	sums.samples = sums.bytes = sums.peak = 0;
	for (uint32_t i = 0; i < cairn_ledger_count(&ledger, CAIRN_LEDGER_STACKS); i++) {
		if (!cairn_ledger_get_stack(&ledger, i, &stack))
			continue;
		sums.samples += stack.allocated_samples - stack.freed_samples - stack.thinned_samples;
		sums.bytes += stack.allocated_bytes - stack.freed_bytes - stack.thinned_bytes;
		sums.peak += cairn_ledger_get_peak(&ledger, i, number, &peak) ? peak.bytes : 0;
	}
}

static bool frames_are_kept(void)
{
	struct cairn_ledger_stack stack;
	uint64_t used = 0;
	for (uint32_t i = 1; i < cairn_ledger_count(&ledger, CAIRN_LEDGER_STACKS); i++)
		if (cairn_ledger_get_stack(&ledger, i, &stack))
			used += (stack.depth + CAIRN_RECORD_RUN - 1) / CAIRN_RECORD_RUN * CAIRN_RECORD_RUN;
	return used == record.header->frames_used - record.frames_free;
}

/* Many stacks over its life, few of them live at once. */
static void test_life(void)
{
	enum { stacks = 100000, live = 300 };
	static uint32_t indices[stacks + 1];
	unsigned wrong = 0;
	if (!open_ledger(CAIRN_RECORD_LEAST))
		return;
	for (uint64_t i = 1; i <= stacks; i++) {
		indices[i] = add_stack(i << 4);
		add_sample(i << 4, indices[i]);
		wrong += !is_right(indices[i], i << 4);
		if (i > live)
			cairn_record_free(&record, (i - live) << 4, 0, 2000);
	}
	ok(record.header->stacks_lost == 0 && wrong == 0, "each of %d stacks is there while it is needed: %llu lost, %u wrong", stacks,
	   (unsigned long long)record.header->stacks_lost, wrong);
	for (uint64_t i = stacks - live + 1; i <= stacks; i++)
		wrong += !is_right(indices[i], i << 4);
	ok(wrong == 0, "also that of a sample which stays");
	ok(record.header->stacks_recycled > stacks - record.stack_mask - 1 && record.header->stacks_used <= record.stack_mask + 1,
	   "others made place: %llu", (unsigned long long)record.header->stacks_recycled);
	add_up();
	ok(sums.samples == live && sums.bytes == live * 1000, "the sums of all stacks stay what they were: %llu samples, %llu bytes",
	   (unsigned long long)sums.samples, (unsigned long long)sums.bytes);
	ok(record.header->allocated_bytes == stacks * 1000ull, "and so do totals");
	ok(sums.peak == record.header->highest_bytes, "the highest point has all of its bytes: %llu of %llu", (unsigned long long)sums.peak,
	   (unsigned long long)record.header->highest_bytes);
	ok(frames_are_kept(), "no frame is lost");
	cairn_record_close(&record);
}

/* What holds a stack other than a sample, where samples want all the others. */
static void test_held(void)
{
	enum { stacks = 4000 };
	if (!open_ledger(CAIRN_RECORD_LEAST))
		return;
	uint32_t held = add_stack(1 << 4), mapped = add_stack(2 << 4), neither = add_stack(3 << 4);
	struct cairn_ledger_mapping *mapping = (void *)((char *)record.header + record.header->mappings.offset);
	cairn_record_grow_mappings(&record);
	mapping->stack = mapped;
	mapping->stack_check = cairn_record_stack_check(&record, mapped);
	mapping->start = 4096;
	record.header->mappings_used = 1;
	cairn_record_release_stack(&record, mapped);
	cairn_record_release_stack(&record, neither);
	for (uint64_t i = 10; i < stacks; i++)
		add_sample(i << 4, add_stack(i << 4));
	ok(is_right(held, 1 << 4), "a stack that is held stays");
	ok(is_right(mapped, 2 << 4), "and one that a mapping has");
	ok(!is_right(neither, 3 << 4), "one without either goes");
	mapping->start = 0;
	cairn_record_release_stack(&record, held);
	for (uint64_t i = stacks; i < 2 * stacks; i++)
		add_sample(i << 4, add_stack(i << 4));
	ok(!is_right(held, 1 << 4) && !is_right(mapped, 2 << 4), "as soon as nobody needs it");
	cairn_record_close(&record);
}

/* A call path that is used often is worth more than one that was used once. */
static void test_often(void)
{
	enum { stacks = 20000 };
	unsigned lost = 0;
	if (!open_ledger(CAIRN_RECORD_LEAST))
		return;
	for (uint64_t i = 2 * stacks; i < 3 * stacks; i++) /* it has no room from the start */
		cairn_record_release_stack(&record, add_stack(i << 4));
	for (uint64_t i = 1; i <= stacks; i++) {
		uint64_t often = i % 10 + 1;
		uint32_t index = add_stack(often << 4);
		add_sample(often << 4, index);
		cairn_record_free(&record, often << 4, 0, 2000);
		add_sample((100 + i) << 4, add_stack((100 + i) << 4));
		cairn_record_free(&record, (100 + i) << 4, 0, 2000);
		if (i > 100) {
			struct cairn_ledger_stack stack;
			lost += !cairn_ledger_get_stack(&ledger, index, &stack) || stack.allocated_samples < i / 10;
		}
	}
	is_int(lost, 0, "stacks that are used again and again keep what they have counted");
	cairn_record_close(&record);
}

static void forget(uint64_t key)
{
	(void)key;
}

/* More stacks with live samples than there is room for. */
static void test_crowd(void)
{
	unsigned wrong = 0, unknown = 0;
	if (!open_ledger(CAIRN_RECORD_LEAST))
		return;
	uint64_t room = record.stack_mask + 1, random = 1;
	for (uint64_t i = 1; i <= room * 3; i++) {
		uint32_t index = add_stack(i << 4);
		add_sample(i << 4, index);
		unknown += index == 0;
		wrong += index != 0 && !is_right(index, i << 4);
	}
	ok(unknown > 0 && wrong == 0 && record.header->stacks_lost == unknown, "where all are needed, others have no name, and not a wrong one: %u",
	   unknown);
	ok(cairn_record_is_full(&record), "the ledger is full then");
	cairn_record_thin(&record, 0, cairn_record_slots(&record), 4000, &random, forget);
	record.crowding = 0;
	uint64_t lost = record.header->stacks_lost;
	for (uint64_t i = room * 4; i < room * 4 + room / 4; i++)
		cairn_record_release_stack(&record, add_stack(i << 4));
	ok(record.header->stacks_lost == lost && !cairn_record_is_full(&record), "after fewer samples there is room again");
	cairn_record_clear(&record, forget);
	add_up();
	ok(sums.samples == 0 && sums.bytes == 0, "a reset leaves nothing");
	cairn_record_close(&record);
}

/* Many threads, and readers that know what they must see. */
enum { writers = 4, kept = 100, rounds = 20000 };
static atomic_uint wrong_names, lost_samples, busy;

static void *write_samples(void *context)
{
	uint64_t base = (uint64_t)(uintptr_t)context << 32, random = base | 1;
	uint64_t live[kept] = {0};
	for (uint64_t i = 1; i <= rounds; i++) {
		uint64_t address = base + (i << 4), *place = &live[cairn_record_random(&random) % kept];
		uint32_t index = add_stack(address);
		bool added = add_sample(address, index);
		atomic_fetch_add(&wrong_names, index != 0 && added && !is_right(index, address));
		if (*place)
			atomic_fetch_add(&lost_samples, !cairn_record_free(&record, *place, 0, 2000));
		*place = added ? address : 0;
		if (i % 64 == 0) {
			uint32_t held = cairn_record_hold(&record, address);
			if (held != 0) /* 0 if the sample found no room, or was thinned out */
				cairn_record_release(&record, address, held, false, 0, 2000);
		}
	}
	for (int i = 0; i < kept; i++)
		if (live[i])
			atomic_fetch_add(&lost_samples, !cairn_record_free(&record, live[i], 0, 2000));
	atomic_fetch_sub(&busy, 1);
	return NULL;
}

static void test_many_threads(void)
{
	pthread_t threads[writers];
	unsigned seen = 0, wrong = 0, gone = 0;
	if (!open_ledger(CAIRN_RECORD_LEAST))
		return;
	atomic_store(&busy, writers);
	for (uintptr_t i = 0; i < writers; i++)
		pthread_create(&threads[i], NULL, write_samples, (void *)(i + 1));
	while (atomic_load(&busy) > 0)
		for (uint32_t i = 0; i < cairn_ledger_count(&ledger, CAIRN_LEDGER_SAMPLES); i++) {
			struct cairn_ledger_sample sample;
			bool right = false;
			if (!cairn_ledger_get_sample(&ledger, i, &sample) || sample.stack == 0)
				continue;
			if (read_stack(sample.stack, sample.address, sample.stack_check, &right)) {
				seen++;
				wrong += !right;
			} else {
				gone++;
			}
		}
	for (int i = 0; i < writers; i++)
		pthread_join(threads[i], NULL);
	ok(wrong_names == 0, "while %d threads add and free, each finds its own stack: %u wrong", writers, wrong_names);
	ok(seen > 0 && wrong == 0, "and so does a reader: %u of %u wrong, %u were gone", wrong, seen, gone);
	is_int(lost_samples, 0, "every sample is found when it is freed");
	add_up();
	ok(sums.samples == 0 && sums.bytes == 0 && record.header->live == 0, "in the end nothing lives");
	ok(record.header->taken == record.header->freed && record.header->dropped + record.header->taken == writers * rounds,
	   "and nothing was counted twice: %llu taken, %llu freed, %llu dropped", (unsigned long long)record.header->taken,
	   (unsigned long long)record.header->freed, (unsigned long long)record.header->dropped);
	ok(record.header->stacks_recycled > rounds, "though stacks were given up all the time: %llu, %llu lost",
	   (unsigned long long)record.header->stacks_recycled, (unsigned long long)record.header->stacks_lost);
	ok(frames_are_kept(), "no frame is lost");
	unsigned held = 0;
	for (uint32_t i = 1; i <= record.stack_mask && i < record.header->provided[CAIRN_LEDGER_STACKS]; i++)
		held += record.holds[i] != 0;
	is_int(held, 0, "and nobody holds a stack any more");
	cairn_record_close(&record);
}

int main(void)
{
	test_life();
	test_held();
	test_often();
	test_crowd();
	test_many_threads();
	return tap_done();
}
