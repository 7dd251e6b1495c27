/* view.h - a profile as a report shows it: one value, and stacks of display names.
 *
 * An *entry* is one thing that can be a row of a table or a box of a picture: a function, a file, a line or an address, as
 * asked for. A view gives every location its entries (several where functions were inlined), so that a report sees stacks of
 * entries and nothing else.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_REPORT_VIEW_H
#define CAIRN_REPORT_VIEW_H

#include "base/buffer.h"
#include "base/pattern.h"
#include "profile/profile.h"
#include "report/filter.h"

#include <math.h>

struct cairn_view;

/* Appends to OUT what stands for FRAME of LOCATION, or for LOCATION itself where FRAME is CAIRN_NONE. */
typedef void cairn_view_namer(const struct cairn_view *view, uint32_t location, uint32_t frame, struct cairn_buffer *out);

/* What is counted: nothing asked for is the profile's own default. */
enum cairn_metric { CAIRN_METRIC_DEFAULT, CAIRN_INUSE_SPACE, CAIRN_INUSE_OBJECTS, CAIRN_ALLOC_SPACE, CAIRN_ALLOC_OBJECTS };

enum cairn_granularity { CAIRN_BY_FUNCTION, CAIRN_BY_FILE, CAIRN_BY_LINE, CAIRN_BY_ADDRESS };

struct cairn_view_options {
	int granularity;
	bool no_inlines; /* an address is in one function, the one that was compiled there */
	bool full_names; /* with template and call arguments */
	bool all_frames; /* the allocator's own too */
	bool fold_wrappers;   /* what only asks for memory on behalf of its caller (symbol/wrapper.h) is counted as the caller's */
	bool keep_wrappers;   /* not even where folding is the default */
	const char *wrappers; /* patterns for such functions, instead of the usual; given, they are folded */
	bool objects;    /* count objects, not bytes */
	bool alloc;      /* everything allocated so far, not what lives */
	cairn_view_namer *name; /* NULL for the usual names */
	const void *name_context;
	int metric;        /* before the two above */
	const char *value; /* a value type by its name, before all of them; NULL for none */
	struct cairn_filter_options filter;
	bool drop_negative;        /* leave out stacks that shrank */
	bool relative_percentages; /* percent of what the filters left, not of the whole profile */
	bool errors;               /* show the 95 % confidence interval of each number */
};

struct cairn_entry {
	uint32_t name;     /* in the view's names */
	uint32_t function; /* of the profile; CAIRN_NONE when it has no name */
	uint32_t line;
	uint32_t location; /* the first one it was made for */
};

/* One frame of a location, as it is shown. */
struct cairn_slot {
	uint32_t entry;
	uint32_t frame; /* of the profile; CAIRN_NONE when it has no name */
	bool inlined;   /* into the next */
	bool root;      /* stacks may begin here, where the view cuts them */
	uint8_t allocator; /* enum cairn_allocator_kind: what is the allocator's own is taken off the leaf of a stack */
};

struct cairn_view {
	const struct cairn_profile *profile; /* borrowed */
	struct cairn_view_options options;
	uint32_t value;   /* which value of each sample is shown */
	uint32_t objects; /* which value counts the objects that go with it; CAIRN_NONE when none does */
	uint32_t partner; /* the other one of bytes and objects; CAIRN_NONE where there is none */
	bool knows_errors; /* how far values may be off is known; 0 where everything was recorded */
	double turnover;   /* against a base: the share of the samples that came or went in between; 1 for another process */
	uint32_t *samples; /* those of the profile that the filters left */
	size_t sample_count;
	double total; /* of the profile, or with relative_percentages of what the filters left */
	double whole; /* what percentages are of: the total, taking each sample for positive */
	double shown; /* of what the filters left */
	struct cairn_arena arena;
	const char **short_names; /* per function of the profile, NULL until asked for */
	struct cairn_strings names;
	struct cairn_entry *entries;
	size_t entry_count, entry_capacity;
	struct cairn_index entry_index;
	uint32_t *first; /* per location, where its slots begin; one more at the end */
	struct cairn_slot *slots; /* innermost first */
	size_t slot_count, slot_capacity;
	bool cuts_roots; /* stacks end at their outermost `root` slot */
	uint32_t *stack; /* room for the deepest stack */
	bool *inlined;   /* beside it */
	uint32_t *locations; /* and that */
	bool drops; /* frames were taken out: a stack may be left with nothing but the allocator's, and then is empty */
};

/* Which value of PROFILE is shown. Fails with a sentence where it does not have the one that is asked for. */
bool cairn_view_choose(const struct cairn_profile *profile, const struct cairn_view_options *options, uint32_t *value,
		       struct cairn_error *error);

/* Makes the view. Fails with a sentence when PROFILE does not have the value that is asked for. */
bool cairn_view_make(struct cairn_view *view, const struct cairn_profile *profile, const struct cairn_view_options *options,
		     struct cairn_error *error);
void cairn_view_free(struct cairn_view *view);

/* The entries of the stack of the view's SAMPLE, leaf first. Borrowed until the next call. */
const uint32_t *cairn_view_stack(struct cairn_view *view, size_t sample, size_t *depth);

/* Whether each entry of the stack last asked for was inlined into the next. */
static inline const bool *cairn_view_inlined(const struct cairn_view *view)
{
	return view->inlined;
}

/* The location of each entry of the stack last asked for. */
static inline const uint32_t *cairn_view_locations(const struct cairn_view *view)
{
	return view->locations;
}

static inline double cairn_view_value(const struct cairn_view *view, size_t sample)
{
	return view->profile->values[(size_t)view->samples[sample] * view->profile->value_count + view->value];
}

/* How many objects make that up; 0 when the profile does not say. */
static inline double cairn_view_objects(const struct cairn_view *view, size_t sample)
{
	const struct cairn_profile *profile = view->profile;
	return view->objects == CAIRN_NONE ? 0 : profile->values[(size_t)view->samples[sample] * profile->value_count + view->objects];
}

/* What was subtracted to get the value: the value of the base. */
static inline double cairn_view_base(const struct cairn_view *view, size_t sample)
{
	return cairn_profile_base(view->profile, view->samples[sample], view->value);
}

/* How far the value may be off because of sampling, and that of its base where there is one; zero where it is not known. */
struct cairn_spread cairn_view_spread(const struct cairn_view *view, size_t sample);

/* The 95 % confidence interval of VALUE, a sum of the view's values with the sum of their spreads. */
struct cairn_interval cairn_view_interval(const struct cairn_view *view, double value, struct cairn_spread spread);

/* Whether VALUE, a sum of changes from the base, may be due to sampling alone. False where that is not known. */
static inline bool cairn_view_is_noise(const struct cairn_view *view, double value, struct cairn_spread spread)
{
	struct cairn_interval interval = cairn_spread_change(value, spread);
	return view->knows_errors && value != 0 && interval.low <= 0 && interval.high >= 0;
}

static inline struct cairn_bytes cairn_view_name(const struct cairn_view *view, uint32_t entry)
{
	return cairn_strings_bytes(&view->names, view->entries[entry].name);
}

/* A place without a name: module+0xoffset, or the dump's own number where there is no module. Appended to OUT. */
void cairn_view_place(const struct cairn_view *view, const struct cairn_location *location, struct cairn_buffer *out);

/* Takes the frames of the locations for which dropped[location] is true out of every stack, and leaves out the samples that
 * have lost all of theirs. */
void cairn_view_drop(struct cairn_view *view, const bool *dropped);

/* The display name of a function of the profile, without file and line. */
const char *cairn_view_function(struct cairn_view *view, uint32_t function);

/* Whether PATTERN matches the name of a function of the profile, as it is displayed or in full; not for CAIRN_NONE. */
bool cairn_view_match(struct cairn_view *view, uint32_t function, const struct cairn_pattern *pattern);

/* Whether VALUE, a sum of the view's values, is no more than what rounding leaves of numbers that cancel each other out. */
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
