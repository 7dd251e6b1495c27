/* list.c - `cairn fleet services` and `cairn fleet kills`: what a store has, and who has ended.
 * SPDX-License-Identifier: Apache-2.0 */
#include "base/array.h"
#include "base/text.h"
#include "base/utf8.h"
#include "cmd/command.h"
#include "cmd/fleet/answer.h"
#include "cmd/fleet/series.h"
#include "process/clock.h"

#include <math.h>
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

static void services_text(const struct service_row *rows, size_t count, struct cairn_buffer *out)
{
	char live[24], resident[24], span[24];
	cairn_buffer_format(out, "%-24s  %-20s %9s %9s %11s %11s  %s\n", "Service", "Version", "Instances", "Snapshots",
			    "Live", "Resident", "Last seen");
	for (size_t i = 0; i < count; i++) {
		cairn_fleet_answer_padded(out, rows[i].service, 24);
		cairn_fleet_answer_padded(out, rows[i].version, 20);
		cairn_buffer_format(out, "%8zu %9zu %11s %11s  %s ago\n", rows[i].instances, rows[i].snapshots,
				    cairn_text_human(rows[i].live, live), cairn_text_human(rows[i].resident, resident),
				    cairn_text_span(cairn_clock_wall_ns() - rows[i].last_ns, span));
	}
}

static void services_json(const struct service_row *rows, size_t count, struct cairn_buffer *out)
{
	struct cairn_json json = cairn_json(out);
	cairn_json_open(&json, NULL, '{');
	cairn_json_open(&json, "services", '[');
	for (size_t i = 0; i < count; i++) {
		cairn_json_open(&json, NULL, '{');
		cairn_json_text(&json, "service", cairn_bytes_of(rows[i].service));
		cairn_json_text(&json, "version", cairn_bytes_of(rows[i].version));
		cairn_json_integer(&json, "instances", (int64_t)rows[i].instances);
		cairn_json_integer(&json, "snapshots", (int64_t)rows[i].snapshots);
		cairn_json_number(&json, "live", round(rows[i].live));
		cairn_json_number(&json, "resident", round(rows[i].resident));
		cairn_json_number(&json, "first_seen", cairn_fleet_answer_seconds(rows[i].first_ns));
		cairn_json_number(&json, "last_seen", cairn_fleet_answer_seconds(rows[i].last_ns));
		cairn_json_close(&json, '}');
	}
	cairn_json_close(&json, ']');
	cairn_json_close(&json, '}');
	cairn_buffer_byte(out, '\n');
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
	(options.json ? services_json : services_text)(services, rows && rows < count ? rows : count, &out);
	free(services);
	return cairn_fleet_answer_end(store, &processes, &out);
}

static int compare_ends(const void *a, const void *b)
{
	const struct cairn_store_process *const *one = a, *const *other = b;
	int64_t x = cairn_store_last(*one)->time_ns, y = cairn_store_last(*other)->time_ns;
	return (x < y) - (x > y);
}

static void kills_text(const struct cairn_store_process *const *ended, size_t count, struct cairn_buffer *out)
{
	char live[24];
	for (size_t i = 0; i < count; i++) {
		const struct cairn_store_point *last = cairn_store_last(ended[i]);
		cairn_fleet_answer_time(out, last->time_ns);
		cairn_buffer_text(out, "  ");
		cairn_fleet_answer_padded(out, ended[i]->service, 16);
		cairn_fleet_answer_padded(out, ended[i]->version, 12);
		cairn_fleet_answer_padded(out, ended[i]->host, 16);
		cairn_buffer_format(out, "%7llu  %10s live  ", (unsigned long long)ended[i]->pid, cairn_text_human(last->bytes, live));
		cairn_utf8_show(out, cairn_bytes_of(last->ended));
		cairn_buffer_byte(out, '\n');
	}
}

static void kills_json(const struct cairn_store_process *const *ended, size_t count, struct cairn_buffer *out)
{
	struct cairn_json json = cairn_json(out);
	cairn_json_open(&json, NULL, '{');
	cairn_json_open(&json, "kills", '[');
	for (size_t i = 0; i < count; i++) {
		const struct cairn_store_point *last = cairn_store_last(ended[i]);
		cairn_json_open(&json, NULL, '{');
		cairn_json_number(&json, "time", cairn_fleet_answer_seconds(last->time_ns));
		cairn_json_text(&json, "service", cairn_bytes_of(ended[i]->service));
		cairn_json_text(&json, "version", cairn_bytes_of(ended[i]->version));
		cairn_json_text(&json, "host", cairn_bytes_of(ended[i]->host));
		cairn_json_integer(&json, "pid", (int64_t)ended[i]->pid);
		cairn_json_text(&json, "ended", cairn_bytes_of(last->ended));
		cairn_json_number(&json, "live", round(last->bytes));
		cairn_json_close(&json, '}');
	}
	cairn_json_close(&json, ']');
	cairn_json_close(&json, '}');
	cairn_buffer_byte(out, '\n');
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
	(options.json ? kills_json : kills_text)(ended, rows && rows < count ? rows : count, &out);
	free(ended);
	return cairn_fleet_answer_end(store, &processes, &out);
}
