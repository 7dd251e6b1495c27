/* bill.c - calculates the bill.
 * SPDX-License-Identifier: Apache-2.0 */
#include "series/bill.h"

#include "base/text.h"
#include "base/time.h"
#include "profile/origin.h"

#include <assert.h>
#include <math.h>

/* Larger than any memory, but small enough that a few hundred of them can be added without overflow. */
static const uint64_t most = (uint64_t)1 << 54;

static uint64_t least_of(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* A - B, but at least 0. */
static uint64_t less(uint64_t a, uint64_t b)
{
	return a > b ? a - b : 0;
}

static uint64_t from_number(double value)
{
	return value > 0 ? (uint64_t)fmin(value, (double)most) : 0;
}

/* The facts. */

static uint64_t number(const struct cairn_trailer *trailer, const char *key)
{
	return least_of(cairn_trailer_number(trailer, key), most);
}

/* Reads lines `class SIZE OBJECTS REQUESTED COUNT`: for each size class, what was requested for COUNT sampled objects. In objects larger
 * than four pages, the unrequested part is mostly whole pages at the end. */
static void read_classes(struct cairn_bill_facts *facts, const struct cairn_trailer *trailer)
{
	struct cairn_bytes value;
	double all = 0, wasted = 0, pages_wasted = 0;
	for (size_t position = 0; cairn_trailer_next(trailer, &position, "class", &value);) {
		uint64_t size, objects, requested, count;
		if (!cairn_text_decimal(&value, &size) || !cairn_text_take(&value, " ") || !cairn_text_decimal(&value, &objects) ||
		    !cairn_text_take(&value, " ") || !cairn_text_decimal(&value, &requested) || !cairn_text_take(&value, " ") ||
		    !cairn_text_decimal(&value, &count) || count == 0 || size == 0)
			continue;
		double bytes = (double)objects * (double)size,
		       idle = bytes * (1 - fmin(1, (double)requested / ((double)count * (double)size)));
		all += bytes;
		wasted += idle;
		pages_wasted += size > 4 * facts->page ? idle : 0;
	}
	facts->has_classes = all > 0;
	facts->slack = all > 0 ? wasted / all : 0;
	facts->slack_pages = all > 0 ? pages_wasted / all : 0;
}

static void read_allocator(struct cairn_bill_facts *facts, const struct cairn_trailer *trailer)
{
	facts->page = number(trailer, "arenas.page");
	facts->allocated = number(trailer, "stats.allocated");
	facts->large =
		cairn_trailer_value(trailer, "stats.large.allocated").length ? number(trailer, "stats.large.allocated") : facts->allocated;
	facts->active = number(trailer, "stats.active");
	facts->mapped = number(trailer, "stats.mapped");
	facts->retained = number(trailer, "stats.retained");
	facts->resident = number(trailer, "stats.resident");
	facts->base = number(trailer, "stats.base");
	facts->internal = number(trailer, "stats.internal");
	facts->cache = number(trailer, "stats.tcache_bytes") + number(trailer, "stats.tcache_stashed_bytes");
	facts->dirty = from_number((double)number(trailer, "stats.pdirty") * (double)facts->page);
	facts->muzzy = from_number((double)number(trailer, "stats.pmuzzy") * (double)facts->page);
	read_classes(facts, trailer);
}

/* The allocator, by the file that contains malloc. A program with its own malloc has "-". */
static enum cairn_bill_malloc find_malloc(struct cairn_bytes object)
{
	static const struct {
		const char *part;
		enum cairn_bill_malloc malloc;
	} parts[] = {{"tcmalloc", CAIRN_BILL_TCMALLOC}, {"mimalloc", CAIRN_BILL_MIMALLOC}, {"/libc.so", CAIRN_BILL_GLIBC},
		     {"/libc-2", CAIRN_BILL_GLIBC}};
	if (object.length == 0)
		return CAIRN_BILL_NO_MALLOC;
	for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
		if (memmem(object.data, object.length, parts[i].part, strlen(parts[i].part)))
			return parts[i].malloc;
	return CAIRN_BILL_OTHER;
}

void cairn_bill_facts_malloc(struct cairn_bill_facts *facts, const struct cairn_trailer *trailer)
{
	static const char *const kinds[] = {
		[CAIRN_BILL_GLIBC] = "glibc", [CAIRN_BILL_TCMALLOC] = "tcmalloc", [CAIRN_BILL_MIMALLOC] = "mimalloc"};
	struct cairn_bytes kind = cairn_trailer_value(trailer, "malloc.kind");
	for (int i = CAIRN_BILL_GLIBC; i <= CAIRN_BILL_MIMALLOC; i++)
		if (cairn_bytes_equal(kind, cairn_bytes_of(kinds[i]))) {
			facts->malloc = (enum cairn_bill_malloc)i;
			facts->has_malloc = true;
		}
	facts->counts.system = number(trailer, "malloc.system");
	facts->counts.physical = number(trailer, "malloc.physical");
	facts->counts.used = number(trailer, "malloc.used");
	facts->counts.cache = number(trailer, "malloc.cache");
	facts->counts.central = number(trailer, "malloc.central");
	facts->counts.fast = number(trailer, "malloc.fast");
	facts->counts.free = number(trailer, "malloc.free");
	facts->counts.top = least_of(number(trailer, "malloc.top"), facts->counts.free);
	facts->counts.arenas = number(trailer, "malloc.arenas");
	facts->counts.unmapped = number(trailer, "malloc.unmapped");
	facts->counts.mapped = number(trailer, "malloc.mapped");
}

bool cairn_bill_facts_read(struct cairn_bill_facts *facts, const struct cairn_trailer *trailer, struct cairn_error *error)
{
	*facts = (struct cairn_bill_facts){0};
	char name[40];
	uint64_t *value;
	for (unsigned i = 0; cairn_smaps_number(&facts->smaps, i, name, &value); i++)
		*value = number(trailer, name);
	facts->smaps.has_holes = cairn_trailer_value(trailer, "smaps.holes").length > 0;
	facts->smaps.holes = number(trailer, "smaps.holes");
	facts->has_apart = cairn_trailer_value(trailer, "smaps.rss.mapped").length > 0;
	facts->rss = number(trailer, "status.rss");
	facts->no_statistics = cairn_bytes_equal(cairn_trailer_value(trailer, "config.stats"), cairn_bytes_of("false"));
	facts->has_allocator = !facts->no_statistics && cairn_trailer_value(trailer, "stats.active").length > 0;
	if (facts->has_allocator)
		read_allocator(facts, trailer);
	else
		facts->malloc = find_malloc(cairn_trailer_value(trailer, "allocator"));
	cairn_bill_facts_malloc(facts, trailer);
	if (facts->smaps.rss == 0)
		return cairn_fail(error,
				  "the trailer says nothing of resident memory: the process had no /proc, or it is of a CPU profile");
	return true;
}

/* The number of pages in the extent that jemalloc gives a sampled small object: the smallest large size class up to 5.3.0, one page
 * since. */
static double sampled_pages(const struct cairn_trailer *trailer)
{
	struct cairn_bytes version = trailer ? trailer->jemalloc : (struct cairn_bytes){"", 0};
	uint64_t part, number = 0;
	for (int i = 0; i < 3 && cairn_text_decimal(&version, &part); i++, cairn_text_take(&version, "."))
		number = number * 100 + least_of(part, 99);
	return number > 50300 ? 1 : 4;
}

void cairn_bill_facts_profile(struct cairn_bill_facts *facts, const struct cairn_profile *profile, const struct cairn_trailer *trailer)
{
	enum { small_most = 14 << 10 };
	uint32_t space = cairn_profile_find_value(profile, "inuse_space"), objects = cairn_profile_find_value(profile, "inuse_objects");
	struct cairn_spread spread = {0};
	double page = facts->page ? (double)facts->page : 4096, pages = sampled_pages(trailer);
	if (space == CAIRN_NONE || objects == CAIRN_NONE)
		return;
	facts->has_profile = true;
	facts->profile_slack = profile->facts.slack_bytes;
	facts->mapped_bytes = profile->facts.mapped_bytes;
	facts->break_bytes = profile->facts.break_bytes;
	facts->before = from_number(profile->facts.before_bytes);
	for (size_t i = 0; i < profile->sample_count; i++) {
		const double *values = cairn_profile_values(profile, i);
		double sampled = profile->sampled ? profile->sampled[i] : 0;
		facts->profile_bytes += values[space];
		cairn_spread_add(&spread,
				 cairn_spread_of(values[space], cairn_profile_weight(profile, space, values[space], values[objects])));
		if (!(sampled > 0) || !(values[objects] > 0) ||
		    profile->facts.has_ages) /* Cairn's own engine does not give samples their own pages */
			continue;
		double mean = values[space] / values[objects];
		if (mean > small_most)
			continue;
		facts->sampled_count += sampled;
		facts->sampled_size += sampled * pages * page;
		facts->sampled_touched += sampled * fmin(pages, 1 + mean / page) * page; /* it may begin anywhere in the first page */
		facts->sampled_objects += sampled * mean;
	}
	facts->profile_error = sqrt(spread.variance);
	if (profile->facts.has_ages && facts->profile_bytes > 0) { /* each sample records its requested size */
		facts->has_classes = true;
		facts->slack = facts->profile_slack / (facts->profile_bytes + facts->profile_slack);
	}
}

/* The bill. */

/* The order in which missing memory is subtracted if nothing better is known: memory that was never handed out comes first. */
static const enum cairn_bill_line takeable[] = {
	CAIRN_BILL_UNUSED, CAIRN_BILL_SLACK, CAIRN_BILL_DIRTY, CAIRN_BILL_CACHE, CAIRN_BILL_SAMPLED,
	CAIRN_BILL_METADATA, CAIRN_BILL_MUZZY, CAIRN_BILL_LIVE,
};

static void take_off(struct cairn_bill *bill, enum cairn_bill_line line, uint64_t at_most, uint64_t *missing)
{
	uint64_t part = least_of(least_of(at_most, bill->lines[line]), *missing);
	bill->lines[line] -= part;
	*missing -= part;
}

/* Subtracts MISSING in proportion from thread caches, unused parts, and LARGE bytes of the live objects. */
static void take_off_evenly(struct cairn_bill *bill, uint64_t large, uint64_t *missing)
{
	uint64_t live = least_of(large, bill->lines[CAIRN_BILL_LIVE]);
	uint64_t all = bill->lines[CAIRN_BILL_CACHE] + bill->lines[CAIRN_BILL_UNUSED] + live;
	double share = all ? fmin(1, (double)*missing / (double)all) : 0;
	uint64_t from_cache = from_number(ceil(share * (double)bill->lines[CAIRN_BILL_CACHE]));
	uint64_t from_unused = from_number(ceil(share * (double)bill->lines[CAIRN_BILL_UNUSED]));
	take_off(bill, CAIRN_BILL_CACHE, from_cache, missing);
	take_off(bill, CAIRN_BILL_UNUSED, from_unused, missing);
	take_off(bill, CAIRN_BILL_LIVE, live, missing);
}

/* jemalloc's address tree has a node of 2 MiB for every 1 GiB of addresses, but touches only 8 bytes for every page it has there. Returns
 * the part that is counted but not touched. */
static uint64_t sparse_metadata(const struct cairn_bill_facts *facts, uint64_t size)
{
	enum { node_size = 2 << 20, entries_part = 512 };
	return less(least_of(facts->smaps.regions, most / node_size) * node_size, size / entries_part);
}

/* Fills the allocator's lines with jemalloc's numbers. Returns their sum. */
static uint64_t count_allocator(struct cairn_bill *bill, const struct cairn_bill_facts *facts)
{
	uint64_t *lines = bill->lines, live = facts->allocated, sum = 0;
	lines[CAIRN_BILL_CACHE] = least_of(facts->cache, live);
	live -= lines[CAIRN_BILL_CACHE];
	uint64_t internal = least_of(facts->internal, live);
	live -= internal;
	lines[CAIRN_BILL_SAMPLED] = least_of(from_number(facts->sampled_size - facts->sampled_objects), live);
	live -= lines[CAIRN_BILL_SAMPLED];
	lines[CAIRN_BILL_SLACK] = facts->has_classes ? least_of(from_number((double)live * facts->slack), live) : 0;
	lines[CAIRN_BILL_LIVE] = live - lines[CAIRN_BILL_SLACK];
	lines[CAIRN_BILL_UNUSED] = less(facts->active, facts->allocated);
	lines[CAIRN_BILL_DIRTY] = facts->dirty;
	lines[CAIRN_BILL_MUZZY] = least_of(facts->muzzy, facts->smaps.lazy);
	/* stats.resident covers active pages, dirty pages, and pages of metadata. */
	uint64_t base = less(facts->resident, facts->active + facts->dirty);
	lines[CAIRN_BILL_METADATA] = (base ? base : facts->base) + internal;
	for (size_t i = 0; i < sizeof takeable / sizeof *takeable; i++)
		sum += lines[takeable[i]];
	return sum;
}

/* Splits the mappings that may belong to the allocator. */
static void split_allocator(struct cairn_bill *bill, const struct cairn_bill_facts *facts, struct cairn_smaps_sum pool)
{
	uint64_t counted = count_allocator(bill, facts), foreign = less(pool.size, facts->mapped + facts->retained);
	uint64_t missing = less(counted, pool.rss), surplus = less(pool.rss, counted);
	bill->untouched = less(missing, pool.swap);
	take_off(bill, CAIRN_BILL_SAMPLED, from_number(facts->sampled_size - facts->sampled_touched), &missing);
	take_off(bill, CAIRN_BILL_METADATA, sparse_metadata(facts, pool.size), &missing);
	take_off(bill, CAIRN_BILL_SLACK, from_number((double)facts->allocated * facts->slack_pages), &missing);
	/* A large extent has one more page than it needs, so that objects can begin in different cache lines; that page stays untouched. */
	take_off(bill, CAIRN_BILL_UNUSED, from_number(facts->sampled_count * (double)facts->page), &missing);
	/* Any part of a large object may be untouched. That shows as holes that are neither memory returned by the allocator nor its own
	 * tables. */
	uint64_t large = less(facts->large, facts->internal + from_number(facts->sampled_size));
	uint64_t tables = less(facts->mapped, facts->active + facts->dirty + facts->muzzy);
	if (facts->smaps.has_holes) {
		take_off(bill, CAIRN_BILL_LIVE, least_of(large, less(facts->smaps.holes, facts->retained + tables)), &missing);
		large = 0;
	}
	/* The allocator's internal allocations are mostly room in thread caches, for every size; a thread uses only a few sizes. */
	take_off(bill, CAIRN_BILL_METADATA, facts->internal, &missing);
	/* Thread caches are filled in advance, and new pages are used bit by bit. Small live objects are close together, and programs write
	 * to the objects that they request. */
	take_off_evenly(bill, large, &missing);
	for (size_t i = 0; i < sizeof takeable / sizeof *takeable; i++)
		take_off(bill, takeable[i], most, &missing);
	uint64_t other = least_of(surplus, foreign);
	bill->lines[CAIRN_BILL_ANONYMOUS] += other;
	bill->uncertain = least_of(foreign - other, bill->untouched);
	if (facts->smaps.huge) {
		/* A huge page is resident as a whole: it includes memory beside touched memory that was returned, or not yet used for
		 * metadata. */
		bill->lines[CAIRN_BILL_RETAINED] = least_of(surplus - other, facts->retained);
		surplus -= other + bill->lines[CAIRN_BILL_RETAINED];
		bill->lines[CAIRN_BILL_METADATA] += least_of(surplus, less(tables, bill->lines[CAIRN_BILL_METADATA]));
	}
	bill->retained = less(facts->retained, bill->lines[CAIRN_BILL_RETAINED]);
}

/* The objects that the program holds, including their usable bytes beyond those requested. */
static uint64_t malloc_used(const struct cairn_bill_facts *facts)
{
	return facts->counts.used ? facts->counts.used + facts->counts.mapped : from_number(facts->profile_bytes + facts->profile_slack);
}

uint64_t cairn_bill_live(const struct cairn_bill_facts *facts)
{
	struct cairn_bill bill = {0};
	if (!facts->has_allocator)
		return facts->has_malloc ? malloc_used(facts) : 0;
	count_allocator(&bill, facts);
	return bill.lines[CAIRN_BILL_LIVE] + bill.lines[CAIRN_BILL_SLACK];
}

/* Moves the memory that the service mapped itself out of the lines of its mappings; what is not in these lines is in POOL, the mappings
 * that may be jemalloc's. */
static void take_mapped(struct cairn_bill *bill, const struct cairn_bill_facts *facts, struct cairn_smaps_sum *pool)
{
	uint64_t *lines = bill->lines, mapped = facts->has_apart ? 0 : from_number(facts->mapped_bytes);
	uint64_t plain = least_of(mapped, lines[CAIRN_BILL_ANONYMOUS]), unreserved = least_of(mapped - plain, pool->rss);
	uint64_t grown = facts->has_apart ? 0 : least_of(from_number(facts->break_bytes), lines[CAIRN_BILL_HEAP]);
	lines[CAIRN_BILL_ANONYMOUS] -= plain;
	lines[CAIRN_BILL_HEAP] -= grown;
	pool->rss -= unreserved;
	lines[CAIRN_BILL_MAPPED] += plain + unreserved + grown;
}

/* Takes up to AT_MOST bytes out of LINE. Returns how many. */
static uint64_t take_line(struct cairn_bill *bill, enum cairn_bill_line line, uint64_t at_most)
{
	uint64_t part = least_of(bill->lines[line], at_most);
	bill->lines[line] -= part;
	return part;
}

/* The resident memory of an allocator, taken out of the lines of its mappings. */
struct pool {
	uint64_t resident;
	uint64_t anonymous;     /* the part in mappings that anything may have made */
	uint64_t large_missing; /* the part of single large objects that is not resident */
};

/* Only glibc's malloc grows the heap and maps arenas. It also maps large objects, and arenas that cannot be recognized by their shape,
 * among other anonymous memory. */
static struct pool take_glibc(struct cairn_bill *bill, const struct cairn_bill_facts *facts, uint64_t counted)
{
	const struct cairn_smaps_sum *kinds = facts->smaps.kinds;
	struct pool pool = {.resident = take_line(bill, CAIRN_BILL_HEAP, most)};
	pool.resident += take_line(bill, CAIRN_BILL_ARENA, most);
	if (!facts->has_malloc) { /* only the profile knows about large objects */
		pool.anonymous = take_line(bill, CAIRN_BILL_ANONYMOUS, less(counted, pool.resident));
		pool.resident += pool.anonymous;
		return pool;
	}
	uint64_t shapeless = less(facts->counts.system, kinds[CAIRN_SMAPS_HEAP].size + kinds[CAIRN_SMAPS_ARENA].size);
	uint64_t found = take_line(bill, CAIRN_BILL_ANONYMOUS, facts->counts.mapped + shapeless);
	pool.large_missing = least_of(less(facts->counts.mapped + shapeless, found), facts->counts.mapped);
	pool.resident += found;
	pool.anonymous = found;
	return pool;
}

static struct pool take_pool(struct cairn_bill *bill, const struct cairn_bill_facts *facts, uint64_t counted)
{
	struct pool pool = {0};
	const struct cairn_smaps_sum *hinted = &facts->smaps.kinds[CAIRN_SMAPS_HINTED];
	switch (facts->malloc) {
	case CAIRN_BILL_GLIBC:
		return take_glibc(bill, facts, counted);
	case CAIRN_BILL_TCMALLOC: /* grows the heap first */
		pool.resident = take_line(bill, CAIRN_BILL_HEAP, facts->has_malloc ? counted : most);
		pool.anonymous = take_line(bill, CAIRN_BILL_ANONYMOUS, less(counted, pool.resident));
		break;
	case CAIRN_BILL_MIMALLOC: /* memory outside its usual address range is its own only as far as its figures exceed that */
		pool.anonymous = take_line(bill, CAIRN_BILL_ANONYMOUS, hinted->rss);
		pool.anonymous += take_line(bill, CAIRN_BILL_ANONYMOUS, less(counted, hinted->size));
		break;
	case CAIRN_BILL_WALKED: /* the heap grows for allocators only, and who finds live objects missing finds them untouched */
		pool.resident = take_line(bill, CAIRN_BILL_HEAP, facts->counts.physical);
		pool.resident += take_line(bill, CAIRN_BILL_ARENA, less(facts->counts.physical, pool.resident));
		pool.resident += take_line(bill, CAIRN_BILL_ANONYMOUS, less(facts->counts.physical, pool.resident));
		pool.large_missing = less(counted, pool.resident);
		return pool;
	default:
		pool.anonymous = take_line(bill, CAIRN_BILL_ANONYMOUS, counted);
		break;
	}
	pool.resident += pool.anonymous;
	/* A segment of another allocator may look like an arena of glibc. */
	pool.resident += take_line(bill, CAIRN_BILL_ARENA, less(counted, pool.resident));
	pool.resident += take_line(bill, CAIRN_BILL_HEAP, less(counted, pool.resident));
	return pool;
}

/* Splits the memory of an allocator other than jemalloc: by its own figures if they are known, else by the profile. Resident memory in its
 * mappings beyond these figures is unexplained; if only the profile is known, it counts as free memory. */
static void split_malloc(struct cairn_bill *bill, const struct cairn_bill_facts *facts)
{
	static const enum cairn_bill_line order[] = {CAIRN_BILL_TOP, CAIRN_BILL_FREE, CAIRN_BILL_METADATA, CAIRN_BILL_UNUSED,
						     CAIRN_BILL_CACHE, CAIRN_BILL_FAST, CAIRN_BILL_SLACK, CAIRN_BILL_LIVE};
	uint64_t *lines = bill->lines, used = malloc_used(facts), tables = 0, kept = facts->counts.free;
	if (facts->malloc == CAIRN_BILL_TCMALLOC)
		tables = less(facts->counts.physical, less(facts->counts.system, facts->counts.unmapped));
	if (facts->malloc == CAIRN_BILL_WALKED)
		tables = less(facts->counts.physical, used + facts->counts.cache + kept);
	if (facts->malloc == CAIRN_BILL_MIMALLOC) /* it reports committed memory; only the profile knows which part is used */
		kept = less(facts->counts.system, used);
	uint64_t counted = used + facts->counts.cache + facts->counts.central + facts->counts.fast + kept + tables;
	struct pool pool = take_pool(bill, facts, counted);
	lines[CAIRN_BILL_SLACK] = least_of(from_number((double)used * facts->slack), used);
	lines[CAIRN_BILL_LIVE] = used - lines[CAIRN_BILL_SLACK];
	lines[CAIRN_BILL_CACHE] = facts->counts.cache;
	lines[CAIRN_BILL_UNUSED] = facts->counts.central;
	lines[CAIRN_BILL_FAST] = facts->counts.fast;
	lines[CAIRN_BILL_TOP] = facts->counts.top;
	lines[CAIRN_BILL_FREE] = kept - least_of(facts->counts.top, kept) + (facts->has_malloc ? 0 : less(pool.resident, counted));
	lines[CAIRN_BILL_METADATA] = tables;
	uint64_t missing = less(counted, pool.resident), large = least_of(pool.large_missing, missing);
	bill->untouched = less(missing, facts->smaps.swap);
	if (!facts->has_apart) /* the untouched part may be other memory that was mistaken for its own */
		bill->uncertain = least_of(pool.anonymous, facts->malloc == CAIRN_BILL_GLIBC && facts->has_malloc ? large : missing);
	missing -= large;
	take_off(bill, CAIRN_BILL_LIVE, large, &large);
	missing += large;
	for (size_t i = 0; i < sizeof order / sizeof *order; i++)
		take_off(bill, order[i], most, &missing);
	bill->has_allocator = true;
	bill->has_classes = facts->has_profile;
	bill->retained = facts->counts.unmapped;
}

/* Whether the memory of an allocator other than jemalloc is split into live and free. */
static bool is_split(const struct cairn_bill_facts *facts)
{
	return !facts->has_allocator && facts->malloc && (facts->has_profile || facts->has_malloc);
}

/* Finds memory that was allocated before sampling began and is still there: the part of malloc's memory that the profile does not account
 * for, up to what there was then. If the allocator keeps no counts, this includes freed memory that it has kept since. */
static void split_before(struct cairn_bill *bill, const struct cairn_bill_facts *facts)
{
	static const enum cairn_bill_line own[] = {CAIRN_BILL_HEAP, CAIRN_BILL_ARENA, CAIRN_BILL_ANONYMOUS}, counted[] = {CAIRN_BILL_LIVE},
					  split[] = {CAIRN_BILL_FREE, CAIRN_BILL_LIVE};
	bool counts = facts->has_allocator || (is_split(facts) && facts->has_malloc);
	const enum cairn_bill_line *from = counts ? counted : is_split(facts) ? split : own;
	size_t count = counts ? 1 : is_split(facts) ? sizeof split / sizeof *split : sizeof own / sizeof *own;
	uint64_t sum = 0;
	if (!facts->has_profile || !facts->before)
		return;
	for (size_t i = 0; i < count; i++)
		sum += bill->lines[from[i]];
	uint64_t missing = least_of(less(sum, from_number(facts->profile_bytes)), facts->before), all = missing;
	for (size_t i = 0; i < count; i++)
		take_off(bill, from[i], most, &missing);
	bill->lines[CAIRN_BILL_BEFORE] = all - missing;
}

void cairn_bill_make(struct cairn_bill *bill, const struct cairn_bill_facts *facts)
{
	/* Where the allocator's memory may be, most likely first. If the machine never overcommits, jemalloc reserves what it maps, and its
	 * mappings look like any other; with dss:primary it grows the heap. */
	static const struct {
		enum cairn_bill_line line;
		enum cairn_smaps_kind kind;
	} kinds[] = {
		{CAIRN_BILL_ANONYMOUS, CAIRN_SMAPS_ANONYMOUS}, {CAIRN_BILL_HEAP, CAIRN_SMAPS_HEAP}, {CAIRN_BILL_ARENA, CAIRN_SMAPS_ARENA},
		{CAIRN_BILL_STACK, CAIRN_SMAPS_STACK}, {CAIRN_BILL_DATA, CAIRN_SMAPS_DATA}, {CAIRN_BILL_FILE, CAIRN_SMAPS_FILE},
		{CAIRN_BILL_SHARED, CAIRN_SMAPS_SHARED}, {CAIRN_BILL_KERNEL, CAIRN_SMAPS_KERNEL}, {CAIRN_BILL_LEDGER, CAIRN_SMAPS_LEDGER},
		{CAIRN_BILL_MAPPED, CAIRN_SMAPS_MAPPED},
	};
	enum { pool_most = 2 };
	const struct cairn_smaps *smaps = &facts->smaps;
	struct cairn_smaps_sum pool = smaps->kinds[CAIRN_SMAPS_NORESERVE];
	const struct cairn_smaps_sum *hinted = &smaps->kinds[CAIRN_SMAPS_HINTED];
	*bill = (struct cairn_bill){.has_allocator = facts->has_allocator, .has_classes = facts->has_classes};
	for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
		const struct cairn_smaps_sum *sum = &smaps->kinds[kinds[i].kind];
		bool missing = facts->has_allocator && pool.size < (facts->mapped + facts->retained) / 2;
		if (i < pool_most && missing)
			pool = (struct cairn_smaps_sum){pool.size + sum->size, pool.rss + sum->rss, pool.swap + sum->swap};
		else
			bill->lines[kinds[i].line] = sum->rss;
	}
	bill->lines[CAIRN_BILL_ANONYMOUS] += hinted->rss;
	bill->swap = smaps->swap;
	bill->hugetlb = smaps->hugetlb;
	take_mapped(bill, facts, &pool);
	if (facts->has_allocator)
		split_allocator(bill, facts, pool);
	else
		bill->lines[CAIRN_BILL_ANONYMOUS] += pool.rss;
	if (is_split(facts))
		split_malloc(bill, facts);
	split_before(bill, facts);
	uint64_t sum = 0;
	for (int i = 0; i < CAIRN_BILL_LINES; i++)
		sum += bill->lines[i];
	uint64_t charged = facts->rss > smaps->rss ? facts->rss : smaps->rss;
	bill->lines[CAIRN_BILL_REST] = less(charged, sum);
	bill->total = sum + bill->lines[CAIRN_BILL_REST];
}

static const struct {
	const char *key, *name;
} names[] = {
	[CAIRN_BILL_LIVE] = {"live", "live objects"},
	[CAIRN_BILL_BEFORE] = {"before", "allocated before sampling began"},
	[CAIRN_BILL_SLACK] = {"slack", "size-class slack"},
	[CAIRN_BILL_SAMPLED] = {"sampled", "pages of sampled objects"},
	[CAIRN_BILL_CACHE] = {"thread_caches", "thread caches"},
	[CAIRN_BILL_FAST] = {"fast_bins", "fast bins"},
	[CAIRN_BILL_UNUSED] = {"unused", "unused parts of active pages"},
	[CAIRN_BILL_FREE] = {"free", "free memory that the allocator keeps"},
	[CAIRN_BILL_TOP] = {"top", "free memory at the ends of arenas (top)"},
	[CAIRN_BILL_DIRTY] = {"dirty", "dirty pages"},
	[CAIRN_BILL_MUZZY] = {"muzzy", "muzzy pages"},
	[CAIRN_BILL_RETAINED] = {"retained_resident", "given back, but in huge pages"},
	[CAIRN_BILL_METADATA] = {"metadata", "allocator metadata"},
	[CAIRN_BILL_HEAP] = {"heap", "heap by brk"},
	[CAIRN_BILL_ARENA] = {"libc_arenas", "arenas of libc's malloc"},
	[CAIRN_BILL_MAPPED] = {"mapped", "mapped by the service itself"},
	[CAIRN_BILL_ANONYMOUS] = {"anonymous", "other anonymous memory"},
	[CAIRN_BILL_STACK] = {"stacks", "stacks"},
	[CAIRN_BILL_DATA] = {"data", "data of programs and libraries"},
	[CAIRN_BILL_FILE] = {"files", "code and mapped files"},
	[CAIRN_BILL_SHARED] = {"shared", "shared memory"},
	[CAIRN_BILL_LEDGER] = {"ledger", "Cairn's ledger"},
	[CAIRN_BILL_KERNEL] = {"kernel", "vdso"},
	[CAIRN_BILL_REST] = {"rest", "unexplained"},
};
static_assert(sizeof names / sizeof *names == CAIRN_BILL_LINES, "every line has a name");

const char *cairn_bill_key(enum cairn_bill_line line)
{
	assert(line < CAIRN_BILL_LINES);
	return names[line].key;
}

const char *cairn_bill_name(enum cairn_bill_line line)
{
	assert(line < CAIRN_BILL_LINES);
	return names[line].name;
}

bool cairn_bill_is_allocator(enum cairn_bill_line line)
{
	return line <= CAIRN_BILL_METADATA;
}
