/* choose.c - chooses the dumps of a series.
 * SPDX-License-Identifier: Apache-2.0 */
#include "series/choose.h"

#include "base/array.h"
#include "base/path.h"

#include <stdlib.h>

/* A new build may have another path, but has the same name. A file without a known prefix (RisingWave names its dumps by date) is
 * identified by its program alone. */
static bool same_service(const struct cairn_candidate *a, const struct cairn_candidate *b)
{
	bool same_prefix = cairn_bytes_equal(a->prefix, b->prefix) || (a->program.length && (!a->prefix.length || !b->prefix.length));
	return same_prefix && cairn_bytes_equal(cairn_path_base(a->program), cairn_path_base(b->program));
}

struct cairn_origin cairn_origin_of(const struct cairn_profile *profile)
{
	struct cairn_origin origin = {
		.process_id = profile->facts.process_id,
		.start_ns = profile->facts.start_ns,
		.time_ns = profile->facts.time_ns,
		.since_ns = profile->facts.since_ns,
	};
	cairn_life_parse(cairn_strings_bytes(&profile->strings, profile->facts.life), &origin.life);
	return origin;
}

bool cairn_origin_same(struct cairn_origin a, struct cairn_origin b)
{
	const struct cairn_origin *later = a.time_ns > b.time_ns ? &a : &b, *earlier = later == &a ? &b : &a;
	if (a.life.ticks && b.life.ticks)
		return cairn_life_equal(&a.life, &b.life);
	return a.process_id == b.process_id && later->start_ns <= earlier->time_ns;
}

bool cairn_origin_continues(struct cairn_origin a, struct cairn_origin b)
{
	const struct cairn_origin *later = a.time_ns > b.time_ns ? &a : &b, *earlier = later == &a ? &b : &a;
	return cairn_origin_same(a, b) && later->since_ns <= earlier->time_ns;
}

/* One of the dumps of the service with the most dumps. */
static size_t largest_service(const struct cairn_candidate *dumps, size_t count)
{
	size_t best = 0, most = 0;
	for (size_t i = 0; i < count && most < count - i; i++) {
		size_t same = 0;
		for (size_t j = 0; j < count; j++)
			same += same_service(&dumps[i], &dumps[j]);
		if (same > most) {
			most = same;
			best = i;
		}
	}
	return best;
}

/* One process, from its first dump to its last. */
struct life {
	size_t dump; /* one of its dumps */
	int64_t first, last;
	size_t count;
	bool chosen;
};

static int by_count(const void *a, const void *b)
{
	const struct life *left = a, *right = b;
	if (left->count != right->count)
		return left->count > right->count ? -1 : 1;
	return left->last > right->last ? -1 : left->last < right->last;
}

static size_t list_lives(const struct cairn_candidate *dumps, size_t count, struct life *lives)
{
	size_t known = 0;
	for (size_t i = 0; i < count; i++) {
		if (!dumps[i].chosen)
			continue;
		size_t at = 0;
		while (at < known && !cairn_origin_same(dumps[lives[at].dump].origin, dumps[i].origin))
			at++;
		if (at == known)
			lives[known++] = (struct life){.dump = i, .first = dumps[i].origin.time_ns, .last = dumps[i].origin.time_ns};
		struct life *life = &lives[at];
		life->count++;
		life->first = dumps[i].origin.time_ns < life->first ? dumps[i].origin.time_ns : life->first;
		life->last = dumps[i].origin.time_ns > life->last ? dumps[i].origin.time_ns : life->last;
	}
	return known;
}

static void choose_lives(struct life *lives, size_t count)
{
	qsort(lives, count, sizeof *lives, by_count);
	for (size_t i = 0; i < count; i++) {
		lives[i].chosen = true;
		for (size_t j = 0; j < i; j++)
			lives[i].chosen &= !lives[j].chosen || lives[i].last < lives[j].first || lives[i].first > lives[j].last;
	}
}

/* Drops the chosen dumps without a known process if there are more with one. */
static size_t leave_unknown(struct cairn_candidate *dumps, size_t count)
{
	size_t known = 0, unknown = 0;
	for (size_t i = 0; i < count; i++) {
		known += dumps[i].chosen && dumps[i].origin.process_id;
		unknown += dumps[i].chosen && !dumps[i].origin.process_id;
	}
	if (known <= unknown)
		return 0;
	for (size_t i = 0; i < count; i++)
		dumps[i].chosen = dumps[i].chosen && dumps[i].origin.process_id;
	return unknown;
}

struct cairn_choice cairn_series_choose(struct cairn_candidate *dumps, size_t count)
{
	struct cairn_choice choice = {0};
	size_t service = largest_service(dumps, count);
	for (size_t i = 0; i < count; i++) {
		dumps[i].chosen = same_service(&dumps[i], &dumps[service]);
		choice.other_services += !dumps[i].chosen;
	}
	choice.unknown = leave_unknown(dumps, count);
	struct life *lives = cairn_array_zero(count, sizeof *lives);
	size_t life_count = list_lives(dumps, count, lives);
	choose_lives(lives, life_count);
	choice.service = lives[0].dump;
	for (size_t i = 0; i < count; i++)
		for (size_t l = 0; dumps[i].chosen && l < life_count; l++)
			if (!lives[l].chosen && cairn_origin_same(dumps[lives[l].dump].origin, dumps[i].origin)) {
				dumps[i].chosen = false;
				choice.other_processes++;
			}
	choice.count = count - choice.other_services - choice.unknown - choice.other_processes;
	free(lives);
	return choice;
}
