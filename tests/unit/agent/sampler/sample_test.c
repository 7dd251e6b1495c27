/* sample_test.c - what is sampled and what is not: frees of nothing, custom heaps, and the children of a fork.
 * SPDX-License-Identifier: Apache-2.0 */
#include "agent/sampler/sample.h"

#include "agent/sampler/heap.h"
#include "agent/sampler/sampler.h"
#include "../include/cairn.h"
#include "tap.h"

#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

enum { always = 1 << 20 }; /* an object of so many bytes is always sampled with a period of 1 */

static struct cairn_ledger_header *header;

/* What sampler.c does when sampling is switched on, without relocations: nothing but this test is sampled. */
static bool open_ledger(void)
{
	struct cairn_error error;
	if (!cairn_record_open(&cairn_sampling.record, CAIRN_RECORD_LEAST, &error))
		return ok(false, "%s", error.text);
	header = cairn_sampling.record.header;
	cairn_filter_open(cairn_sampling.record.sample_mask + 1);
	cairn_sampling.process = getpid();
	cairn_sampling.depth = 64;
	cairn_sampling.generation = 1;
	cairn_sampling.period = 1;
	cairn_sampling.active = true;
	cairn_sampling.open = true;
	return true;
}

static void allocate(uint64_t address)
{
	cairn_sample_thread.countdown = (uint64_t)-1;
	cairn_sample_spent((void *)(uintptr_t)address, always, (uintptr_t)allocate);
}

static void test_null(void)
{
	uint64_t address = 4096;
	allocate(address); /* the first allocation of a thread draws its first distance */
	cairn_sample_freed((void *)(uintptr_t)address);
	while ((cairn_filter_hash(address) & (cairn_filter_mask << 5 | 31)) != 0)
		address += 16;
	allocate(address);
	uint64_t freed = header->freed;
	ok(header->live == 1 && cairn_filter_has(0), "a live sample for which the filter takes NULL");
	for (int i = 0; i < 3; i++)
		cairn_sample_freed(NULL);
	ok(header->live == 1 && header->freed == freed, "NULL is freed, and nothing changes");
	cairn_sample_freed((void *)(uintptr_t)address);
	ok(header->live == 0 && header->freed == freed + 1 && !cairn_filter_has(0), "until that sample is freed");
}

static void test_heaps(void)
{
	enum { count = 200 };
	uint64_t replaced = header->replaced;
	unsigned one = cairn_heap("one"), other = cairn_heap("other");
	ok(one && other == one + 1 && cairn_heap("one") == one, "two heaps have numbers, the same for the same name");
	is_text(header->heaps[other], "other", "and names in the ledger");
	for (uint64_t id = 0; id < count; id++)
		cairn_heap_allocated(one, id, always);
	for (uint64_t id = 0; id < count; id++)
		cairn_heap_allocated(other, id, always);
	ok(header->live == 2 * count && header->replaced == replaced, "objects of two heaps with the same ids are all live: %llu",
	   (unsigned long long)header->live);
	for (uint64_t id = 0; id < count; id++)
		cairn_heap_freed(one, id);
	is_int(header->live, count, "of which one heap's are freed");
	for (uint64_t id = 0; id < count; id++)
		cairn_heap_freed(other, id);
	is_int(header->live, 0, "and then the other's");
}

/* Threads that ask for the same names at the same time. */
enum { askers = 4, names = 50 };
static unsigned numbers[askers][names];
static pthread_barrier_t barrier;

static void *ask_for_names(void *context)
{
	unsigned *got = context;
	for (unsigned i = 0; i < names; i++) {
		char name[16];
		snprintf(name, sizeof name, "heap %u", i);
		pthread_barrier_wait(&barrier);
		got[i] = cairn_heap(name);
	}
	return NULL;
}

static void test_names(void)
{
	pthread_t threads[askers];
	unsigned different = 0, none = 0;
	pthread_barrier_init(&barrier, NULL, askers);
	for (int i = 0; i < askers; i++)
		pthread_create(&threads[i], NULL, ask_for_names, numbers[i]);
	for (int i = 0; i < askers; i++)
		pthread_join(threads[i], NULL);
	for (unsigned i = 0; i < names; i++) {
		none += numbers[0][i] == 0;
		for (int j = 1; j < askers; j++)
			different += numbers[j][i] != numbers[0][i];
	}
	ok(different == 0 && none == 0, "threads that ask for a name at once get the same number: %u differ, %u have none", different, none);
	for (unsigned i = 0; i < CAIRN_LEDGER_HEAPS; i++) {
		char name[16];
		snprintf(name, sizeof name, "more %u", i);
		cairn_heap(name);
	}
	ok(cairn_heap("too many") == 0 && cairn_heap("heap 7") == numbers[0][7], "after the last one there are no more, but all are known");
}

/* Each child tells how far away its next sample is. */
static void test_children(void)
{
	enum { children = 4 };
	uint64_t distances[children] = {0};
	int ends[2], well = 0;
	if (pipe(ends) != 0)
		return;
	cairn_sampling.period = UINT64_C(1) << 40;
	cairn_sample_thread.countdown = (uint64_t)-1;
	cairn_heap_allocated(1, 1, 1);
	for (int i = 0; i < children; i++) {
		if (fork() == 0) {
			cairn_sampler_in_child();
			cairn_heap_allocated(1, 1, 1);
			_exit(write(ends[1], &cairn_sample_thread.countdown, sizeof distances[0]) != sizeof distances[0]);
		}
		if (read(ends[0], &distances[i], sizeof distances[0]) == sizeof distances[0])
			well += wait(NULL) > 0;
	}
	is_int(well, children, "forked children go on");
	unsigned same = 0;
	for (int i = 0; i < children; i++)
		for (int j = 0; j < i; j++)
			same += distances[i] == distances[j];
	is_int(same, 0, "and each draws its own samples");
}

int main(void)
{
	if (!open_ledger())
		return tap_done();
	test_null();
	test_heaps();
	test_names();
	test_children();
	return tap_done();
}
