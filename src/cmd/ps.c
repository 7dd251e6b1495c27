/* ps.c - `cairn ps`: every process on this machine that has an agent.
 * SPDX-License-Identifier: Apache-2.0 */
#include "base/array.h"
#include "base/peek.h"
#include "base/table.h"
#include "base/text.h"
#include "cmd/command.h"
#include "live/core/companion.h"
#include "live/ledger_snapshot.h"
#include "live/target.h"
#include "process/proc.h"
#include "process/proc_list.h"
#include "process/tree.h"
#include "protocol/listen.h"
#include "protocol/profiler_state.h"

#include <math.h>
#include <stdlib.h>
#include <unistd.h>

struct options {
	bool json, tree;
};

static const struct cairn_option own_table[] = {
	{0, "json", NULL, "print JSON", CAIRN_OPTION_FLAG, offsetof(struct options, json), 0},
	{0, "tree", NULL, "show the process tree, with the memory of each subtree", CAIRN_OPTION_FLAG,
	 offsetof(struct options, tree), 0},
	{0},
};

static const struct cairn_option_group groups[] = {{NULL, own_table, 0}, {0}};

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

static struct row *add_row(struct rows *rows, int pid, const char *state)
{
	cairn_array_room(rows->items, rows->count, rows->capacity);
	struct row *row = &rows->items[rows->count++];
	*row = (struct row){.pid = pid, .period = "0", .resident = resident_bytes(pid)};
	snprintf(row->state, sizeof row->state, "%s", state);
	read_command(pid, row->command, sizeof row->command);
	return row;
}

/* A process that has loaded the agent, which has not started, and has no ledger; not if it is the agent of another one. */
static void add_silent(struct rows *rows, int pid)
{
	static const char companion[] = CAIRN_COMPANION_NAME " ";
	if (strncmp(add_row(rows, pid, "not sampled")->command, companion, sizeof companion - 1) == 0)
		rows->count--;
}

/* One that has a ledger. */
static void add_asleep(struct rows *rows, int pid)
{
	struct cairn_ledger_header header;
	if (!cairn_ledger_header_of(pid, &header))
		return;
	struct row *row = add_row(rows, pid, cairn_profiler_state_name(header.active ? CAIRN_PROFILER_ACTIVE : CAIRN_PROFILER_INACTIVE));
	snprintf(row->period, sizeof row->period, "%llu", (unsigned long long)header.period);
	snprintf(row->samples, sizeof row->samples, "%llu", (unsigned long long)header.taken);
}

static void add_process(struct rows *rows, int pid)
{
	char name[16];
	struct cairn_target target;
	struct cairn_error error;
	struct cairn_buffer body = cairn_buffer(0);
	snprintf(name, sizeof name, "%d", pid);
	if (!cairn_target_find_ledger(&target, name, NULL, &error)) {
		rows->forbidden += target.forbidden;
		if (target.loaded && !cairn_target_has_loaded(cairn_tree_parent(pid)))
			add_silent(rows, pid);
		return;
	}
	if (target.asleep) {
		add_asleep(rows, pid);
		return;
	}
	if (!cairn_target_ask(&target, "GET", "/cairn/status", &body, &error)) {
		cairn_note("the agent of process %d did not answer: %s", target.pid, error.text);
		cairn_buffer_free(&body);
		return;
	}
	struct row *row = add_row(rows, target.pid, "");
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
static void add_idle(struct rows *rows)
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
			add_silent(rows, pids[k]);
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
	add_idle(rows);
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

static void columns(struct cairn_table *table, void *context, const void *item)
{
	const struct row *row = item;
	const bool *trees = context;
	char period[24], tree[24] = "";
	double samples = row->samples[0] ? strtod(row->samples, NULL) : NAN; /* jemalloc takes them without our hook and counts none */
	cairn_table_count(table, "pid", "PID", 8, row->pid);
	cairn_table_string(table, "state", "STATE", -12, row->state);
	cairn_table_bytes(table, "resident_bytes", "RESIDENT", 10, (double)row->resident);
	cairn_table_count(table, *trees && row->parent > 0 ? "parent" : NULL, NULL, 0, row->parent);
	if (*trees)
		cairn_table_number(table, "tree_resident_bytes", "TREE", 10, (double)row->sum,
				   row->below > 0 ? cairn_text_human((double)row->sum, tree) : "");
	cairn_table_number(table, "period", "PERIOD", 10, strtod(row->period, NULL),
			   row->period[0] == '0' ? "-" : cairn_text_human(strtod(row->period, NULL), period));
	cairn_table_number(table, "samples", "SAMPLES", 8, samples, row->samples);
	cairn_table_string(table, "listen", NULL, 0, row->listen);
	cairn_table_string(table, "command", NULL, 0, row->command);
	if (table->json)
		return;
	struct cairn_buffer command = cairn_buffer(SIZE_MAX);
	cairn_buffer_format(&command, "%*s%s%s%s%s", 2 * (int)row->depth, "", row->command, row->listen[0] ? "  [" : "", row->listen,
			    row->listen[0] ? "]" : "");
	cairn_table_text(table, NULL, "COMMAND", 0, cairn_buffer_bytes(&command));
	cairn_buffer_free(&command);
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
	struct cairn_json json = options->json ? cairn_json_answer(&out) : (struct cairn_json){0};
	struct cairn_table all = cairn_table(&out, options->json ? &json : NULL, false);
	bool trees = options->tree;
	if (options->json || rows.count > 0)
		cairn_table_rows(&all, "processes", columns, &trees, rows.items, rows.count, sizeof *rows.items);
	if (options->json)
		cairn_json_end(&json);
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
