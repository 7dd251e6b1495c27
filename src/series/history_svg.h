/* history_svg.h - the way to the end of a process: its memory over time as its ledger recorded it, as a picture.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_SERIES_HISTORY_SVG_H
#define CAIRN_SERIES_HISTORY_SVG_H

#include "base/buffer.h"
#include "profile/profile.h"

struct cairn_history_options {
	const char *title; /* NULL for the process */
	int64_t last_ns;   /* show no more than this span before the end; 0 for all of it */
};

/* What is shown: rows in the order of time, the last of which is the moment of the dump, with what was live then; what was
 * resident then is not known. Owned by the caller, who frees `rows`. */
struct cairn_history {
	struct cairn_history_row *rows;
	size_t count;
	const struct cairn_profile *profile;
};

struct cairn_history cairn_history_make(const struct cairn_profile *profile, int64_t last_ns);

/* Bytes allocated per second between the row before NUMBER and it; 0 for the first. */
double cairn_history_rate(const struct cairn_history *history, size_t number);

/* Appends the picture, a file of its own. HISTORY has two rows at least. */
void cairn_history_svg(const struct cairn_history *history, const char *title, struct cairn_buffer *out);

#endif
