/* survey.c - from all call paths of a release to those worth a closer look, and from these to courses.
 * SPDX-License-Identifier: Apache-2.0 */
#include "fleet/survey.h"

#include "base/array.h"
#include "base/time.h"
#include "report/paths.h"
#include "report/view.h"
#include "store/hourly.h"

#include <math.h>
#include <stdlib.h>

/* Instances are compared in *slots*. A slot is an hour, or every Nth hour if there are more than 25. With fewer than 12 hours, a slot is at
 * least ten minutes, long enough to contain a whole snapshot. */
enum { slots_most = 25, hours_least = 12, short_slots_most = 13, slots_least = 6, points_least = 3 };
static const int64_t whole_ns = 10 * CAIRN_MINUTE_NS;
/* Values of one call path at one time: so many are looked at one by one. */
static const size_t cells_most = 400000;
/* Why a call path is worth a look: it rose most on all instances together, on one instance or in bytes, or it holds most. */
enum measure { ROSE_TOGETHER, ROSE_ALONE, ROSE_BYTES, LARGEST, MEASURES };
/* How many call paths are chosen by each. */
static const size_t paths_most[MEASURES] = {[ROSE_TOGETHER] = 24, [ROSE_ALONE] = 12, [ROSE_BYTES] = 12, [LARGEST] = 32};

/* One release. */
struct release {
	uint64_t cohort;
	size_t early, late; /* slots to compare */
	size_t instances; /* that have both */
	struct cairn_hourly_sum *sums[2]; /* at these */
	size_t sum_count[2];
};

/* One call path, by its names: all stacks and releases together. */
struct candidate {
	double measures[MEASURES];
	bool wanted;
};

struct survey {
	struct cairn_store *store;
	const struct cairn_store_processes *processes;
	bool hourly;
	int64_t width_ns, slots[slots_most]; /* numbers of slots: times divided by the width */
	size_t slot_count;
	int64_t *times; /* per process and slot, the first whole snapshot in it; 0 where there is none */
	uint32_t *seen; /* per process, a bit for each slot at which it has one */
	struct release *releases;
	size_t release_count, release_capacity;
	uint32_t *release_of; /* per process */
	uint64_t *cohorts; /* of all releases */
	/* Each stack once, of all releases. */
	uint64_t *stacks;
	double *held; /* what it holds on all instances */
	size_t stack_count, stack_capacity, held_capacity;
	struct cairn_map stack_at;
	uint32_t *path_of; /* per stack, CAIRN_NONE where the view leaves it out */
	struct candidate *candidates;
	size_t candidate_count;
};

static void set_slots(struct survey *survey, int64_t width_ns, int64_t first_ns, int64_t last_ns, int64_t most)
{
	int64_t from = first_ns / width_ns, to = last_ns / width_ns, stride = (to - from) / most + 1;
	survey->width_ns = width_ns;
	survey->slot_count = (size_t)((to - from) / stride) + 1;
	for (size_t i = 0; i < survey->slot_count; i++)
		survey->slots[i] = to - (int64_t)(survey->slot_count - 1 - i) * stride;
}

static bool choose_slots(struct survey *survey)
{
	int64_t first, last;
	cairn_store_span(survey->processes, &first, &last);
	set_slots(survey, CAIRN_HOUR_NS, first, last, slots_most);
	survey->hourly = survey->slot_count >= hours_least && cairn_hourly_reaches(survey->store, first);
	if (!survey->hourly) {
		int64_t width = (last - first) / (short_slots_most - 1);
		set_slots(survey, width > whole_ns ? width : whole_ns, first, last, short_slots_most + 1);
	}
	return survey->slot_count >= slots_least;
}

/* The slot of TIME_NS; slots_most where it is in none. */
static size_t slot_at(const struct survey *survey, int64_t time_ns)
{
	int64_t number = time_ns / survey->width_ns, stride = survey->slots[1] - survey->slots[0];
	if (number < survey->slots[0] || (number - survey->slots[0]) % stride != 0)
		return slots_most;
	size_t at = (size_t)((number - survey->slots[0]) / stride);
	return at < survey->slot_count ? at : slots_most;
}

static void find_releases(struct survey *survey)
{
	const struct cairn_store_processes *processes = survey->processes;
	struct cairn_map known = {0};
	survey->seen = cairn_array_zero(processes->count, sizeof *survey->seen);
	survey->times = cairn_array_zero(processes->count * survey->slot_count, sizeof *survey->times);
	survey->release_of = cairn_array_zero(processes->count, sizeof *survey->release_of);
	for (size_t i = 0; i < processes->count; i++) {
		const struct cairn_store_process *process = &processes->items[i];
		uint32_t *at = cairn_map_at(&known, process->cohort);
		if (*at == CAIRN_NONE) {
			*at = (uint32_t)survey->release_count;
			cairn_array_room(survey->releases, survey->release_count, survey->release_capacity);
			survey->releases[survey->release_count++] = (struct release){.cohort = process->cohort};
		}
		survey->release_of[i] = *at;
		for (size_t k = 0; k < process->point_count; k++) {
			int64_t time_ns = process->points[k].time_ns;
			size_t slot = process->points[k].base_ns ? slots_most : slot_at(survey, time_ns);
			if (slot == slots_most || survey->seen[i] >> slot & 1)
				continue;
			survey->seen[i] |= (uint32_t)1 << slot;
			survey->times[i * survey->slot_count + slot] = time_ns;
		}
	}
	cairn_map_free(&known);
	survey->cohorts = cairn_array_new(survey->release_count, sizeof *survey->cohorts);
	for (size_t i = 0; i < survey->release_count; i++)
		survey->cohorts[i] = survey->releases[i].cohort;
}

/* A question about the slots in the set MASK, of RELEASE or of all for CAIRN_NONE, on the instances that were seen in all of NEEDED. */
struct asked {
	struct cairn_hourly_question question;
	uint64_t *instances;
	uint64_t *times, hours[slots_most];
};

static void make_question(const struct survey *survey, uint32_t mask, uint32_t release, uint32_t needed, struct asked *asked)
{
	size_t count = survey->processes->count, instance_count = 0, time_count = 0, hour_count = 0;
	asked->instances = cairn_array_new(count, sizeof *asked->instances);
	asked->times = cairn_array_new(survey->hourly ? 0 : count * survey->slot_count, sizeof *asked->times);
	for (size_t slot = 0; slot < survey->slot_count; slot++)
		if (mask >> slot & 1)
			asked->hours[hour_count++] = (uint64_t)survey->slots[slot];
	for (size_t i = 0; i < count; i++) {
		if ((release != CAIRN_NONE && survey->release_of[i] != release) || (survey->seen[i] & needed) != needed)
			continue;
		asked->instances[instance_count++] = survey->processes->items[i].instance;
		for (size_t slot = 0; slot < survey->slot_count && !survey->hourly; slot++)
			if (mask & survey->seen[i] & (uint32_t)1 << slot)
				asked->times[time_count++] = (uint64_t)survey->times[i * survey->slot_count + slot];
	}
	asked->question = (struct cairn_hourly_question){
		.cohorts = release == CAIRN_NONE ? survey->cohorts : &survey->cohorts[release],
		.cohort_count = release == CAIRN_NONE ? survey->release_count : 1,
		.instances = asked->instances,
		.instance_count = instance_count,
		.hours = survey->hourly ? asked->hours : NULL,
		.hour_count = hour_count,
		.times = asked->times,
		.time_count = time_count,
	};
}

static void free_question(struct asked *asked)
{
	free(asked->instances);
	free(asked->times);
}

/* Chooses the two slots to compare: the pair with the most instance-hours between them. */
static void choose_pair(struct survey *survey, uint32_t release)
{
	size_t best = 0;
	for (size_t early = 0; early < survey->slot_count; early++)
		for (size_t late = early + 1; late < survey->slot_count; late++) {
			uint32_t both = (uint32_t)1 << early | (uint32_t)1 << late;
			size_t slots = 0; /* of all instances together */
			for (size_t i = 0; i < survey->processes->count; i++)
				slots += survey->release_of[i] == release && (survey->seen[i] & both) == both ? late - early : 0;
			if (slots <= best)
				continue;
			best = slots;
			survey->releases[release].early = early;
			survey->releases[release].late = late;
		}
}

/* Whether there is more than can be looked at one by one. */
static bool is_large(struct survey *survey, bool *large, struct cairn_error *error)
{
	size_t best = 0, most = 0, rows, points = 0;
	struct asked asked;
	for (size_t slot = 0; slot < survey->slot_count; slot++) {
		size_t count = 0;
		for (size_t i = 0; i < survey->processes->count; i++)
			count += survey->seen[i] >> slot & 1;
		if (count >= most) { /* the newest of several */
			most = count;
			best = slot;
		}
	}
	for (size_t i = 0; i < survey->processes->count; i++) {
		size_t count = survey->processes->items[i].point_count;
		points += count < CAIRN_COURSE_POINTS ? count : CAIRN_COURSE_POINTS;
	}
	*large = false;
	if (most == 0)
		return true;
	make_question(survey, (uint32_t)1 << best, CAIRN_NONE, (uint32_t)1 << best, &asked);
	bool good = cairn_hourly_size(survey->store, &asked.question, &rows, error);
	*large = good && rows * (points / survey->processes->count) > cells_most;
	free_question(&asked);
	return good;
}

static bool compare_slots(struct survey *survey, struct cairn_error *error)
{
	bool good = true;
	for (uint32_t r = 0; good && r < survey->release_count; r++) {
		struct release *release = &survey->releases[r];
		struct asked asked;
		choose_pair(survey, r);
		if (release->early == release->late)
			continue;
		uint32_t both = (uint32_t)1 << release->early | (uint32_t)1 << release->late;
		for (int late = 0; good && late < 2; late++) {
			make_question(survey, (uint32_t)1 << (late ? release->late : release->early), r, both, &asked);
			release->instances = asked.question.instance_count;
			good = cairn_hourly_sums(survey->store, &asked.question, &release->sums[late], &release->sum_count[late], error);
			free_question(&asked);
		}
	}
	return good;
}

static void list_stacks(struct survey *survey)
{
	for (size_t r = 0; r < survey->release_count; r++)
		for (int late = 0; late < 2; late++)
			for (size_t i = 0; i < survey->releases[r].sum_count[late]; i++) {
				const struct cairn_hourly_sum *sum = &survey->releases[r].sums[late][i];
				uint32_t *at = cairn_map_at(&survey->stack_at, sum->stack);
				if (*at == CAIRN_NONE) {
					*at = (uint32_t)survey->stack_count;
					cairn_array_room(survey->stacks, survey->stack_count, survey->stack_capacity);
					cairn_array_room(survey->held, survey->stack_count, survey->held_capacity);
					survey->held[survey->stack_count] = 0;
					survey->stacks[survey->stack_count++] = sum->stack;
				}
				survey->held[*at] += late ? sum->bytes : 0;
			}
}

/* Gives each stack its call path, as the view shows it. */
static void find_paths(struct survey *survey, struct cairn_view *view, struct cairn_paths *paths)
{
	survey->path_of = cairn_array_none(survey->stack_count);
	for (size_t i = 0; i < view->sample_count; i++) {
		size_t depth;
		const uint32_t *stack = cairn_view_stack(view, i, &depth);
		survey->path_of[view->samples[i]] = cairn_paths_add(paths, stack, depth);
	}
	survey->candidate_count = paths->count;
	survey->candidates = cairn_array_zero(paths->count, sizeof *survey->candidates);
}

/* By how much the lead of a stack's largest share over the mean grew, in standard deviations of the early shares. */
static double distance_of(const struct cairn_hourly_sum *early, const struct cairn_hourly_sum *late, double instances)
{
	double before = early->shares / instances, after = late->shares / instances;
	double deviation = sqrt(fmax(0, early->squares / instances - before * before));
	double rise = (late->most - after) - (early->most - before);
	return rise > 0 ? rise / fmax(deviation, 1e-3 * after) : 0;
}

/* Adds up the changes of each call path, release by release, and keeps the most of each measure. */
static void measure_candidates(struct survey *survey)
{
	double *sums[2] = {cairn_array_new(survey->candidate_count, sizeof **sums),
			   cairn_array_new(survey->candidate_count, sizeof **sums)};
	for (size_t r = 0; r < survey->release_count; r++) {
		const struct release *release = &survey->releases[r];
		static const struct cairn_hourly_sum nothing = {0};
		size_t before = 0;
		for (int late = 0; late < 2; late++) {
			memset(sums[late], 0, survey->candidate_count * sizeof **sums);
			for (size_t i = 0; i < release->sum_count[late]; i++) {
				const struct cairn_hourly_sum *sum = &release->sums[late][i], *early = &nothing;
				uint32_t path = survey->path_of[cairn_map_get(&survey->stack_at, sum->stack)];
				if (path == CAIRN_NONE)
					continue;
				sums[late][path] += sum->bytes;
				if (!late)
					continue;
				while (before < release->sum_count[0] && release->sums[0][before].stack < sum->stack)
					before++;
				if (before < release->sum_count[0] && release->sums[0][before].stack == sum->stack)
					early = &release->sums[0][before];
				double *alone = &survey->candidates[path].measures[ROSE_ALONE];
				*alone = fmax(*alone, distance_of(early, sum, (double)release->instances));
			}
		}
		for (size_t i = 0; i < survey->candidate_count; i++) {
			struct candidate *candidate = &survey->candidates[i];
			double rise = sums[1][i] - sums[0][i];
			if (rise > 0) {
				double *together = &candidate->measures[ROSE_TOGETHER], *bytes = &candidate->measures[ROSE_BYTES];
				*together = fmax(*together, rise * rise / (sums[0][i] + sums[1][i]));
				*bytes = fmax(*bytes, rise);
			}
			candidate->measures[LARGEST] += sums[1][i];
		}
	}
	free(sums[0]);
	free(sums[1]);
}

struct ranked {
	double value;
	uint32_t path;
};

static int by_value(const void *a, const void *b)
{
	const struct ranked *one = a, *other = b;
	if (one->value != other->value)
		return one->value < other->value ? 1 : -1;
	return (one->path > other->path) - (one->path < other->path);
}

static void choose_candidates(struct survey *survey)
{
	struct ranked *order = cairn_array_new(survey->candidate_count, sizeof *order);
	for (enum measure measure = 0; measure < MEASURES && survey->candidate_count > 0; measure++) {
		for (uint32_t i = 0; i < survey->candidate_count; i++)
			order[i] = (struct ranked){survey->candidates[i].measures[measure], i};
		qsort(order, survey->candidate_count, sizeof *order, by_value);
		for (size_t i = 0; i < survey->candidate_count && i < paths_most[measure] && order[i].value > 0; i++)
			survey->candidates[order[i].path].wanted = true;
	}
	free(order);
}

/* What the wanted stacks held, of each process in each slot. */
struct detail {
	const struct survey *survey;
	struct cairn_map process_at; /* by instance */
	uint32_t *column_of; /* per stack of the survey; CAIRN_NONE where it is not wanted */
	size_t columns;
	double *sizes; /* of an object; by process and column */
	double *values; /* by process, column and slot */
};

static void take_row(void *context, const struct cairn_hourly_row *row)
{
	struct detail *detail = context;
	const struct survey *survey = detail->survey;
	uint32_t process = cairn_map_get(&detail->process_at, row->instance), stack = cairn_map_get(&survey->stack_at, row->stack);
	size_t slot = slot_at(survey, row->time_ns);
	if (process == CAIRN_NONE || stack == CAIRN_NONE || slot == slots_most || detail->column_of[stack] == CAIRN_NONE)
		return;
	size_t at = process * detail->columns + detail->column_of[stack];
	detail->sizes[at] = row->size;
	detail->values[at * survey->slot_count + slot] = row->bytes;
}

static bool read_detail(struct detail *detail, struct cairn_error *error)
{
	const struct survey *survey = detail->survey;
	size_t processes = survey->processes->count;
	uint64_t *stacks = cairn_array_new(survey->stack_count, sizeof *stacks);
	detail->column_of = cairn_array_none(survey->stack_count);
	for (size_t i = 0; i < survey->stack_count; i++)
		if (survey->path_of[i] != CAIRN_NONE && survey->candidates[survey->path_of[i]].wanted) {
			stacks[detail->columns] = survey->stacks[i];
			detail->column_of[i] = (uint32_t)detail->columns++;
		}
	for (size_t i = 0; i < processes; i++)
		*cairn_map_at(&detail->process_at, survey->processes->items[i].instance) = (uint32_t)i;
	detail->sizes = cairn_array_zero(processes * detail->columns, sizeof *detail->sizes);
	detail->values = cairn_array_zero(processes * detail->columns * survey->slot_count, sizeof *detail->values);
	struct asked asked;
	make_question(survey, ((uint32_t)1 << survey->slot_count) - 1, CAIRN_NONE, 0, &asked);
	asked.question.stacks = stacks;
	asked.question.stack_count = detail->columns;
	bool good = cairn_hourly_rows(survey->store, &asked.question, take_row, detail, error);
	free_question(&asked);
	free(stacks);
	return good;
}

static void free_detail(struct detail *detail)
{
	cairn_map_free(&detail->process_at);
	free(detail->column_of);
	free(detail->sizes);
	free(detail->values);
}

/* The point of PROCESS that was taken at TIME_NS, as far as onset.h asks. */
static struct cairn_series_point point_of(const struct cairn_store_process *process, int64_t time_ns)
{
	const struct cairn_store_point *at = process->points;
	while (at < cairn_store_last(process) && at->time_ns < time_ns)
		at++;
	return (struct cairn_series_point){
		.origin = {.process_id = process->pid, .start_ns = process->start_ns, .time_ns = time_ns, .since_ns = at->since_ns},
		.live = true,
		.bytes = at->bytes,
		.own = {.anonymous = at->own, .before = at->before},
	};
}

/* Lists the points of PROCESS, and the slot of each in SLOTS. */
static size_t list_points(const struct survey *survey, size_t process, struct cairn_series_point *points, size_t *slots)
{
	const struct cairn_store_process *of = &survey->processes->items[process];
	size_t count = 0;
	for (size_t slot = 0; slot < survey->slot_count; slot++)
		if (survey->seen[process] >> slot & 1) {
			int64_t time_ns = survey->times[process * survey->slot_count + slot];
			points[count] = point_of(of, time_ns);
			slots[count++] = slot;
		}
	return count;
}

/* What one sample of objects of SIZE stands for. */
static struct cairn_unit_size unit_of(const struct cairn_store_point *point, double size)
{
	static const double small_share = 1 / 64.0; /* of the period: such objects weigh the same whatever their sizes (series/series.c) */
	bool sampled = point->unsampling == CAIRN_UNSAMPLE_POISSON || point->unsampling == CAIRN_UNSAMPLE_RATIO;
	double weight = sampled && size > 0 ? cairn_sample_weight(point->period, size) * size : 0;
	return (struct cairn_unit_size){.amount = weight + size,
					.known = size > 0 && (size < small_share * point->period || cairn_sizes_equal(size))};
}

/* Adds the courses of one process, path by path. */
static void add_process(const struct survey *survey, const struct detail *detail, const uint32_t *names, size_t process,
			struct cairn_fleet *fleet, double *sums, double *units)
{
	const struct cairn_store_process *of = &survey->processes->items[process];
	struct cairn_series_point points[slots_most];
	size_t slots[slots_most], count = list_points(survey, process, points, slots), course_count = 0;
	struct cairn_series series = {.points = points, .point_count = count};
	if (count < points_least)
		return;
	struct cairn_fleet_course *courses = cairn_array_new(detail->columns, sizeof *courses);
	uint32_t *course_of = cairn_array_none(survey->candidate_count);
	for (size_t stack = 0; stack < survey->stack_count; stack++) {
		uint32_t column = detail->column_of[stack], path = survey->path_of[stack];
		if (column == CAIRN_NONE)
			continue;
		const double *values = &detail->values[(process * detail->columns + column) * survey->slot_count];
		double total = 0;
		for (size_t k = 0; k < count; k++)
			total += values[slots[k]];
		if (!(total > 0))
			continue;
		if (course_of[path] == CAIRN_NONE) {
			course_of[path] = (uint32_t)course_count;
			memset(sums + course_count * count, 0, count * sizeof *sums);
			units[course_count] = 0;
			courses[course_count] = (struct cairn_fleet_course){
				.path = names[path], .values = sums + course_count * count, .unit = {.known = true}};
			course_count++;
		}
		struct cairn_unit_size unit =
			unit_of(cairn_store_last(of), detail->sizes[process * detail->columns + column]);
		struct cairn_fleet_course *course = &courses[course_of[path]];
		for (size_t k = 0; k < count; k++)
			sums[course_of[path] * count + k] += values[slots[k]];
		course->unit.known &= unit.known;
		course->unit.amount += unit.amount * total;
		units[course_of[path]] += total;
	}
	for (size_t i = 0; i < course_count; i++)
		courses[i].unit.amount /= units[i];
	int64_t start = of->start_ns < of->points[0].time_ns ? of->start_ns : 0;
	cairn_fleet_add_courses(fleet, of->version, start, &series, courses, course_count);
	free(courses);
	free(course_of);
}

/* The names of the wanted paths, leaf first, each with its line end, as numbers in the fleet's texts. */
static uint32_t *name_paths(const struct survey *survey, const struct cairn_view *view, const struct cairn_paths *paths,
			    struct cairn_fleet *fleet)
{
	uint32_t *names = cairn_array_none(survey->candidate_count);
	struct cairn_buffer text = cairn_buffer(SIZE_MAX);
	for (size_t i = 0; i < survey->candidate_count; i++) {
		if (!survey->candidates[i].wanted)
			continue;
		text.length = 0;
		for (size_t k = 0; k < paths->items[i].depth; k++) {
			struct cairn_bytes name = cairn_view_name(view, paths->entries[paths->items[i].first + k]);
			cairn_buffer_append(&text, name.data, name.length);
			cairn_buffer_byte(&text, '\n');
		}
		names[i] = cairn_strings_add(&fleet->stacks, cairn_buffer_bytes(&text));
	}
	cairn_buffer_free(&text);
	return names;
}

static bool look_closer(struct survey *survey, struct cairn_fleet *fleet, struct cairn_error *error)
{
	struct cairn_profile profile;
	struct cairn_view view = {0};
	struct cairn_view_options options = {.fold_wrappers = true};
	struct cairn_paths paths = {0};
	struct detail detail = {.survey = survey};
	cairn_profile_init(&profile);
	list_stacks(survey);
	bool good = cairn_hourly_profile(survey->store, survey->stacks, survey->held, survey->stack_count, &profile, error) &&
		    cairn_view_make(&view, &profile, &options, error);
	if (good) {
		find_paths(survey, &view, &paths);
		measure_candidates(survey);
		choose_candidates(survey);
		good = read_detail(&detail, error);
	}
	if (good) {
		uint32_t *names = name_paths(survey, &view, &paths, fleet);
		fleet->grid.steps = fleet->grid.steps < survey->slot_count ? fleet->grid.steps : survey->slot_count;
		double *sums = cairn_array_new(detail.columns * slots_most, sizeof *sums);
		double *units = cairn_array_new(detail.columns, sizeof *units);
		for (size_t i = 0; i < survey->processes->count; i++)
			add_process(survey, &detail, names, i, fleet, sums, units);
		fleet->path_count = survey->candidate_count;
		fleet->compared = survey->candidate_count * fleet->release_count;
		free(names);
		free(sums);
		free(units);
	}
	free_detail(&detail);
	cairn_paths_free(&paths);
	cairn_view_free(&view);
	cairn_profile_free(&profile);
	return good;
}

bool cairn_fleet_survey(struct cairn_store *store, const struct cairn_store_processes *processes, struct cairn_fleet *fleet, bool *done,
			struct cairn_error *error)
{
	struct survey survey = {.store = store, .processes = processes};
	bool good = true;
	*done = false;
	if (processes->count > 0 && choose_slots(&survey)) {
		find_releases(&survey);
		good = is_large(&survey, done, error);
		if (good && *done)
			good = compare_slots(&survey, error) && look_closer(&survey, fleet, error);
	}
	for (size_t i = 0; i < survey.release_count; i++) {
		free(survey.releases[i].sums[0]);
		free(survey.releases[i].sums[1]);
	}
	free(survey.releases);
	free(survey.seen);
	free(survey.release_of);
	free(survey.cohorts);
	free(survey.times);
	free(survey.stacks);
	free(survey.held);
	free(survey.path_of);
	free(survey.candidates);
	cairn_map_free(&survey.stack_at);
	return good;
}
