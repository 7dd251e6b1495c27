/* history.h - the memory of a process over time up to its end, as recorded in its ledger: as a picture and as text.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_SERIES_HISTORY_H
#define CAIRN_SERIES_HISTORY_H

#include "base/buffer.h"
#include "profile/profile.h"

/* The rows to show, in order of time. The last is the moment of the dump, with the memory that was live then; resident memory at that
 * moment is unknown. The caller frees `rows`. */
struct cairn_history {
	struct cairn_history_row *rows;
	size_t count;
	const struct cairn_profile *profile;
};

/* Of the span LAST_NS before the end, 0 for everything; of PROFILE's history, which is not empty, the newest row is there in any case. */
struct cairn_history cairn_history_make(const struct cairn_profile *profile, int64_t last_ns);

/* Bytes allocated per second between the rows FIRST and LAST; 0 if they are the same. */
double cairn_history_rate(const struct cairn_history *history, size_t first, size_t last);

/* Seconds from row NUMBER to the last one. */
double cairn_history_before_end(const struct cairn_history *history, size_t number);

/* "2026-11-16 11:47:29 UTC", of the last row; OUT holds at least 24 bytes. */
char *cairn_history_end(const struct cairn_history *history, char *out);

/* Appends the picture, a self-contained file. */
void cairn_history_svg(const struct cairn_history *history, const char *title, struct cairn_buffer *out);

/* Appends a table for a terminal: all rows if they are few, and otherwise the fewer of them the longer before the end. */
void cairn_history_text(const struct cairn_history *history, const char *title, struct cairn_buffer *out);

#endif
