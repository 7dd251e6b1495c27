/* feed.c - finds the units that contain the addresses.
 * SPDX-License-Identifier: Apache-2.0 */
#include "symbol/feed.h"

#include "base/array.h"

#include <pthread.h>
#include <stdlib.h>

struct cairn_feed {
	struct cairn_dwarf *dwarf;
	const uint64_t *addresses;
	size_t count;
	pthread_mutex_t lock; /* protects everything below */
	struct cairn_aranges aranges;
	size_t next_touch, next_known;
	bool all_units;     /* read the headers of all units */
	uint64_t next_unit; /* where the next unit starts */
	bool ended;
	uint64_t ranges_left; /* how many ranges may still be read: in a hostile file, all units could share one long list */
	struct cairn_abbrev_cache abbrevs;
};

static int by_first(const void *a, const void *b)
{
	const struct cairn_span *left = a, *right = b;
	return (left->first > right->first) - (left->first < right->first);
}

static void add_span(struct cairn_job *job, size_t first, size_t count)
{
	if (count == 0)
		return;
	cairn_array_room(job->spans, job->span_count, job->span_capacity);
	job->spans[job->span_count++] = (struct cairn_span){first, count};
}

/* Lists the places of all spans, each once. Successive units are often tried with the same span, that of all addresses. */
static void set_places(struct cairn_job *job)
{
	struct cairn_span only = job->span_count == 1 ? job->spans[0] : (struct cairn_span){0};
	if (only.count && only.first == job->placed.first && only.count == job->placed.count)
		return;
	job->placed = only;
	if (job->span_count)
		qsort(job->spans, job->span_count, sizeof *job->spans, by_first);
	size_t next = 0;
	job->count = 0;
	for (size_t i = 0; i < job->span_count; i++) {
		size_t first = job->spans[i].first, end = first + job->spans[i].count;
		next = next > first ? next : first;
		if (next < end)
			job->places = cairn_array_reserve(job->places, &job->capacity, job->count + (end - next), sizeof *job->places);
		while (next < end)
			job->places[job->count++] = next++;
	}
}

static bool covers_all(const struct cairn_aranges *aranges, size_t count)
{
	struct cairn_job all = {0};
	for (size_t i = 0; i < aranges->touch_count; i++)
		add_span(&all, aranges->touches[i].first, aranges->touches[i].count);
	set_places(&all);
	bool covers = all.count == count;
	cairn_job_free(&all);
	return covers;
}

struct cairn_feed *cairn_feed_new(struct cairn_dwarf *dwarf, const uint64_t *addresses, size_t count)
{
	struct cairn_feed *feed = calloc(1, sizeof *feed);
	if (!feed)
		cairn_out_of_memory(sizeof *feed);
	feed->dwarf = dwarf;
	feed->addresses = addresses;
	feed->count = count;
	feed->ranges_left = 8 * (dwarf->sections[CAIRN_DWARF_RANGES].length + dwarf->sections[CAIRN_DWARF_RNGLISTS].length) +
			    dwarf->sections[CAIRN_DWARF_INFO].length;
	pthread_mutex_init(&feed->lock, NULL);
	cairn_aranges_match(&feed->aranges, dwarf, addresses, count);
	feed->all_units = !covers_all(&feed->aranges, count);
	return feed;
}

void cairn_feed_free(struct cairn_feed *feed)
{
	cairn_aranges_free(&feed->aranges);
	cairn_abbrev_cache_free(&feed->abbrevs);
	pthread_mutex_destroy(&feed->lock);
	free(feed);
}

void cairn_job_free(struct cairn_job *job)
{
	free(job->spans);
	free(job->places);
}

/* Takes the addresses that .debug_aranges has for the unit at OFFSET, if that is the next unit in it. */
static void take_touches(struct cairn_feed *feed, struct cairn_job *job, uint64_t offset)
{
	const struct cairn_aranges *aranges = &feed->aranges;
	for (; feed->next_touch < aranges->touch_count && aranges->touches[feed->next_touch].unit <= offset; feed->next_touch++)
		if (aranges->touches[feed->next_touch].unit == offset)
			add_span(job, aranges->touches[feed->next_touch].first, aranges->touches[feed->next_touch].count);
}

static bool is_known(struct cairn_feed *feed, uint64_t offset)
{
	const struct cairn_aranges *aranges = &feed->aranges;
	while (feed->next_known < aranges->unit_count && aranges->units[feed->next_known] < offset)
		feed->next_known++;
	return feed->next_known < aranges->unit_count && aranges->units[feed->next_known] == offset;
}

/* LLVM gives every unit that has code an address, even if only a low_pc of 0, as early versions did. */
static bool is_known_empty(const struct cairn_unit *unit)
{
	const char *producer = cairn_unit_text(unit, &unit->producer);
	return producer && unit->low.kind == CAIRN_FORM_NONE && (strstr(producer, "LLVM") || strstr(producer, "clang"));
}

/* Finds the addresses that the root of the unit covers. If the root has no ranges, all addresses are tried on its functions, unless the
 * unit cannot contain code. Link-time optimization leaves such empty units, in Rust by the hundred. */
static void take_ranges(struct cairn_feed *feed, struct cairn_job *job)
{
	struct cairn_unit *unit = &job->unit;
	if (!cairn_unit_read_root(unit, &feed->abbrevs) || !cairn_unit_has_code(unit))
		return;
	if (unit->ranges.kind == CAIRN_FORM_NONE && unit->high.kind == CAIRN_FORM_NONE) {
		const struct cairn_abbrevs *table = cairn_abbrevs_at(
			&feed->abbrevs, feed->dwarf->sections[CAIRN_DWARF_ABBREV], unit->abbrev_offset, unit->encoding);
		add_span(job, 0, unit->dwo_name || (table->has_functions && !is_known_empty(unit)) ? feed->count : 0);
	}
	cairn_abbrev_cache_trim(&feed->abbrevs);
	struct cairn_ranges ranges = cairn_ranges(unit, &unit->low, &unit->high, &unit->ranges);
	struct cairn_range range;
	while (cairn_ranges_next(&ranges, &range) && feed->ranges_left) {
		size_t found, first = cairn_addresses_within(feed->addresses, feed->count, range, &found);
		feed->ranges_left--;
		add_span(job, first, found);
	}
}

static bool next_of_all(struct cairn_feed *feed, struct cairn_job *job)
{
	while (!feed->ended) {
		uint64_t offset = feed->next_unit;
		bool good = cairn_unit_read(&job->unit, feed->dwarf, offset, &feed->next_unit);
		feed->ended = feed->next_unit == 0;
		if (!good)
			continue;
		if (cairn_unit_has_code(&job->unit) && is_known(feed, offset))
			take_touches(feed, job, offset);
		else if (cairn_unit_has_code(&job->unit))
			take_ranges(feed, job);
		if (job->span_count)
			return true;
		cairn_unit_release(&job->unit);
	}
	return false;
}

static bool next_touched(struct cairn_feed *feed, struct cairn_job *job)
{
	while (feed->next_touch < feed->aranges.touch_count) {
		uint64_t next, offset = feed->aranges.touches[feed->next_touch].unit;
		job->span_count = 0;
		take_touches(feed, job, offset);
		if (cairn_unit_read(&job->unit, feed->dwarf, offset, &next))
			return true;
	}
	return false;
}

bool cairn_feed_next(struct cairn_feed *feed, struct cairn_job *job, struct cairn_abbrev_cache *cache)
{
	for (;;) {
		job->span_count = 0;
		pthread_mutex_lock(&feed->lock);
		bool found = feed->all_units ? next_of_all(feed, job) : next_touched(feed, job);
		pthread_mutex_unlock(&feed->lock);
		if (!found)
			return false;
		/* Waiting until the unit is decompressed, and reading it, is left to the thread that will walk it. */
		if (cairn_unit_read_root(&job->unit, cache)) {
			set_places(job);
			return true;
		}
		cairn_unit_release(&job->unit);
	}
}
