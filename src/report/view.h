/* view.h - a profile as a report shows it: one value, and stacks of display names.
 *
 * An *entry* is anything that can be a row of a table or a box of a picture: a function, a file, a line or an address, depending on the
 * granularity. A view gives every location its entries (several if functions were inlined), so that reports work only with stacks of
 * entries.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_REPORT_VIEW_H
#define CAIRN_REPORT_VIEW_H

#include "base/buffer.h"
#include "base/pattern.h"
#include "profile/spread.h"
#include "report/filter.h"

#include <assert.h>
#include <math.h>

struct cairn_view;

/* Appends the name of FRAME of LOCATION to OUT, or of LOCATION itself if FRAME is CAIRN_NONE. */
typedef void cairn_view_namer(const struct cairn_view *view, uint32_t location, uint32_t frame, struct cairn_buffer *out);

/* The value to show; the default is the profile's own. */
enum cairn_metric { CAIRN_METRIC_DEFAULT, CAIRN_INUSE_SPACE, CAIRN_INUSE_OBJECTS, CAIRN_ALLOC_SPACE, CAIRN_ALLOC_OBJECTS };

enum cairn_granularity { CAIRN_BY_FUNCTION, CAIRN_BY_FILE, CAIRN_BY_LINE, CAIRN_BY_ADDRESS };

struct cairn_view_options {
	int granularity;
	bool no_inlines; /* each address belongs to one function, the one that was compiled there */
	bool full_names; /* with template and call arguments */
	bool all_frames; /* keep the allocator's own frames, and those that the profile says to drop */
	bool fold_wrappers;   /* charge the memory of wrappers (symbol/wrapper.h) to their callers */
	bool keep_wrappers;   /* do not fold them even if that is the default */
	const char *wrappers; /* patterns for such functions instead of the default; implies folding them */
	bool objects;    /* count objects, not bytes */
	bool alloc;      /* everything allocated so far, not only live memory */
	int metric;      /* takes precedence over the two above */
	const char *value; /* the name of a value type; takes precedence over all of them; NULL for none */
	struct cairn_filter_options filter;
	bool drop_negative;        /* leave out stacks that shrank */
	bool relative_percentages; /* percentages of what the filters kept, not of the whole profile */
	bool errors;               /* show the 95 % confidence interval of each number */
	cairn_view_namer *name;    /* NULL for the usual names */
	const void *name_context;
};

struct cairn_entry {
	uint32_t name;     /* in the view's names */
	uint32_t function; /* of the profile; CAIRN_NONE when it has no name */
	uint32_t line;
	uint32_t location; /* the first one it was made for */
};

/* One frame of a location, as displayed. */
struct cairn_slot {
	uint32_t entry;
	uint32_t frame; /* of the profile; CAIRN_NONE when it has no name */
	bool inlined;   /* into the next */
	bool root;      /* stacks may begin here, if the view cuts them */
	uint8_t allocator; /* enum cairn_allocator_kind: the allocator's own frames are removed from the leaf of a stack */
};

/* How the profile's own drop_frames apply to a location. */
enum cairn_dropped {
	CAIRN_DROPPED_NOT,
	CAIRN_DROPPED_INNER, /* functions that were inlined there: they have no slots, but what the location calls goes with them */
	CAIRN_DROPPED_ALL,
};

struct cairn_view {
	const struct cairn_profile *profile; /* borrowed */
	struct cairn_view_options options;
	uint32_t value;   /* which value of each sample is shown */
	uint32_t objects; /* the value that counts the corresponding objects; CAIRN_NONE if there is none */
	uint32_t partner; /* objects for bytes and bytes for objects; CAIRN_NONE if there is none */
	bool by_path; /* the value is known by call path only: it is 0 in samples with a thread or an age */
	bool knows_errors; /* the errors of values are known; they are 0 if everything was recorded */
	struct cairn_turnover turnover; /* with a base: what appeared or disappeared since */
	uint32_t *samples; /* the profile's samples that the filters kept */
	size_t sample_count;
	double total; /* of the profile, or with relative_percentages of what the filters kept */
	double whole; /* the base of percentages: the sum of all absolute values, or of those that pprof marked as a base */
	double shown; /* of what the filters kept */
	struct cairn_arena arena;
	const char **short_names; /* for each function of the profile; NULL until needed */
	struct cairn_strings names;
	struct cairn_entry *entries;
	size_t entry_count, entry_capacity;
	struct cairn_index entry_index;
	uint32_t *first; /* for each location, the start of its slots; one more at the end */
	struct cairn_slot *slots; /* innermost first */
	size_t slot_count, slot_capacity;
	uint8_t *dropped; /* by location: enum cairn_dropped; NULL if the profile has no drop_frames, or all frames are shown */
	bool cuts_roots; /* stacks end at their outermost `root` slot */
	uint32_t *stack; /* room for the deepest stack */
	bool *inlined;   /* parallel to `stack` */
	uint32_t *locations; /* parallel to `stack` */
	uint32_t folded; /* the outermost wrapper that the last stack lost, an entry; CAIRN_NONE if it lost none */
	bool drops; /* frames were removed: a stack may be left with only allocator frames, and then is empty */
};

/* Finds the value of PROFILE to show. Fails with a message if PROFILE does not have the requested one. */
bool cairn_view_choose(const struct cairn_profile *profile, const struct cairn_view_options *options, uint32_t *value,
		       struct cairn_error *error);

/* Makes the view. Fails with a message if PROFILE does not have the requested value. */
bool cairn_view_make(struct cairn_view *view, const struct cairn_profile *profile, const struct cairn_view_options *options,
		     struct cairn_error *error);
void cairn_view_free(struct cairn_view *view);

/* The entries of the stack of the view's SAMPLE, leaf first. Borrowed until the next call. */
const uint32_t *cairn_view_stack(struct cairn_view *view, size_t sample, size_t *depth);

/* Where the stack of SAMPLE, a sample of the profile, begins for this view: what comes before, towards the leaf, is dropped by the
 * profile. */
uint32_t cairn_view_start(const struct cairn_view *view, const struct cairn_sample *sample);

/* Whether each entry of the stack returned last was inlined into the next. */
static inline const bool *cairn_view_inlined(const struct cairn_view *view)
{
	return view->inlined;
}

/* The location of each entry of the stack returned last. */
static inline const uint32_t *cairn_view_locations(const struct cairn_view *view)
{
	return view->locations;
}

static inline double cairn_view_value(const struct cairn_view *view, size_t sample)
{
	assert(sample < view->sample_count);
	return view->profile->values[(size_t)view->samples[sample] * view->profile->value_count + view->value];
}

/* The number of objects in it; 0 if the profile does not say. */
static inline double cairn_view_objects(const struct cairn_view *view, size_t sample)
{
	assert(sample < view->sample_count);
	const struct cairn_profile *profile = view->profile;
	return view->objects == CAIRN_NONE ? 0 : profile->values[(size_t)view->samples[sample] * profile->value_count + view->objects];
}

/* The base that was subtracted to get the value. */
static inline double cairn_view_base(const struct cairn_view *view, size_t sample)
{
	assert(sample < view->sample_count);
	return cairn_profile_base(view->profile, view->samples[sample], view->value);
}

/* Whether the labels of SAMPLE say nothing about the value, which is known by call path only and counted in another sample. */
static inline bool cairn_view_is_unlabelled(const struct cairn_view *view, size_t sample)
{
	return view->by_path && cairn_view_value(view, sample) == 0 && cairn_view_base(view, sample) == 0;
}

/* The sampling error of the value, and of its base if there is one; zero if unknown. */
struct cairn_spread cairn_view_spread(const struct cairn_view *view, size_t sample);

/* The 95 % confidence interval of VALUE, a sum of the view's values with the sum of their spreads. */
struct cairn_interval cairn_view_interval(const struct cairn_view *view, double value, struct cairn_spread spread);

/* Whether VALUE, a sum of changes from the base, may be due to sampling alone. False if unknown. */
static inline bool cairn_view_is_noise(const struct cairn_view *view, double value, struct cairn_spread spread)
{
	struct cairn_interval interval = cairn_spread_change(value, spread);
	return view->knows_errors && value != 0 && interval.low <= 0 && interval.high >= 0;
}

static inline struct cairn_bytes cairn_view_name(const struct cairn_view *view, uint32_t entry)
{
	assert(entry < view->entry_count);
	return cairn_strings_bytes(&view->names, view->entries[entry].name);
}

/* The name of an unnamed location: module+0xoffset, or its address if there is no module. Appended to OUT. */
void cairn_view_place(const struct cairn_view *view, const struct cairn_location *location, struct cairn_buffer *out);

/* Removes the frames of all locations for which dropped[location] is true from every stack, and samples without any frames left. */
void cairn_view_drop(struct cairn_view *view, const bool *dropped);

/* The display name of a function of the profile, without file and line. */
const char *cairn_view_function(struct cairn_view *view, uint32_t function);

/* Whether PATTERN matches the displayed or full name of a function of the profile; false for CAIRN_NONE. */
bool cairn_view_match(struct cairn_view *view, uint32_t function, const struct cairn_pattern *pattern);

/* Whether VALUE, a sum of the view's values, is no more than the rounding error of numbers that cancel each other out. */
static inline bool cairn_view_is_nothing(const struct cairn_view *view, double value)
{
	return fabs(value) <= view->whole * 1e-12;
}

/* Whether the values are bytes, and so shown in KiB and MiB. */
bool cairn_view_in_bytes(const struct cairn_view *view);
bool cairn_view_in_time(const struct cairn_view *view); /* in nanoseconds */

/* The sum of the samples whose leaf has no name. */
double cairn_view_unnamed(struct cairn_view *view);

#endif
