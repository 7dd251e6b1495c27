/* history.c - the rows of a history, and what follows from them.
 * SPDX-License-Identifier: Apache-2.0 */
#include "series/history.h"

#include "base/array.h"
#include "base/text.h"
#include "base/time.h"

#include <math.h>

static uint64_t whole(double value)
{
	return (uint64_t)fmax(0, fmin(0x1p63, value));
}

struct cairn_history cairn_history_make(const struct cairn_profile *profile, int64_t last_ns)
{
	struct cairn_history history = {.profile = profile, .rows = cairn_array_zero(profile->history_count + 1, sizeof *history.rows)};
	int64_t newest = profile->history_count ? profile->history[profile->history_count - 1].time_ns : 0;
	int64_t end = profile->facts.time_ns > newest ? profile->facts.time_ns : newest;
	for (size_t i = 0; i < profile->history_count; i++)
		if (!last_ns || profile->history[i].time_ns >= end - last_ns || i + 1 == profile->history_count)
			history.rows[history.count++] = profile->history[i];
	if (history.count && end > newest) { /* at the end, live memory is known exactly, but resident memory is not */
		struct cairn_history_row last = history.rows[history.count - 1];
		uint32_t space = cairn_profile_find_value(profile, "inuse_space"), sum = cairn_profile_find_value(profile, "alloc_space");
		last.time_ns = end;
		last.resident = last.usage = 0;
		last.live = space == CAIRN_NONE ? last.live : whole(cairn_profile_total(profile, space));
		last.allocated = sum == CAIRN_NONE ? last.allocated : whole(cairn_profile_total(profile, sum));
		history.rows[history.count++] = last;
	}
	return history;
}

double cairn_history_rate(const struct cairn_history *history, size_t first, size_t last)
{
	const struct cairn_history_row *from = &history->rows[first], *to = &history->rows[last];
	if (to->allocated < from->allocated || to->time_ns <= from->time_ns)
		return 0;
	return (double)(to->allocated - from->allocated) / ((double)(to->time_ns - from->time_ns) / CAIRN_SECOND_NS);
}

double cairn_history_before_end(const struct cairn_history *history, size_t number)
{
	return (double)(history->rows[history->count - 1].time_ns - history->rows[number].time_ns) / CAIRN_SECOND_NS;
}

char *cairn_history_end(const struct cairn_history *history, char *out)
{
	return cairn_text_utc(history->rows[history->count - 1].time_ns, out);
}
