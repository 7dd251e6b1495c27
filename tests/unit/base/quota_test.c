/* quota_test.c - who may take how much, and buffers that take it.
 * SPDX-License-Identifier: Apache-2.0 */
#include "base/quota.h"

#include "base/pages.h"
#include "tap.h"

#include <pthread.h>

static struct cairn_quota whole, remote, local;

static void set_up(void)
{
	whole = (struct cairn_quota){.limit = 1000};
	remote = (struct cairn_quota){.limit = 750, .whole = &whole};
	local = (struct cairn_quota){.limit = 1000, .reserve = 250, .whole = &whole};
}

static void test_shares(void)
{
	set_up();
	ok(cairn_quota_take(NULL, SIZE_MAX), "no quota is no limit");
	ok(cairn_quota_take(&remote, 750) && !cairn_quota_take(&remote, 1), "a part has its limit");
	ok(cairn_quota_take(&local, 250) && !cairn_quota_take(&local, 1), "the other has what is left");
	is_int((long)atomic_load(&whole.used), 1000, "the whole is used up");
	cairn_quota_give(&remote, 700);
	ok(cairn_quota_take(&local, 700), "what one gives back the other may take");
	ok(!cairn_quota_take(&remote, 51), "then there is less for the first");
	is_int(atomic_load(&remote.refused), 2, "refusals are counted");
	ok(!cairn_quota_take(&local, SIZE_MAX) && !cairn_quota_take(&remote, SIZE_MAX - 10), "nothing overflows");
	set_up();
	cairn_quota_force(&remote, 5000);
	ok(!cairn_quota_take(&remote, 1), "what was there already counts, beyond every limit");
	ok(cairn_quota_take(&local, 250) && !cairn_quota_take(&local, 1), "the reserve is there all the same");
	cairn_quota_give(&remote, 6000);
	is_int((long)atomic_load(&remote.used), 0, "no less than nothing is used");
}

static void test_buffers(void)
{
	whole = (struct cairn_quota){.limit = 300 << 10};
	struct cairn_buffer small = cairn_pages_of(&whole, 1 << 20), large = cairn_pages_of(&whole, 1 << 20);
	static char text[200 << 10];
	cairn_buffer_append(&small, text, 60 << 10);
	is_int((long)atomic_load(&whole.used), 0, "a small buffer takes nothing");
	cairn_buffer_append(&large, text, 200 << 10);
	is_int((long)atomic_load(&whole.used), 200 << 10, "a large one all it has");
	cairn_buffer_append(&large, text, 80 << 10);
	ok(!large.failed && large.length == 280 << 10, "it grows by what is left where there is not twice as much");
	cairn_buffer_free(&large);
	cairn_buffer_append(&large, text, 200 << 10);
	cairn_buffer_append(&large, text, 200 << 10);
	ok(large.failed && large.length == 200 << 10, "and no more than there is");
	is_int((long)atomic_load(&whole.used), 200 << 10, "having failed, it holds what it held");
	cairn_buffer_free(&large);
	is_int((long)atomic_load(&whole.used), 0, "freed, it has given all back");
	cairn_buffer_free(&small);
	is_int((long)atomic_load(&whole.used), 0, "and the small one nothing that it had not taken");
}

static void *take_and_give(void *quota)
{
	size_t held = 0;
	for (size_t i = 0; i < 20000; i++) {
		size_t bytes = i % 97;
		if (cairn_quota_take(quota, bytes))
			held += bytes;
		if (held > 200) {
			cairn_quota_give(quota, held);
			held = 0;
		}
	}
	cairn_quota_give(quota, held);
	return NULL;
}

static void test_threads(void)
{
	pthread_t threads[4];
	set_up();
	for (int i = 0; i < 4; i++)
		pthread_create(&threads[i], NULL, take_and_give, i & 1 ? &remote : &local);
	for (int i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
	ok(!atomic_load(&remote.used) && !atomic_load(&local.used) && !atomic_load(&whole.used),
	   "threads that take and give leave nothing behind");
}

int main(void)
{
	test_shares();
	test_buffers();
	test_threads();
	return tap_done();
}
