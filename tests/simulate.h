/* simulate.h - services with known truth, as jemalloc's profiler sees them.
 *
 * A path holds objects of one or several sizes that are born and die; an object of s bytes is sampled when it is born with the chance
 * 1 - exp(-s / period), and a sampled object stays in every dump until it dies. What a dump says is what jemalloc 5.3 prints: sums
 * un-sampled object by object, with counts rounded to eighths, turned back by the mean size and rounded (prof_unbias).
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_TESTS_SIMULATE_H
#define CAIRN_TESTS_SIMULATE_H

#include "series/leaks.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static uint64_t sim_state = 1;

static inline void sim_seed(uint64_t seed)
{
	/* Another multiplier than the generator's step, or neighbours would be the same numbers one further. */
	seed = (seed ^ seed >> 31) * 0xd6e8feb86659fd93u;
	seed = (seed ^ seed >> 32) * 0xd6e8feb86659fd93u;
	sim_state = seed ^ seed >> 32;
}

static inline double sim_uniform(void)
{
	uint64_t z = sim_state += 0x9e3779b97f4a7c15u;
	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
	z = (z ^ z >> 27) * 0x94d049bb133111ebu;
	return (double)((z ^ z >> 31) >> 11) * 0x1p-53;
}

static inline double sim_normal(void)
{
	return sqrt(-2 * log(1 - sim_uniform())) * cos(2 * M_PI * sim_uniform());
}

static inline double sim_poisson(double mean)
{
	if (mean > 60)
		return fmax(0, round(mean + sqrt(mean) * sim_normal()));
	double limit = exp(-mean), product = sim_uniform(), count = 0;
	for (; product > limit; product *= sim_uniform())
		count++;
	return count;
}

static inline double sim_binomial(double tries, double chance)
{
	if (chance > 0.5)
		return tries - sim_binomial(tries, 1 - chance);
	double mean = tries * chance;
	if (mean > 60)
		return fmin(tries, fmax(0, round(mean + sqrt(mean * (1 - chance)) * sim_normal())));
	if (tries <= 60) {
		double hits = 0;
		for (double i = 0; i < tries; i++)
			hits += sim_uniform() < chance;
		return hits;
	}
	/* by the gaps between hits */
	double hits = -1, at = 0, scale = log1p(-chance);
	do {
		hits++;
		at += 1 + floor(log(1 - sim_uniform()) / scale);
	} while (at <= tries && chance > 0);
	return hits;
}

enum { sim_parts = 6 };

/* Objects of one size. */
struct sim_part {
	double size, share;      /* of the path's bytes */
	double objects, sampled; /* that live */
	double born, born_sampled; /* ever */
};

struct sim_path {
	struct sim_part parts[sim_parts];
	double lifetime; /* of an object, in intervals; 0 where none dies */
	bool exact;      /* so many objects are held; otherwise they come by chance, as many as die on average */
	/* What it is to hold at dump I of COUNT, in bytes; and what was leaked in all by then. */
	double (*target)(const struct sim_path *path, double i, double count);
	double (*leaked)(const struct sim_path *path, double i, double count);
	double level, rate, at, state;
	bool grows; /* the truth at the end */
	bool resizes; /* it is one object, as large as its target */
	size_t parent; /* the frame it is called by; 0 for the root alone */
};

static inline double sim_chance(double size, double period)
{
	return -expm1(-size / period);
}

/* What was there at the start is not sampled, as after `cairn attach`: only the kernel counts it. */
static bool sim_late;

/* How long a step is, in intervals. */
static double sim_length = 1;

/* One step, or with START the beginning. I is the time at its end, in intervals. */
static inline void sim_step(struct sim_path *path, double i, double count, double period, bool start)
{
	double target = path->target ? path->target(path, i, count) : path->level;
	double leak = path->leaked ? path->leaked(path, i, count) - (start ? 0 : path->leaked(path, i - sim_length, count)) : 0;
	if (path->resizes) {
		path->parts[0] = (struct sim_part){.size = target, .share = 1, .objects = 1, .sampled = 1};
		return;
	}
	double dies = path->lifetime > 0 ? -expm1(-sim_length / path->lifetime) : 0;
	for (struct sim_part *part = path->parts; part < path->parts + sim_parts && part->size > 0; part++) {
		double chance = start && sim_late ? 0 : sim_chance(part->size, period), wanted = target * part->share / part->size, births;
		if (start)
			part->objects = part->sampled = 0;
		/* What leaked never dies: it is not in `objects`, but its samples stay; they are kept by `born` apart. */
		double mortal = part->sampled - part->born_sampled;
		double dead = sim_binomial(mortal, dies), others = sim_binomial(part->objects - mortal, dies);
		part->sampled -= dead;
		part->objects -= dead + others;
		if (start)
			births = path->exact ? round(wanted) : sim_poisson(wanted);
		else if (path->exact)
			births = round(wanted) - part->objects;
		else
			births = sim_poisson(wanted * dies) + (wanted > part->born ? sim_poisson((wanted - part->born) * (1 - dies)) : 0);
		if (births < 0) { /* it shrinks: some die out of turn */
			double gone = sim_binomial(part->sampled - part->born_sampled, fmin(1, -births / fmax(1, part->objects)));
			part->sampled -= gone;
			part->objects += births;
		} else {
			part->objects += births;
			part->sampled += sim_binomial(births, chance);
		}
		part->born = wanted; /* the target before */
		double leaks = sim_poisson(fmax(0, leak * part->share / part->size)), seen = sim_binomial(leaks, chance);
		part->born_sampled += seen;
		part->sampled += seen;
	}
}

/* What jemalloc prints of it: the pair of a line. */
static inline void sim_print(const struct sim_path *path, double period, double *objects, double *bytes)
{
	double count = 0, sum = 0;
	for (const struct sim_part *part = path->parts; part < path->parts + sim_parts && part->size > 0; part++) {
		double chance = sim_chance(part->size, period);
		count += part->sampled * round(8 / chance) / 8;
		sum += part->sampled * round(part->size / chance);
	}
	*objects = *bytes = 0;
	if (count == 0)
		return;
	double mean = sum / count, in = sum * sim_chance(mean, period);
	*objects = round(in / mean);
	*bytes = round(in);
}

/* EVER is the path with all samples that it ever had, or NULL where the dump does not accumulate. */
static inline void sim_add_path(struct cairn_profile *profile, const struct sim_path *path, const struct sim_path *ever, size_t number,
				double period)
{
	char name[32];
	double values[4] = {0};
	sim_print(path, period, &values[0], &values[1]);
	if (ever)
		sim_print(ever, period, &values[2], &values[3]);
	if (values[0] == 0 && values[2] == 0)
		return;
	size_t depth = 2 + (path->parent > 0);
	uint32_t *stack = cairn_profile_stack_room(profile, depth);
	for (size_t level = 0; level < depth; level++) {
		if (level == 0)
			snprintf(name, sizeof name, "%c%zu", path->grows ? 'L' : 'n', number);
		else
			snprintf(name, sizeof name, level + 1 < depth ? "parent%zu" : "main", path->parent);
		uint32_t function =
			cairn_profile_add_function(profile, &(struct cairn_function){.name = cairn_profile_text(profile, name)});
		uint64_t address = level == 0 ? number + 1 : level + 1 < depth ? 100000 + path->parent : 99999;
		uint32_t location = cairn_profile_add_location(profile, 0x1000 * address, CAIRN_NONE, false);
		cairn_profile_set_frames(profile, location, &(struct cairn_frame){.function = function}, 1);
		stack[level] = location;
	}
	cairn_unsample_jemalloc(period, &values[0], &values[1]);
	cairn_unsample_jemalloc(period, &values[2], &values[3]);
	cairn_profile_add_sample(profile, depth, 0, values);
}

static inline void sim_start_profile(struct cairn_profile *profile, double period)
{
	cairn_profile_init(profile);
	profile->format = "jemalloc heap_v2";
	profile->size_classes = true;
	profile->period = period;
	profile->unsampling = CAIRN_UNSAMPLE_POISSON;
	cairn_profile_add_value_type(profile, "inuse_objects", "count");
	cairn_profile_add_value_type(profile, "inuse_space", "bytes");
	profile->default_value = 1;
}

/* What PATH holds at dump I of COUNT, sampled or not. */
static inline double sim_held(const struct sim_path *path, double i, double count)
{
	double held = path->leaked ? path->leaked(path, i, count) : 0;
	for (const struct sim_part *part = path->parts; part < path->parts + sim_parts && part->size > 0; part++)
		held += part->objects * part->size;
	return held;
}

/* Dumps are not ten minutes apart but a chance multiple of that. */
static bool sim_irregular;
/* So many intervals are missing in the middle. */
static int sim_missing;
/* How long before dump I the one before it was taken, in intervals; NULL for one. */
static double (*sim_gap)(int i);

/* A series of DUMPS, ten minutes apart, of COUNT paths; a second process from dump RESTART on, unless that is 0. */
static inline void sim_series(struct cairn_series *series, struct sim_path *paths, size_t count, int dumps, double period, int restart)
{
	struct cairn_error error;
	size_t duplicates;
	int64_t time_ns = 0, since_ns = 0;
	double before = 0, elapsed = 0;
	cairn_series_start(series);
	for (int i = 0; i < dumps; i++) {
		struct cairn_profile profile;
		bool start = i == 0 || (restart && i == restart);
		sim_start_profile(&profile, period);
		double intervals = start ? 1 : sim_irregular ? 1 + sim_poisson(1.5) : sim_missing && i == dumps / 2 ? sim_missing : 1;
		sim_length = sim_gap && !start ? sim_gap(i) : 1;
		elapsed += start ? 0 : sim_length;
		time_ns += (int64_t)(intervals * sim_length * 600e9);
		profile.facts.time_ns = time_ns;
		profile.facts.process_id = restart && i >= restart ? 2 : 1;
		for (size_t p = 0; p < count; p++) {
			if (start)
				for (size_t part = 0; part < sim_parts; part++)
					paths[p].parts[part].sampled = paths[p].parts[part].born_sampled = 0;
			for (double step = 0; step < intervals; step++)
				sim_step(&paths[p], sim_gap ? elapsed : i, dumps, period, start);
			sim_add_path(&profile, &paths[p], NULL, p, period);
			profile.facts.anonymous_bytes += sim_held(&paths[p], i, dumps);
		}
		if (start)
			since_ns = time_ns, before = profile.facts.anonymous_bytes;
		profile.facts.start_ns = sim_late ? 1 : 0;
		profile.facts.since_ns = sim_late ? since_ns : 0;
		profile.facts.before_bytes = sim_late ? before : 0;
		cairn_series_add(series, &profile, "made up", &error);
		cairn_profile_free(&profile);
	}
	cairn_series_finish(series, &duplicates);
}

#endif
