/* bill_test.c - the bill adds up: from a trailer, from two sides that disagree, and from any numbers at all.
 * SPDX-License-Identifier: Apache-2.0 */
#include "series/bill_svg.h"
#include "tap.h"

static const uint64_t megabyte = 1 << 20;

static bool adds_up(const struct cairn_bill *bill)
{
	uint64_t sum = 0;
	for (int i = 0; i < CAIRN_BILL_LINES; i++) {
		if (bill->lines[i] > (uint64_t)1 << 62)
			return false;
		sum += bill->lines[i];
	}
	return sum == bill->total;
}

/* A service of which both sides agree: 100 MB handed out, 20 MB of it cached, 30 MB unused in pages, 10 MB dirty, 4 MB metadata. */
static struct cairn_bill_facts service(void)
{
	struct cairn_bill_facts facts = {
		.has_allocator = true,
		.allocated = 100 * megabyte,
		.active = 130 * megabyte,
		.dirty = 10 * megabyte,
		.resident = 144 * megabyte,
		.cache = 20 * megabyte,
		.mapped = 144 * megabyte,
		.retained = 50 * megabyte,
		.page = 4096,
	};
	facts.smaps.kinds[CAIRN_SMAPS_NORESERVE] = (struct cairn_smaps_sum){194 * megabyte, 144 * megabyte, 0};
	facts.smaps.kinds[CAIRN_SMAPS_FILE].rss = 6 * megabyte;
	facts.smaps.rss = facts.rss = 150 * megabyte;
	return facts;
}

static void test_agreement(void)
{
	struct cairn_bill_facts facts = service();
	struct cairn_bill bill;
	cairn_bill_make(&bill, &facts);
	ok(adds_up(&bill) && bill.total == 150 * megabyte, "both sides agree: it adds up");
	is_int(bill.lines[CAIRN_BILL_LIVE] / megabyte, 80, "live objects");
	is_int(bill.lines[CAIRN_BILL_CACHE] / megabyte, 20, "thread caches");
	is_int(bill.lines[CAIRN_BILL_UNUSED] / megabyte, 30, "unused");
	is_int(bill.lines[CAIRN_BILL_DIRTY] / megabyte, 10, "dirty");
	is_int(bill.lines[CAIRN_BILL_METADATA] / megabyte, 4, "metadata");
	is_int(bill.lines[CAIRN_BILL_REST], 0, "nothing is unexplained");
	is_int(bill.retained / megabyte, 50, "retained is beside it");
}

/* A process that was attached to when it had 60 MB, of which 50 are left. */
static void test_before(void)
{
	struct cairn_bill_facts facts = service();
	struct cairn_bill bill;
	facts.has_profile = true;
	facts.profile_bytes = (double)(30 * megabyte);
	facts.before = 60 * megabyte;
	cairn_bill_make(&bill, &facts);
	ok(adds_up(&bill) && bill.total == 150 * megabyte, "allocated before: it adds up");
	is_int(bill.lines[CAIRN_BILL_BEFORE] / megabyte, 50, "what lives and was not sampled was allocated before");
	is_int(bill.lines[CAIRN_BILL_LIVE] / megabyte, 30, "the rest is what the profile knows of");
	facts.before = 20 * megabyte;
	cairn_bill_make(&bill, &facts);
	is_int(bill.lines[CAIRN_BILL_BEFORE] / megabyte, 20, "never more than there was");
	facts.has_profile = false;
	cairn_bill_make(&bill, &facts);
	is_int(bill.lines[CAIRN_BILL_BEFORE], 0, "without a profile nobody can say");
	facts = (struct cairn_bill_facts){.has_profile = true, .profile_bytes = (double)(5 * megabyte), .before = 100 * megabyte};
	facts.smaps.kinds[CAIRN_SMAPS_HEAP].rss = 40 * megabyte;
	facts.smaps.kinds[CAIRN_SMAPS_ANONYMOUS].rss = 10 * megabyte;
	facts.smaps.rss = facts.rss = 50 * megabyte;
	cairn_bill_make(&bill, &facts);
	ok(adds_up(&bill), "another allocator: it adds up");
	is_int(bill.lines[CAIRN_BILL_BEFORE] / megabyte, 45, "all but what was sampled");
}

static void test_untouched(void)
{
	struct cairn_bill_facts facts = service();
	struct cairn_bill bill;
	facts.smaps.kinds[CAIRN_SMAPS_NORESERVE].rss = 100 * megabyte;
	facts.smaps.rss = facts.rss = 106 * megabyte;
	facts.large = 60 * megabyte;
	cairn_bill_make(&bill, &facts);
	is_int(bill.untouched / megabyte, 44, "what was never touched is not resident");
	is_int(bill.lines[CAIRN_BILL_LIVE] / megabyte, 56, "and taken off large live objects, thread caches and unused parts alike");
	facts.smaps.has_holes = true;
	facts.smaps.holes = facts.retained + (facts.mapped - facts.active - facts.dirty) + 40 * megabyte;
	cairn_bill_make(&bill, &facts);
	is_int(bill.lines[CAIRN_BILL_LIVE] / megabyte, 40, "off the large ones where there are holes that are not retained");
	facts.smaps.holes = facts.retained;
	cairn_bill_make(&bill, &facts);
	is_int(bill.lines[CAIRN_BILL_LIVE] / megabyte, 80, "and not where there are none");
	facts.smaps.has_holes = false;
	facts.large = 0;
	cairn_bill_make(&bill, &facts);
	is_int(bill.lines[CAIRN_BILL_LIVE] / megabyte, 80, "small ones are touched by whoever asked for them");
	ok(bill.lines[CAIRN_BILL_UNUSED] < 5 * megabyte, "so it is taken off what was never handed out");
	facts.internal = 40 * megabyte;
	facts.allocated += 40 * megabyte;
	facts.active += 40 * megabyte;
	facts.resident += 40 * megabyte;
	facts.large = 100 * megabyte;
	facts.smaps.kinds[CAIRN_SMAPS_NORESERVE].rss = 144 * megabyte;
	facts.smaps.rss = facts.rss = 150 * megabyte;
	cairn_bill_make(&bill, &facts);
	is_int(bill.lines[CAIRN_BILL_LIVE] / megabyte, 80, "room in thread caches goes before large objects");
	facts = service();
	facts.large = 60 * megabyte;
	facts.smaps.kinds[CAIRN_SMAPS_NORESERVE].rss = 100 * megabyte;
	facts.smaps.rss = facts.rss = 106 * megabyte;
	cairn_bill_make(&bill, &facts);
	ok(adds_up(&bill) && bill.total == 106 * megabyte && bill.lines[CAIRN_BILL_REST] == 0, "it adds up");
	facts.smaps.regions = 1;
	cairn_bill_make(&bill, &facts);
	ok(bill.lines[CAIRN_BILL_METADATA] > 2 * megabyte && bill.lines[CAIRN_BILL_METADATA] < 3 * megabyte,
	   "the sparse tree of addresses goes first");
	facts.smaps.kinds[CAIRN_SMAPS_NORESERVE].swap = facts.smaps.swap = 44 * megabyte;
	cairn_bill_make(&bill, &facts);
	ok(bill.untouched == 0 && bill.swap == 44 * megabyte, "unless it is swapped out");
	facts.smaps.kinds[CAIRN_SMAPS_NORESERVE].rss = 0;
	facts.smaps.rss = facts.rss = 6 * megabyte;
	cairn_bill_make(&bill, &facts);
	ok(adds_up(&bill) && bill.total == 6 * megabyte && bill.lines[CAIRN_BILL_LIVE] == 0, "all of it");
}

static void test_surplus(void)
{
	struct cairn_bill_facts facts = service();
	struct cairn_bill bill;
	facts.smaps.kinds[CAIRN_SMAPS_NORESERVE].rss += 30 * megabyte;
	facts.smaps.rss += 30 * megabyte;
	cairn_bill_make(&bill, &facts);
	is_int(bill.lines[CAIRN_BILL_REST] / megabyte, 30, "what nothing explains is the rest");
	facts.smaps.huge = 100 * megabyte;
	cairn_bill_make(&bill, &facts);
	is_int(bill.lines[CAIRN_BILL_RETAINED] / megabyte, 30, "huge pages explain it: they reach into what was given back");
	is_int(bill.retained / megabyte, 20, "which then is not all non-resident");
	facts.smaps.huge = 0;
	facts.smaps.kinds[CAIRN_SMAPS_NORESERVE].size += 25 * megabyte;
	cairn_bill_make(&bill, &facts);
	is_int(bill.lines[CAIRN_BILL_ANONYMOUS] / megabyte, 25, "so does a mapping that is not jemalloc's, as far as it is large");
	is_int(bill.lines[CAIRN_BILL_REST] / megabyte, 5, "and no further");
	ok(adds_up(&bill), "it adds up");
	facts = service();
	facts.rss += 2 * megabyte;
	cairn_bill_make(&bill, &facts);
	is_int(bill.lines[CAIRN_BILL_REST] / megabyte, 2, "what the kernel counts beyond its mappings is unexplained, too");
}

static void test_other_hosts(void)
{
	struct cairn_bill_facts facts = service();
	struct cairn_bill bill;
	facts.smaps.kinds[CAIRN_SMAPS_ANONYMOUS] = facts.smaps.kinds[CAIRN_SMAPS_NORESERVE];
	facts.smaps.kinds[CAIRN_SMAPS_NORESERVE] = (struct cairn_smaps_sum){0};
	cairn_bill_make(&bill, &facts);
	ok(adds_up(&bill) && bill.lines[CAIRN_BILL_LIVE] == 80 * megabyte && bill.lines[CAIRN_BILL_ANONYMOUS] == 0,
	   "a machine that never overcommits: the same bill");
	facts.smaps.kinds[CAIRN_SMAPS_HEAP] = facts.smaps.kinds[CAIRN_SMAPS_ANONYMOUS];
	facts.smaps.kinds[CAIRN_SMAPS_ANONYMOUS] = (struct cairn_smaps_sum){0};
	cairn_bill_make(&bill, &facts);
	ok(adds_up(&bill) && bill.lines[CAIRN_BILL_LIVE] == 80 * megabyte && bill.lines[CAIRN_BILL_HEAP] == 0,
	   "an allocator that grows the heap: the same bill");
	facts.smaps.kinds[CAIRN_SMAPS_ANONYMOUS] = facts.smaps.kinds[CAIRN_SMAPS_HEAP];
	facts.smaps.kinds[CAIRN_SMAPS_HEAP] = (struct cairn_smaps_sum){0};
	facts.has_allocator = false;
	cairn_bill_make(&bill, &facts);
	ok(adds_up(&bill) && bill.lines[CAIRN_BILL_ANONYMOUS] == 144 * megabyte && bill.lines[CAIRN_BILL_LIVE] == 0,
	   "without the allocator's side it is anonymous memory");
}

static void test_trailer(void)
{
	struct cairn_trailer trailer;
	struct cairn_bill_facts facts;
	struct cairn_bill bill;
	struct cairn_error error;
	ok(cairn_trailer_read(cairn_bytes_of("# cairn trailer 1\n# cairn jemalloc 5.3.0-0-g1\n# cairn arenas.page 4096\n# cairn "
					     "stats.allocated 1000000\n# cairn stats.active 1200000\n"
					     "# cairn stats.resident 1300000\n# cairn stats.pdirty 2\n# cairn stats.mapped 1400000\n# "
					     "cairn class 100 5000 400 5\n# cairn class x\n"
					     "# cairn class 1 1 1 0\n# cairn smaps.rss 2000000\n# cairn smaps.rss.noreserve 1300000\n# "
					     "cairn smaps.size.noreserve 1400000\n"
					     "# cairn smaps.rss.file 700000\n# cairn end\n"),
			      &trailer),
	   "a trailer alone");
	ok(cairn_bill_facts_read(&facts, &trailer, &error) && facts.dirty == 8192 && facts.has_classes, "its facts");
	is_near(facts.slack, 0.2, 1e-9, "a fifth of each object was not asked for");
	cairn_bill_make(&bill, &facts);
	ok(adds_up(&bill) && bill.total == 2000000, "its bill");
	is_near((double)bill.lines[CAIRN_BILL_SLACK], 200000, 1, "the slack");
	ok(cairn_trailer_read(cairn_bytes_of("# cairn trailer 1\n# cairn pid 1\n"), &trailer) &&
		   !cairn_bill_facts_read(&facts, &trailer, &error),
	   "one that knows nothing of memory: %s", error.text);
}

/* A number that is likely to break something. */
static uint64_t hostile(uint64_t *state)
{
	*state = *state * 6364136223846793005u + 1442695040888963407u;
	uint64_t random = *state >> 11;
	switch (random % 6) {
	case 0:
		return 0;
	case 1:
		return (uint64_t)1 << 54;
	case 2:
		return random % 4096;
	default:
		return random % ((uint64_t)1 << (random % 54));
	}
}

static void test_hostile(void)
{
	uint64_t state = 1;
	int bad = 0;
	for (int i = 0; i < 200000; i++) {
		struct cairn_bill_facts facts = {.has_allocator = i % 8 != 0,
						 .has_classes = i % 3 == 0,
						 .slack = (double)(hostile(&state) % 1000) / 999,
						 .slack_pages = (double)(hostile(&state) % 1000) / 999,
						 .has_profile = true,
						 .sampled_size = (double)hostile(&state),
						 .sampled_touched = (double)hostile(&state),
						 .sampled_objects = (double)hostile(&state)};
		uint64_t *const numbers[] = {&facts.rss,  &facts.allocated, &facts.active, &facts.mapped, &facts.retained, &facts.resident,
					     &facts.base, &facts.internal,  &facts.cache,  &facts.dirty,  &facts.muzzy,	   &facts.page};
		for (size_t j = 0; j < sizeof numbers / sizeof *numbers; j++)
			*numbers[j] = hostile(&state);
		char name[40];
		uint64_t *value;
		for (unsigned j = 0; cairn_smaps_number(&facts.smaps, j, name, &value); j++)
			*value = hostile(&state);
		struct cairn_bill bill;
		cairn_bill_make(&bill, &facts);
		bad += !adds_up(&bill) || bill.retained > facts.retained || bill.total < facts.smaps.rss;
	}
	is_int(bad, 0, "200000 bills of any numbers add up, with no line negative");
}

static void test_picture(void)
{
	struct cairn_bill_facts facts = service();
	struct cairn_bill bill;
	struct cairn_buffer out = cairn_buffer(1 << 20);
	cairn_bill_make(&bill, &facts);
	cairn_bill_svg(&bill, &(struct cairn_bill_picture){"a <title> & more", "x", "note"}, &out);
	cairn_buffer_byte(&out, 0);
	ok(strstr(out.data, "a &lt;title&gt; &amp; more") && !strstr(out.data, "<title> &"), "texts are escaped");
	ok(strstr(out.data, "data-line=\"live\" data-bytes=\"83886080\""), "a line is there with its bytes");
	cairn_buffer_free(&out);
}

/* tcmalloc, asked: free objects in its central lists are no thread's. */
static void test_tcmalloc(void)
{
	static const char text[] = "# cairn trailer 1\n"
				   "# cairn malloc.kind tcmalloc\n# cairn malloc.system 209715200\n# cairn malloc.physical 209715200\n"
				   "# cairn malloc.used 52428800\n# cairn malloc.cache 6291456\n# cairn malloc.central 146800640\n"
				   "# cairn malloc.free 4194304\n# cairn end\n";
	struct cairn_bill_facts facts = {.has_apart = true};
	struct cairn_trailer trailer;
	struct cairn_bill bill;
	ok(cairn_trailer_read(cairn_bytes_of(text), &trailer), "figures of tcmalloc");
	cairn_bill_facts_malloc(&facts, &trailer);
	facts.smaps.kinds[CAIRN_SMAPS_ANONYMOUS] = (struct cairn_smaps_sum){300 * megabyte, 200 * megabyte, 0};
	facts.smaps.rss = facts.rss = 200 * megabyte;
	cairn_bill_make(&bill, &facts);
	ok(adds_up(&bill), "tcmalloc: it adds up");
	is_int(bill.lines[CAIRN_BILL_CACHE] / megabyte, 6, "what threads keep");
	is_int(bill.lines[CAIRN_BILL_UNUSED] / megabyte, 140, "and what lies free in spans, in lists for all threads");
	is_int(bill.lines[CAIRN_BILL_LIVE] / megabyte, 50, "live objects");
}

/* Found by a walk: 84 MB are resident, of which 5 are cached and 9 free; of 80 MB of live objects 70 were touched. */
static void test_walked(void)
{
	struct cairn_bill_facts facts = {.malloc = CAIRN_BILL_WALKED, .has_malloc = true, .has_apart = true, .has_profile = true};
	struct cairn_bill bill;
	facts.counts.physical = 84 * megabyte;
	facts.counts.used = 80 * megabyte;
	facts.counts.cache = 5 * megabyte;
	facts.counts.free = 9 * megabyte;
	facts.smaps.kinds[CAIRN_SMAPS_HEAP] = (struct cairn_smaps_sum){20 * megabyte, 10 * megabyte, 0};
	facts.smaps.kinds[CAIRN_SMAPS_ANONYMOUS] = (struct cairn_smaps_sum){100 * megabyte, 79 * megabyte, 0};
	facts.smaps.rss = facts.rss = 89 * megabyte;
	cairn_bill_make(&bill, &facts);
	ok(adds_up(&bill), "walked: it adds up");
	is_int(bill.lines[CAIRN_BILL_LIVE] / megabyte, 70, "of live objects what is resident");
	is_int(bill.lines[CAIRN_BILL_CACHE] / megabyte, 5, "what is cached");
	is_int(bill.lines[CAIRN_BILL_FREE] / megabyte, 9, "what is free");
	is_int((bill.lines[CAIRN_BILL_HEAP] + bill.lines[CAIRN_BILL_ANONYMOUS]) / megabyte, 5, "and the rest is nobody's");
	facts.counts.used = 64 * megabyte;
	cairn_bill_make(&bill, &facts);
	ok(adds_up(&bill) && bill.lines[CAIRN_BILL_METADATA] == 6 * megabyte, "what is in no object is the allocators' own");
}

/* glibc's malloc, asked: 80 MB of arenas, of which 50 are used, 20 in bins, 4 fast and 6 at the ends; 40 MB in large objects, of which a
 * quarter is resident; and 30 MB that the service mapped itself. */
static void test_glibc(void)
{
	struct cairn_bill_facts facts = {.malloc = CAIRN_BILL_GLIBC, .has_malloc = true, .has_apart = true, .has_profile = true};
	struct cairn_bill bill;
	facts.counts.system = 80 * megabyte;
	facts.counts.used = 50 * megabyte;
	facts.counts.free = 26 * megabyte;
	facts.counts.top = 6 * megabyte;
	facts.counts.fast = 4 * megabyte;
	facts.counts.mapped = 40 * megabyte;
	facts.smaps.kinds[CAIRN_SMAPS_HEAP] = (struct cairn_smaps_sum){60 * megabyte, 56 * megabyte, 0};
	facts.smaps.kinds[CAIRN_SMAPS_ARENA] = (struct cairn_smaps_sum){20 * megabyte, 20 * megabyte, 0};
	facts.smaps.kinds[CAIRN_SMAPS_ANONYMOUS] = (struct cairn_smaps_sum){100 * megabyte, 12 * megabyte, 0};
	facts.smaps.kinds[CAIRN_SMAPS_MAPPED] = (struct cairn_smaps_sum){50 * megabyte, 30 * megabyte, 0};
	facts.smaps.kinds[CAIRN_SMAPS_LEDGER] = (struct cairn_smaps_sum){16 * megabyte, 16 * megabyte, 0};
	facts.smaps.rss = facts.rss = 134 * megabyte;
	cairn_bill_make(&bill, &facts);
	ok(adds_up(&bill) && bill.total == 134 * megabyte, "glibc: it adds up");
	is_int(bill.lines[CAIRN_BILL_TOP] / megabyte, 2, "what is missing of arenas is missing at their ends");
	is_int(bill.lines[CAIRN_BILL_FREE] / megabyte, 20, "what is free in bins is there");
	is_int(bill.lines[CAIRN_BILL_FAST] / megabyte, 4, "and so are fast bins");
	is_int(bill.lines[CAIRN_BILL_LIVE] / megabyte, 62, "of large objects what is resident");
	is_int(bill.lines[CAIRN_BILL_MAPPED] / megabyte, 30, "what the service mapped itself has a line");
	is_int(bill.lines[CAIRN_BILL_LEDGER] / megabyte, 16, "and so has the ledger");
	is_int(bill.lines[CAIRN_BILL_ANONYMOUS], 0, "nothing else is anonymous");
	is_int(bill.lines[CAIRN_BILL_REST], 0, "nothing is unexplained");
	is_int(bill.untouched / megabyte, 32, "what was never touched");
	facts.smaps.kinds[CAIRN_SMAPS_HEAP].rss = 90 * megabyte;
	facts.smaps.rss = facts.rss = 168 * megabyte;
	cairn_bill_make(&bill, &facts);
	ok(adds_up(&bill), "a heap of which glibc knows less than there is");
	is_int(bill.lines[CAIRN_BILL_REST] / megabyte, 2, "is unexplained as far as that goes, and not called free");
	facts.smaps.kinds[CAIRN_SMAPS_ARENA] = (struct cairn_smaps_sum){0};
	facts.smaps.kinds[CAIRN_SMAPS_HEAP] = (struct cairn_smaps_sum){60 * megabyte, 60 * megabyte, 0};
	facts.smaps.kinds[CAIRN_SMAPS_NORESERVE] = (struct cairn_smaps_sum){64 * megabyte, 20 * megabyte, 0};
	facts.smaps.rss = facts.rss = 138 * megabyte;
	cairn_bill_make(&bill, &facts);
	is_int(bill.lines[CAIRN_BILL_ANONYMOUS], 0, "an arena without a telling shape is glibc's, as far as it has more than shows");
}

int main(void)
{
	test_agreement();
	test_before();
	test_untouched();
	test_surplus();
	test_other_hosts();
	test_walked();
	test_glibc();
	test_tcmalloc();
	test_trailer();
	test_hostile();
	test_picture();
	return tap_done();
}
