/* head.c - the lines above a report.
 * SPDX-License-Identifier: Apache-2.0 */
#include "report/head.h"

#include "base/text.h"
#include "report/number.h"

#include <math.h>

char *cairn_head_number(const struct cairn_view *view, const struct cairn_shape *shape, double value, char *out)
{
	return cairn_number_text(value, cairn_view_in_bytes(view) && !shape->bytes, out);
}

const char *cairn_head_type(const struct cairn_view *view)
{
	return cairn_profile_string(view->profile, view->profile->value_types[view->value].type);
}

/* About how many samples the numbers rest on; 0 when the format does not say. */
static double sample_count(const struct cairn_view *view)
{
	double count = 0;
	for (size_t i = 0; view->profile->sampled && i < view->sample_count; i++)
		count += view->profile->sampled[view->samples[i]];
	return count;
}

void cairn_head_text(struct cairn_view *view, const struct cairn_shape *shape, struct cairn_buffer *out)
{
	const struct cairn_profile *profile = view->profile;
	char text[32];
	cairn_buffer_text(out, profile->process ? cairn_profile_string(profile, profile->process) : "unknown process");
	if (profile->process_id)
		cairn_buffer_format(out, ", process %llu", (unsigned long long)profile->process_id);
	cairn_buffer_format(out, ", %s", profile->format);
	if (profile->period > 1 && profile->kind == CAIRN_PROFILE_HEAP)
		cairn_buffer_format(out, ", one sample per %s%s", cairn_text_human(profile->period, text), profile->mixed_periods ? " (several periods)" : "");
	if (sample_count(view) > 0)
		cairn_buffer_format(out, ", about %.0f samples", sample_count(view));
	cairn_buffer_format(out, "\n%s: %s in all", cairn_head_type(view), cairn_head_number(view, shape, view->total, text));
	if (view->shown != view->total)
		cairn_buffer_format(out, ", %s (%.1f%%) of it shown", cairn_head_number(view, shape, view->shown, text),
				    cairn_number_percent(view->shown, view->whole));
	double unnamed = cairn_view_unnamed(view);
	if (unnamed != 0)
		cairn_buffer_format(out, ", %s (%.1f%%) of it without a name", cairn_head_number(view, shape, unnamed, text),
				    cairn_number_percent(unnamed, view->whole));
	cairn_buffer_text(out, "\n\n");
}

void cairn_head_json(struct cairn_view *view, struct cairn_json *json)
{
	const struct cairn_profile *profile = view->profile;
	cairn_json_number(json, "total", trunc(view->total));
	cairn_json_number(json, "shown", trunc(view->shown));
	cairn_json_text(json, "unit", cairn_strings_bytes(&profile->strings, profile->value_types[view->value].unit));
	cairn_json_text(json, "type", cairn_bytes_of(cairn_head_type(view)));
	cairn_json_number(json, "period", profile->period);
	cairn_json_text(json, "process", cairn_strings_bytes(&profile->strings, profile->process));
	cairn_json_integer(json, "pid", (int64_t)profile->process_id);
	cairn_json_text(json, "format", cairn_bytes_of(profile->format));
	cairn_json_number(json, "samples", trunc(sample_count(view)));
	cairn_json_number(json, "unnamed", trunc(cairn_view_unnamed(view)));
}
