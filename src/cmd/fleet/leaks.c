/* leaks.c - `cairn fleet leaks`: the verdict over all instances of a service.
 * SPDX-License-Identifier: Apache-2.0 */
#include "base/array.h"
#include "base/text.h"
#include "base/time.h"
#include "cmd/command.h"
#include "cmd/fleet/answer.h"
#include "fleet/leaks.h"
#include "report/view.h"
#include "series/words.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { shown_callers = 4 };

struct writing {
	const struct cairn_fleet *fleet;
	const struct cairn_fleet_row *row;
};

static bool frame_at(const void *context, size_t depth, struct cairn_bytes *name)
{
	const struct writing *writing = context;
	struct cairn_bytes stack = cairn_strings_bytes(&writing->fleet->stacks, writing->row->path);
	for (size_t i = 0; cairn_text_line(&stack, name, NULL); i++)
		if (i == depth)
			return true;
	return false;
}

static void columns(struct cairn_table *table, void *context, const void *item)
{
	struct writing *writing = context;
	const struct cairn_fleet_row *row = writing->row = item;
	const bool grows = row->verdict == CAIRN_GROWING && !table->head;
	const char *version = grows ? writing->fleet->releases[row->release].version : "";
	char rate[CAIRN_WORDS_RATE], sure[16], instances[48] = "";
	cairn_words_rate(NULL, NULL, row->per_hour, rate);
	cairn_words_confidence_column(row->confidence, sure, sizeof sure);
	if (grows)
		snprintf(instances, sizeof instances, "%4zu of %-4zu", row->growing, row->of);
	cairn_table_number(table, grows ? "bytes_per_hour" : NULL, "Rate of one", 14, grows ? row->per_hour : NAN, rate);
	cairn_table_bytes(table, "now", "Live of all", 11, row->now);
	cairn_table_string(table, "verdict", "Verdict", -9, cairn_verdict_name(row->verdict));
	cairn_table_number(table, grows ? "confidence" : NULL, "Sure", 7, row->confidence, grows ? sure : "");
	cairn_table_string(table, NULL, "Instances", 13, instances);
	cairn_table_string(table, grows ? "version" : NULL, "Since", -12, version);
	if (table->json && grows) {
		cairn_json_number(table->json, "error", row->error);
		cairn_json_integer(table->json, "instances", (int64_t)row->growing);
		cairn_json_integer(table->json, "of", (int64_t)row->of);
		cairn_json_bool(table->json, "new_in_version", row->new_in_release);
		cairn_json_number(table->json, "since", cairn_fleet_answer_seconds(row->since_ns));
	}
	cairn_table_stack(table, "Call path", shown_callers, frame_at, writing);
}

/* ALL is how many instances there are, judged or not. */
static void write_text_head(const struct cairn_fleet *fleet, size_t all, struct cairn_buffer *out)
{
	cairn_words_fleet(fleet, out);
	cairn_buffer_byte(out, '\n');
	if (fleet->instance_count < all)
		cairn_buffer_format(out, "%zu instances have fewer than %d snapshots in that time and are left out\n",
				    all - fleet->instance_count, CAIRN_FLEET_LEAST_DUMPS);
	if (fleet->path_count > fleet->count)
		cairn_buffer_format(out, "%zu of %zu call paths rose most or hold most and are looked at hour by hour\n", fleet->count,
				    fleet->path_count);
	cairn_buffer_byte(out, '\n');
}

static void write_json_head(const struct cairn_fleet *fleet, size_t all, struct cairn_json *json)
{
	struct cairn_buffer sentence = cairn_buffer(SIZE_MAX);
	cairn_words_fleet(fleet, &sentence);
	cairn_json_text(json, "summary", cairn_buffer_bytes(&sentence));
	cairn_buffer_free(&sentence);
	cairn_json_integer(json, "instances", (int64_t)fleet->instance_count);
	cairn_json_integer(json, "left_out", (int64_t)(all - fleet->instance_count));
	cairn_json_integer(json, "paths", (int64_t)(fleet->path_count ? fleet->path_count : fleet->count));
	cairn_json_open(json, "versions", '[');
	for (size_t i = 0; i < fleet->release_count; i++) {
		cairn_json_open(json, NULL, '{');
		cairn_json_text(json, "version", cairn_bytes_of(fleet->releases[i].version));
		cairn_json_integer(json, "instances", (int64_t)fleet->releases[i].instances);
		cairn_json_number(json, "first_seen", cairn_fleet_answer_seconds(fleet->releases[i].first_ns));
		cairn_json_close(json, '}');
	}
	cairn_json_close(json, ']');
}

/* Says what is known of instances of which nothing was sampled. */
static bool fail_without_samples(const struct cairn_store_processes *processes, struct cairn_error *error)
{
	char size[24];
	double resident = 0;
	for (size_t i = 0; i < processes->count; i++)
		resident += cairn_store_last(&processes->items[i])->resident;
	if (resident > 0)
		return cairn_fail(error,
				  "no instance has samples in that time, while they hold %s of resident memory: 'cairn fleet rss' breaks "
				  "it down",
				  cairn_text_human(resident, size));
	return cairn_fail(error, "no instance has samples in that time, and how much memory they hold is not known");
}

int cairn_fleet_answer_leaks(const void *values, int operand_count, char **operands)
{
	const struct cairn_fleet_answer_options *options = values;
	struct cairn_fleet_answer_options sparse = *options;
	struct cairn_error error;
	struct cairn_store_processes processes;
	struct cairn_fleet fleet = {0};
	size_t rows;
	sparse.fleet.sparse = true;
	struct cairn_store *store = cairn_fleet_answer_begin(&sparse, CAIRN_DAY_NS, operand_count, operands, &processes, &rows, &error);
	if (!store)
		return cairn_say_failure(&error);
	bool good = cairn_fleet_answer_service(&processes, &error) && cairn_fleet_judge_processes(store, &processes, &fleet, &error);
	if (good && fleet.instance_count == 0)
		good = cairn_fail(&error, "no instance has %d snapshots in that time yet, and a verdict takes at least that many",
				  CAIRN_FLEET_LEAST_DUMPS);
	else if (good && fleet.count == 0)
		good = fail_without_samples(&processes, &error);
	struct cairn_buffer out = cairn_buffer(SIZE_MAX);
	if (good) {
		struct cairn_fleet_answer_table answer;
		cairn_fleet_answer_table(&answer, options->json, &out);
		struct writing writing = {&fleet, NULL};
		if (options->json)
			write_json_head(&fleet, processes.count, &answer.json);
		else
			write_text_head(&fleet, processes.count, &out);
		cairn_table_rows(&answer.table, "rows", columns, &writing, fleet.rows, rows && rows < fleet.count ? rows : fleet.count,
				 sizeof *fleet.rows);
		cairn_fleet_answer_table_end(&answer);
	}
	cairn_fleet_free(&fleet);
	int code = cairn_fleet_answer_end(store, &processes, options->json, &out);
	return good ? code : cairn_say_failure(&error);
}
