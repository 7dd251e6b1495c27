/* fleet_test.c - the verdict over instances, from records with known truth.
 * SPDX-License-Identifier: Apache-2.0 */
#include "series/fleet.h"

#include "base/array.h"
#include "simulate.h"
#include "tap.h"

#include <math.h>

static void add(struct cairn_fleet *fleet, const char *path, uint32_t release, uint32_t instance, enum cairn_verdict verdict, double chance,
		double per_hour)
{
	cairn_array_room(fleet->records, fleet->record_count, fleet->record_capacity);
	fleet->records[fleet->record_count++] = (struct cairn_fleet_record){
		.path = cairn_strings_add_text(&fleet->stacks, path),
		.release = release,
		.instance = instance,
		.verdict = verdict,
		.chance = verdict == CAIRN_GROWING ? chance : 1,
		.sure = verdict == CAIRN_GROWING ? 0.97 : 0,
		.per_hour = per_hour,
		.error = per_hour / 10,
		.may_grow = verdict == CAIRN_TOO_EARLY && per_hour > 0,
		.now = 1e6,
		.since_ns = 1000 + instance,
	};
}

/* Two releases of three instances each. The later one is added first: what counts is when they were first seen. */
static struct cairn_fleet two_releases(void)
{
	struct cairn_fleet fleet = {.instance_count = 6};
	fleet.releases = cairn_array_reserve(NULL, &fleet.release_capacity, 2, sizeof *fleet.releases);
	fleet.releases[0] = (struct cairn_fleet_release){"new", 2000, 3};
	fleet.releases[1] = (struct cairn_fleet_release){"old", 1000, 3};
	fleet.release_count = 2;
	return fleet;
}

static const char *name_of(const struct cairn_fleet *fleet, size_t row)
{
	return cairn_strings_text(&fleet->stacks, fleet->rows[row].path);
}

/* Many instances by their courses: a path that all of them have, with noise of a few percent, and that grows by PER_HOUR on instance 7. */
static struct cairn_fleet by_courses(double per_hour)
{
	enum { instances = 40, points = 24 };
	static const int64_t hour = 3600000000000;
	sim_seed(3);
	struct cairn_fleet fleet = {.grid = cairn_cohort_grid_make(hour, points * hour, 1, (points - 1) * hour + 1, points),
				    .compared = 100};
	for (size_t i = 0; i < instances; i++) {
		struct cairn_series_point at[points];
		double values[points];
		for (size_t k = 0; k < points; k++) {
			double noise = sim_uniform() - 0.5;
			at[k] = (struct cairn_series_point){.origin = {(uint64_t)i + 1, 1, (int64_t)(k + 1) * hour}};
			values[k] = 1e8 + 6e6 * noise + (i == 7 ? per_hour * (double)k : 0);
		}
		struct cairn_series series = {.points = at, .point_count = points};
		struct cairn_fleet_course course = {
			cairn_strings_add_text(&fleet.stacks, "work\nmain\n"), values, {.amount = 65536, .known = true}};
		cairn_fleet_add_courses(&fleet, "1", hour - 1, &series, &course, 1);
	}
	cairn_fleet_judge(&fleet);
	return fleet;
}

static void test_courses(void)
{
	struct cairn_fleet fleet = by_courses(0);
	is_int(fleet.count == 1 && fleet.rows[0].verdict != CAIRN_GROWING, 1, "forty instances that do nothing");
	cairn_fleet_free(&fleet);
	fleet = by_courses(5e6);
	is_int(fleet.rows[0].verdict == CAIRN_GROWING, 1, "one of forty that grows is judged for itself");
	is_int(fleet.rows[0].growing, 1, "and counts alone");
	ok(fabs(fleet.rows[0].per_hour / 5e6 - 1) < 0.1, "at its own rate, %.0f", fleet.rows[0].per_hour);
	cairn_fleet_free(&fleet);
}

static double leaked(const struct sim_path *path, double i, double count)
{
	(void)count;
	return path->rate * i;
}

/* Adds an instance that sampling began late on, after so many DUMPS: a path that holds 60 MB of objects that live for LIFETIME intervals and
 * leaks RATE bytes in each, and five others. */
static void add_attached(struct cairn_fleet *fleet, const char *version, int dumps, double lifetime, double rate)
{
	enum { paths = 6 };
	struct sim_path service[paths];
	struct cairn_series series;
	struct cairn_view view;
	struct cairn_leaks leaks;
	struct cairn_error error;
	for (size_t p = 0; p < paths; p++)
		service[p] = (struct sim_path){.level = p ? 10e6 * (double)p : 60e6, .lifetime = p ? (double)p : lifetime,
					       .rate = p ? 0 : rate, .leaked = leaked, .parts = {{.size = 2000, .share = 1}}};
	sim_late = true;
	sim_series(&series, service, paths, dumps, 65536, 0);
	sim_late = false;
	cairn_view_make(&view, &series.profile, &(struct cairn_view_options){0}, &error);
	cairn_leaks_rank(&leaks, &series, &view);
	cairn_fleet_add(fleet, version, series.points[0].origin.time_ns - 1, &leaks, &series, &view);
	cairn_leaks_free(&leaks);
	cairn_view_free(&view);
	cairn_series_free(&series);
}

/* Two releases with the same call paths, on all instances of which sampling began late, so that everything comes into view: only what
 * grows, on release 42, counts. With POOLED, there are enough instances for a mean course. */
static void test_attached(int dumps, double lifetime, bool pooled)
{
	size_t instances = pooled ? 8 : 3;
	int64_t interval = 600000000000;
	struct cairn_fleet fleet = {0};
	if (pooled)
		fleet.grid = cairn_cohort_grid_make(interval, dumps * interval, 1, (dumps - 1) * interval + 1, (size_t)dumps);
	sim_seed(5);
	for (size_t i = 0; i < instances; i++) {
		add_attached(&fleet, "41", dumps, lifetime, 0);
		add_attached(&fleet, "42", dumps, lifetime, 4e6);
	}
	cairn_fleet_judge(&fleet);
	const struct cairn_fleet_row *row = &fleet.rows[0];
	const char *release = row->verdict == CAIRN_GROWING ? fleet.releases[row->release].version : "none";
	size_t growing = row->verdict == CAIRN_GROWING ? row->growing : 0;
	bool others = fleet.rows[1].verdict == CAIRN_GROWING;
	ok(growing <= instances && strcmp(release, "41") != 0 && !others,
	   "attached to, %d dumps, lives of %.0f: growing on %zu of %zu, release %s", dumps, lifetime, growing, row->of, release);
	if (dumps == 24)
		ok(growing + 1 >= instances && row->of == instances && row->release == 1 && strcmp(name_of(&fleet, 0), "n0\nmain\n") == 0,
		   "and by then they are found, of %zu instances of that release", row->of);
	cairn_fleet_free(&fleet);
}

int main(void)
{
	test_courses();
	for (int pooled = 0; pooled < 2; pooled++)
		for (int dumps = 3; dumps <= 24; dumps *= 2) {
			test_attached(dumps, 2, pooled);
			test_attached(dumps, 12, pooled);
		}
	is_int(fabs(cairn_fleet_tail(6, 1, 0.01) - (1 - pow(0.99, 6))) < 1e-12, 1, "one of six by chance");
	is_int(fabs(cairn_fleet_tail(3, 3, 0.5) - 0.125) < 1e-12, 1, "all of three");
	is_int(cairn_fleet_tail(5, 0, 0.5) == 1 && cairn_fleet_tail(5, 2, 0) == 0 && cairn_fleet_tail(5, 2, 1) == 1, 1, "the ends");

	struct cairn_fleet fleet = two_releases();
	for (uint32_t i = 0; i < 3; i++) {
		add(&fleet, "leak\nmain\n", 0, i, CAIRN_GROWING, 0.002, 100);
		add(&fleet, "leak\nmain\n", 1, 3 + i, CAIRN_STEADY, 1, 0);
		add(&fleet, "old leak\nmain\n", 0, i, CAIRN_GROWING, 0.001, 1e6);
		add(&fleet, "old leak\nmain\n", 1, 3 + i, CAIRN_GROWING, 0.001, 1e6);
		add(&fleet, "cache\nmain\n", i == 0 ? 0 : 1, i == 0 ? 0 : 2 + i, CAIRN_FILLING, 1, 10);
	}
	add(&fleet, "chance\nmain\n", 0, 1, CAIRN_GROWING, 0.009, 50);
	cairn_fleet_judge(&fleet);
	is_text(name_of(&fleet, 0), "leak\nmain\n", "what is new in a release comes first, however slow");
	is_int(fleet.rows[0].growing, 3, "on three instances");
	is_int(fleet.rows[0].of, 3, "of three");
	is_text(fleet.releases[fleet.rows[0].release].version, "new", "of the release that was seen later");
	is_int(fleet.rows[0].new_in_release, 1, "and on none before");
	is_int(fleet.rows[0].since_ns, 1000, "since the first of them");
	ok(fleet.rows[0].confidence > 0.9999, "three that are moderately sure are very sure together");
	is_text(name_of(&fleet, 1), "old leak\nmain\n", "then what always grew");
	is_int(fleet.rows[1].growing, 6, "on all six");
	is_text(fleet.releases[fleet.rows[1].release].version, "old", "since the first release");
	is_int(fleet.rows[1].per_hour == 1e6, 1, "by so much on each");
	for (size_t i = 2; i < fleet.count; i++)
		ok(fleet.rows[i].verdict != CAIRN_GROWING, "row %zu does not grow", i);
	cairn_fleet_free(&fleet);

	fleet = two_releases();
	add(&fleet, "leak\n", 0, 0, CAIRN_GROWING, 1e-6, 100);
	add(&fleet, "leak\n", 0, 1, CAIRN_TOO_EARLY, 1, 80);
	add(&fleet, "leak\n", 0, 2, CAIRN_STEADY, 1, 0);
	cairn_fleet_judge(&fleet);
	is_int(fleet.rows[0].verdict == CAIRN_GROWING, 1, "one instance of six may be sure enough alone");
	is_int(fleet.rows[0].growing, 2, "and one that rises counts then");
	ok(fabs(fleet.rows[0].confidence - 0.97) < 1e-9, "no surer than it was");
	is_int(fleet.rows[0].new_in_release, 0, "but not all of the release grow");
	cairn_fleet_free(&fleet);

	fleet = (struct cairn_fleet){0};
	cairn_fleet_judge(&fleet);
	is_int(fleet.count, 0, "nothing in, nothing out");
	cairn_fleet_free(&fleet);
	return tap_done();
}
