/* timeline.c - `cairn fleet timeline` as a table: how much memory the instances had together, over time.
 * SPDX-License-Identifier: Apache-2.0 */
#include "base/text.h"
#include "base/time.h"
#include "cmd/command.h"
#include "cmd/fleet/answer.h"
#include "cmd/fleet/series.h"

int cairn_fleet_answer_timeline(const void *values, int operand_count, char **operands)
{
	const struct cairn_fleet_answer_options *options = values;
	struct cairn_error error;
	struct cairn_store_processes processes;
	struct cairn_fleet_instant instants[CAIRN_FLEET_INSTANTS];
	struct cairn_buffer out = cairn_buffer(SIZE_MAX);
	size_t rows;
	struct cairn_store *store = cairn_fleet_answer_begin(options, CAIRN_DAY_NS, operand_count, operands, &processes, &rows, &error);
	if (!store)
		return cairn_say_failure(&error);
	bool mean = options->fleet.per_instance, any_limit = false;
	size_t count = cairn_fleet_instants(&processes, instants), first = options->rows && rows && rows < count ? count - rows : 0;
	for (size_t i = 0; i < count; i++)
		any_limit |= instants[i].limit > 0;
	cairn_buffer_format(&out, "%-19s %9s %11s %11s%s\n", "Time", "Instances", mean ? "Live of one" : "Live",
			    mean ? "RSS of one" : "Resident", any_limit ? "   of limit" : "");
	for (size_t i = first; i < count; i++) {
		const struct cairn_fleet_instant *instant = &instants[i];
		double divisor = mean && instant->instances ? (double)instant->instances : 1;
		char live[24], resident[24];
		cairn_fleet_answer_time(&out, instant->time_ns);
		cairn_buffer_format(&out, " %9zu %11s %11s", instant->instances, cairn_text_human(instant->live / divisor, live),
				    cairn_text_human(instant->resident / divisor, resident));
		if (instant->limit > 0)
			cairn_buffer_format(&out, " %9.1f%%", 100 * instant->resident / instant->limit);
		cairn_buffer_byte(&out, '\n');
	}
	return cairn_fleet_answer_end(store, &processes, &out);
}
