/* table.h - a table whose columns are named once: written as text for people, as JSON, or as the list of its columns for a page.
 *
 * One function per table calls one of the functions below for each column of a row, in order. A column has a KEY (its member in JSON; NULL
 * for none) and a TITLE (its heading in text; NULL for none), so that a new column is one call:
 *
 *     static void columns(struct cairn_table *table, void *context, const void *item)
 *     {
 *             const struct row *row = item;
 *             cairn_table_bytes(table, "resident", "Resident", 10, row->resident);
 *             cairn_table_text(table, "name", "Name", 0, row->name);
 *     }
 *
 * The heading is written by the same function: it must also work for a row that is all zeroes. In text, a column is WIDTH wide and aligned
 * to the right; to the left if WIDTH is negative; 0 is for the last column, which is not padded.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_BASE_TABLE_H
#define CAIRN_BASE_TABLE_H

#include "base/json.h"

struct cairn_table {
	struct cairn_buffer *out; /* of text; NULL for JSON */
	struct cairn_json *json;  /* of JSON; the object or array around the table is open */
	bool plain;               /* text has plain integers instead of KiB and MiB */
	bool head, listed;        /* for the functions below: the titles are written, or the list of columns */
	size_t start;             /* of the line in OUT */
};

/* A table as JSON if JSON is not NULL, otherwise as text in OUT. */
struct cairn_table cairn_table(struct cairn_buffer *out, struct cairn_json *json, bool plain);

typedef void cairn_table_columns(struct cairn_table *table, void *context, const void *row);

/* Writes COUNT rows of SIZE bytes each: under a heading, or as the array NAME. */
void cairn_table_rows(struct cairn_table *table, const char *name, cairn_table_columns *columns, void *context, const void *rows,
		      size_t count, size_t size);
/* The parts of that: the heading (text only), and one row. */
void cairn_table_head(struct cairn_table *table, cairn_table_columns *columns, void *context, size_t size);
void cairn_table_row(struct cairn_table *table, cairn_table_columns *columns, void *context, const void *row);
/* Writes which columns there are, as the array "columns" of JSON: key, title and kind ("bytes", "count", "number", "rate", "seconds", "share" or
 * "text"). A page shows rows by it. */
void cairn_table_list(struct cairn_table *table, cairn_table_columns *columns, void *context, size_t size);

/* The columns. An unknown number is NAN: null in JSON, and "-" in text. */
void cairn_table_text(struct cairn_table *table, const char *key, const char *title, int width, struct cairn_bytes text);
void cairn_table_string(struct cairn_table *table, const char *key, const char *title, int width, const char *text);
void cairn_table_count(struct cairn_table *table, const char *key, const char *title, int width, double count);
void cairn_table_bytes(struct cairn_table *table, const char *key, const char *title, int width, double bytes);
/* A part of 1, in text with DIGITS after the point and a percent sign. */
void cairn_table_share(struct cairn_table *table, const char *key, const char *title, int width, int digits, double share);
/* VALUE in JSON, SHOWN in text. */
void cairn_table_number(struct cairn_table *table, const char *key, const char *title, int width, double value, const char *shown);
void cairn_table_seconds(struct cairn_table *table, const char *key, const char *title, int width, double seconds, const char *shown);
/* Bytes per second. */
void cairn_table_rate(struct cairn_table *table, const char *key, const char *title, int width, double rate);
void cairn_table_flag(struct cairn_table *table, const char *key, bool value);
/* The last column: a stack, of which AT gives frame after frame, leaf first, until it returns false. In JSON, the leaf is the member "name"
 * and all of them the array "stack"; in text, up to CALLERS lines follow. */
void cairn_table_stack(struct cairn_table *table, const char *title, size_t callers,
		       bool (*at)(const void *context, size_t depth, struct cairn_bytes *name), const void *context);

/* Opens and closes an object or array around rows; nothing in text. */
void cairn_table_open(struct cairn_table *table, const char *key, char bracket);
void cairn_table_close(struct cairn_table *table, char bracket);

/* The column of text at which the next one begins. */
int cairn_table_indent(const struct cairn_table *table);
/* After the rows of a text: "… and N more; HINT", unless N is 0. */
void cairn_table_more(struct cairn_table *table, size_t more, const char *hint);

#endif
