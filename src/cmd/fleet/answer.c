/* answer.c - how a question to a store begins and ends.
 * SPDX-License-Identifier: Apache-2.0 */
#include "cmd/fleet/answer.h"

#include "base/text.h"
#include "base/time.h"
#include "base/utf8.h"
#include "cmd/command.h"
#include "cmd/shared_options.h"

#include <string.h>
#include <time.h>

enum { shown_rows = 10 };

static const struct cairn_option own_table[] = {
	{'n', "rows", "N", "show at most N rows (default: 10, in JSON all; 0: all)", CAIRN_OPTION_TEXT,
	 offsetof(struct cairn_fleet_answer_options, rows), 0},
	{0, "nodecount", "N", NULL, CAIRN_OPTION_TEXT, offsetof(struct cairn_fleet_answer_options, rows), 0},
	{0, "json", NULL, "print JSON", CAIRN_OPTION_FLAG, offsetof(struct cairn_fleet_answer_options, json), 0},
	{0},
};

const struct cairn_option_group cairn_fleet_answer_groups[] = {
	{NULL, own_table, 0},
	{"selection", cairn_fleet_option_table, offsetof(struct cairn_fleet_answer_options, fleet)},
	{0},
};

/* How many rows are wanted; 0 for all of them. */
static bool rows_of(const struct cairn_fleet_answer_options *options, size_t *rows, struct cairn_error *error)
{
	uint64_t number = options->json ? 0 : shown_rows;
	struct cairn_bytes rest = cairn_bytes_of(options->rows ? options->rows : "");
	if (options->rows && (!cairn_text_decimal(&rest, &number) || rest.length > 0))
		return cairn_fail_usage(error, "-n takes a number, not '%.40s'", options->rows);
	*rows = (size_t)number;
	return true;
}

struct cairn_store *cairn_fleet_answer_begin(const struct cairn_fleet_answer_options *options, int64_t back_ns, int operand_count,
					     char **operands, struct cairn_store_processes *processes, size_t *rows,
					     struct cairn_error *error)
{
	if (operand_count > 0)
		cairn_fail_usage(error, "a question takes options only, not '%.100s'", operands[0]);
	else if (rows_of(options, rows, error))
		return cairn_fleet_ask(&options->fleet, back_ns, processes, error);
	return NULL;
}

int cairn_fleet_answer_end(struct cairn_store *store, struct cairn_store_processes *processes, bool as_json, struct cairn_buffer *out)
{
	cairn_store_processes_free(processes);
	cairn_store_close(store);
	int code = out->length ? cairn_say_text(NULL, cairn_buffer_bytes(out), as_json) : CAIRN_EXIT_DONE;
	cairn_buffer_free(out);
	return code;
}

const char *cairn_fleet_answer_service(const struct cairn_store_processes *processes, struct cairn_error *error)
{
	const char *service = processes->items[0].service;
	for (size_t i = 1; i < processes->count; i++)
		if (strcmp(processes->items[i].service, service) != 0) {
			cairn_fail_usage(error, "the store has several services, such as %s and %s; --service says which", service,
					 processes->items[i].service);
			return NULL;
		}
	return service;
}

void cairn_fleet_answer_padded(struct cairn_buffer *out, const char *text, int width)
{
	size_t start = out->length;
	cairn_utf8_show(out, cairn_bytes_of(text));
	for (int shown = (int)(out->length - start); shown < width; shown++)
		cairn_buffer_byte(out, ' ');
	cairn_buffer_text(out, "  ");
}

char *cairn_fleet_answer_time(int64_t time_ns, char out[32])
{
	time_t seconds = (time_t)(time_ns / CAIRN_SECOND_NS);
	struct tm date;
	out[0] = 0;
	if (localtime_r(&seconds, &date))
		strftime(out, 32, "%Y-%m-%d %H:%M:%S", &date);
	return out;
}

void cairn_fleet_answer_table(struct cairn_fleet_answer_table *answer, bool as_json, struct cairn_buffer *out)
{
	if (as_json)
		answer->json = cairn_json_answer(out);
	answer->table = cairn_table(out, as_json ? &answer->json : NULL, false);
}

void cairn_fleet_answer_table_end(struct cairn_fleet_answer_table *answer)
{
	if (answer->table.json)
		cairn_json_end(&answer->json);
}
