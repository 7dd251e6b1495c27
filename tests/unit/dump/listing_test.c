/* listing_test.c - which dumps stay: the rules on many made-up folders, against what must hold whatever the folder.
 * SPDX-License-Identifier: Apache-2.0 */
#include "dump/listing.h"

#include "base/pages.h"
#include "tap.h"

#include <stdlib.h>
#include <unistd.h>

static const int64_t second = 1000000000;

static unsigned long state = 1;

static unsigned draw(unsigned below)
{
	state = state * 6364136223846793005u + 1442695040888963407u;
	return (unsigned)(state >> 33) % below;
}

static void add(struct cairn_listing *listing, int pid, uint64_t ticks, int64_t seconds, uint64_t memory, uint64_t size)
{
	struct cairn_dump dump = {
		.process = {.pid = pid, .ticks = ticks, .boot = 1}, .time_ns = seconds * second, .memory = memory, .size = size};
	snprintf(dump.name, sizeof dump.name, "%zu.heap", listing->count);
	cairn_buffer_append(&listing->room, &dump, sizeof dump);
	listing->dumps = (struct cairn_dump *)(void *)listing->room.data;
	listing->count++;
	listing->bytes += size;
}

static struct cairn_listing make(void)
{
	return (struct cairn_listing){.room = cairn_pages(64 << 20)};
}

/* A folder of a few processes, of which this one may run, with dumps at any time and of any size. */
static struct cairn_listing make_any(void)
{
	struct cairn_listing listing = make();
	struct cairn_life self;
	cairn_life_of(getpid(), &self);
	unsigned processes = 1 + draw(14);
	for (unsigned i = 0; i < processes; i++) {
		unsigned dumps = 1 + draw(draw(4) == 0 ? 120 : 8);
		for (unsigned j = 0; j < dumps; j++)
			add(&listing, 1 << 22, 100 + i, 1000 + draw(100000), draw(3) ? draw(1000) : 0, draw(5000));
	}
	for (unsigned j = draw(30); j > 0; j--) {
		add(&listing, self.pid, self.ticks, 1000 + draw(100000), draw(1000), draw(5000));
		listing.dumps[listing.count - 1].process = self;
	}
	cairn_listing_mark(&listing);
	return listing;
}

static size_t process_end(const struct cairn_listing *listing, size_t start)
{
	size_t end = start;
	while (end < listing->count && cairn_life_equal(&listing->dumps[end].process, &listing->dumps[start].process))
		end++;
	return end;
}

/* The properties, each counted over all folders. */
static struct {
	unsigned order, marks, kept, needless, limits, age;
} broken;

static void check_marks(const struct cairn_listing *listing)
{
	for (size_t start = 0, end; start < listing->count; start = end) {
		end = process_end(listing, start);
		unsigned first = 0, highest = 0, newest = 0;
		uint64_t most = 0, marked = 0;
		for (size_t i = start; i < end; i++) {
			const struct cairn_dump *dump = &listing->dumps[i];
			broken.order += i > start && dump->time_ns < dump[-1].time_ns;
			first += (dump->marks & CAIRN_DUMP_FIRST) != 0;
			newest += (dump->marks & CAIRN_DUMP_NEWEST) != 0;
			highest += (dump->marks & CAIRN_DUMP_HIGHEST) != 0;
			most = dump->memory > most ? dump->memory : most;
			marked = dump->marks & CAIRN_DUMP_HIGHEST ? dump->memory : marked;
		}
		broken.marks += first != 1 || highest != 1 || newest != 1 || most != marked ||
				!(listing->dumps[start].marks & CAIRN_DUMP_FIRST) || !(listing->dumps[end - 1].marks & CAIRN_DUMP_NEWEST);
	}
}

/* How many processes that ended had their last dump after TIME. */
static unsigned ended_after(const struct cairn_listing *listing, int64_t time)
{
	unsigned count = 0;
	for (size_t i = 0; i < listing->count; i++)
		count += (listing->dumps[i].marks & (CAIRN_DUMP_NEWEST | CAIRN_DUMP_ALIVE)) == CAIRN_DUMP_NEWEST &&
			 listing->dumps[i].time_ns > time;
	return count;
}

static void check_plan(struct cairn_listing *listing, const struct cairn_folder_limits *limits, int64_t now, uint64_t spare)
{
	const unsigned story = CAIRN_DUMP_FIRST | CAIRN_DUMP_HIGHEST | CAIRN_DUMP_NEWEST;
	uint64_t count = 0, bytes = 0, free_to_go = 0, largest = 0, dropped = 0;
	for (size_t start = 0, end; start < listing->count; start = end) {
		end = process_end(listing, start);
		const struct cairn_dump *last = &listing->dumps[end - 1];
		bool lives = last->marks & CAIRN_DUMP_ALIVE, recent = ended_after(listing, last->time_ns) < 8;
		for (size_t i = start; i < end; i++) {
			const struct cairn_dump *dump = &listing->dumps[i];
			bool drop = dump->marks & CAIRN_DUMP_DROP, part = (dump->marks & story) && (lives || recent);
			bool old = limits->age_seconds && now - dump->time_ns >= (int64_t)(limits->age_seconds + 1) * second;
			broken.kept += drop && part;
			broken.age += old && !part && !drop;
			free_to_go += !part && !drop;
			count += !drop;
			bytes += drop ? 0 : dump->size;
			dropped += drop && !old;
			largest = drop && dump->size > largest ? dump->size : largest;
		}
	}
	uint64_t most = limits->bytes ? limits->bytes : UINT64_MAX;
	if (spare && (listing->bytes > spare ? listing->bytes - spare : 0) < most)
		most = listing->bytes > spare ? listing->bytes - spare : 0;
	bool over = (limits->count && count > limits->count) || bytes > most;
	broken.limits += over && free_to_go > 0;
	/* Nothing goes that need not: with one more it would be over one of the limits. */
	bool tight = (limits->count && count + 1 > limits->count) || bytes + largest > most;
	broken.needless += dropped > 0 && !over && !tight;
}

static void test_many_folders(void)
{
	enum { folders = 3000 };
	for (unsigned i = 0; i < folders; i++) {
		struct cairn_listing listing = make_any();
		struct cairn_folder_limits limits = {
			.count = draw(2) ? 1 + draw(60) : 0,
			.bytes = draw(2) ? 1 + draw(200000) : 0,
			.age_seconds = draw(3) ? 0 : draw(100000),
		};
		int64_t now = 110000 * second;
		uint64_t spare = draw(4) ? 0 : draw(100000);
		check_marks(&listing);
		cairn_listing_plan(&listing, &limits, now, spare);
		check_plan(&listing, &limits, now, spare);
		cairn_listing_free(&listing);
	}
	is_int(broken.order, 0, "%d folders: dumps of a process are in the order of time", folders);
	is_int(broken.marks, 0, "each process has one first, one highest, one newest");
	is_int(broken.kept, 0, "those stay, of processes that run and of the eight that ended last");
	is_int(broken.age, 0, "what else is too old goes");
	is_int(broken.limits, 0, "limits hold wherever something may go");
	is_int(broken.needless, 0, "nothing goes that need not");
}

/* A process dumped once a second for hours, thinned after each dump: what is left covers its life. */
static void test_spread(void)
{
	struct cairn_listing listing = make();
	const struct cairn_folder_limits limits = {.count = 20};
	for (int i = 0; i < 5000; i++) {
		add(&listing, 1 << 22, 7, i, 1000 + (uint64_t)i, 10);
		cairn_listing_mark(&listing);
		cairn_listing_plan(&listing, &limits, i * second, 0);
		cairn_listing_forget_dropped(&listing);
	}
	is_int(listing.count, 20, "twenty of five thousand");
	int64_t widest = 0;
	for (size_t i = 1; i < listing.count; i++) {
		int64_t gap = (listing.dumps[i].time_ns - listing.dumps[i - 1].time_ns) / second;
		widest = gap > widest ? gap : widest;
	}
	is_int(listing.dumps[0].time_ns, 0, "the first among them");
	ok(widest <= 5000 / 20 * 4, "with no gap much longer than others (%lld s; %d s if all were alike)", (long long)widest, 5000 / 20);
	cairn_listing_free(&listing);
}

/* The dump that `cairn run` took at the highest moment is the highest, also of a process that had more memory later. */
static void test_peak(void)
{
	struct cairn_listing listing = make();
	for (int i = 0; i < 3; i++)
		add(&listing, 1 << 22, 7, i, 1000 + (uint64_t)i, 10);
	snprintf(listing.dumps[1].name, sizeof listing.dumps[1].name, "run.peak.heap");
	cairn_listing_mark(&listing);
	ok(listing.dumps[1].marks & CAIRN_DUMP_HIGHEST && !(listing.dumps[2].marks & CAIRN_DUMP_HIGHEST),
	   "the peak of a run is the highest");
	cairn_listing_free(&listing);
}

static void test_large(void)
{
	struct cairn_listing listing = make();
	for (int i = 0; i < 60000; i++)
		add(&listing, 1 << 22, 7, i / 3, (uint64_t)i, 1);
	cairn_listing_mark(&listing);
	cairn_listing_plan(&listing, &(struct cairn_folder_limits){.count = 50}, 0, 0);
	cairn_listing_forget_dropped(&listing);
	is_int(listing.count, 50, "sixty thousand dumps are thinned in one go");
	cairn_listing_free(&listing);
	listing = make();
	cairn_listing_mark(&listing);
	cairn_listing_plan(&listing, &(struct cairn_folder_limits){.count = 1, .bytes = 1, .age_seconds = 1}, 0, 1);
	is_int(listing.count, 0, "an empty folder stays one");
	cairn_listing_free(&listing);
}

/* A service that crashes again and again, beside one that crashed once, long before. */
static void test_crash_loop(void)
{
	enum { crashes = 90 };
	struct cairn_listing listing = make();
	const struct cairn_folder_limits none = {0}, few = {.count = 5, .age_seconds = 1};
	for (int i = 0; i < crashes; i++) {
		add(&listing, 5000 + i, 100 + (uint64_t)i, 100000 + i * 10, 1000, 500);
		snprintf(listing.dumps[i].name, sizeof listing.dumps[i].name, "api-%d-2026-11-15-last.heap", 5000 + i);
		snprintf(listing.dumps[i].reason, sizeof listing.dumps[i].reason, CAIRN_DUMP_LAST ": killed by signal 9");
	}
	add(&listing, 77, 9, 1000, 1000, 500);
	snprintf(listing.dumps[crashes].name, sizeof listing.dumps[crashes].name, "db-77-2026-11-14-last.heap");
	snprintf(listing.dumps[crashes].reason, sizeof listing.dumps[crashes].reason, CAIRN_DUMP_LAST ": killed by signal 9");
	cairn_listing_mark(&listing);
	for (int round = 0; round < 2; round++) {
		unsigned of_loop = 0, of_other = 0, newest = 0;
		for (size_t i = 0; i < listing.count; i++)
			listing.dumps[i].marks &= ~(unsigned)(CAIRN_DUMP_DROP | CAIRN_DUMP_KEPT);
		cairn_listing_plan(&listing, round ? &few : &none, 200000 * second, 0);
		for (size_t i = 0; i < listing.count; i++)
			if (!(listing.dumps[i].marks & CAIRN_DUMP_DROP)) {
				of_loop += listing.dumps[i].name[0] == 'a';
				of_other += listing.dumps[i].name[0] == 'd';
				newest += listing.dumps[i].name[0] == 'a' &&
					  listing.dumps[i].process.pid >= 5000 + crashes - CAIRN_LAST_MOMENTS_KEPT;
			}
		ok(of_loop == CAIRN_LAST_MOMENTS_KEPT && newest == of_loop && of_other == 1,
		   "of a crash loop the newest last moments stay, %s limits: %u, %u", round ? "past all" : "without", of_loop, of_other);
	}
	cairn_buffer_free(&listing.room);
}

static void test_text(void)
{
	struct cairn_listing listing = make();
	struct cairn_buffer out = cairn_pages(1 << 20);
	add(&listing, 1 << 22, 7, 1794717771, 3 << 20, 2048);
	add(&listing, 1 << 22, 8, 1794717781, 0, 100);
	add(&listing, 0, 0, 1794717791, 0, 100);
	cairn_listing_mark(&listing);
	listing.dumps[1].marks |= CAIRN_DUMP_OOM;
	snprintf(listing.dumps[1].reason, sizeof listing.dumps[1].reason, "share: 90%%");
	cairn_listing_text(&listing, "here", 0, &out);
	cairn_buffer_byte(&out, 0);
	is_text(out.data,
		"here: 3 dumps, 2.2 KiB\n\nunknown process\n  2026-11-15 04:43:11          -      100 B  2.heap  [first, highest, newest]\n"
		"\nprocess 4194304, gone, its group ran out of memory\n"
		"  2026-11-15 04:42:51    3.0 MiB    2.0 KiB  0.heap  share: 90%  [first, highest, last of a dead process, out of memory]\n"
		"\nprocess 4194304, gone\n  2026-11-15 04:43:01          -      100 B  1.heap  [first, highest, last of a dead process]\n",
		"as a person reads it");
	cairn_buffer_free(&out);
	cairn_listing_free(&listing);
}

int main(void)
{
	test_many_folders();
	test_spread();
	test_peak();
	test_large();
	test_crash_loop();
	test_text();
	return tap_done();
}
