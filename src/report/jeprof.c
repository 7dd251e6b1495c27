/* jeprof.c - jeprof's filters, numbers and table.
 * SPDX-License-Identifier: Apache-2.0 */
#include "report/jeprof.h"

#include "base/array.h"
#include "base/pattern.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static void write_address(const struct cairn_location *location, struct cairn_buffer *out)
{
	out->length = 0;
	cairn_buffer_format(out, "%016llx", (unsigned long long)location->address);
}

static bool match_location(const struct cairn_jeprof *jeprof, const struct cairn_pattern *pattern, size_t id, struct cairn_buffer *scratch)
{
	const struct cairn_profile *profile = jeprof->view.profile;
	const struct cairn_location *location = &profile->locations[id];
	write_address(location, scratch);
	if (cairn_pattern_match(pattern, cairn_buffer_bytes(scratch)))
		return true;
	for (uint32_t f = 0; f < location->frame_count; f++) {
		uint32_t frame = location->first_frame + f;
		scratch->length = 0;
		cairn_jeprof_place(profile, frame, scratch);
		if (cairn_pattern_match(pattern, cairn_jeprof_name(&jeprof->names, profile->frames[frame].function)) ||
		    cairn_pattern_match(pattern, cairn_buffer_bytes(scratch)))
			return true;
	}
	return false;
}

/* Matches the name of the function that was compiled at the address, or the address if it has no name. */
static bool match_outermost(const struct cairn_jeprof *jeprof, const struct cairn_pattern *pattern, size_t id, struct cairn_buffer *scratch)
{
	const struct cairn_profile *profile = jeprof->view.profile;
	const struct cairn_location *location = &profile->locations[id];
	if (location->frame_count) {
		const struct cairn_frame *frame = &profile->frames[location->first_frame + location->frame_count - 1];
		return cairn_pattern_match(pattern, cairn_jeprof_name(&jeprof->names, frame->function));
	}
	write_address(location, scratch);
	return cairn_pattern_match(pattern, cairn_buffer_bytes(scratch));
}

typedef bool location_matcher(const struct cairn_jeprof *jeprof, const struct cairn_pattern *pattern, size_t id,
			      struct cairn_buffer *scratch);

/* The locations that match TEXT, the value of OPTION. The caller frees the result. NULL with a message if TEXT does not compile. */
static bool *match_all(const struct cairn_jeprof *jeprof, const char *option, const char *text, location_matcher *matches,
		       struct cairn_error *error)
{
	size_t count = jeprof->view.profile->location_count;
	struct cairn_pattern *pattern = cairn_pattern_compile(text, error);
	if (!pattern) {
		cairn_fail_within(error, "--%s: ", option);
		return NULL;
	}
	bool *found = cairn_array_zero(count, sizeof *found);
	struct cairn_buffer scratch = cairn_buffer(SIZE_MAX);
	for (size_t i = 0; i < count; i++)
		found[i] = matches(jeprof, pattern, i, &scratch);
	cairn_buffer_free(&scratch);
	cairn_pattern_free(pattern);
	return found;
}

/* Removes the locations that match TEXT or, if WANTED, those that do not. */
static bool drop_frames(struct cairn_jeprof *jeprof, const char *option, const char *text, bool wanted, struct cairn_error *error)
{
	if (!text)
		return true;
	bool *dropped = match_all(jeprof, option, text, match_outermost, error);
	if (!dropped)
		return false;
	for (size_t i = 0; i < jeprof->view.profile->location_count; i++)
		dropped[i] ^= wanted;
	cairn_view_drop(&jeprof->view, dropped);
	free(dropped);
	return true;
}

/* If WANTED, keeps the stacks with a location that matches TEXT, otherwise those without any. */
static bool choose_stacks(struct cairn_jeprof *jeprof, const char *option, const char *text, bool wanted, struct cairn_error *error)
{
	if (!text)
		return true;
	bool *matches = match_all(jeprof, option, text, match_location, error);
	if (!matches)
		return false;
	struct cairn_view *view = &jeprof->view;
	size_t kept = 0;
	for (size_t i = 0; i < view->sample_count; i++) {
		size_t depth;
		bool found = false;
		cairn_view_stack(view, i, &depth);
		for (size_t d = 0; d < depth && !found; d++)
			found = matches[cairn_view_locations(view)[d]];
		if (found == wanted)
			view->samples[kept++] = view->samples[i];
	}
	view->sample_count = kept;
	free(matches);
	return true;
}

bool cairn_jeprof_make(struct cairn_jeprof *jeprof, const struct cairn_profile *profile, const struct cairn_view_options *options,
		       struct cairn_error *error)
{
	const struct cairn_filter_options *filter = &options->filter;
	struct cairn_view_options ours = *options;
	*jeprof = (struct cairn_jeprof){0};
	cairn_jeprof_names_make(&jeprof->names, profile, options->full_names);
	ours.name = cairn_jeprof_name_frame;
	ours.name_context = &jeprof->names;
	ours.filter.focus = ours.filter.ignore = ours.filter.retain = ours.filter.exclude = NULL;
	if (!cairn_view_make(&jeprof->view, profile, &ours, error))
		return false;
	jeprof->total = jeprof->view.shown;
	if (!drop_frames(jeprof, "retain", filter->retain, true, error) || !drop_frames(jeprof, "exclude", filter->exclude, false, error) ||
	    !choose_stacks(jeprof, "focus", filter->focus, true, error) || !choose_stacks(jeprof, "ignore", filter->ignore, false, error))
		return false;
	jeprof->view.shown = 0;
	for (size_t i = 0; i < jeprof->view.sample_count; i++)
		jeprof->view.shown += cairn_view_value(&jeprof->view, i);
	return true;
}

void cairn_jeprof_free(struct cairn_jeprof *jeprof)
{
	cairn_view_free(&jeprof->view);
	cairn_jeprof_names_free(&jeprof->names);
}

char *cairn_jeprof_number(const struct cairn_jeprof *jeprof, double value, char *out)
{
	enum { room = 32 };
	if (cairn_view_in_bytes(&jeprof->view) && !jeprof->show_bytes)
		snprintf(out, room, "%.1f", value / 1048576.0);
	else if (cairn_view_in_time(&jeprof->view)) /* delays, in contention profiles */
		snprintf(out, room, "%.3f", value / 1e9);
	else
		snprintf(out, room, "%.0f", trunc(value) + 0.0); /* adding zero avoids "-0" for small decreases */
	return out;
}

const char *cairn_jeprof_unit(const struct cairn_jeprof *jeprof)
{
	const struct cairn_profile *profile = jeprof->view.profile;
	if (cairn_view_in_bytes(&jeprof->view))
		return jeprof->show_bytes ? "B" : "MB";
	if (cairn_view_in_time(&jeprof->view))
		return "seconds";
	return strstr(cairn_profile_string(profile, profile->value_types[jeprof->view.value].type), "objects") ? "objects" : "samples";
}

static char *percent(double value, double total, char *out)
{
	enum { room = 16 };
	if (total != 0)
		snprintf(out, room, "%.1f%%", value * 100.0 / total);
	else
		snprintf(out, room, "%s", value == 0 ? "nan" : value > 0 ? "+inf" : "-inf");
	return out;
}

/* The name of a row; that of the stacks without frames has no entry. */
static struct cairn_bytes row_name(const struct cairn_view *view, const struct cairn_top_row *row)
{
	return row->entry == CAIRN_NONE ? cairn_bytes_of("[no stack]") : cairn_view_name(view, row->entry);
}

struct order {
	const struct cairn_view *view;
	bool by_cum;
};

/* Largest first, with the sign: decreases come last. */
static int compare_rows(const void *a, const void *b, void *context)
{
	const struct cairn_top_row *left = a, *right = b;
	const struct order *order = context;
	double l = order->by_cum ? left->cum : left->flat, r = order->by_cum ? right->cum : right->flat;
	if (l != r)
		return l > r ? -1 : 1;
	return strcmp(row_name(order->view, left).data, row_name(order->view, right).data);
}

/* Adds a row for what the stacks without frames hold, where the unwinder failed. */
static void add_frameless(struct cairn_top *top, struct cairn_view *view)
{
	struct cairn_top_row row = {.entry = CAIRN_NONE};
	size_t depth;
	for (size_t i = 0; i < view->sample_count; i++)
		if (cairn_view_stack(view, i, &depth), depth == 0)
			row.flat = row.cum += cairn_view_value(view, i);
	if (cairn_view_is_nothing(view, row.flat))
		return;
	size_t capacity = top->count;
	cairn_array_room(top->rows, top->count, capacity);
	top->rows[top->count++] = row;
}

void cairn_jeprof_text(struct cairn_jeprof *jeprof, bool by_cum, size_t limit, struct cairn_buffer *out)
{
	struct cairn_top top;
	double total = 0, sum = 0;
	cairn_top_make(&top, &jeprof->view, &(struct cairn_shape){0});
	add_frameless(&top, &jeprof->view);
	qsort_r(top.rows, top.count, sizeof *top.rows, compare_rows, &(struct order){&jeprof->view, by_cum});
	for (size_t i = 0; i < top.count; i++)
		total += top.rows[i].flat;
	for (size_t i = 0; i < top.count && (!limit || i < limit); i++) {
		const struct cairn_top_row *row = &top.rows[i];
		char flat[32], cum[32], flat_percent[16], sum_percent[16], cum_percent[16];
		sum += row->flat;
		if (row->flat == 0 && row->cum == 0)
			continue;
		cairn_buffer_format(out, "%8s %6s %6s %8s %6s ", cairn_jeprof_number(jeprof, row->flat, flat),
				    percent(row->flat, total, flat_percent), percent(sum, total, sum_percent),
				    cairn_jeprof_number(jeprof, row->cum, cum), percent(row->cum, total, cum_percent));
		struct cairn_bytes name = row_name(&jeprof->view, row);
		cairn_buffer_append(out, name.data, name.length);
		cairn_buffer_byte(out, '\n');
	}
	cairn_top_free(&top);
}
