/* judged.h - a verdict on a process and what it rests on: the dumps of a file, a folder, a store or a process that runs.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_LIVE_JUDGED_H
#define CAIRN_LIVE_JUDGED_H

#include "live/source.h"
#include "live/target.h"
#include "series/judge.h"

/* One kind of memory, judged. All zeroes to start with. */
struct cairn_judged {
	struct cairn_series series;
	struct cairn_view view; /* of the series */
	struct cairn_leaks leaks;
};

/* Judges PROFILE, one dump with names that was read with_freed, as OPTIONS show it. Returns false if it has no samples, does not know ages,
 * or they are not those of the value that is shown. The caller frees JUDGED in either case. */
bool cairn_judged_make(struct cairn_judged *judged, const struct cairn_profile *profile, const struct cairn_view_options *options);
void cairn_judged_free(struct cairn_judged *judged);

/* The verdict on SERIES, whose newest dump is DUMP; that may be empty. MAPPED, all zeroes to start with, receives what the service mapped
 * itself, if that has to be looked at; the caller frees it once JUDGEMENT is not needed any more. */
void cairn_judged_conclude(struct cairn_judgement *judgement, struct cairn_judged *mapped, const struct cairn_series *series,
			   const struct cairn_leaks *leaks, const struct cairn_view *view, const struct cairn_judge_context *context,
			   struct cairn_bytes dump);

/* The verdict on a series, and what it rests on. All zeroes to start with, but for the series, which the caller makes. */
struct cairn_judged_series {
	struct cairn_series series;
	struct cairn_view view;
	struct cairn_leaks leaks;
	struct cairn_judged mapped;
	struct cairn_judgement judgement;
};

/* Judges the series, whose newest dump is DUMP; that may be empty. The caller frees JUDGED in either case. */
bool cairn_judged_series(struct cairn_judged_series *judged, const struct cairn_view_options *options,
			 const struct cairn_judge_context *context, struct cairn_bytes dump, struct cairn_error *error);
void cairn_judged_series_free(struct cairn_judged_series *judged);

/* Dumps of a process that runs, taken as they are needed. All zeroes to start with. */
struct cairn_taken {
	struct cairn_target target;
	const char *name; /* borrowed, as the options are */
	const struct cairn_source_options *options;
	const struct cairn_view_options *view;
	struct cairn_profile *profiles;
	size_t count, capacity;
	struct cairn_buffer newest; /* the text of the last one */
};

/* Of the process that TARGET is, which was found by NAME. */
struct cairn_taken cairn_taken(const struct cairn_target *target, const char *name, const struct cairn_source_options *options,
			       const struct cairn_view_options *view);
/* Finds the process that NAME is. */
bool cairn_taken_open(struct cairn_taken *taken, const char *name, const struct cairn_source_options *options,
		      const struct cairn_view_options *view, struct cairn_error *error);
/* Takes one more dump. */
bool cairn_taken_more(struct cairn_taken *taken, struct cairn_error *error);
/* All of them as a series, with names; the caller frees it. */
bool cairn_taken_series(const struct cairn_taken *taken, struct cairn_series *series, struct cairn_error *error);
void cairn_taken_free(struct cairn_taken *taken);

/* Takes COUNT more over SPAN_NS. */
bool cairn_taken_over(struct cairn_taken *taken, size_t count, int64_t span_ns, struct cairn_error *error);

/* What decides whether another dump would change the verdict. */
enum cairn_taken_need {
	CAIRN_TAKEN_ENOUGH,
	CAIRN_TAKEN_SERIES,  /* the dumps have no ages: it takes several over some time */
	CAIRN_TAKEN_COURSE,  /* mappings grew by their ages: whether the process grows with them takes cairn_taken_course */
	CAIRN_TAKEN_SETTLED, /* sampling began just now */
};
/* Takes the dumps that show whether the process grows, which takes a few seconds. */
bool cairn_taken_course(struct cairn_taken *taken, struct cairn_error *error);
enum cairn_taken_need cairn_taken_need(const struct cairn_taken *taken, const struct cairn_judgement *judgement);

#endif
