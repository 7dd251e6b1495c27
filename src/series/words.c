/* words.c - verdicts in words.
 * SPDX-License-Identifier: Apache-2.0 */
#include "series/words.h"

#include "profile/kind.h"
#include "report/head.h"

#include <stdio.h>

const char *cairn_words_duration(double hours, char *out, size_t size)
{
	double minutes = hours * 60, seconds = minutes * 60;
	if (hours >= 48)
		snprintf(out, size, "%.1f days", hours / 24);
	else if (hours >= 1)
		snprintf(out, size, "%.1f hours", hours);
	else if (minutes >= 1)
		snprintf(out, size, "%.1f minutes", minutes);
	else if (seconds >= 0.1)
		snprintf(out, size, "%.1f seconds", seconds);
	else
		snprintf(out, size, "less than 0.1 seconds");
	return out;
}

const char *cairn_words_sure(double confidence, char *out, size_t size)
{
	if (confidence > 0.999)
		snprintf(out, size, "more than 99.9 %% sure");
	else
		snprintf(out, size, "%.*f %% sure", confidence > 0.99 ? 1 : 0, 100 * confidence);
	return out;
}

void cairn_words_detail(const struct cairn_trend *trend, double hours, const struct cairn_view *view, const struct cairn_shape *shape,
			struct cairn_buffer *out)
{
	char level[32], low[32], high[32], time[32];
	double ago = hours - trend->since;
	switch (trend->verdict) {
	case CAIRN_GROWING:
		if (trend->since != 0)
			cairn_buffer_format(out, "for %s", cairn_words_duration(ago, time, sizeof time));
		if (trend->period_hours > 0)
			cairn_buffer_format(out, "%sunder a rhythm of %s", trend->since != 0 ? ", " : "",
					    cairn_words_duration(trend->period_hours, time, sizeof time));
		break;
	case CAIRN_STOPPED:
		if (trend->since != 0)
			cairn_buffer_format(out, "since %s ago", cairn_words_duration(ago, time, sizeof time));
		break;
	case CAIRN_FILLING:
		cairn_buffer_format(out, "%s near %s, %s to %s", trend->refilling ? "fills again, was" : "levels off",
				    cairn_head_number(view, shape, trend->level, level),
				    cairn_head_number(view, shape, trend->level_low, low),
				    cairn_head_number(view, shape, trend->level_high, high));
		break;
	case CAIRN_SAWTOOTH:
		if (trend->period_hours > 20 && trend->period_hours < 28)
			cairn_buffer_text(out, "daily");
		else if (trend->period_hours > 0)
			cairn_buffer_format(out, "every %s", cairn_words_duration(trend->period_hours, time, sizeof time));
		break;
	case CAIRN_TOO_EARLY:
		if (trend->may_replace)
			cairn_buffer_text(out,
					  "it may replace what was allocated before sampling began: the process does not grow with it");
		else if (trend->more_dumps > 0)
			cairn_buffer_format(out, "%u more dump%s may tell", trend->more_dumps, trend->more_dumps == 1 ? "" : "s");
		else if (trend->more_hours > 0)
			cairn_buffer_format(out, "%s more may tell", cairn_words_duration(trend->more_hours, time, sizeof time));
		break;
	default:
		break;
	}
}

void cairn_words_trend(const struct cairn_trend *trend, double hours, const struct cairn_view *view, const struct cairn_shape *shape,
		       struct cairn_buffer *out)
{
	cairn_buffer_text(out, cairn_verdict_name(trend->verdict));
	size_t length = out->length;
	cairn_buffer_text(out, trend->verdict == CAIRN_TOO_EARLY || trend->verdict == CAIRN_FILLING ? ": " : " ");
	size_t start = out->length;
	cairn_words_detail(trend, hours, view, shape, out);
	if (out->length == start)
		out->length = length;
}

static void write_growing(const struct cairn_leaks *leaks, const struct cairn_view *view, const struct cairn_shape *shape,
			  struct cairn_buffer *out)
{
	char rate[32], sure[32];
	const struct cairn_leak *first = &leaks->rows[0];
	struct cairn_bytes name = cairn_leak_title(leaks, view, first);
	cairn_buffer_append(out, name.data, name.length);
	if (leaks->growing > 1)
		cairn_buffer_format(out, " and %zu other call path%s", leaks->growing - 1, leaks->growing == 2 ? "" : "s");
	enum cairn_value_kind kind = cairn_profile_value_kind(view->profile, view->value);
	bool objects = kind == CAIRN_VALUE_LIVE_OBJECTS || kind == CAIRN_VALUE_ALLOCATED_OBJECTS;
	cairn_buffer_format(out, " keep%s growing, by %s%s an hour%s (%s)", leaks->growing == 1 ? "s" : "",
			    cairn_head_number(view, shape, leaks->per_hour, rate), objects ? " objects" : "",
			    leaks->growing == 1 ? "" : " together",
			    cairn_words_sure(first->trend.confidence, sure, sizeof sure));
}

void cairn_words_leaks(const struct cairn_leaks *leaks, const struct cairn_view *view, const struct cairn_shape *shape,
		       struct cairn_buffer *out)
{
	size_t early = 0;
	const struct cairn_leak *largest = NULL;
	for (size_t i = 0; i < leaks->count; i++)
		if (leaks->rows[i].trend.verdict == CAIRN_TOO_EARLY) {
			early++;
			largest = largest ? largest : &leaks->rows[i];
		}
	if (leaks->growing > 0) {
		write_growing(leaks, view, shape, out);
		return;
	}
	cairn_buffer_format(out, "nothing keeps growing among %zu call path%s", leaks->path_count, leaks->path_count == 1 ? "" : "s");
	if (leaks->hardly_sampled)
		cairn_buffer_text(out, ", but hardly any of the memory was sampled so far");
	if (early == 0)
		return;
	cairn_buffer_format(out, "; too early to tell for %zu of them", early);
	size_t length = out->length;
	cairn_buffer_text(out, ": ");
	size_t start = out->length;
	cairn_words_detail(&largest->trend, leaks->hours, view, shape, out);
	if (out->length == start)
		out->length = length;
}
