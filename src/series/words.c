/* words.c - verdicts in words.
 * SPDX-License-Identifier: Apache-2.0 */
#include "series/words.h"

#include "base/text.h"
#include "base/time.h"
#include "base/utf8.h"
#include "report/head.h"
#include "series/onset.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <time.h>

/* Nothing is more certain than that. */
static const double most_certain = 0.999;

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

/* What is below 99 % is not rounded to that. */
static double shown_percent(double confidence)
{
	return confidence >= 0.99 ? 100 * confidence : floor(100 * confidence);
}

const char *cairn_words_confidence(double confidence, char *out, size_t size)
{
	if (confidence > most_certain)
		snprintf(out, size, "more than 99.9 %%");
	else
		snprintf(out, size, "%.*f %%", confidence >= 0.99, shown_percent(confidence));
	return out;
}

const char *cairn_words_confidence_column(double confidence, char *out, size_t size)
{
	if (confidence > most_certain)
		snprintf(out, size, ">99.9%%");
	else
		snprintf(out, size, "%.*f%%", confidence >= 0.99, shown_percent(confidence));
	return out;
}

struct cairn_words_unit cairn_words_rate_unit(bool bytes, double per_hour)
{
	double much = bytes ? 100 * 1024 : 100;
	return fabs(per_hour) / 3600 >= much ? (struct cairn_words_unit){"/s", 1.0 / 3600} : (struct cairn_words_unit){"/h", 1};
}

char *cairn_words_rate(const struct cairn_view *view, const struct cairn_shape *shape, double per_hour, char *out)
{
	char amount[32];
	bool bytes = !view || cairn_view_in_bytes(view);
	struct cairn_words_unit unit = cairn_words_rate_unit(bytes, per_hour);
	if (view)
		cairn_head_number(view, shape, per_hour * unit.factor, amount);
	else
		cairn_text_human(per_hour * unit.factor, amount);
	snprintf(out, CAIRN_WORDS_RATE, "%s%s%s", amount, bytes ? "" : " objects", unit.name);
	return out;
}

const char *cairn_words_clock(int64_t time_ns, int64_t now_ns, char *out, size_t size)
{
	time_t then = (time_t)(time_ns / CAIRN_SECOND_NS), now = (time_t)(now_ns / CAIRN_SECOND_NS);
	struct tm date, today;
	localtime_r(&then, &date);
	localtime_r(&now, &today);
	bool same = date.tm_year == today.tm_year && date.tm_yday == today.tm_yday;
	strftime(out, size, same ? "%H:%M" : "%Y-%m-%d %H:%M", &date);
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
			cairn_buffer_format(out, "at this rate for %s", cairn_words_duration(ago, time, sizeof time));
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

const char *cairn_words_meaning(enum cairn_verdict verdict)
{
	static const char *const meanings[] = {
		"rises and has not stopped",		"rises ever more slowly, towards a level",
		"rose and no longer does",		"neither rises nor falls",
		"goes up and down without direction",	"rises and falls again and again",
		"falls",				"more time or dumps will tell",
	};
	static_assert(sizeof meanings / sizeof *meanings == CAIRN_TOO_EARLY + 1, "every verdict has a meaning");
	return meanings[verdict];
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

static void write_growing(const struct cairn_judgement *judgement, const struct cairn_shape *shape, struct cairn_buffer *out)
{
	char rate[CAIRN_WORDS_RATE], sure[32];
	size_t others = judgement->growing > 0 ? judgement->growing - 1 : 0;
	if (judgement->mapped)
		cairn_buffer_text(out, "mapped memory: ");
	if (judgement->first) {
		struct cairn_bytes name = cairn_leak_title(judgement->leaks, judgement->view, judgement->first);
		cairn_buffer_append(out, name.data, name.length);
	} else {
		cairn_buffer_text(out, "memory as a whole");
	}
	if (others > 0)
		cairn_buffer_format(out, " and %zu other call path%s", others, others == 1 ? "" : "s");
	cairn_buffer_format(out, " keep%s growing, by %s%s (%s sure)", others ? "" : "s",
			    cairn_words_rate(judgement->view, shape, judgement->per_hour, rate), others ? " together" : "",
			    cairn_words_confidence(judgement->confidence, sure, sizeof sure));
}

/* How little was sampled. */
static void write_sampled_part(const struct cairn_judgement *judgement, struct cairn_buffer *out)
{
	struct cairn_coverage coverage = cairn_onset_coverage(&judgement->series->points[judgement->series->point_count - 1]);
	double all = fmax(coverage.before, coverage.allocated), part = all > 0 ? 100 * coverage.sampled / all : 0;
	cairn_buffer_format(out, ": only %.*f %% of the memory came under sampling so far, and 'cairn rss' shows the rest", part < 1, part);
}

static void write_early(const struct cairn_judgement *judgement, const struct cairn_shape *shape, struct cairn_buffer *out)
{
	char rate[CAIRN_WORDS_RATE], sure[32];
	const struct cairn_leak *first = judgement->first;
	struct cairn_bytes name = first ? cairn_leak_title(judgement->leaks, judgement->view, first) : (struct cairn_bytes){"", 0};
	if (first && first->trend.verdict == CAIRN_GROWING) {
		cairn_buffer_append(out, name.data, name.length);
		cairn_buffer_format(out, " may keep growing, by %s (%s sure)",
				    cairn_words_rate(judgement->view, shape, first->trend.per_hour, rate),
				    cairn_words_confidence(first->trend.confidence, sure, sizeof sure));
		return;
	}
	cairn_buffer_text(out, "too early to tell");
	if (first) {
		cairn_buffer_text(out, " whether ");
		cairn_buffer_append(out, name.data, name.length);
		cairn_buffer_text(out, " keeps growing");
	} else if (judgement->leaks->hardly_sampled) {
		write_sampled_part(judgement, out);
	}
}

void cairn_words_judgement(const struct cairn_judgement *judgement, const struct cairn_shape *shape, struct cairn_buffer *out)
{
	char rate[CAIRN_WORDS_RATE];
	if (judgement->verdict == CAIRN_GROWING) {
		write_growing(judgement, shape, out);
		return;
	}
	if (judgement->verdict == CAIRN_TOO_EARLY)
		write_early(judgement, shape, out);
	else
		cairn_buffer_text(out, judgement->verdict == CAIRN_SHRINKING ? "nothing keeps growing: memory shrinks" : "nothing keeps growing");
	if (judgement->hidden_per_hour > 0)
		cairn_buffer_format(out, "%s, but resident memory grows by %s: 'cairn why' finds the cause",
				    judgement->verdict == CAIRN_TOO_EARLY ? "" : " in the heap",
				    cairn_words_rate(NULL, NULL, judgement->hidden_per_hour, rate));
}

void cairn_words_forecast(const struct cairn_judgement *judgement, struct cairn_buffer *out)
{
	static const struct {
		const char *name, *reached;
	} limits[] = {
		[CAIRN_LIMIT_NONE] = {"", ""},
		[CAIRN_LIMIT_OPTION] = {"the --limit", "reached"},
		[CAIRN_LIMIT_GROUP] = {"the control group's limit", "reached"},
		[CAIRN_LIMIT_AVAILABLE] = {"the machine's available memory", "used up"},
		[CAIRN_LIMIT_MACHINE] = {"the machine's memory", "used up"},
	};
	char bytes[24], time[32], clock[40], soonest[32], latest[32];
	const struct cairn_limit *limit = &judgement->limit;
	int64_t now = judgement->series->points[judgement->series->point_count - 1].origin.time_ns;
	if (judgement->hours_left < 0)
		return;
	cairn_text_human(limit->bytes, bytes);
	if (judgement->hours_left == 0)
		cairn_buffer_format(out, "%s of %s is already %s", limits[limit->kind].name, bytes, limits[limit->kind].reached);
	else
		cairn_buffer_format(out, "at this rate %s of %s is %s in %s, at %s (95 %%: %s to %s)", limits[limit->kind].name, bytes,
				    limits[limit->kind].reached, cairn_words_duration(judgement->hours_left, time, sizeof time),
				    cairn_words_clock(now + (int64_t)(judgement->hours_left * CAIRN_HOUR_NS), now, clock, sizeof clock),
				    cairn_words_duration(judgement->soonest, soonest, sizeof soonest),
				    cairn_words_duration(judgement->latest, latest, sizeof latest));
}

void cairn_words_retention(const struct cairn_series *series, const struct cairn_judgement *judgement, struct cairn_buffer *out)
{
	static const double least = 16 << 20, share = 0.2;
	const struct cairn_series_point *first = &series->points[0], *last = &series->points[series->point_count - 1];
	double grown = last->resident - first->resident, live = last->bytes - first->bytes;
	double freed = first->free > 0 ? last->free - first->free : 0;
	char text[32];
	if (!last->live || first->origin.process_id != last->origin.process_id || first->resident <= 0 || last->resident <= 0 ||
	    grown < fmax(least, share * last->resident) || live > grown / 4)
		return;
	cairn_buffer_format(out, "resident memory grows, by %s since the first dump, the heap does not: ", cairn_text_human(grown, text));
	if (freed > grown / 2)
		cairn_buffer_format(out, "%s is free memory in arenas, which the allocator keeps (cairn why)", cairn_text_human(freed, text));
	else if (judgement->mapped && judgement->verdict == CAIRN_GROWING) /* which has been named */
		cairn_buffer_text(out, "it is that mapped memory");
	else
		cairn_buffer_text(out, "cairn why says what it is");
}

void cairn_words_no_samples(const struct cairn_own_memory *own, double period, struct cairn_buffer *out)
{
	char size[24];
	double unseen = cairn_own_memory_unseen(own, period);
	if (unseen > 0)
		cairn_buffer_format(out,
				    "no samples, but the process has grown by %s: something else than the profiled allocator holds that",
				    cairn_text_human(unseen, size));
	else if (period > 1)
		cairn_buffer_format(out, "no samples: sampling was off, or less was allocated than the sampling period of %s",
				    cairn_text_human(period, size));
	else
		cairn_buffer_text(out, "no samples: sampling was off, or less was allocated than the sampling period");
}

void cairn_words_fleet(const struct cairn_fleet *fleet, struct cairn_buffer *out)
{
	const struct cairn_fleet_row *open, *row = &fleet->rows[0];
	char rate[CAIRN_WORDS_RATE], sure[32];
	enum cairn_verdict verdict = cairn_fleet_verdict(fleet, &open);
	if (verdict != CAIRN_GROWING && !open) {
		cairn_buffer_text(out, verdict == CAIRN_TOO_EARLY ? "too early to tell" : "nothing keeps growing");
		return;
	}
	row = open ? open : row;
	struct cairn_bytes stack = cairn_strings_bytes(&fleet->stacks, row->path), name = {"", 0};
	cairn_text_line(&stack, &name, NULL);
	if (row->verdict == CAIRN_TOO_EARLY) {
		cairn_buffer_text(out, "too early to tell whether ");
		cairn_utf8_show(out, name);
		cairn_buffer_text(out, " keeps growing");
		return;
	}
	cairn_utf8_show(out, name);
	cairn_buffer_format(out, " %s growing on %zu of %zu instances, by %s each, %s release ", open ? "may keep" : "keeps", row->growing,
			    row->of, cairn_words_rate(NULL, NULL, row->per_hour, rate), row->new_in_release ? "new in" : "since");
	cairn_utf8_show(out, cairn_bytes_of(fleet->releases[row->release].version));
	cairn_buffer_format(out, " (%s sure)", cairn_words_confidence(row->confidence, sure, sizeof sure));
}
