/* ps.c - `cairn ps`: every process on this machine that has an agent.
 * SPDX-License-Identifier: Apache-2.0 */
#include "base/array.h"
#include "base/json.h"
#include "base/text.h"
#include "base/utf8.h"
#include "cmd/command.h"
#include "cmd/target.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

struct options {
	bool json;
};

static const struct cairn_option table[] = {
	{0, "json", NULL, "as JSON", CAIRN_OPTION_FLAG, offsetof(struct options, json), 0},
	{0},
};

static const struct cairn_option_group groups[] = {{NULL, table, 0}, {0}};

struct row {
	int pid;
	char state[32], period[24], snapshot[40], samples[24], command[256], listen[64];
	uint64_t resident;
};

struct rows {
	struct row *items;
	size_t count, capacity;
};

static uint64_t resident_bytes(int pid)
{
	char path[64];
	unsigned long pages = 0;
	snprintf(path, sizeof path, "/proc/%d/statm", pid);
	FILE *file = fopen(path, "re");
	if (file && fscanf(file, "%*u %lu", &pages) != 1)
		pages = 0;
	if (file)
		fclose(file);
	return (uint64_t)pages * (uint64_t)sysconf(_SC_PAGESIZE);
}

static void add_process(struct rows *rows, const char *name)
{
	struct cairn_target target;
	struct cairn_error error;
	struct cairn_buffer body = cairn_buffer(0);
	if (!cairn_target_find(&target, name, NULL, &error))
		return;
	if (!cairn_target_ask(&target, "GET", "/cairn/status", &body, &error)) {
		cairn_note("the agent of process %d did not answer: %s", target.pid, error.text);
		cairn_buffer_free(&body);
		return;
	}
	cairn_array_room(rows->items, rows->count, rows->capacity);
	struct row *row = &rows->items[rows->count++];
	*row = (struct row){.pid = target.pid, .resident = resident_bytes(target.pid)};
	struct cairn_bytes text = cairn_buffer_bytes(&body);
	cairn_target_field(text, "state", row->state, sizeof row->state);
	cairn_target_field(text, "period", row->period, sizeof row->period);
	cairn_target_field(text, "snapshots.last.time", row->snapshot, sizeof row->snapshot);
	cairn_target_field(text, "snapshots.last.samples", row->samples, sizeof row->samples);
	cairn_target_field(text, "agent.listen", row->listen, sizeof row->listen);
	cairn_target_field(text, "command", row->command, sizeof row->command);
	cairn_buffer_free(&body);
}

static int by_pid(const void *a, const void *b)
{
	return ((const struct row *)a)->pid - ((const struct row *)b)->pid;
}

static void write_table(const struct rows *rows, struct cairn_buffer *out)
{
	struct cairn_buffer line = cairn_buffer(SIZE_MAX);
	cairn_buffer_format(out, "%8s  %-12s %10s %10s %8s  %s\n", "PID", "STATE", "RESIDENT", "PERIOD", "SAMPLES", "COMMAND");
	for (size_t i = 0; i < rows->count; i++) {
		const struct row *row = &rows->items[i];
		char resident[24], period[24];
		cairn_text_human((double)row->resident, resident);
		cairn_text_human(strtod(row->period, NULL), period);
		cairn_buffer_format(&line, "%8d  %-12s %10s %10s %8s  ", row->pid, row->state, resident, row->period[0] == '0' ? "-" : period,
				    row->snapshot[0] ? row->samples : "-");
		cairn_buffer_text(&line, row->command);
		if (row->listen[0])
			cairn_buffer_format(&line, "  [%s]", row->listen);
		cairn_utf8_show(out, cairn_buffer_bytes(&line));
		cairn_buffer_byte(out, '\n');
		line.length = 0;
	}
	cairn_buffer_free(&line);
}

static void write_json(const struct rows *rows, struct cairn_buffer *out)
{
	struct cairn_json json = cairn_json(out);
	cairn_json_open(&json, NULL, '[');
	for (size_t i = 0; i < rows->count; i++) {
		const struct row *row = &rows->items[i];
		cairn_json_open(&json, NULL, '{');
		cairn_json_integer(&json, "pid", row->pid);
		cairn_json_text(&json, "state", cairn_bytes_of(row->state));
		cairn_json_integer(&json, "resident_bytes", (int64_t)row->resident);
		cairn_json_number(&json, "period", strtod(row->period, NULL));
		if (row->snapshot[0])
			cairn_json_number(&json, "samples", strtod(row->samples, NULL));
		else
			cairn_json_null(&json, "samples"); /* nobody has looked yet */
		cairn_json_text(&json, "listen", cairn_bytes_of(row->listen));
		cairn_json_text(&json, "command", cairn_bytes_of(row->command));
		cairn_json_close(&json, '}');
	}
	cairn_json_close(&json, ']');
	cairn_buffer_byte(out, '\n');
}

static int run(const void *values, int count, char **operands)
{
	const struct options *options = values;
	struct rows rows = {0};
	(void)operands;
	if (count > 0) {
		cairn_say_error("'cairn ps' takes no operands");
		return CAIRN_EXIT_USAGE;
	}
	DIR *processes = opendir("/proc");
	if (!processes)
		return cairn_say_error("/proc cannot be read, so processes cannot be found");
	for (struct dirent *entry; (entry = readdir(processes));)
		if (entry->d_name[0] >= '1' && entry->d_name[0] <= '9')
			add_process(&rows, entry->d_name);
	closedir(processes);
	if (rows.count > 0)
		qsort(rows.items, rows.count, sizeof *rows.items, by_pid);
	struct cairn_buffer out = cairn_buffer(SIZE_MAX);
	if (options->json)
		write_json(&rows, &out);
	else if (rows.count > 0)
		write_table(&rows, &out);
	int code = cairn_say_output(NULL, cairn_buffer_bytes(&out));
	if (rows.count == 0 && !options->json)
		cairn_say_note(geteuid() == 0 ? "no process with an agent here; 'cairn run -- COMMAND' starts one"
					      : "no process of yours with an agent here; 'cairn run -- COMMAND' starts one, and root sees those of others");
	cairn_buffer_free(&out);
	free(rows.items);
	return code;
}

const struct cairn_command cairn_command_ps = {
	.name = "ps",
	.summary = "what is being profiled on this machine",
	.arguments = "",
	.detail = "Processes of other users and in containers are shown as far as permissions go.",
	.groups = groups,
	.options_size = sizeof(struct options),
	.run = run,
};
