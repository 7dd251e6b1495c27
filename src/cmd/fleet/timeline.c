/* timeline.c - `cairn fleet timeline` as a table: how much memory the instances had together, over time.
 * SPDX-License-Identifier: Apache-2.0 */
#include "base/time.h"
#include "cmd/command.h"
#include "cmd/fleet/answer.h"
#include "live/store_series.h"

#include <math.h>

struct writing {
	bool mean, any_limit;
};

static void columns(struct cairn_table *table, void *context, const void *item)
{
	const struct cairn_fleet_instant *instant = item;
	const struct writing *writing = context;
	double divisor = writing->mean && instant->instances ? (double)instant->instances : 1;
	char time[32];
	cairn_table_string(table, NULL, "Time", 19, cairn_fleet_answer_time(instant->time_ns, time));
	cairn_table_count(table, NULL, "Instances", 9, (double)instant->instances);
	cairn_table_bytes(table, NULL, writing->mean ? "Live of one" : "Live", 11, instant->live / divisor);
	cairn_table_bytes(table, NULL, writing->mean ? "RSS of one" : "Resident", 11, instant->resident / divisor);
	if (writing->any_limit)
		cairn_table_share(table, NULL, "of limit", 10, 1, instant->limit > 0 ? instant->resident / instant->limit : NAN);
}

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
	struct writing writing = {.mean = options->fleet.per_instance};
	struct cairn_table table = cairn_table(&out, NULL, false);
	size_t count = cairn_fleet_instants(&processes, instants), first = options->rows && rows && rows < count ? count - rows : 0;
	for (size_t i = 0; i < count; i++)
		writing.any_limit |= instants[i].limit > 0;
	cairn_table_rows(&table, NULL, columns, &writing, instants + first, count - first, sizeof *instants);
	return cairn_fleet_answer_end(store, &processes, false, &out);
}
