/* history.c - writes memory over time, second by second, as columns.
 * SPDX-License-Identifier: Apache-2.0 */
#include "page/history.h"

#include "base/time.h"
#include "series/history.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>

enum column { SECONDS, LIVE, RESIDENT, USAGE, LIMIT, RATE, COLUMNS };

static double value_of(const struct cairn_history *history, size_t i, enum column column)
{
	const struct cairn_history_row *row = &history->rows[i];
	switch (column) {
	case LIVE:
		return (double)row->live;
	case RESIDENT:
		return (double)row->resident;
	case USAGE:
		return (double)row->usage;
	case LIMIT:
		return (double)row->limit;
	case RATE:
		return i ? cairn_history_rate(history, i - 1, i) : 0;
	default:
		return (double)(row->time_ns - history->rows[0].time_ns) / CAIRN_SECOND_NS;
	}
}

void cairn_page_history_write(const struct cairn_profile *profile, struct cairn_json *json)
{
	static const int64_t last_ns = CAIRN_HOUR_NS;
	static const char *const names[] = {"seconds", "live", "resident", "usage", "limit", "rate"};
	static_assert(sizeof names / sizeof *names == COLUMNS, "every column has a name");
	struct cairn_history history = cairn_history_make(profile, last_ns);
	if (profile->history_count > 0 && history.count > 1 && !profile->base) {
		cairn_json_open(json, "history", '{');
		cairn_json_number(json, "start", (double)history.rows[0].time_ns / CAIRN_MILLISECOND_NS);
		for (enum column column = 0; column < COLUMNS; column++) {
			cairn_json_open(json, names[column], '[');
			for (size_t i = 0; i < history.count; i++)
				cairn_json_number(json, NULL, column == SECONDS ? value_of(&history, i, column) : trunc(value_of(&history, i, column)));
			cairn_json_close(json, ']');
		}
		cairn_json_close(json, '}');
	}
	free(history.rows);
}
