/* verdict.h - a verdict on the dumps of a process in one sentence, with the figures behind it: growth by call path, and layers over time.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_FLEET_SERVE_VERDICT_H
#define CAIRN_FLEET_SERVE_VERDICT_H

#include "base/buffer.h"
#include "fleet/serve/archive.h"
#include "series/trend.h"

/* What the sentence says; cairn_verdict_kind_name has the names of the protocol. */
enum cairn_verdict_kind {
	CAIRN_VERDICT_EARLY, /* too few dumps, or too early to tell */
	CAIRN_VERDICT_GROWING,
	CAIRN_VERDICT_STEADY,
	CAIRN_VERDICT_ENDED,
	CAIRN_VERDICT_NOTHING, /* there is no dump, or no dump has samples; the state of the process says why */
};

struct cairn_verdict_summary {
	enum cairn_verdict_kind kind;
	char sentence[400]; /* as `cairn leaks` says it */
	char forecast[300]; /* when memory runs out, if something grows; "" for never */
	unsigned more_dumps; /* with too few dumps, how many more are needed; 0 if unknown */
	double per_hour; /* the rate at which the process grows in bytes; 0 if nothing does */
	int64_t limit_ns; /* when the limit will be reached, since 1970; 0 for never */
};

const char *cairn_verdict_kind_name(enum cairn_verdict_kind kind);

/* The kind of a VERDICT on a whole service. */
enum cairn_verdict_kind cairn_verdict_kind(enum cairn_verdict verdict);

/* Judges ARCHIVE, whose newest dump is NEWEST; that may be empty. OTHERS_PER_HOUR is how fast other processes grow on the same machine.
 * Appends the JSON of /api/leaks to LEAKS and the array of layers of /api/series to LAYERS. */
void cairn_verdict_make(const struct cairn_archive *archive, struct cairn_bytes newest, double others_per_hour,
			struct cairn_verdict_summary *summary, struct cairn_buffer *leaks, struct cairn_buffer *layers);

/* Appends the JSON of /api/leaks if there is nothing to judge, or too little. */
void cairn_verdict_empty(const struct cairn_verdict_summary *summary, struct cairn_buffer *leaks);

#endif
