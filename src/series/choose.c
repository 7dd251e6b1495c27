/* choose.c - chooses the dumps of a series.
 * SPDX-License-Identifier: Apache-2.0 */
#include "series/choose.h"

#include "base/array.h"
#include "base/path.h"
#include "base/strings.h"

#include <stdlib.h>
#include <string.h>

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

/* How many dumps have a program, and how many of these a prefix. */
struct census {
	struct cairn_strings names;
	struct cairn_map programs, prefixes;
};

static uint64_t both(uint32_t program, uint32_t prefix)
{
	return (uint64_t)program << 32 | prefix;
}

static void add_one(struct cairn_map *map, uint64_t key)
{
	uint32_t *count = cairn_map_at(map, key);
	*count = *count == CAIRN_NONE ? 1 : *count + 1;
}

static size_t count_of(const struct cairn_map *map, uint64_t key)
{
	uint32_t count = cairn_map_get(map, key);
	return count == CAIRN_NONE ? 0 : count;
}

/* How many dumps are of the same service as DUMP, as same_service has it. */
static size_t count_same(const struct census *census, const struct cairn_candidate *dump)
{
	uint32_t program = cairn_strings_find(&census->names, cairn_path_base(dump->program));
	uint32_t prefix = cairn_strings_find(&census->names, dump->prefix);
	if (dump->program.length && !prefix)
		return count_of(&census->programs, program);
	size_t otherwise = dump->program.length ? count_of(&census->prefixes, both(program, 0)) : 0; /* named */
	return count_of(&census->prefixes, both(program, prefix)) + otherwise;
}

/* One of the dumps of the service with the most dumps. */
static size_t largest_service(const struct cairn_candidate *dumps, size_t count)
{
	struct census census = {0};
	size_t best = 0, most = 0;
	for (size_t i = 0; i < count; i++) {
		uint32_t program = cairn_strings_add(&census.names, cairn_path_base(dumps[i].program));
		add_one(&census.programs, program);
		add_one(&census.prefixes, both(program, cairn_strings_add(&census.names, dumps[i].prefix)));
	}
	for (size_t i = 0; i < count; i++) {
		size_t same = count_same(&census, &dumps[i]);
		if (same > most) {
			most = same;
			best = i;
		}
	}
	cairn_strings_free(&census.names);
	cairn_map_free(&census.programs);
	cairn_map_free(&census.prefixes);
	return best;
}

/* One process, from its first dump to its last. */
struct life {
	size_t dump; /* one of its dumps */
	int64_t first, last;
	size_t count;
	uint32_t number;
	uint32_t next_life, next_pid; /* the one before in the same list of struct lists, or CAIRN_NONE */
	bool chosen;
};

static int by_count(const void *a, const void *b)
{
	const struct life *left = a, *right = b;
	if (left->count != right->count)
		return left->count > right->count ? -1 : 1;
	if (left->last != right->last)
		return left->last > right->last ? -1 : 1;
	return left->number < right->number ? -1 : left->number > right->number;
}

/* The last process of each list: of those that may be the same by their life, and by their PID. Processes whose life is known are in both;
 * those with a PID are in a list of their own, since they need not be compared by it with each other: each container has a process 1. */
struct lists {
	struct cairn_map lives, pids;
};

static bool has_life(const struct cairn_origin *origin)
{
	return origin->life.ticks != 0;
}

static uint64_t life_key(const struct cairn_origin *origin)
{
	return cairn_hash_mix(origin->life.ticks) ^ (uint64_t)origin->life.boot << 32 ^ (uint64_t)origin->life.pid;
}

static uint64_t pid_key(const struct cairn_origin *origin, bool known)
{
	return origin->process_id << 1 | known;
}

/* The process among LIVES that has ORIGIN, or CAIRN_NONE. Unless both lives are known, they are compared by PID and time. */
static uint32_t find_life(const struct lists *lists, const struct cairn_candidate *dumps, const struct life *lives,
			  const struct cairn_origin *origin)
{
	uint32_t at = has_life(origin) ? cairn_map_get(&lists->lives, life_key(origin)) : CAIRN_NONE;
	for (; at != CAIRN_NONE; at = lives[at].next_life)
		if (cairn_origin_same(dumps[lives[at].dump].origin, *origin))
			return at;
	for (int known = 0; known <= !has_life(origin); known++)
		for (at = cairn_map_get(&lists->pids, pid_key(origin, known)); at != CAIRN_NONE; at = lives[at].next_pid)
			if (cairn_origin_same(dumps[lives[at].dump].origin, *origin))
				return at;
	return CAIRN_NONE;
}

/* Adds life AT to its lists. */
static void list_life(struct lists *lists, const struct cairn_origin *origin, struct life *lives, uint32_t at)
{
	uint32_t *last = cairn_map_at(&lists->pids, pid_key(origin, has_life(origin)));
	lives[at].next_pid = *last;
	*last = at;
	if (!has_life(origin))
		return;
	last = cairn_map_at(&lists->lives, life_key(origin));
	lives[at].next_life = *last;
	*last = at;
}

/* Fills LIVES, and LIFE_OF with the number of the life of each chosen dump. */
static size_t list_lives(const struct cairn_candidate *dumps, size_t count, struct life *lives, uint32_t *life_of)
{
	struct lists lists = {0};
	uint32_t known = 0;
	for (size_t i = 0; i < count; i++) {
		if (!dumps[i].chosen)
			continue;
		const struct cairn_origin *origin = &dumps[i].origin;
		uint32_t at = find_life(&lists, dumps, lives, origin);
		if (at == CAIRN_NONE) {
			at = known++;
			lives[at] = (struct life){.dump = i, .first = origin->time_ns, .last = origin->time_ns, .number = at};
			list_life(&lists, origin, lives, at);
		}
		struct life *life = &lives[at];
		life->count++;
		life->first = origin->time_ns < life->first ? origin->time_ns : life->first;
		life->last = origin->time_ns > life->last ? origin->time_ns : life->last;
		life_of[i] = at;
	}
	cairn_map_free(&lists.lives);
	cairn_map_free(&lists.pids);
	return known;
}

/* A part of time, in which a chosen process ran. */
struct part {
	int64_t first, last;
};

/* Chooses LIFE unless it overlaps one of the COUNT parts, which are disjoint, the latest first. Returns how many there are then. */
static size_t choose_life(struct life *life, struct part *parts, size_t count)
{
	size_t low = 0, high = count; /* the first part that does not begin after the life ends */
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (parts[middle].first > life->last)
			low = middle + 1;
		else
			high = middle;
	}
	life->chosen = low == count || parts[low].last < life->first;
	if (!life->chosen)
		return count;
	memmove(parts + low + 1, parts + low, (count - low) * sizeof *parts);
	parts[low] = (struct part){life->first, life->last};
	return count + 1;
}

static void choose_lives(struct life *lives, size_t count)
{
	struct part *parts = cairn_array_new(count + 1, sizeof *parts);
	size_t chosen = 0;
	qsort(lives, count, sizeof *lives, by_count);
	for (size_t i = 0; i < count; i++)
		chosen = choose_life(&lives[i], parts, chosen);
	free(parts);
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
	uint32_t *life_of = cairn_array_none(count);
	size_t life_count = list_lives(dumps, count, lives, life_of);
	choose_lives(lives, life_count);
	choice.service = lives[0].dump;
	bool *stays = cairn_array_zero(life_count, sizeof *stays);
	for (size_t l = 0; l < life_count; l++)
		stays[lives[l].number] = lives[l].chosen;
	for (size_t i = 0; i < count; i++)
		if (dumps[i].chosen && !stays[life_of[i]]) {
			dumps[i].chosen = false;
			choice.other_processes++;
		}
	free(stays);
	free(life_of);
	choice.count = count - choice.other_services - choice.unknown - choice.other_processes;
	free(lives);
	return choice;
}
