/* record_grow_test.c - a ledger has memory for what is in it, and a step for which there is none is no fault.
 * SPDX-License-Identifier: Apache-2.0 */
#include "agent/sampler/record.h"
#include "base/pages.h"
#include "dump/ledger_heap.h"
#include "tap.h"

#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { usual = 16 << 20, page = 4096 };

static uint32_t add_stack(struct cairn_record *record, uintptr_t seed)
{
	void *pcs[40];
	for (uintptr_t i = 0; i < 40; i++)
		pcs[i] = (void *)(seed * 1000 + i + 1);
	return cairn_record_stack(record, pcs, 40);
}

static bool add_sample(struct cairn_record *record, uint64_t address, uint32_t stack)
{
	bool replaced;
	struct cairn_ledger_sample sample = {.address = address, .size = 1 << 20, .period = 1024, .stack = stack, .birth_ns = 1000,
					     .objects = CAIRN_LEDGER_OBJECT};
	return cairn_record_sample(record, address, &sample, &replaced);
}

static size_t bytes_of(const struct cairn_record *record)
{
	struct stat status;
	return fstat(record->descriptor, &status) == 0 ? (size_t)status.st_blocks * 512 : SIZE_MAX;
}

static size_t dump(const struct cairn_record *record)
{
	struct cairn_ledger ledger;
	struct cairn_ledger_heap heap;
	struct cairn_error error;
	struct cairn_buffer out = cairn_pages(1 << 28);
	if (!cairn_ledger_open(&ledger, (struct cairn_bytes){(const char *)record->header, record->bytes}, &error) ||
	    !cairn_ledger_write_heap(&ledger, 5000, &(struct cairn_ledger_witness){0}, &out, &heap, &error))
		return SIZE_MAX;
	cairn_buffer_free(&heap.sections);
	cairn_buffer_free(&out);
	return heap.samples;
}

static void test_steps(void)
{
	struct cairn_record record;
	struct cairn_error error;
	if (!cairn_record_open(&record, usual, &error)) {
		ok(false, "%s", error.text);
		return;
	}
	ok(bytes_of(&record) <= page, "a ledger without samples takes a page: %zu bytes", bytes_of(&record));
	is_int((long)dump(&record), 0, "and is an empty profile");
	uint32_t slots = record.sample_mask + 1, added = 0;
	size_t first = 0, most = 0, before = 0;
	for (uint64_t i = 1; i <= slots / 4 * 3; i++) {
		added += add_sample(&record, i * 4096, add_stack(&record, i % 100));
		if (i == 1)
			first = bytes_of(&record);
		if (i % 16 == 0 || i == 1) {
			size_t now = bytes_of(&record);
			most = before && now - before > most ? now - before : most;
			before = now;
		}
	}
	ok(first <= 256 << 10, "with one it takes %zu bytes", first);
	ok(most <= 16 * (300 << 10), "and grows by small steps: at most %zu bytes in sixteen samples", most);
	ok(added == slots / 4 * 3 && record.header->dropped == 0, "until it is three quarters full nothing is dropped: %u of %u", added,
	   slots / 4 * 3);
	size_t whole = bytes_of(&record);
	ok(dump(&record) == added && bytes_of(&record) == whole, "who reads it does not make it larger: %zu and %zu bytes", whole,
	   bytes_of(&record));
	for (uint64_t i = slots; i <= 2 * slots; i++)
		added += add_sample(&record, i * 4096, 0);
	ok(added > slots / 10 * 9, "nearly all slots can be used: %u of %u", added, slots);
	ok(record.header->live == added && record.header->dropped == slots / 4 * 3 + slots + 1 - added, "and what finds none is counted");
	cairn_record_close(&record);
}

/* A bucket can be full long before its table is, and the next generation may need many steps. */
static void test_full_buckets(void)
{
	struct cairn_record record;
	struct cairn_error error;
	if (!cairn_record_open(&record, usual, &error)) {
		ok(false, "%s", error.text);
		return;
	}
	for (uint64_t i = 1; i <= 8000; i++)
		add_sample(&record, i * 4096, add_stack(&record, i));
	is_int((long)record.header->stacks_lost, 0, "of 8,000 stacks that all live, in a table for 16,384, none is lost");
	is_int((long)record.header->dropped, 0, "nor a sample");
	cairn_record_close(&record);
}

struct meeting {
	struct cairn_record *record;
	pthread_barrier_t *barrier;
	uint64_t number;
};

static void *meet(void *context)
{
	const struct meeting *meeting = context;
	pthread_barrier_wait(meeting->barrier);
	for (uint64_t i = 1; i <= 400; i++) {
		uint64_t number = meeting->number * 400 + i;
		add_sample(meeting->record, number * 4096, add_stack(meeting->record, number));
	}
	return context;
}

/* All have their first samples at once, each with a stack of its own. */
static void test_meeting(void)
{
	enum { threads = 4, ledgers = 20 };
	uint64_t dropped = 0, lost = 0, crowding = 0;
	for (int i = 0; i < ledgers; i++) {
		struct cairn_record record;
		struct cairn_error error;
		pthread_barrier_t barrier;
		pthread_t ids[threads];
		struct meeting meetings[threads];
		if (!cairn_record_open(&record, usual, &error)) {
			ok(false, "%s", error.text);
			return;
		}
		pthread_barrier_init(&barrier, NULL, threads);
		for (uint64_t k = 0; k < threads; k++) {
			meetings[k] = (struct meeting){&record, &barrier, k};
			pthread_create(&ids[k], NULL, meet, &meetings[k]);
		}
		for (int k = 0; k < threads; k++)
			pthread_join(ids[k], NULL);
		pthread_barrier_destroy(&barrier);
		dropped += record.header->dropped;
		lost += record.header->stacks_lost;
		crowding += record.crowding;
		cairn_record_close(&record);
	}
	is_int((long)dropped, 0, "threads that meet while the ledger grows lose no sample");
	is_int((long)lost, 0, "nor a stack");
	is_int((long)crowding, 0, "and it is not taken for full");
}

static void add_module(struct cairn_record *record, uint64_t start)
{
	struct cairn_ledger_module module = {.start = start, .end = start + 4096};
	cairn_record_module(record, &module, cairn_bytes_of("/some/where/libsomething.so"));
}

/* In a process whose ledger has no more addresses than are provided: a store anywhere else ends it. Returns what is wrong. */
static int go_on_without_memory(uint64_t samples)
{
	struct cairn_record record;
	struct cairn_error error;
	if (!cairn_record_open(&record, usual, &error))
		return 1;
	for (uint64_t i = 1; i <= samples; i++)
		add_sample(&record, i * 4096, add_stack(&record, i));
	uint64_t live = record.header->live;
	unsigned char resident[usual / page];
	mincore(record.header, usual, resident);
	for (size_t i = 0; i < usual / page; i++)
		if (!(resident[i] & 1))
			munmap((char *)record.header + i * page, page);
	for (uint64_t i = samples + 1; i <= samples + 5000; i++)
		add_sample(&record, i * 4096, add_stack(&record, i));
	cairn_record_thread(&record, 1);
	for (uint64_t i = 1; i < 200; i++)
		add_module(&record, i << 20);
	if (record.header->live + record.header->dropped != samples + 5000 || record.header->live < live)
		return 2;
	if (record.header->dropped == 0 || record.header->stacks_lost == 0 || record.header->modules_lost == 0)
		return 3;
	if (dump(&record) != record.header->live)
		return 4;
	for (uint64_t i = 1; i <= samples; i++)
		if (!cairn_record_free(&record, i * 4096, 0, 2000))
			return 5;
	return 0;
}

static void test_no_memory(void)
{
	static const uint64_t cases[] = {0, 1, 100, 1000};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		int status;
		pid_t child = tap_fork();
		if (child == 0)
			_exit(go_on_without_memory(cases[i]));
		waitpid(child, &status, 0);
		is_int(status, 0, "without memory for more than %u samples, all others are counted as dropped", (unsigned)cases[i]);
	}
}

int main(void)
{
	test_steps();
	test_full_buckets();
	test_meeting();
	test_no_memory();
	return tap_done();
}
