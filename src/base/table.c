/* table.c - writes the columns of tables.
 * SPDX-License-Identifier: Apache-2.0 */
#include "base/table.h"

#include "base/text.h"
#include "base/utf8.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { row_most = 1024 };

struct cairn_table cairn_table(struct cairn_buffer *out, struct cairn_json *json, bool plain)
{
	return (struct cairn_table){.out = json ? NULL : out, .json = json, .plain = plain};
}

void cairn_table_open(struct cairn_table *table, const char *key, char bracket)
{
	if (table->json)
		cairn_json_open(table->json, key, bracket);
}

void cairn_table_close(struct cairn_table *table, char bracket)
{
	if (table->json)
		cairn_json_close(table->json, bracket);
}

void cairn_table_row(struct cairn_table *table, cairn_table_columns *columns, void *context, const void *row)
{
	cairn_table_open(table, NULL, '{');
	table->start = table->json ? 0 : table->out->length;
	columns(table, context, row);
	cairn_table_close(table, '}');
	if (!table->json)
		cairn_buffer_byte(table->out, '\n');
}

void cairn_table_head(struct cairn_table *table, cairn_table_columns *columns, void *context, size_t size)
{
	const char row[row_most] __attribute__((aligned)) = {0};
	if (table->json || size > row_most)
		return;
	table->head = true;
	cairn_table_row(table, columns, context, row);
	table->head = false;
}

void cairn_table_rows(struct cairn_table *table, const char *name, cairn_table_columns *columns, void *context, const void *rows,
		      size_t count, size_t size)
{
	cairn_table_head(table, columns, context, size);
	cairn_table_open(table, name, '[');
	for (size_t i = 0; i < count; i++)
		cairn_table_row(table, columns, context, (const char *)rows + i * size);
	cairn_table_close(table, ']');
}

void cairn_table_list(struct cairn_table *table, cairn_table_columns *columns, void *context, size_t size)
{
	const char row[row_most] __attribute__((aligned)) = {0};
	if (!table->json || size > row_most)
		return;
	cairn_json_open(table->json, "columns", '[');
	table->listed = true;
	columns(table, context, row);
	table->listed = false;
	cairn_json_close(table->json, ']');
}

static int width_of(struct cairn_bytes text)
{
	return (int)cairn_utf8_columns(text);
}

int cairn_table_indent(const struct cairn_table *table)
{
	return width_of((struct cairn_bytes){table->out->data + table->start, table->out->length - table->start});
}

/* Writes a column of text, after what separates it from the one before. */
static void pad(struct cairn_table *table, int width, struct cairn_bytes text)
{
	struct cairn_buffer *out = table->out;
	if (out->length > table->start)
		cairn_buffer_text(out, width > 0 ? " " : "  ");
	size_t start = out->length;
	int room = (width < 0 ? -width : width) - width_of(text);
	if (width > 0 && room > 0)
		cairn_buffer_format(out, "%*s", room, "");
	cairn_utf8_show(out, text);
	room = -width - width_of((struct cairn_bytes){out->data + start, out->length - start});
	if (width < 0 && room > 0)
		cairn_buffer_format(out, "%*s", room, "");
}

/* Writes the column unless its value is wanted. */
static bool wants(struct cairn_table *table, const char *key, const char *title, int width, const char *kind)
{
	if (table->listed && key && title) {
		cairn_json_open(table->json, NULL, '{');
		cairn_json_text(table->json, "key", cairn_bytes_of(key));
		cairn_json_text(table->json, "title", cairn_bytes_of(title));
		cairn_json_text(table->json, "kind", cairn_bytes_of(kind));
		cairn_json_close(table->json, '}');
	}
	if (table->head && title)
		pad(table, width, cairn_bytes_of(title));
	return !table->listed && !table->head && (table->json ? key : title);
}

void cairn_table_text(struct cairn_table *table, const char *key, const char *title, int width, struct cairn_bytes text)
{
	if (!wants(table, key, title, width, "text"))
		return;
	if (table->json)
		cairn_json_text(table->json, key, text);
	else
		pad(table, width, text);
}

void cairn_table_string(struct cairn_table *table, const char *key, const char *title, int width, const char *text)
{
	cairn_table_text(table, key, title, width, cairn_bytes_of(text ? text : ""));
}

static void number(struct cairn_table *table, const char *key, const char *title, int width, const char *kind, double value,
		   const char *shown)
{
	if (!wants(table, key, title, width, kind))
		return;
	if (table->json)
		cairn_json_number(table->json, key, value);
	else
		pad(table, width, cairn_bytes_of(isnan(value) ? "-" : shown));
}

void cairn_table_count(struct cairn_table *table, const char *key, const char *title, int width, double count)
{
	char text[32];
	snprintf(text, sizeof text, "%.0f", count);
	number(table, key, title, width, "count", count, text);
}

/* The nearest whole number. As round() gives it, which is in libm; the agent has none. */
static double nearest(double value)
{
	static const double whole = (double)((uint64_t)1 << 52); /* from here on, all are */
	if (!(value > -whole && value < whole))
		return value;
	return (double)(int64_t)(value < 0 ? value - 0.5 : value + 0.5);
}

void cairn_table_bytes(struct cairn_table *table, const char *key, const char *title, int width, double bytes)
{
	char text[32];
	if (table->plain)
		snprintf(text, sizeof text, "%.0f", bytes);
	else
		cairn_text_human(bytes, text);
	number(table, key, title, width, "bytes", nearest(bytes), text);
}

void cairn_table_share(struct cairn_table *table, const char *key, const char *title, int width, int digits, double share)
{
	char text[32];
	snprintf(text, sizeof text, "%.*f%%", digits, 100 * share);
	number(table, key, title, width, "share", share, text);
}

void cairn_table_number(struct cairn_table *table, const char *key, const char *title, int width, double value, const char *shown)
{
	number(table, key, title, width, "number", value, shown);
}

void cairn_table_seconds(struct cairn_table *table, const char *key, const char *title, int width, double seconds, const char *shown)
{
	number(table, key, title, width, "seconds", seconds, shown);
}

void cairn_table_rate(struct cairn_table *table, const char *key, const char *title, int width, double rate)
{
	char text[32];
	strcat(cairn_text_human(rate, text), "/s");
	number(table, key, title, width, "rate", rate, text);
}

void cairn_table_flag(struct cairn_table *table, const char *key, bool value)
{
	if (wants(table, key, NULL, 0, "flag"))
		cairn_json_bool(table->json, key, value);
}

void cairn_table_stack(struct cairn_table *table, const char *title, size_t callers,
		       bool (*at)(const void *context, size_t depth, struct cairn_bytes *name), const void *context)
{
	struct cairn_bytes name;
	size_t depth = 0;
	if (!wants(table, "name", title, 0, "text"))
		return;
	if (table->json) {
		cairn_json_text(table->json, "name", at(context, 0, &name) ? name : cairn_bytes_of("[no stack]"));
		cairn_json_open(table->json, "stack", '[');
		for (; at(context, depth, &name); depth++)
			cairn_json_text(table->json, NULL, name);
		cairn_json_close(table->json, ']');
		return;
	}
	pad(table, 0, at(context, depth++, &name) ? name : cairn_bytes_of("[no stack]"));
	int indent = cairn_table_indent(table) - width_of(name);
	for (; at(context, depth, &name); depth++)
		if (depth <= callers) {
			cairn_buffer_format(table->out, "\n%*s", indent, "");
			cairn_utf8_show(table->out, name);
		}
	if (depth > callers + 1)
		cairn_buffer_format(table->out, "\n%*s… %zu more", indent, "", depth - callers - 1);
}

void cairn_table_more(struct cairn_table *table, size_t more, const char *hint)
{
	if (more && !table->json)
		cairn_buffer_format(table->out, "%12s and %zu more; %s\n", "…", more, hint);
}
