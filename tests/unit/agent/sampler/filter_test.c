/* filter_test.c - what the filter finds: all that was added, in either part of its table and while threads change it, and little else.
 * SPDX-License-Identifier: Apache-2.0 */
#include "agent/sampler/filter.h"

#include "tap.h"

#include <pthread.h>
#include <sched.h>

enum { slots = 65536, live = 32000, few = 500, asked = 100000 };

static uint64_t next_address(uint64_t *state)
{
	*state = *state * 6364136223846793005u + 1442695040888963407u;
	return UINT64_C(0x7f0000000000) + (*state >> 32 << 4);
}

/* Of random addresses that were not added, how many look as if they were. */
static unsigned count_wrong(void)
{
	unsigned wrong = 0;
	uint64_t state = 1;
	for (unsigned i = 0; i < asked; i++)
		wrong += cairn_filter_has(next_address(&state));
	return wrong;
}

/* COUNT live samples, whose addresses FIRST and STEP make; random ones if STEP is 0. */
static void test_selective(const char *what, unsigned count, uint64_t first, uint64_t step, unsigned one_in)
{
	unsigned missing = 0, left = 0;
	uint64_t random = 7;
	for (uint64_t i = 0; i < count; i++)
		cairn_filter_add(step ? first + i * step : next_address(&random));
	random = 7;
	for (uint64_t i = 0; i < count; i++)
		missing += !cairn_filter_has(step ? first + i * step : next_address(&random));
	ok(missing == 0, "%s: what was added is always found", what);
	unsigned wrong = count_wrong();
	ok(wrong < asked / one_in, "%s: of other addresses less than one in %u: %u of %d", what, one_in, wrong, asked);
	random = 7;
	for (uint64_t i = 0; i < count; i++)
		cairn_filter_remove(step ? first + i * step : next_address(&random));
	random = 7;
	for (uint64_t i = 0; i < count; i++)
		left += cairn_filter_has(step ? first + i * step : next_address(&random));
	ok(left == 0, "%s: once all are removed nothing is left", what);
}

static void test_growth(void)
{
	unsigned missing = 0, left = 0, sizes = 0, wrong_most = 0;
	uint64_t random = 7, mask = cairn_filter_mask;
	for (unsigned i = 1; i <= live; i++) {
		cairn_filter_add(next_address(&random));
		unsigned wrong = i % 64 == 0 ? count_wrong() : 0;
		wrong_most = wrong > wrong_most ? wrong : wrong_most;
		cairn_filter_grow(i);
		if (cairn_filter_mask == mask && i < live)
			continue;
		sizes += cairn_filter_mask != mask;
		mask = cairn_filter_mask;
		uint64_t again = 7;
		for (unsigned j = 0; j < i; j++)
			missing += !cairn_filter_has(next_address(&again));
	}
	ok(sizes == 1, "more of the table is used as samples become more");
	ok(missing == 0, "and all of them are found, also those that were added before");
	ok(wrong_most < asked / 25, "of other addresses less than one in 25 at any time: %u of %d", wrong_most, asked);
	random = 7;
	for (unsigned i = 0; i < live; i++)
		cairn_filter_remove(next_address(&random));
	random = 7;
	for (unsigned i = 0; i < live; i++)
		left += cairn_filter_has(next_address(&random));
	ok(left < live / 200, "once all are removed little is left: %u", left);
	cairn_filter_clear();
	ok(count_wrong() == 0 && cairn_filter_mask < mask, "a child begins with an empty filter, of which little is used");
}

/* Threads whose samples share a count: each finds its own as long as it is there. */

enum { threads = 4, rounds = 2000000 };

static const uint64_t shared_place = 0x7f0000000000;

static void *add_and_remove(void *argument)
{
	static const uint64_t step = 8; /* several within a bit, and beside it */
	uint64_t missing = 0, key = shared_place + *(const unsigned *)argument * step;
	for (unsigned i = 0; i < rounds; i++) {
		cairn_filter_add(key);
		for (int looks = 0; looks < 3; looks++)
			missing += !cairn_filter_has(key);
		cairn_filter_remove(key);
		if (i % 1024 == 0)
			sched_yield();
	}
	return (void *)(uintptr_t)missing;
}

static void test_threads(void)
{
	pthread_t running[threads];
	unsigned numbers[threads], left = 0;
	uint64_t missing = 0;
	for (unsigned i = 0; i < threads; i++) {
		numbers[i] = i;
		pthread_create(&running[i], NULL, add_and_remove, &numbers[i]);
	}
	for (unsigned i = 0; i < threads; i++) {
		void *found;
		pthread_join(running[i], &found);
		missing += (uintptr_t)found;
	}
	for (unsigned i = 0; i < threads * 8; i++)
		left += cairn_filter_has(shared_place + i);
	ok(missing == 0, "a sample is found while others that share its count come and go: %llu times not", (unsigned long long)missing);
	ok(left == 0, "and nothing is left of them");
}

int main(void)
{
	ok(!cairn_filter_has(0x1234560), "an empty filter has nothing");
	cairn_filter_open(slots);
	test_selective("few", few, 0, 0, 60);
	test_selective("few that are mapped", few, 0x7f1234567010, (1536 << 10) + 4096, 60);
	test_selective("few at large powers of two", few, 0x7e0000000000, 2 << 20, 60);
	test_threads();
	test_growth();
	cairn_filter_grow(live);
	test_selective("addresses anywhere", live, 0, 0, 30);
	test_selective("mapped objects, one behind the other", live, 0x7f1234567010, (1536 << 10) + 4096, 30);
	test_selective("objects at large powers of two", live, 0x7e0000000000, 2 << 20, 30);
	test_selective("objects at other powers of two", live, 0x7e0000000000, 64 << 10, 30);
	test_selective("sampled every one", live, 0x555555556010, 64, 25);
	test_threads();
	return tap_done();
}
