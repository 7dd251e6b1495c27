/* history_svg.h - draws the memory of a process over time up to its end, as recorded in its ledger.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_SERIES_HISTORY_SVG_H
#define CAIRN_SERIES_HISTORY_SVG_H

#include "base/buffer.h"
#include "profile/profile.h"

struct cairn_history_options {
	const char *title; /* NULL for the name of the process */
	int64_t last_ns;   /* show only this span before the end; 0 for everything */
};

/* The rows to draw, in order of time. The last is the moment of the dump, with the memory that was live then; resident memory at that
 * moment is unknown. The caller frees `rows`. */
struct cairn_history {
	struct cairn_history_row *rows;
	size_t count;
	const struct cairn_profile *profile;
};

struct cairn_history cairn_history_make(const struct cairn_profile *profile, int64_t last_ns);

/* Bytes allocated per second between the row before NUMBER and that row; 0 for the first row. */
double cairn_history_rate(const struct cairn_history *history, size_t number);

/* Appends the picture, a self-contained file. HISTORY has at least two rows. */
void cairn_history_svg(const struct cairn_history *history, const char *title, struct cairn_buffer *out);

#endif
