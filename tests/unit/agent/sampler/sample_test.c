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

int main(void)
{
	if (!open_ledger())
		return tap_done();
	test_null();
	return tap_done();
}
