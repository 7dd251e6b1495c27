/* judged.c - reads what a verdict takes, and makes it.
 * SPDX-License-Identifier: Apache-2.0 */
#include "live/judged.h"

#include "base/array.h"
#include "base/time.h"
#include "profile/read.h"

#include <stdlib.h>
#include <time.h>

enum { course_dumps = 3 };
static const int64_t course_ns = 3 * CAIRN_SECOND_NS;

bool cairn_judged_make(struct cairn_judged *judged, const struct cairn_profile *profile, const struct cairn_view_options *options)
{
	size_t duplicates;
	uint32_t value;
	struct cairn_error error;
	if (profile->sample_count == 0 || !profile->freed || !profile->facts.time_ns ||
	    !cairn_view_choose(profile, options, &value, &error) || value != profile->default_value)
		return false;
	cairn_series_start(&judged->series);
	bool good = cairn_series_add(&judged->series, profile, "", &error);
	cairn_series_finish(&judged->series, &duplicates);
	if (!good || !(judged->series.lives.seconds > 0) || !cairn_view_make(&judged->view, &judged->series.profile, options, &error))
		return false;
	cairn_leaks_rank(&judged->leaks, &judged->series, &judged->view);
	return true;
}

void cairn_judged_free(struct cairn_judged *judged)
{
	cairn_leaks_free(&judged->leaks);
	cairn_view_free(&judged->view);
	cairn_series_free(&judged->series);
}

/* Judges the private and shared memory that the service mapped itself, as DUMP has it. */
static bool judge_mapped(struct cairn_judged *mapped, struct cairn_bytes dump)
{
	struct cairn_profile profile;
	const struct cairn_read_options reading = {
		.shown = CAIRN_SHOWN_MAPPED,
		.mapped_kinds = 1u << CAIRN_MAPPED_ANONYMOUS | 1u << CAIRN_MAPPED_SHARED | 1u << CAIRN_MAPPED_BRK,
		.mapped_resident = true,
		.with_freed = true,
	};
	cairn_profile_init(&profile);
	bool good = cairn_profile_read(&profile, dump, "the newest dump", &reading, NULL);
	if (good)
		cairn_source_name(&profile, &(struct cairn_source_options){.quiet = true});
	good = good && cairn_judged_make(mapped, &profile, &(struct cairn_view_options){.fold_wrappers = true});
	cairn_profile_free(&profile);
	return good;
}

void cairn_judged_conclude(struct cairn_judgement *judgement, struct cairn_judged *mapped, const struct cairn_series *series,
			   const struct cairn_leaks *leaks, const struct cairn_view *view, const struct cairn_judge_context *context,
			   struct cairn_bytes dump)
{
	struct cairn_judge_context own = *context;
	bool bytes = cairn_view_in_bytes(view) && series->points[series->point_count - 1].live;
	own.no_forecast |= !bytes;
	if (bytes && dump.length > 0 && cairn_judge_wants_mapped(series, leaks) && judge_mapped(mapped, dump)) {
		own.mapped = &mapped->leaks;
		own.mapped_view = &mapped->view;
	}
	cairn_judge(judgement, series, leaks, view, &own);
}

bool cairn_judged_series(struct cairn_judged_series *judged, const struct cairn_view_options *options,
			 const struct cairn_judge_context *context, struct cairn_bytes dump, struct cairn_error *error)
{
	if (!cairn_view_make(&judged->view, &judged->series.profile, options, error))
		return false;
	cairn_leaks_rank(&judged->leaks, &judged->series, &judged->view);
	cairn_judged_conclude(&judged->judgement, &judged->mapped, &judged->series, &judged->leaks, &judged->view, context, dump);
	return true;
}

void cairn_judged_series_free(struct cairn_judged_series *judged)
{
	cairn_judged_free(&judged->mapped);
	cairn_leaks_free(&judged->leaks);
	cairn_view_free(&judged->view);
	cairn_series_free(&judged->series);
	*judged = (struct cairn_judged_series){0};
}

struct cairn_taken cairn_taken(const struct cairn_target *target, const char *name, const struct cairn_source_options *options,
			       const struct cairn_view_options *view)
{
	return (struct cairn_taken){.target = *target, .name = name, .options = options, .view = view, .newest = cairn_buffer(SIZE_MAX)};
}

bool cairn_taken_open(struct cairn_taken *taken, const char *name, const struct cairn_source_options *options,
		      const struct cairn_view_options *view, struct cairn_error *error)
{
	struct cairn_target target;
	*taken = (struct cairn_taken){0};
	if (!cairn_target_find_profile(&target, name, options->token, error))
		return false;
	*taken = cairn_taken(&target, name, options, view);
	return true;
}

bool cairn_taken_more(struct cairn_taken *taken, struct cairn_error *error)
{
	cairn_array_room(taken->profiles, taken->count, taken->capacity);
	struct cairn_profile *profile = &taken->profiles[taken->count++];
	cairn_buffer_free(&taken->newest);
	taken->newest = cairn_buffer(SIZE_MAX);
	bool good = cairn_source_take(profile, &taken->target, &taken->newest, taken->name, taken->options, error) &&
		    cairn_view_choose(profile, taken->view, &profile->default_value, error);
	if (!good)
		cairn_profile_free(&taken->profiles[--taken->count]);
	return good;
}

static void rest(int64_t ns)
{
	struct timespec left = {.tv_sec = ns / CAIRN_SECOND_NS, .tv_nsec = ns % CAIRN_SECOND_NS};
	while (ns > 0 && nanosleep(&left, &left) != 0)
		;
}

bool cairn_taken_over(struct cairn_taken *taken, size_t count, int64_t span_ns, struct cairn_error *error)
{
	for (size_t i = 0; i < count; i++) {
		rest(span_ns / (int64_t)count);
		if (!cairn_taken_more(taken, error))
			return false;
	}
	return true;
}

bool cairn_taken_course(struct cairn_taken *taken, struct cairn_error *error)
{
	return cairn_taken_over(taken, course_dumps - 1, course_ns, error);
}

bool cairn_taken_series(const struct cairn_taken *taken, struct cairn_series *series, struct cairn_error *error)
{
	bool good = true;
	size_t duplicates;
	cairn_series_start(series);
	for (size_t i = 0; good && i < taken->count; i++)
		good = cairn_series_add(series, &taken->profiles[i], "", error);
	cairn_series_finish(series, &duplicates);
	if (good)
		cairn_source_name(&series->profile, taken->options);
	return good;
}

void cairn_taken_free(struct cairn_taken *taken)
{
	for (size_t i = 0; i < taken->count; i++)
		cairn_profile_free(&taken->profiles[i]);
	free(taken->profiles);
	cairn_buffer_free(&taken->newest);
	*taken = (struct cairn_taken){0};
}

enum cairn_taken_need cairn_taken_need(const struct cairn_taken *taken, const struct cairn_judgement *judgement)
{
	const struct cairn_series *series = judgement->series;
	if (!(series->lives.seconds > 0))
		return CAIRN_TAKEN_SERIES;
	if (judgement->verdict != CAIRN_TOO_EARLY)
		return CAIRN_TAKEN_ENOUGH;
	if (series->lives.seconds < CAIRN_SETTLED_SECONDS)
		return CAIRN_TAKEN_SETTLED;
	return judgement->mapped && taken->count < course_dumps ? CAIRN_TAKEN_COURSE : CAIRN_TAKEN_ENOUGH;
}
