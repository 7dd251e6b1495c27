/* list.c - `cairn fleet services` and `cairn fleet kills`: what a store has, and who has ended.
 * SPDX-License-Identifier: Apache-2.0 */
#include "base/array.h"
#include "base/text.h"
#include "cmd/command.h"
#include "cmd/fleet/answer.h"
#include "live/store_series.h"
#include "process/clock.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* One line for each service and version. */
struct service_row {
	const char *service, *version;
	size_t instances, snapshots;
	double live, resident; /* of those that still are there */
	int64_t first_ns, last_ns;
};

static struct service_row *list_services(const struct cairn_store_processes *processes, size_t *count)
{
	struct service_row *rows = cairn_array_zero(processes->count, sizeof *rows);
	*count = 0;
	int64_t newest = 0;
	for (size_t i = 0; i < processes->count; i++) {
		int64_t last = cairn_store_last(&processes->items[i])->time_ns;
		newest = last > newest ? last : newest;
	}
	for (size_t i = 0; i < processes->count; i++) {
		const struct cairn_store_process *process = &processes->items[i];
		size_t at = 0;
		while (at < *count && (strcmp(rows[at].service, process->service) != 0 || strcmp(rows[at].version, process->version) != 0))
			at++;
		struct service_row *row = &rows[at];
		if (at == *count)
			*row = (struct service_row){
				.service = process->service, .version = process->version, .first_ns = process->first_ns};
		*count += at == *count;
		row->instances++;
		row->snapshots += process->snapshots;
		if (!cairn_fleet_is_gone(process, newest)) {
			row->live += cairn_store_last(process)->bytes;
			row->resident += cairn_store_last(process)->resident;
		}
		row->first_ns = process->first_ns < row->first_ns ? process->first_ns : row->first_ns;
		row->last_ns = cairn_store_last(process)->time_ns > row->last_ns ? cairn_store_last(process)->time_ns : row->last_ns;
	}
	return rows;
}

static void service_columns(struct cairn_table *table, void *context, const void *item)
{
	const struct service_row *row = item;
	char span[24], seen[32];
	(void)context;
	snprintf(seen, sizeof seen, "%s ago", cairn_text_span(cairn_clock_wall_ns() - row->last_ns, span));
	cairn_table_string(table, "service", "Service", -24, row->service);
	cairn_table_string(table, "version", "Version", -20, row->version);
	cairn_table_count(table, "instances", "Instances", 9, (double)row->instances);
	cairn_table_count(table, "snapshots", "Snapshots", 9, (double)row->snapshots);
	cairn_table_bytes(table, "live", "Live", 11, row->live);
	cairn_table_bytes(table, "resident", "Resident", 11, row->resident);
	cairn_table_seconds(table, "first_seen", NULL, 0, cairn_fleet_answer_seconds(row->first_ns), "");
	cairn_table_seconds(table, "last_seen", "Last seen", 0, cairn_fleet_answer_seconds(row->last_ns), seen);
}

int cairn_fleet_answer_services(const void *values, int operand_count, char **operands)
{
	struct cairn_fleet_answer_options options = *(const struct cairn_fleet_answer_options *)values;
	struct cairn_error error;
	struct cairn_store_processes processes;
	size_t rows;
	options.fleet.last_only = true;
	struct cairn_store *store = cairn_fleet_answer_begin(&options, 0, operand_count, operands, &processes, &rows, &error);
	if (!store)
		return cairn_say_failure(&error);
	size_t count;
	struct cairn_buffer out = cairn_buffer(SIZE_MAX);
	struct service_row *services = list_services(&processes, &count);
	struct cairn_fleet_answer_table answer;
	cairn_fleet_answer_table(&answer, options.json, &out);
	cairn_table_rows(&answer.table, "services", service_columns, NULL, services, rows && rows < count ? rows : count, sizeof *services);
	cairn_fleet_answer_table_end(&answer);
	free(services);
	return cairn_fleet_answer_end(store, &processes, options.json, &out);
}

static int compare_ends(const void *a, const void *b)
{
	const struct cairn_store_process *const *one = a, *const *other = b;
	int64_t x = cairn_store_last(*one)->time_ns, y = cairn_store_last(*other)->time_ns;
	return (x < y) - (x > y);
}

static void kill_columns(struct cairn_table *table, void *context, const void *item)
{
	const struct cairn_store_process *process = *(const struct cairn_store_process *const *)item;
	const struct cairn_store_point *last = cairn_store_last(process);
	char time[32];
	(void)context;
	cairn_table_seconds(table, "time", "", -19, cairn_fleet_answer_seconds(last->time_ns), cairn_fleet_answer_time(last->time_ns, time));
	cairn_table_string(table, "service", "", -16, process->service);
	cairn_table_string(table, "version", "", -12, process->version);
	cairn_table_string(table, "host", "", -16, process->host);
	cairn_table_count(table, "pid", "", 8, (double)process->pid);
	cairn_table_bytes(table, "live", "", 11, last->bytes);
	cairn_table_string(table, "ended", "", 0, last->ended);
}

/* Processes that have ended, the last one first. */
int cairn_fleet_answer_kills(const void *values, int operand_count, char **operands)
{
	struct cairn_fleet_answer_options options = *(const struct cairn_fleet_answer_options *)values;
	struct cairn_error error;
	struct cairn_store_processes processes;
	size_t rows;
	options.fleet.last_only = true;
	struct cairn_store *store = cairn_fleet_answer_begin(&options, 0, operand_count, operands, &processes, &rows, &error);
	if (!store)
		return cairn_say_failure(&error);
	const struct cairn_store_process **ended = cairn_array_new(processes.count, sizeof *ended);
	size_t count = 0;
	for (size_t i = 0; i < processes.count; i++)
		if (cairn_store_last(&processes.items[i])->ended[0])
			ended[count++] = &processes.items[i];
	if (count > 0)
		qsort(ended, count, sizeof *ended, compare_ends);
	struct cairn_buffer out = cairn_buffer(SIZE_MAX);
	if (!options.json)
		cairn_buffer_format(&out, "%zu of %zu processes have ended\n", count, processes.count);
	struct cairn_fleet_answer_table answer;
	cairn_fleet_answer_table(&answer, options.json, &out);
	cairn_table_open(&answer.table, "kills", '[');
	for (size_t i = 0; i < count && (rows == 0 || i < rows); i++)
		cairn_table_row(&answer.table, kill_columns, NULL, &ended[i]);
	cairn_table_close(&answer.table, ']');
	cairn_fleet_answer_table_end(&answer);
	free(ended);
	return cairn_fleet_answer_end(store, &processes, options.json, &out);
}
