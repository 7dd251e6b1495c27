/* account_test.c - what the bill takes of a walk of the heaps.
 * SPDX-License-Identifier: Apache-2.0 */
#include "live/rss/account.h"

#include "tap.h"

#include <string.h>

enum { megabyte = 1 << 20 };

static void add(struct cairn_walk *walk, enum cairn_walk_kind kind, bool is_read, uint64_t live, uint64_t cached, uint64_t free)
{
	struct cairn_walk_heap heap = {.kind = kind, .module = "", .is_read = is_read};
	heap.sum.live = live * megabyte;
	heap.sum.cached = cached * megabyte;
	heap.sum.free = heap.sum.resident_free = free * megabyte;
	heap.sum.resident = (live + cached + free) * megabyte;
	walk->heaps[walk->heap_count++] = heap;
	cairn_walk_add(&walk->sum, &heap.sum);
}

/* The account is large. */
static bool take(struct cairn_bill_facts *facts, const struct cairn_walk *walk)
{
	static struct cairn_account account;
	memset(&account, 0, sizeof account);
	account.facts = *facts;
	bool taken = cairn_account_take_walk(&account, walk);
	*facts = account.facts;
	return taken;
}

int main(void)
{
	struct cairn_walk walk = {.heap_count = 0};
	add(&walk, CAIRN_WALK_GLIBC, true, 10, 2, 3);
	struct cairn_bill_facts facts = {.has_malloc = true, .malloc = CAIRN_BILL_GLIBC, .counts = {.used = 12 * megabyte}};
	ok(take(&facts, &walk) && facts.malloc == CAIRN_BILL_GLIBC, "glibc alone goes by its own figures");
	is_int(facts.counts.cache / megabyte, 2, "but for what threads keep");

	add(&walk, CAIRN_WALK_MIMALLOC, true, 100, 4, 6);
	facts = (struct cairn_bill_facts){.has_malloc = true, .malloc = CAIRN_BILL_GLIBC, .counts = {.used = 12 * megabyte, .top = megabyte}};
	ok(take(&facts, &walk) && facts.malloc == CAIRN_BILL_WALKED, "with another allocator in the program, the walk is taken");
	is_int(facts.counts.used / megabyte, 110, "live objects of both");
	is_int(facts.counts.cache / megabyte, 6, "caches of both");
	is_int(facts.counts.free / megabyte, 9, "free memory of both");
	is_int(facts.counts.physical / megabyte, 125, "and what is resident");
	is_int(facts.counts.top, 0, "nothing is left of the figures of one");

	facts = (struct cairn_bill_facts){.has_malloc = false};
	ok(take(&facts, &walk) && facts.has_malloc, "also where nobody could be asked");
	facts = (struct cairn_bill_facts){.has_malloc = true, .malloc = CAIRN_BILL_TCMALLOC, .counts = {.used = megabyte}};
	ok(!take(&facts, &walk) && facts.counts.used == megabyte, "an allocator that was asked knows better");
	facts = (struct cairn_bill_facts){.has_allocator = true};
	ok(!take(&facts, &walk) && !facts.has_malloc, "and so does jemalloc");

	walk.heap_count = 0;
	walk.sum = (struct cairn_walk_sum){0};
	add(&walk, CAIRN_WALK_GLIBC, true, 10, 2, 3);
	add(&walk, CAIRN_WALK_TCMALLOC, false, 0, 0, 0);
	facts = (struct cairn_bill_facts){.has_malloc = false};
	ok(!take(&facts, &walk) && !facts.has_malloc, "what could not be read leaves a bill by the kernel's figures");
	return tap_done();
}
