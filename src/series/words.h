/* words.h - verdicts, rates, certainties, spans and forecasts in words: the only place that words them, for tables, pictures, pages, JSON
 * and the fleet.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_SERIES_WORDS_H
#define CAIRN_SERIES_WORDS_H

#include "report/shape.h"
#include "series/fleet.h"
#include "series/judge.h"

/* "3.5 hours", "40.0 minutes", "6.2 seconds", "less than 0.1 seconds". Returns OUT. */
const char *cairn_words_duration(double hours, char *out, size_t size);

/* "97 %", "99.6 %", "more than 99.9 %": never all of it. Returns OUT. */
const char *cairn_words_confidence(double confidence, char *out, size_t size);
/* The same for a column: ">99.9%". */
const char *cairn_words_confidence_column(double confidence, char *out, size_t size);

/* The unit of time that a rate is shown in, "/s" or "/h", and what its amount in an hour is multiplied by for that. */
struct cairn_words_unit {
	const char *name;
	double factor;
};
struct cairn_words_unit cairn_words_rate_unit(bool bytes, double per_hour);

/* "8.6 MiB/s", "351.6 MiB/h", as VIEW shows amounts; of bytes if that is NULL. OUT has at least CAIRN_WORDS_RATE bytes. Returns OUT. */
enum { CAIRN_WORDS_RATE = 40 };
char *cairn_words_rate(const struct cairn_view *view, const struct cairn_shape *shape, double per_hour, char *out);

/* Local time of day, "18:02", with the date if that is not the day of NOW_NS. Returns OUT. */
const char *cairn_words_clock(int64_t time_ns, int64_t now_ns, char *out, size_t size);

/* Appends the details of TREND beyond its name: "at this rate for 3.5 hours", "levels off near 40.0 MiB, 38.1 MiB to 42.0 MiB". Most trends
 * have none. HOURS is the time from the first dump to the last. */
void cairn_words_detail(const struct cairn_trend *trend, double hours, const struct cairn_view *view, const struct cairn_shape *shape,
			struct cairn_buffer *out);

/* What VERDICT means, for who reads it for the first time: "rises now". */
const char *cairn_words_meaning(enum cairn_verdict verdict);

/* Appends the name of TREND and its details: "growing at this rate for 3.5 hours". */
void cairn_words_trend(const struct cairn_trend *trend, double hours, const struct cairn_view *view, const struct cairn_shape *shape,
		       struct cairn_buffer *out);

/* Appends the verdict on a process as a sentence without a full stop: "remember_session keeps growing, by 9.3 MiB/s (more than 99.9 %
 * sure)". */
void cairn_words_judgement(const struct cairn_judgement *judgement, const struct cairn_shape *shape, struct cairn_buffer *out);

/* Appends that resident memory grows while live memory does not, and why, as another sentence without a full stop. Nothing if it does not,
 * or that is not known. */
void cairn_words_retention(const struct cairn_series *series, const struct cairn_judgement *judgement, struct cairn_buffer *out);

/* Appends the forecast as another: "at this rate the machine's available memory of 20.8 GiB is used up in 38.0 minutes, at 18:02 (95 %: 35.1
 * to 41.4 minutes)". Nothing if there is none. */
void cairn_words_forecast(const struct cairn_judgement *judgement, struct cairn_buffer *out);

/* Appends why a heap profile of a process with the memory OWN has no samples. PERIOD may be 0 if it is not known. */
void cairn_words_no_samples(const struct cairn_own_memory *own, double period, struct cairn_buffer *out);

/* Appends the verdict over the instances of a service: "remember_session keeps growing on 3 of 3 instances, by 8.3 MiB/s each, new in release
 * 42 (more than 99.9 % sure)". FLEET has call paths: without any there is no verdict. */
void cairn_words_fleet(const struct cairn_fleet *fleet, struct cairn_buffer *out);

#endif
