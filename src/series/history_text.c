/* history_text.c - a history as a table: the way to the end, most of it in the last seconds.
 * SPDX-License-Identifier: Apache-2.0 */
#include "series/history.h"

#include "base/path.h"
#include "base/text.h"
#include "base/time.h"
#include "base/utf8.h"

#include <math.h>

enum { rows_most = 30, bar_width = 20 };

struct table {
	const struct cairn_history *history;
	struct cairn_buffer *out;
	bool has_usage; /* a control group was there to look at */
	double full;    /* what a whole bar stands for */
};

/* What is held against the limit: what the control group is charged with, or what the process has. At the very end it is not known. */
static double weight(const struct table *table, const struct cairn_history_row *row)
{
	return (double)(table->has_usage ? row->usage : row->resident);
}

static size_t highest_row(const struct table *table)
{
	size_t most = 0;
	for (size_t i = 1; i < table->history->count; i++)
		if (weight(table, &table->history->rows[i]) > weight(table, &table->history->rows[most]))
			most = i;
	return most;
}

static void write_heading(const struct table *table, const char *title)
{
	const struct cairn_history *history = table->history;
	const struct cairn_profile *profile = history->profile;
	const char *process = cairn_base_name(cairn_profile_string(profile, profile->facts.process));
	size_t most = highest_row(table);
	double limit = (double)history->rows[history->count - 1].limit, before = cairn_history_before_end(history, most);
	char text[24];
	cairn_utf8_show(table->out, cairn_bytes_of(title ? title : *process ? process : "a process"));
	if (!title && profile->facts.process_id)
		cairn_buffer_format(table->out, ", process %llu", (unsigned long long)profile->facts.process_id);
	if (profile->facts.ended) {
		cairn_buffer_text(table->out, ": ");
		cairn_utf8_show(table->out, cairn_strings_bytes(&profile->strings, profile->facts.ended));
	}
	cairn_buffer_format(table->out, "\nthe last %s before ",
			    cairn_text_span((int64_t)(cairn_history_before_end(history, 0) * CAIRN_SECOND_NS), text));
	cairn_buffer_text(table->out, cairn_history_end(history, text));
	cairn_buffer_format(table->out, "; at most %s", cairn_text_human(weight(table, &history->rows[most]), text));
	cairn_buffer_text(table->out, table->has_usage ? " in the control group" : " resident");
	if (before >= 1)
		cairn_buffer_format(table->out, ", %s before the end", cairn_text_span((int64_t)(before * CAIRN_SECOND_NS), text));
	if (limit > 0)
		cairn_buffer_format(table->out, "; %s %s", table->has_usage ? "the limit is" : "the machine has",
				    cairn_text_human(limit, text));
	cairn_buffer_text(table->out, "\n\n");
}

static const char *known(uint64_t bytes, char *text)
{
	return bytes ? cairn_text_human((double)bytes, text) : "-";
}

static void write_bar(const struct table *table, double value)
{
	static const char *const eighths[] = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
	int parts = (int)round(fmin(1, value / table->full) * bar_width * 8);
	for (int i = 0; i < parts / 8; i++)
		cairn_buffer_text(table->out, "█");
	cairn_buffer_text(table->out, eighths[parts % 8]);
}

/* Row NUMBER; the one that is shown before it is LAST. */
static void write_row(const struct table *table, size_t last, size_t number)
{
	const struct cairn_history_row *row = &table->history->rows[number];
	bool is_end = number + 1 == table->history->count;
	char span[24], resident[24], usage[24], live[24], rate[24];
	int64_t before = (int64_t)(cairn_history_before_end(table->history, number) * CAIRN_SECOND_NS);
	cairn_buffer_format(table->out, "%14s %11s", is_end ? "the end" : cairn_text_span(before, span), known(row->resident, resident));
	if (table->has_usage)
		cairn_buffer_format(table->out, " %11s", known(row->usage, usage));
	cairn_buffer_format(table->out, " %11s %11s/s  ", known(row->live, live),
			    number ? cairn_text_human(cairn_history_rate(table->history, last, number), rate) : "-");
	write_bar(table, weight(table, row));
	while (table->out->length && table->out->data[table->out->length - 1] == ' ')
		table->out->length--;
	cairn_buffer_byte(table->out, '\n');
}

/* The row that is shown after NUMBER: the next one if there are few, or else a fifth of the time that is left further on. */
static size_t next_row(const struct cairn_history *history, size_t number)
{
	double goal = cairn_history_before_end(history, number) * (history->count > rows_most ? 0.8 : 1);
	size_t next = number + 1;
	while (next + 1 < history->count && cairn_history_before_end(history, next) > goal)
		next++;
	return next;
}

void cairn_history_text(const struct cairn_history *history, const char *title, struct cairn_buffer *out)
{
	struct table table = {.history = history, .out = out};
	for (size_t i = 0; i < history->count; i++)
		table.has_usage |= history->rows[i].usage > 0;
	double limit = (double)history->rows[history->count - 1].limit, most = weight(&table, &history->rows[highest_row(&table)]);
	table.full = fmax(table.has_usage ? fmax(limit, most) : most, 1);
	write_heading(&table, title);
	cairn_buffer_format(out, "%14s %11s", "Before the end", "Resident");
	if (table.has_usage)
		cairn_buffer_format(out, " %11s", "Group");
	cairn_buffer_format(out, " %11s %13s  %s\n", "Live", "Allocated",
			    table.has_usage && limit > 0 ? "Of the limit" : table.has_usage ? "Group" : "Resident");
	for (size_t last = 0, i = 0; i < history->count; last = i, i = next_row(history, i))
		write_row(&table, last, i);
}
