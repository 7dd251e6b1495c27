/* words.h - verdicts in words: the only place that words them, for tables, pictures, pages and JSON.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_SERIES_WORDS_H
#define CAIRN_SERIES_WORDS_H

#include "report/shape.h"
#include "series/leaks.h"

/* "3.5 hours", "40.0 minutes", "6.2 seconds", "less than 0.1 seconds". Returns OUT. */
const char *cairn_words_duration(double hours, char *out, size_t size);

/* "97 % sure", "more than 99.9 % sure". Returns OUT. */
const char *cairn_words_sure(double confidence, char *out, size_t size);

/* Appends the details of TREND beyond its name: "for 3.5 hours", "levels off near 40.0 MiB, 38.1 MiB to 42.0 MiB". Most trends have none.
 * HOURS is the time from the first dump to the last. */
void cairn_words_detail(const struct cairn_trend *trend, double hours, const struct cairn_view *view, const struct cairn_shape *shape,
			struct cairn_buffer *out);

/* Appends the name of TREND and its details: "growing for 3.5 hours". */
void cairn_words_trend(const struct cairn_trend *trend, double hours, const struct cairn_view *view, const struct cairn_shape *shape,
		       struct cairn_buffer *out);

/* Appends the verdict on the whole service as a sentence without a full stop: "remember_session keeps growing, by 32.7 GiB an hour (more
 * than 99.9 % sure)". Names are as in the view. */
void cairn_words_leaks(const struct cairn_leaks *leaks, const struct cairn_view *view, const struct cairn_shape *shape,
		       struct cairn_buffer *out);

#endif
