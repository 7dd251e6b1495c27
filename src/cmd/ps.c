/* ps.c - `cairn ps`: every process on this machine that has an agent.
 * SPDX-License-Identifier: Apache-2.0 */
#include "base/array.h"
#include "base/json.h"
#include "base/peek.h"
#include "base/text.h"
#include "base/utf8.h"
#include "cmd/command.h"
#include "cmd/target.h"
#include "process/proc.h"
#include "process/proc_list.h"
#include "process/tree.h"
#include "protocol/listen.h"

#include <stdlib.h>
#include <unistd.h>

struct options {
	bool json, tree;
};

static const struct cairn_option table[] = {
	{0, "json", NULL, "print JSON", CAIRN_OPTION_FLAG, offsetof(struct options, json), 0},
	{0, "tree", NULL, "show the process tree, with the memory of each subtree", CAIRN_OPTION_FLAG,
	 offsetof(struct options, tree), 0},
	{0},
};

static const struct cairn_option_group groups[] = {{NULL, table, 0}, {0}};

struct row {
	int pid;
	char state[32], period[24], samples[24], command[256], listen[64];
	uint64_t resident;
	/* Of a tree. */
	int parent;      /* the nearest ancestor in the list; 0 for none */
	unsigned depth;  /* below the first of the tree */
	uint64_t sum;    /* what it and all below it have */
	size_t below;    /* how many those are */
	bool shown;
};

struct rows {
	struct row *items;
	size_t count, capacity;
	size_t forbidden; /* processes with an agent that does not answer to us */
};

static uint64_t resident_bytes(int pid)
{
	struct cairn_proc_statm statm;
	cairn_proc_statm_read(pid, &statm);
	return statm.resident;
}

static void read_command(int pid, char *out, size_t size)
{
	char path[CAIRN_PROC_PATH];
	size_t length = cairn_peek(cairn_proc_path(path, pid, "cmdline"), out, size - 1).length;
	for (size_t i = 0; i + 1 < length; i++)
		if (!out[i])
			out[i] = ' ';
	out[length] = 0;
}

static void add_process(struct rows *rows, int pid)
{
	char name[16];
	struct cairn_target target;
	struct cairn_error error;
	struct cairn_buffer body = cairn_buffer(0);
	snprintf(name, sizeof name, "%d", pid);
	if (!cairn_target_find(&target, name, NULL, &error)) {
		rows->forbidden += target.forbidden;
		return;
	}
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
	cairn_target_field(text, "samples", row->samples, sizeof row->samples);
	cairn_target_field(text, "agent.listen", row->listen, sizeof row->listen);
	cairn_target_field(text, "command", row->command, sizeof row->command);
	cairn_buffer_free(&body);
}

static int by_pid(const void *a, const void *b)
{
	return ((const struct row *)a)->pid - ((const struct row *)b)->pid;
}

static struct row *find_row(const struct rows *rows, int pid)
{
	for (size_t i = 0; i < rows->count; i++)
		if (rows->items[i].pid == pid)
			return &rows->items[i];
	return NULL;
}

/* Adds descendants of the listed processes that have loaded the agent but have not been sampled since the fork. */
static void add_silent(struct rows *rows)
{
	enum { most = 4096 };
	static int pids[most];
	struct cairn_buffer known = {0};
	size_t listed = rows->count;
	for (size_t i = 0; i < listed; i++) {
		size_t count = cairn_tree_list(rows->items[i].pid, &known, pids, most);
		for (size_t k = 0; k < count; k++) {
			if (find_row(rows, pids[k]) || !cairn_target_has_loaded(pids[k]))
				continue;
			cairn_array_room(rows->items, rows->count, rows->capacity);
			rows->items[rows->count] =
				(struct row){.pid = pids[k], .state = "not sampled", .period = "0", .resident = resident_bytes(pids[k])};
			read_command(pids[k], rows->items[rows->count].command, sizeof rows->items->command);
			rows->count++;
		}
	}
	cairn_buffer_free(&known);
}

/* Appends ROW and its descendants to the COUNT rows in ORDER. */
static size_t order_tree(const struct rows *rows, struct row *row, unsigned depth, struct row *order, size_t count)
{
	size_t own = count++;
	row->shown = true;
	row->depth = depth;
	order[own] = *row;
	order[own].sum = row->resident;
	for (size_t i = 0; i < rows->count; i++)
		if (rows->items[i].parent == row->pid && !rows->items[i].shown) {
			size_t first = count;
			count = order_tree(rows, &rows->items[i], depth + 1, order, count);
			order[own].sum += order[first].sum;
		}
	order[own].below = count - own - 1;
	return count;
}

/* Puts the rows in the order of their trees, each with its depth and sum. */
static void make_trees(struct rows *rows)
{
	add_silent(rows);
	if (rows->count == 0)
		return;
	qsort(rows->items, rows->count, sizeof *rows->items, by_pid);
	for (size_t i = 0; i < rows->count; i++) {
		int parent = cairn_tree_parent(rows->items[i].pid);
		for (int steps = 0; steps < 1000 && parent > 0 && !find_row(rows, parent); steps++)
			parent = cairn_tree_parent(parent);
		rows->items[i].parent = parent;
	}
	struct row *order = calloc(rows->count, sizeof *order);
	size_t count = 0;
	if (!order)
		cairn_out_of_memory(rows->count * sizeof *order);
	for (size_t i = 0; i < rows->count; i++)
		if (rows->items[i].parent <= 0 && !rows->items[i].shown)
			count = order_tree(rows, &rows->items[i], 0, order, count);
	free(rows->items);
	*rows = (struct rows){order, count, count, rows->forbidden};
}

static void write_table(const struct rows *rows, bool trees, struct cairn_buffer *out)
{
	struct cairn_buffer line = cairn_buffer(SIZE_MAX);
	cairn_buffer_format(out, "%8s  %-12s %10s ", "PID", "STATE", "RESIDENT");
	if (trees)
		cairn_buffer_format(out, "%10s ", "TREE");
	cairn_buffer_format(out, "%10s %8s  %s\n", "PERIOD", "SAMPLES", "COMMAND");
	for (size_t i = 0; i < rows->count; i++) {
		const struct row *row = &rows->items[i];
		char resident[24], period[24];
		cairn_text_human((double)row->resident, resident);
		cairn_text_human(strtod(row->period, NULL), period);
		cairn_buffer_format(&line, "%8d  %-12s %10s ", row->pid, row->state, resident);
		if (trees)
			cairn_buffer_format(&line, "%10s ", row->below > 0 ? cairn_text_human((double)row->sum, resident) : "");
		cairn_buffer_format(&line, "%10s %8s  %*s", row->period[0] == '0' ? "-" : period, row->samples[0] ? row->samples : "-",
				    2 * (int)row->depth, "");
		cairn_buffer_text(&line, row->command);
		if (row->listen[0])
			cairn_buffer_format(&line, "  [%s]", row->listen);
		cairn_utf8_show(out, cairn_buffer_bytes(&line));
		cairn_buffer_byte(out, '\n');
		line.length = 0;
	}
	cairn_buffer_free(&line);
}

static void write_json(const struct rows *rows, bool trees, struct cairn_buffer *out)
{
	struct cairn_json json = cairn_json(out);
	cairn_json_open(&json, NULL, '[');
	for (size_t i = 0; i < rows->count; i++) {
		const struct row *row = &rows->items[i];
		cairn_json_open(&json, NULL, '{');
		cairn_json_integer(&json, "pid", row->pid);
		cairn_json_text(&json, "state", cairn_bytes_of(row->state));
		cairn_json_integer(&json, "resident_bytes", (int64_t)row->resident);
		if (trees && row->parent > 0)
			cairn_json_integer(&json, "parent", row->parent);
		if (trees)
			cairn_json_integer(&json, "tree_resident_bytes", (int64_t)row->sum);
		cairn_json_number(&json, "period", strtod(row->period, NULL));
		if (row->samples[0])
			cairn_json_number(&json, "samples", strtod(row->samples, NULL));
		else
			cairn_json_null(&json, "samples"); /* jemalloc takes them without our hook and counts none */
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
	if (count > 0)
		return cairn_say_usage("'cairn ps' takes no operands");
	struct cairn_proc_list list;
	if (!cairn_proc_list_processes(&list))
		return cairn_say_error("cannot find processes: /proc cannot be read");
	for (int pid; (pid = cairn_proc_list_next(&list));)
		add_process(&rows, pid);
	if (rows.count > 0)
		qsort(rows.items, rows.count, sizeof *rows.items, by_pid);
	if (options->tree)
		make_trees(&rows);
	struct cairn_buffer out = cairn_buffer(SIZE_MAX);
	if (options->json)
		write_json(&rows, options->tree, &out);
	else if (rows.count > 0)
		write_table(&rows, options->tree, &out);
	int code = cairn_say_output(NULL, cairn_buffer_bytes(&out));
	if (rows.forbidden > 0)
		cairn_note("%zu process%s with an agent answer%s only to another user and root; 'sudo cairn ps' shows %s", rows.forbidden,
			   rows.forbidden == 1 ? "" : "es", rows.forbidden == 1 ? "s" : "", rows.forbidden == 1 ? "it" : "them");
	else if (rows.count == 0 && !options->json)
		cairn_say_note(geteuid() == 0 ? "no process with an agent here; 'cairn run -- COMMAND' starts one"
					      : "no process of yours with an agent here; 'cairn run -- COMMAND' starts one, and root sees "
						"those of others");
	cairn_listen_tidy(getenv("XDG_RUNTIME_DIR"));
	cairn_buffer_free(&out);
	free(rows.items);
	return code;
}

const struct cairn_command cairn_command_ps = {
	.name = "ps",
	.summary = "list the profiled processes on this machine",
	.arguments = "",
	.detail = "Includes processes of other users and in containers if permissions allow.",
	.groups = groups,
	.options_size = sizeof(struct options),
	.run = run,
};
