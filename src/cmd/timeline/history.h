/* history.h - the timeline of one dump: what the ledger of a process that has ended recorded second by second.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_CMD_TIMELINE_HISTORY_H
#define CAIRN_CMD_TIMELINE_HISTORY_H

#include "base/buffer.h"
#include "live/source.h"

enum cairn_history_format { CAIRN_HISTORY_HTML, CAIRN_HISTORY_SVG, CAIRN_HISTORY_JSON, CAIRN_HISTORY_TEXT };

struct cairn_history_ask {
	bool required; /* it was asked for: else a source without a history is left to the others */
	int64_t last_ns;
	const char *title; /* NULL for the process */
	enum cairn_history_format format;
};

/* Appends the history of the dump that NAMES stand for, the newest of several where it is required, to OUT. *FOUND is false where there is
 * none and none is required. Fails if the sources cannot be listed or that dump cannot be read. */
bool cairn_timeline_history(const struct cairn_history_ask *ask, const struct cairn_source_options *options, int count, char **names,
			    bool *found, struct cairn_buffer *out, struct cairn_error *error);

#endif
