/* simulate_fleet.h - fleets with known truth.
 *
 * Two releases, half of the instances each. Every instance has a load of its own, from a third of the mean to three times that, which all
 * its memory follows. The paths are steady ones, a cache that fills, a sawtooth and a queue that wanders, on all instances, and in release
 * B what the cell says.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_TESTS_SIMULATE_FLEET_H
#define CAIRN_TESTS_SIMULATE_FLEET_H

#include "series/fleet.h"
#include "simulate.h"

enum { steady_paths = 12, special = steady_paths, path_count = steady_paths + 4, dumps = 24 };
static const double period = 524288, interval_hours = 1.0 / 6;

struct cell {
	const char *name;
	double per_hour; /* of an instance with the mean load; 0 for no leak */
	double share;    /* of the instances of release B that leak */
	double since;    /* the share of the time after which it begins */
	int tide;        /* the load of all instances moves together: in a wave, or wherever it goes */
	bool rolling;    /* instances start one after the other, all over the time */
};
enum { tide_none, tide_wave, tide_wander };

/* From so many instances on, only courses are added, as of a fleet in a store with 3,000 paths. */
enum { instances_by_course = 500, paths_compared = 3000 };

static double tide[dumps + 1];

static double target_load(const struct sim_path *path, double i, double count)
{
	(void)count;
	return path->level * (1 + tide[(int)i]);
}

static double target_fill(const struct sim_path *path, double i, double count)
{
	(void)count;
	return path->level * -expm1(-(i + 1) / path->rate) * (1 + tide[(int)i]);
}

static double target_saw(const struct sim_path *path, double i, double count)
{
	(void)count;
	return path->level * (1 + fmod(i + path->at, path->rate) / path->rate);
}

static double queue[dumps + 1];

static double target_queue(const struct sim_path *path, double i, double count)
{
	(void)count;
	return path->level * fmax(0.05, 1 + queue[(int)i]);
}

static double leak(const struct sim_path *path, double i, double count)
{
	return path->rate * fmax(0, i + (path->at > 0 ? 0 : 1) - path->at * (count - 1));
}

/* The paths of a service: the same on all its instances. */
static struct sim_path service[path_count];

static void make_service(void)
{
	for (size_t p = 0; p < steady_paths; p++) {
		double size = exp2(8 + floor(9 * sim_uniform()));
		service[p] = (struct sim_path){.level = 2e6 + 60e6 * sim_uniform() * sim_uniform(),
					       .lifetime = 0.3 * pow(300, sim_uniform()),
					       .target = target_load,
					       .exact = sim_uniform() < 0.5,
					       .parts = {{.size = size, .share = 1}}};
	}
	service[special] = (struct sim_path){.level = 80e6,
					     .rate = 2 + 6 * sim_uniform(),
					     .lifetime = 50,
					     .target = target_fill,
					     .exact = true,
					     .parts = {{.size = 8192, .share = 1}}};
	service[special + 1] = (struct sim_path){.level = 40e6, .rate = 6, .lifetime = 5, .target = target_saw, .exact = true,
						 .parts = {{.size = 4096, .share = 1}}};
	service[special + 2] = (struct sim_path){.level = 30e6, .lifetime = 0.3, .target = target_queue, .exact = true,
						 .parts = {{.size = 2048, .share = 1}}};
	service[special + 3] = (struct sim_path){.level = 5e6, .lifetime = 5, .leaked = leak, .exact = true,
						 .parts = {{.size = 1024, .share = 1}}};
}

struct outcome {
	int found, first, release, rate, every, alarms;
	int right; /* first, with the right release and rate */
	double said, truth, instances;
};

static double clock_of(const struct cell *cell, size_t instance)
{
	return cell->rolling ? floor((double)(instance % 97) / 97 * dumps) : 0;
}

static void add_courses(struct cairn_fleet *fleet, const char *version, const struct cairn_series *series, struct cairn_view *view)
{
	struct cairn_series_paths paths;
	struct cairn_series_value values[dumps];
	struct cairn_fleet_course courses[path_count];
	double amounts[path_count][dumps];
	size_t count = 0;
	cairn_series_paths_make(&paths, series, view);
	for (size_t p = 0; p < paths.paths.count && count < path_count; p++) {
		char name[64];
		struct cairn_bytes leaf = cairn_series_paths_name(&paths, view, p, 0), root = cairn_series_paths_name(&paths, view, p, 1);
		cairn_series_paths_values(&paths, p, values);
		for (size_t i = 0; i < series->point_count; i++)
			amounts[count][i] = values[i].value;
		snprintf(name, sizeof name, "%.*s\n%.*s\n", (int)leaf.length, leaf.data, (int)root.length, root.data);
		courses[count] = (struct cairn_fleet_course){cairn_strings_add_text(&fleet->stacks, name), amounts[count],
							     cairn_series_unit(values, series->point_count)};
		count++;
	}
	cairn_fleet_add_courses(fleet, version, series->points[0].origin.time_ns - 1, series, courses, count);
	cairn_series_paths_free(&paths);
}

static void add_instance(struct cairn_fleet *fleet, const struct cell *cell, size_t instance, bool newer, double *truth, size_t *leaking)
{
	struct sim_path paths[path_count];
	double load = exp(log(3) * (2 * sim_uniform() - 1)), at = 0;
	memcpy(paths, service, sizeof paths);
	for (size_t p = 0; p < path_count; p++)
		paths[p].level *= load;
	for (int i = 0; i <= dumps; i++)
		queue[i] = at += 0.1 * sim_normal() - 0.05 * at;
	paths[special + 1].at = floor(6 * sim_uniform());
	struct sim_path *leaky = &paths[special + 3];
	bool leaks = newer && cell->per_hour > 0 && sim_uniform() < cell->share;
	leaky->rate = leaks ? cell->per_hour * load * interval_hours : 0;
	leaky->at = cell->since;
	leaky->grows = false; /* the name must not depend on the release */
	*truth += leaks ? cell->per_hour * load : 0;
	*leaking += leaks;
	struct cairn_series series;
	struct cairn_view view = {0};
	struct cairn_view_options options = {.fold_wrappers = true};
	struct cairn_leaks ranked;
	struct cairn_error error;
	sim_series(&series, paths, path_count, dumps, period, 0);
	int64_t late = (int64_t)(clock_of(cell, instance) * 6e11) + (newer ? 1000000000 : 0);
	for (size_t i = 0; i < series.point_count; i++)
		series.points[i].origin.time_ns += late;
	bool good = cairn_view_make(&view, &series.profile, &options, &error);
	if (good && fleet->compared) {
		add_courses(fleet, newer ? "B" : "A", &series, &view);
	} else if (good) {
		cairn_leaks_rank(&ranked, &series, &view);
		cairn_fleet_add(fleet, newer ? "B" : "A", series.points[0].origin.time_ns - 1, &ranked, &series, &view);
		cairn_leaks_free(&ranked);
	}
	cairn_view_free(&view);
	cairn_series_free(&series);
}

static void make_tide(int kind)
{
	double phase = 2 * M_PI * sim_uniform(), speed = 0, at = 0;
	for (int i = 0; i <= dumps; i++) {
		speed = kind == tide_wander ? 0.8 * speed + 0.02 * sim_normal() : 0;
		at = fmax(-0.7, at + speed);
		tide[i] = kind == tide_wave ? 0.3 * sin(phase + 2 * M_PI * i / (1.7 * dumps)) : kind == tide_wander ? at : 0;
	}
}

static inline void run_fleet(const struct cell *cell, size_t instances, uint64_t seed, struct outcome *outcome)
{
	static const int64_t interval = 600000000000;
	struct cairn_fleet fleet = {.grid = cairn_cohort_grid_make(interval, (dumps + (cell->rolling ? dumps - 1 : 0)) * interval, 1,
								   (dumps - 1) * interval + 1, dumps),
				    .compared = instances >= instances_by_course ? 2 * paths_compared : 0};
	double truth = 0;
	size_t leaking = 0;
	char wanted[32];
	sim_seed(seed);
	make_service();
	make_tide(cell->tide);
	snprintf(wanted, sizeof wanted, "n%d\nmain\n", special + 3);
	for (size_t i = 0; i < instances; i++)
		add_instance(&fleet, cell, i, i % 2 == 1, &truth, &leaking);
	cairn_fleet_judge(&fleet);
	truth = leaking ? truth / (double)leaking : 0;
	bool alarm = false;
	for (size_t i = 0; i < fleet.count && fleet.rows[i].verdict == CAIRN_GROWING; i++) {
		const struct cairn_fleet_row *row = &fleet.rows[i];
		if (strcmp(cairn_strings_text(&fleet.stacks, row->path), wanted) != 0 || !(cell->per_hour > 0)) {
			if (getenv("FLEET_SHOW"))
				fprintf(stderr, "%s: alarm %.10s %zu of %zu, %.0f/h\n", cell->name,
					cairn_strings_text(&fleet.stacks, row->path), row->growing, row->of, row->per_hour);
			alarm = true;
			continue;
		}
		outcome->found++;
		bool release = strcmp(fleet.releases[row->release].version, "B") == 0;
		bool rate = fabs(row->per_hour - truth) < fmax(0.1 * truth, 2 * row->error);
		outcome->first += i == 0;
		outcome->release += release;
		outcome->rate += rate;
		outcome->right += i == 0 && release && rate;
		outcome->every += row->new_in_release;
		outcome->said += row->per_hour;
		outcome->truth += truth;
		outcome->instances += (double)row->growing / (double)leaking;
	}
	outcome->alarms += alarm;
	cairn_fleet_free(&fleet);
}

#endif
