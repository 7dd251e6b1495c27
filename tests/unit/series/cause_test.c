/* cause_test.c - why resident memory is what it is, from facts.
 * SPDX-License-Identifier: Apache-2.0 */
#include "series/cause.h"
#include "tap.h"

#include <string.h>

static const uint64_t megabyte = 1 << 20;

static struct cairn_bill bill;
static struct cairn_bill_facts bill_facts;
static struct cairn_walk walk;
static struct cairn_cause_facts facts;
static struct cairn_causes causes;

/* A process of 1,000 MiB. */
static void begin(void)
{
	bill = (struct cairn_bill){.total = 1000 * megabyte};
	bill_facts = (struct cairn_bill_facts){0};
	walk = (struct cairn_walk){0};
	facts = (struct cairn_cause_facts){.bill = &bill, .bill_facts = &bill_facts, .walk = &walk};
}

/* Adds a heap of glibc's with ARENAS, whose memory is LIVE, and free: RETURNABLE and PINNED. */
static struct cairn_walk_heap *add_heap(size_t arenas, uint64_t live, uint64_t returnable, uint64_t pinned)
{
	struct cairn_walk_heap *heap = &walk.heaps[walk.heap_count++];
	*heap = (struct cairn_walk_heap){.is_read = true, .arena_count = arenas, .module = ""};
	heap->sum = (struct cairn_walk_sum){
		.live = live * megabyte,
		.returnable = returnable * megabyte,
		.pinned = pinned * megabyte,
		.resident_free = (returnable + pinned) * megabyte,
		.resident = (live + returnable + pinned) * megabyte,
	};
	cairn_walk_add(&walk.sum, &heap->sum);
	return heap;
}

static void is_cause(enum cairn_cause_kind kind, const char *sentence)
{
	cairn_causes_find(&causes, &facts);
	is_text(cairn_cause_name(causes.cause), cairn_cause_name(kind), "the cause");
	is_text(causes.sentence, sentence, "the sentence");
}

static const char *reason(enum cairn_cause_kind kind)
{
	for (size_t i = 0; i < causes.reason_count; i++)
		if (causes.reasons[i].kind == kind)
			return causes.reasons[i].text;
	return "";
}

static void test_heap(void)
{
	begin();
	add_heap(1, 900, 30, 0);
	is_cause(CAIRN_CAUSE_LIVE, "900.0 MiB of the 1000.0 MiB resident is live objects: the program holds them.");
	begin();
	add_heap(1, 100, 700, 150);
	is_cause(CAIRN_CAUSE_RETENTION, "850.0 MiB of the 1000.0 MiB resident is free memory that glibc keeps: malloc_trim would return 700.0 MiB "
					"of it; 150.0 MiB is on pages that live objects keep.");
}

static void test_variables(void)
{
	begin();
	add_heap(1, 100, 0, 0);
	bill.lines[CAIRN_BILL_DATA] = 800 * megabyte;
	bill.lines[CAIRN_BILL_FILE] = 50 * megabyte;
	is_cause(CAIRN_CAUSE_VARIABLES, "800.0 MiB of the 1000.0 MiB resident is variables of the program and its libraries, such as "
					"static arrays, or private copies of mapped files.");
}

/* Half of the heap was not found in time; the program has mapped little itself. */
static void test_part(void)
{
	begin();
	add_heap(1, 300, 150, 0)->difference = 400 * megabyte;
	bill_facts.smaps.kinds[CAIRN_SMAPS_HEAP].rss = 900 * megabyte;
	is_cause(CAIRN_CAUSE_LIVE, "300.0 MiB of the 1000.0 MiB resident is live objects: the program holds them.");
	is_int(causes.outside / (double)megabyte, 50, "what was not found of a heap is not the program's own mapping");
}

/* Most of the memory is another allocator's, whose heap is not known: it is not the program's own mapping. */
static void test_unread(void)
{
	begin();
	add_heap(1, 50, 0, 0);
	walk.heaps[walk.heap_count++] = (struct cairn_walk_heap){.kind = CAIRN_WALK_MIMALLOC, .version = "9.1.2", .module = ""};
	bill_facts.smaps.kinds[CAIRN_SMAPS_ANONYMOUS].rss = 900 * megabyte;
	bill_facts.smaps.kinds[CAIRN_SMAPS_MAPPED].rss = 40 * megabyte;
	facts.mapped_bytes = 40 * (double)megabyte;
	is_cause(CAIRN_CAUSE_UNREAD, "850.0 MiB of the 1000.0 MiB resident is in mimalloc 9.1.2, whose heap cannot be read.");
	is_int(causes.outside / (double)megabyte, 40, "what the program is known to have mapped is its own");
	facts.sampled = true;
	cairn_causes_find(&causes, &facts);
	is_text(causes.advice[0].how, "cairn top FOLDER", "the advice is not about mappings");
	bill_facts.profile_bytes = 650 * (double)megabyte;
	is_cause(CAIRN_CAUSE_LIVE, "650.0 MiB of the 1000.0 MiB resident is live objects: the program holds them.");
	bill.has_allocator = true;
	bill.lines[CAIRN_BILL_LIVE] = 200 * megabyte;
	bill.lines[CAIRN_BILL_FREE] = 600 * megabyte;
	is_cause(CAIRN_CAUSE_RETENTION, "600.0 MiB of the 1000.0 MiB resident is free memory that mimalloc keeps, which no call returns.");
}

/* Of arenas of threads and of the rest, each says what is returned and pinned of its own. */
static void test_arenas(void)
{
	begin();
	struct cairn_walk_heap *heap = add_heap(16, 50, 760, 140);
	heap->others = (struct cairn_walk_sum){.returnable = 700 * megabyte, .pinned = 100 * megabyte, .resident_free = 800 * megabyte};
	is_cause(CAIRN_CAUSE_THREADS, "800.0 MiB of the 1000.0 MiB resident is kept for threads: 800.0 MiB free memory in the arenas of threads; "
				      "malloc_trim would return 700.0 MiB of it.");
	is_text(reason(CAIRN_CAUSE_RETENTION),
		"free memory that glibc keeps: malloc_trim would return 60.0 MiB of it; 40.0 MiB is on pages that live objects keep", "the rest");
	heap->arena_count = 4;
	is_cause(CAIRN_CAUSE_RETENTION, "900.0 MiB of the 1000.0 MiB resident is free memory that glibc keeps: malloc_trim would return 760.0 MiB "
					"of it; 140.0 MiB is on pages that live objects keep.");
}

static void test_group(void)
{
	begin();
	add_heap(1, 900, 0, 0);
	facts.group = (struct cairn_cause_group){
		.known = true, .usage = 4000 * megabyte, .limit = 5000 * megabyte, .file = 3000 * megabyte, .shmem = 500 * megabyte};
	is_cause(CAIRN_CAUSE_PAGE_CACHE, "2.4 GiB of the 3.9 GiB charged to the control group is page cache of files that the control group has "
					 "read or written; the kernel drops it when it needs memory.");
	is_int(causes.reasons[0].whole / (double)megabyte, 4000, "it is a part of the charge");
	is_int(causes.reasons[1].whole / (double)megabyte, 1000, "live objects are a part of what is resident");
	facts.group.limit = 0;
	is_cause(CAIRN_CAUSE_LIVE, "900.0 MiB of the 1000.0 MiB resident is live objects: the program holds them.");
	is_int(causes.reason_count, 1, "without a limit, what is charged to the group is no reason");
}

/* Objects of which only a part was written to. */
static void test_untouched(void)
{
	begin();
	add_heap(1, 900, 30, 0);
	walk.sum.live = walk.heaps[0].sum.live = 1500 * megabyte;
	is_cause(CAIRN_CAUSE_LIVE, "900.0 MiB of the 1000.0 MiB resident is live objects: the program holds them.");
	is_int(causes.live / (double)megabyte, 1500, "of how much is live, only that is resident");
}

/* Pages that only freed objects in caches keep are not those of live objects. */
static void test_cached_pins(void)
{
	static const struct cairn_cause_pin pins[] = {{.name = "[freed]", .stack = "", .bytes = 400e6},
						      {.name = "hold", .stack = "hold\n", .bytes = 75 * (double)(1 << 20)}};
	begin();
	add_heap(1, 100, 400, 450);
	walk.sum.pinned_by_cache = walk.heaps[0].sum.pinned_by_cache = 350 * megabyte;
	facts.pins = pins;
	facts.pin_count = 2;
	is_cause(CAIRN_CAUSE_RETENTION, "850.0 MiB of the 1000.0 MiB resident is free memory that glibc keeps: malloc_trim would return "
					"400.0 MiB of it; 100.0 MiB is on pages that live objects keep, 75 % of it those of hold.");
}

/* jemalloc built with a prefix, as in Rust programs, reads another variable. */
static void test_variable(void)
{
	begin();
	struct cairn_walk_heap *heap = add_heap(1, 100, 700, 0);
	heap->kind = CAIRN_WALK_JEMALLOC;
	cairn_causes_find(&causes, &facts);
	is_text(causes.advice[0].how, "MALLOC_CONF=background_thread:true,dirty_decay_ms:1000,muzzy_decay_ms:0", "what jemalloc reads");
	strcpy(heap->variable, "_RJEM_MALLOC_CONF");
	cairn_causes_find(&causes, &facts);
	is_text(causes.advice[0].how, "_RJEM_MALLOC_CONF=background_thread:true,dirty_decay_ms:1000,muzzy_decay_ms:0", "with a prefix");
}

int main(void)
{
	test_heap();
	test_variables();
	test_part();
	test_unread();
	test_arenas();
	test_group();
	test_untouched();
	test_cached_pins();
	test_variable();
	return tap_done();
}
