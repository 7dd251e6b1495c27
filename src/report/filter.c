/* filter.c - applies the filters. Each expression is tried once for each name, file and path, not for each frame.
 * SPDX-License-Identifier: Apache-2.0 */
#include "report/filter.h"

#include "base/array.h"
#include "base/pattern.h"
#include "report/label.h"
#include "report/view.h"
#include "symbol/allocator.h"

#include <stdlib.h>

enum { untried, no, yes };

struct matcher {
	const struct cairn_view *view;
	struct cairn_pattern *pattern; /* NULL when the option is not given */
	unsigned char *strings; /* by string of the profile: untried, no or yes */
	unsigned char *entries; /* by entry, the same */
	bool matched; /* there was any match */
	bool cut;     /* there were in the stacks, but only in frames that are not shown */
};

static bool matcher_start(struct matcher *matcher, const struct cairn_view *view, const char *option, const char *text,
			  struct cairn_error *error)
{
	*matcher = (struct matcher){.view = view};
	if (!text)
		return true;
	matcher->pattern = cairn_pattern_compile(text, error);
	if (!matcher->pattern)
		return cairn_fail_within(error, "--%s: ", option);
	matcher->strings = cairn_array_zero(view->profile->strings.count + 1, 1);
	matcher->entries = cairn_array_zero(view->entry_count, 1);
	return true;
}

static void matcher_end(struct matcher *matcher)
{
	cairn_pattern_free(matcher->pattern);
	free(matcher->strings);
	free(matcher->entries);
}

static bool match_string(struct matcher *matcher, uint32_t id)
{
	if (matcher->strings[id] == untried)
		matcher->strings[id] =
			id && cairn_pattern_match(matcher->pattern, cairn_strings_bytes(&matcher->view->profile->strings, id)) ? yes : no;
	return matcher->strings[id] == yes;
}

static bool match_entry(struct matcher *matcher, uint32_t entry)
{
	if (matcher->entries[entry] == untried)
		matcher->entries[entry] = cairn_pattern_match(matcher->pattern, cairn_view_name(matcher->view, entry)) ? yes : no;
	return matcher->entries[entry] == yes;
}

/* Whether the pattern matches the name of SLOT, as shown or in full. */
static bool match_name(struct matcher *matcher, size_t location, size_t slot)
{
	(void)location;
	const struct cairn_profile *profile = matcher->view->profile;
	uint32_t frame = matcher->view->slots[slot].frame;
	bool matches = match_entry(matcher, matcher->view->slots[slot].entry) ||
		       (frame != CAIRN_NONE && match_string(matcher, profile->functions[profile->frames[frame].function].name));
	matcher->matched |= matches;
	return matches;
}

/* Whether it matches that name, its file, or the module of LOCATION. */
static bool match_frame(struct matcher *matcher, size_t location, size_t slot)
{
	const struct cairn_profile *profile = matcher->view->profile;
	uint32_t frame = matcher->view->slots[slot].frame;
	const struct cairn_module *module = cairn_profile_module(profile, &profile->locations[location]);
	bool matches = match_name(matcher, location, slot) ||
		       (frame != CAIRN_NONE && match_string(matcher, profile->functions[profile->frames[frame].function].file)) ||
		       (module && match_string(matcher, module->path));
	matcher->matched |= matches;
	return matches;
}

/* Removes the frames that DROP matches, and those that KEEP does not match. */
static void drop_frames(struct cairn_view *view, struct matcher *drop, struct matcher *keep,
			bool (*match)(struct matcher *matcher, size_t location, size_t slot))
{
	if (!drop->pattern && !keep->pattern)
		return;
	uint32_t to = 0;
	for (size_t location = 0; location < view->profile->location_count; location++) {
		uint32_t from = view->first[location], end = view->first[location + 1];
		view->first[location] = to;
		for (; from < end; from++) {
			if ((drop->pattern && match(drop, location, from)) || (keep->pattern && !match(keep, location, from)))
				continue;
			view->slots[to++] = view->slots[from];
		}
	}
	view->first[view->profile->location_count] = to;
	view->slot_count = to;
}

enum { neutral, focused, ignored };

/* The effect of each slot on the stacks that contain it. */
static unsigned char *judge_slots(struct cairn_view *view, struct matcher *focus, struct matcher *ignore)
{
	unsigned char *verdicts = cairn_array_zero(view->slot_count, 1);
	for (size_t location = 0; location < view->profile->location_count; location++)
		for (uint32_t slot = view->first[location]; slot < view->first[location + 1]; slot++) {
			bool wanted = !focus->pattern || match_frame(focus, location, slot);
			if (ignore->pattern && match_frame(ignore, location, slot))
				verdicts[slot] = ignored;
			else if (wanted)
				verdicts[slot] = focused;
		}
	return verdicts;
}

/* Whether the frames that the view shows of a stack pass: those of the allocator at its end and those that the profile drops, which
 * cairn_view_stack cuts off, are not looked at, unless there are no others. Sets *CUT_FOCUSED if one of these is focused. */
static bool stack_passes(const struct cairn_view *view, uint32_t sample, const unsigned char *verdicts, bool *cut_focused)
{
	const struct cairn_sample *at = &view->profile->samples[sample];
	struct cairn_allocator_walk walk = {0};
	bool seen[ignored + 1] = {false};
	unsigned char cut = neutral;
	uint32_t start = cairn_view_start(view, at);
	for (uint32_t d = 0; d < at->depth; d++) {
		uint32_t location = view->profile->stacks[at->stack + d];
		for (uint32_t slot = view->first[location]; slot < view->first[location + 1]; slot++) {
			if (d < start) {
				*cut_focused |= verdicts[slot] == focused;
				continue;
			}
			enum cairn_allocator_cut cuts = cairn_allocator_step(&walk, view->slots[slot].allocator);
			if (cuts != CAIRN_CUT_NOTHING) {
				*cut_focused |= seen[focused];
				seen[focused] = seen[ignored] = false;
			}
			if (cuts == CAIRN_CUT_THROUGH) {
				cut = verdicts[slot];
				*cut_focused |= cut == focused;
			} else {
				seen[verdicts[slot]] = true;
			}
		}
	}
	return walk.kept ? seen[focused] && !seen[ignored] : cut == focused;
}

/* Keeps the samples whose stacks contain what FOCUS matches and nothing that IGNORE does. */
static void keep_stacks(struct cairn_view *view, struct matcher *focus, struct matcher *ignore)
{
	size_t kept = 0;
	bool cut_focused = false;
	if (!focus->pattern && !ignore->pattern)
		return;
	unsigned char *verdicts = judge_slots(view, focus, ignore);
	for (size_t i = 0; i < view->sample_count; i++)
		if (stack_passes(view, view->samples[i], verdicts, &cut_focused))
			view->samples[kept++] = view->samples[i];
	view->sample_count = kept;
	focus->cut = kept == 0 && cut_focused && !ignore->pattern;
	free(verdicts);
}

static void mark_roots(struct cairn_view *view, struct matcher *from)
{
	if (!from->pattern)
		return;
	view->cuts_roots = true;
	for (size_t location = 0; location < view->profile->location_count; location++)
		for (uint32_t slot = view->first[location]; slot < view->first[location + 1]; slot++)
			view->slots[slot].root = match_frame(from, location, slot);
}

/* A filter by label. */
struct tags {
	struct cairn_label_filter *filter; /* NULL when the option is not given */
	bool matched; /* there was any match */
	bool labels;  /* of a label that says something about the value */
};

static bool match_tags(struct tags *tags, const struct cairn_view *view, size_t sample)
{
	bool matches = tags->filter && cairn_label_filter_match(tags->filter, view, sample);
	tags->matched |= matches;
	tags->labels |= matches && !cairn_view_is_unlabelled(view, sample);
	return matches;
}

struct filters {
	struct matcher focus, ignore, hide, show, show_from, exclude, retain;
	struct tags tag_focus, tag_ignore;
};

static void keep_samples(struct cairn_view *view, struct filters *filters)
{
	bool frames = filters->focus.pattern || filters->ignore.pattern || filters->hide.pattern || filters->show.pattern ||
		      filters->show_from.pattern || filters->exclude.pattern || filters->retain.pattern;
	size_t kept = 0;
	for (size_t i = 0; i < view->sample_count; i++) {
		size_t depth = 1;
		if (frames)
			cairn_view_stack(view, i, &depth);
		bool wanted = match_tags(&filters->tag_focus, view, i) || !filters->tag_focus.filter;
		bool unwanted = match_tags(&filters->tag_ignore, view, i);
		if (depth > 0 && wanted && !unwanted)
			view->samples[kept++] = view->samples[i];
	}
	view->sample_count = kept;
}

static bool start(struct filters *filters, const struct cairn_view *view, struct cairn_error *error)
{
	const struct cairn_filter_options *options = &view->options.filter;
	if (!matcher_start(&filters->focus, view, "focus", options->focus, error) ||
	    !matcher_start(&filters->ignore, view, "ignore", options->ignore, error) ||
	    !matcher_start(&filters->hide, view, "hide", options->hide, error) ||
	    !matcher_start(&filters->show, view, "show", options->show, error) ||
	    !matcher_start(&filters->show_from, view, "show-from", options->show_from, error) ||
	    !matcher_start(&filters->exclude, view, "exclude", options->exclude, error) ||
	    !matcher_start(&filters->retain, view, "retain", options->retain, error))
		return false;
	if (options->tag_focus && !(filters->tag_focus.filter = cairn_label_filter_compile(options->tag_focus, error)))
		return cairn_fail_within(error, "--tagfocus: ");
	if (options->tag_ignore && !(filters->tag_ignore.filter = cairn_label_filter_compile(options->tag_ignore, error)))
		return cairn_fail_within(error, "--tagignore: ");
	return true;
}

static void end(struct filters *filters)
{
	matcher_end(&filters->focus);
	matcher_end(&filters->ignore);
	matcher_end(&filters->hide);
	matcher_end(&filters->show);
	matcher_end(&filters->show_from);
	matcher_end(&filters->exclude);
	matcher_end(&filters->retain);
	cairn_label_filter_free(filters->tag_focus.filter);
	cairn_label_filter_free(filters->tag_ignore.filter);
}

static bool explain_nothing(const struct cairn_view *view, const struct filters *filters, struct cairn_error *error)
{
	const struct cairn_filter_options *options = &view->options.filter;
	const struct {
		const char *option, *text;
		const struct matcher *matcher;
	} wanted[] = {
		{"focus", options->focus, &filters->focus},
		{"show", options->show, &filters->show},
		{"show-from", options->show_from, &filters->show_from},
		{"retain", options->retain, &filters->retain},
	};
	for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++)
		if (wanted[i].matcher->pattern && !wanted[i].matcher->matched)
			return cairn_fail(error,
					  "--%s '%s' matches no function, file or module of the profile; 'cairn top' lists the functions",
					  wanted[i].option, wanted[i].text);
	if (filters->focus.cut)
		return cairn_fail(error, "--focus '%s' matches only frames of the allocator, which are removed; --all-frames keeps them",
				  options->focus);
	if (filters->tag_focus.filter && !filters->tag_focus.matched)
		return cairn_fail(error, "--tagfocus '%s' matches no label of the profile; 'cairn tags' lists them", options->tag_focus);
	return cairn_fail(error, "the filters leave no stack; remove one of them");
}

/* Fails if the labels that a filter matches say nothing about the value: the filter would keep none of it, or all. */
static bool check_tags(const struct tags *tags, const char *option, const char *text, struct cairn_error *error)
{
	return !tags->matched || tags->labels ||
	       cairn_fail_usage(error, "--%s '%s': Cairn's engine knows allocations by call path only, not by thread or age", option, text);
}

bool cairn_filter_view(struct cairn_view *view, struct cairn_error *error)
{
	struct filters filters = {0};
	size_t before = view->sample_count;
	bool good = start(&filters, view, error);
	if (good) {
		drop_frames(view, &filters.exclude, &filters.retain, match_name);
		keep_stacks(view, &filters.focus, &filters.ignore);
		drop_frames(view, &filters.hide, &filters.show, match_frame);
		mark_roots(view, &filters.show_from);
		keep_samples(view, &filters);
		good = check_tags(&filters.tag_focus, "tagfocus", view->options.filter.tag_focus, error) &&
		       check_tags(&filters.tag_ignore, "tagignore", view->options.filter.tag_ignore, error) &&
		       (view->sample_count > 0 || before == 0 || explain_nothing(view, &filters, error));
	}
	end(&filters);
	return good;
}
