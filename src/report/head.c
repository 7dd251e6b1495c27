/* head.c - writes the lines above a report.
 * SPDX-License-Identifier: Apache-2.0 */
#include "report/head.h"

#include "base/array.h"
#include "base/text.h"
#include "base/time.h"
#include "base/utf8.h"
#include "profile/kind.h"
#include "profile/origin.h"
#include "report/number.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

char *cairn_head_number(const struct cairn_view *view, const struct cairn_shape *shape, double value, char *out)
{
	if (cairn_view_in_time(view) && !shape->bytes)
		return cairn_number_time(value, out);
	return cairn_number_text(value, cairn_view_in_bytes(view) && !shape->bytes, out);
}

/* An amount cannot be negative, so neither can the ends of its interval. */
static struct cairn_interval shown_interval(const struct cairn_view *view, double value, struct cairn_spread spread)
{
	struct cairn_interval interval = cairn_view_interval(view, value, spread);
	if (!view->profile->base && value >= 0)
		interval.low = fmax(0, interval.low);
	return interval;
}

/* If more than a twentieth of a value has an unknown error, the error of the whole value counts as unknown. */
static bool knows_interval(const struct cairn_view *view, double value, struct cairn_spread spread)
{
	static const double tolerated = 0.05;
	return view->knows_errors && spread.unknown <= tolerated * fabs(value);
}

char *cairn_head_interval(const struct cairn_view *view, const struct cairn_shape *shape, double value,
			  struct cairn_spread spread, char *out)
{
	if (!knows_interval(view, value, spread))
		return strcpy(out, "unknown");
	struct cairn_interval interval = shown_interval(view, value, spread);
	char low[32], high[32];
	snprintf(out, CAIRN_INTERVAL_TEXT, "%s to %s", cairn_head_number(view, shape, interval.low, low),
		 cairn_head_number(view, shape, interval.high, high));
	return out;
}

char *cairn_head_interval_column(const struct cairn_view *view, const struct cairn_shape *shape, double value,
				 struct cairn_spread spread, char *out)
{
	char text[CAIRN_INTERVAL_TEXT];
	out[0] = '\0';
	if (view->options.errors)
		snprintf(out, CAIRN_INTERVAL_TEXT, " %*s", CAIRN_INTERVAL_WIDTH, cairn_head_interval(view, shape, value, spread, text));
	return out;
}

const char *cairn_head_interval_title(const struct cairn_view *view)
{
	return view->options.errors ? "                    95 %" : "";
}

void cairn_head_interval_json(const struct cairn_view *view, struct cairn_json *json, const char *name, double value,
			      struct cairn_spread spread)
{
	if (!view->options.errors)
		return;
	struct cairn_interval interval = shown_interval(view, value, spread);
	char low[64], high[64];
	snprintf(low, sizeof low, "%s_low", name);
	snprintf(high, sizeof high, "%s_high", name);
	bool known = knows_interval(view, value, spread);
	cairn_json_number(json, low, known ? round(interval.low) : NAN);
	cairn_json_number(json, high, known ? round(interval.high) : NAN);
}

const char *cairn_head_type(const struct cairn_view *view)
{
	return cairn_profile_string(view->profile, view->profile->value_types[view->value].type);
}

const char *cairn_head_value_title(const struct cairn_profile *profile, uint32_t value)
{
	const char *type = cairn_profile_string(profile, profile->value_types[value].type);
	const struct cairn_shown_view *row = cairn_shown_of(type);
	if (!row)
		return type;
	bool bytes = strcmp(type, row->space) == 0;
	if (row == &cairn_shown_views[CAIRN_SHOWN_LIVE])
		row = &cairn_shown_views[profile->shown];
	return bytes ? row->space_title : row->objects_title;
}

const char *cairn_head_title(const struct cairn_view *view)
{
	return cairn_head_value_title(view->profile, view->value);
}

/* The number of samples behind everything ever allocated from one stack. The profile itself stores only the number of live samples. */
static double allocated_samples(const struct cairn_view *view, size_t at)
{
	const struct cairn_profile *profile = view->profile;
	const double *values = cairn_profile_values(profile, at);
	bool in_bytes = cairn_view_in_bytes(view);
	uint32_t objects = in_bytes ? view->partner : view->value, bytes = in_bytes ? view->value : view->partner;
	double base_objects = cairn_profile_base(profile, at, objects), base_bytes = cairn_profile_base(profile, at, bytes);
	return cairn_unsample_count(profile->unsampling, profile->period, values[objects] + base_objects, values[bytes] + base_bytes) +
	       cairn_unsample_count(profile->unsampling, profile->period, base_objects, base_bytes);
}

/* The approximate number of samples behind the values; 0 if the format does not have it. */
static double sample_count(const struct cairn_view *view)
{
	bool allocated = cairn_value_is_allocated(cairn_profile_value_kind(view->profile, view->value)) && view->partner != CAIRN_NONE;
	double count = 0;
	for (size_t i = 0; view->profile->sampled && i < view->sample_count; i++)
		count += allocated ? allocated_samples(view, view->samples[i]) : view->profile->sampled[view->samples[i]];
	return count;
}

/* Writes local time, with the date if the profile was taken on another day. */
static void write_since(int64_t since_ns, int64_t taken_ns, char *out, size_t size)
{
	time_t since = (time_t)(since_ns / CAIRN_SECOND_NS), taken = (time_t)(taken_ns / CAIRN_SECOND_NS);
	struct tm then, now;
	localtime_r(&since, &then);
	localtime_r(&taken, &now);
	bool same_day = then.tm_yday == now.tm_yday && then.tm_year == now.tm_year;
	strftime(out, size, same_day ? "%H:%M:%S" : "%Y-%m-%d %H:%M:%S", &then);
}

/* Estimates are seldom off by more than a twentieth. */
bool cairn_coverage_is_partial(const struct cairn_coverage *coverage)
{
	static const double whole = 0.95;
	if (coverage->before <= 0 && !cairn_sampled_late(coverage->start_ns, coverage->since_ns))
		return false;
	double all = coverage->allocated > 0 ? coverage->allocated : coverage->before > 0 ? coverage->sampled + coverage->before : 0;
	return all <= 0 || coverage->sampled < whole * all;
}

/* A profile of less than that share of resident memory leaves the question what the rest is, if the rest is not just the program's code. */
static const double most_of_resident = 0.5, rest_least = 32 << 20;

bool cairn_coverage_is_little(const struct cairn_coverage *coverage)
{
	return coverage->sampled < most_of_resident * coverage->resident && coverage->resident - coverage->sampled >= rest_least;
}

bool cairn_coverage_text(const struct cairn_coverage *coverage, char *out, size_t size)
{
	char sampled[32], live[32], since[40];
	bool partial = cairn_coverage_is_partial(coverage);
	bool little = cairn_coverage_is_little(coverage);
	cairn_text_human(coverage->sampled, sampled);
	write_since(coverage->since_ns, coverage->time_ns, since, sizeof since);
	int length = 0;
	if (partial && coverage->allocated > 0)
		length = snprintf(out, size, "%s sampled since %s, of %s live", sampled, since,
				  cairn_text_human(coverage->allocated, live));
	else if (partial && coverage->before > 0)
		length = snprintf(out, size, "sampling began at %s; %s were resident by then and are not in this profile%s", since,
				  cairn_text_human(coverage->before, live), little ? "" : " (cairn rss explains them)");
	else if (partial)
		length = snprintf(out, size, "sampling began at %s; what was allocated before is not in this profile", since);
	if (little && length >= 0 && (size_t)length < size)
		snprintf(out + length, size - (size_t)length, "%s less than half of the %s resident: cairn why says what the rest is",
			 partial ? "; it shows" : "that is", cairn_text_human(coverage->resident, live));
	return partial || little;
}

/* Of VIEW; empty unless it shows the live bytes of one dump. */
static struct cairn_coverage coverage_of(const struct cairn_view *view)
{
	const struct cairn_profile *profile = view->profile;
	bool live = profile->kind == CAIRN_PROFILE_HEAP && !profile->base && cairn_profile_is_live(profile) &&
		    cairn_profile_value_kind(profile, view->value) == CAIRN_VALUE_LIVE_BYTES;
	return live ? (struct cairn_coverage){view->total,
					      profile->facts.start_ns,
					      profile->facts.since_ns,
					      profile->facts.time_ns,
					      profile->facts.allocated_bytes,
					      profile->facts.before_bytes,
					      profile->facts.resident_bytes}
		    : (struct cairn_coverage){0};
}

bool cairn_head_coverage(const struct cairn_view *view, char *out, size_t size)
{
	struct cairn_coverage coverage = coverage_of(view);
	return cairn_coverage_text(&coverage, out, size);
}

static struct cairn_spread total_spread(const struct cairn_view *view)
{
	struct cairn_spread spread = {0};
	for (size_t i = 0; i < view->sample_count; i++)
		cairn_spread_add(&spread, cairn_view_spread(view, i));
	return spread;
}

static void write_errors(const struct cairn_view *view, const struct cairn_shape *shape, struct cairn_buffer *out)
{
	char text[CAIRN_INTERVAL_TEXT];
	if (!view->knows_errors)
		cairn_buffer_format(out, "\nno confidence intervals: %s does not record how it was sampled", view->profile->format);
	else if (view->profile->unsampling == CAIRN_UNSAMPLE_NONE)
		cairn_buffer_text(out, "\nevery allocation was recorded: there is no sampling error");
	else
		cairn_buffer_format(out, "\n95 %% confidence interval: %s",
				    cairn_head_interval(view, shape, view->shown, total_spread(view), text));
	if (view->knows_errors && total_spread(view).unknown > 0)
		cairn_buffer_text(out, "\ncall paths that mix object sizes have unknown errors: the dump does not record their sizes");
}

/* Writes when the peak was, and how long before the dump. */
static void write_peak(const struct cairn_profile *profile, struct cairn_buffer *out)
{
	char when[40], before[32];
	if (!profile->facts.peak_ns)
		return;
	write_since(profile->facts.peak_ns, profile->facts.time_ns, when, sizeof when);
	cairn_buffer_format(out, "its highest point: %s", when);
	if (profile->facts.time_ns > profile->facts.peak_ns)
		cairn_buffer_format(out, ", %s before the dump", cairn_text_span(profile->facts.time_ns - profile->facts.peak_ns, before));
	cairn_buffer_byte(out, '\n');
}

/* Names the wrappers that were charged to their callers, the largest first: who looks for one of them must hear where it is. */
static void write_folded(struct cairn_view *view, struct cairn_buffer *out)
{
	enum { most = 3 };
	static const double least = 0.01;
	double *sums = cairn_array_zero(view->entry_count, sizeof *sums);
	size_t depth, shown = 0, others = 0;
	for (size_t i = 0; i < view->sample_count; i++) {
		cairn_view_stack(view, i, &depth);
		if (view->folded != CAIRN_NONE)
			sums[view->folded] += fabs(cairn_view_value(view, i));
	}
	for (; shown < most; shown++) {
		size_t largest = 0;
		for (size_t e = 1; e < view->entry_count; e++)
			largest = sums[e] > sums[largest] ? e : largest;
		if (view->entry_count == 0 || sums[largest] <= least * view->whole)
			break;
		cairn_buffer_text(out, shown ? ", " : "\nfolded into their callers: ");
		cairn_utf8_show(out, cairn_view_name(view, (uint32_t)largest));
		sums[largest] = 0;
	}
	for (size_t e = 0; e < view->entry_count; e++)
		others += sums[e] > least * view->whole;
	if (others)
		cairn_buffer_format(out, " and %zu more", others);
	if (shown)
		cairn_buffer_text(out, " (--no-fold shows them)");
	free(sums);
}

void cairn_head_text(struct cairn_view *view, const struct cairn_shape *shape, struct cairn_buffer *out)
{
	const struct cairn_profile *profile = view->profile;
	char text[32];
	cairn_utf8_show(out, profile->facts.process ? cairn_strings_bytes(&profile->strings, profile->facts.process)
						    : cairn_bytes_of("unknown process"));
	if (profile->facts.process_id)
		cairn_buffer_format(out, ", process %llu", (unsigned long long)profile->facts.process_id);
	cairn_buffer_format(out, ", %s", profile->format);
	if (profile->period > 1 && profile->kind == CAIRN_PROFILE_HEAP)
		cairn_buffer_format(out, ", one sample per %s%s", cairn_text_human(profile->period, text),
				    profile->mixed_periods ? " (several periods)" : "");
	if (sample_count(view) > 0)
		cairn_buffer_format(out, ", about %.0f sample%s", sample_count(view), sample_count(view) < 1.5 ? "" : "s");
	cairn_buffer_byte(out, '\n');
	if (profile->facts.ended) {
		cairn_buffer_text(out, "its last moment: ");
		cairn_utf8_show(out, cairn_strings_bytes(&profile->strings, profile->facts.ended));
		cairn_buffer_byte(out, '\n');
	}
	if (profile->shown == CAIRN_SHOWN_PEAK)
		write_peak(profile, out);
	cairn_buffer_text(out, profile->base ? "change of " : "");
	cairn_utf8_show(out, cairn_bytes_of(cairn_head_title(view)));
	cairn_buffer_format(out, ": %s%s in total", profile->base && view->total >= 0.5 ? "+" : "",
			    cairn_head_number(view, shape, view->total, text));
	if (view->shown != view->total)
		cairn_buffer_format(out, ", %s (%.1f%%) of it shown", cairn_head_number(view, shape, view->shown, text),
				    cairn_number_percent(view->shown, view->whole));
	double unnamed = cairn_view_unnamed(view);
	if (unnamed != 0)
		cairn_buffer_format(out, ", %s (%.1f%%) of it without a name", cairn_head_number(view, shape, unnamed, text),
				    cairn_number_percent(unnamed, view->whole));
	write_folded(view, out);
	if (view->options.errors)
		write_errors(view, shape, out);
	char coverage[CAIRN_COVERAGE_TEXT];
	if (cairn_head_coverage(view, coverage, sizeof coverage))
		cairn_buffer_format(out, "\n%s", coverage);
	cairn_buffer_text(out, "\n\n");
}

void cairn_head_json(struct cairn_view *view, struct cairn_json *json)
{
	const struct cairn_profile *profile = view->profile;
	cairn_json_number(json, "total", round(view->total));
	cairn_json_number(json, "shown", round(view->shown));
	if (view->options.errors)
		cairn_head_interval_json(view, json, "shown", view->shown, total_spread(view));
	cairn_json_text(json, "unit", cairn_strings_bytes(&profile->strings, profile->value_types[view->value].unit));
	cairn_json_text(json, "type", cairn_bytes_of(cairn_head_type(view)));
	cairn_json_number(json, "period", profile->period);
	cairn_json_text(json, "process", cairn_strings_bytes(&profile->strings, profile->facts.process));
	cairn_json_integer(json, "pid", (int64_t)profile->facts.process_id);
	if (profile->facts.ended)
		cairn_json_text(json, "ended", cairn_strings_bytes(&profile->strings, profile->facts.ended));
	if (!cairn_profile_is_live(profile))
		cairn_json_bool(json, cairn_shown_views[profile->shown].option, true);
	if (profile->shown == CAIRN_SHOWN_PEAK && profile->facts.peak_ns)
		cairn_json_number(json, "peak_at", (double)(profile->facts.peak_ns / CAIRN_MILLISECOND_NS) / 1000);
	cairn_json_text(json, "format", cairn_bytes_of(profile->format));
	cairn_json_number(json, "samples", round(sample_count(view)));
	if (profile->facts.since_ns > 0) {
		if (profile->facts.allocated_bytes > 0)
			cairn_json_number(json, "allocated", profile->facts.allocated_bytes);
		if (profile->facts.before_bytes > 0)
			cairn_json_number(json, "allocated_before", profile->facts.before_bytes);
		cairn_json_number(json, "sampled_since", (double)(profile->facts.since_ns / CAIRN_MILLISECOND_NS) / 1000);
		struct cairn_coverage coverage = coverage_of(view);
		cairn_json_bool(json, "partial", cairn_coverage_is_partial(&coverage));
	}
	cairn_json_number(json, "unnamed", round(cairn_view_unnamed(view)));
}
