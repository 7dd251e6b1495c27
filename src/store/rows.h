/* rows.h - the tables of a store, and rows of them as bytes.
 *
 * Rows have the form that ClickHouse calls RowBinary: numbers are little-endian, texts and lists begin with their length as LEB128. Both
 * engines take rows and answer in this form, so that everything above them exists once.
 *
 * Every identity in a store is a number below 2^63, which SQLite keeps as an integer: a hash that is the same on every machine. So no
 * statement contains text that came from outside.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_STORE_ROWS_H
#define CAIRN_STORE_ROWS_H

#include "base/buffer.h"
#include "base/cursor.h"
#include "base/time.h"

enum cairn_column_type {
	CAIRN_COLUMN_NUMBER, /* a whole number from 0 to 2^63 - 1 */
	CAIRN_COLUMN_REAL,
	CAIRN_COLUMN_TEXT,
	CAIRN_COLUMN_LIST, /* of numbers */
};

struct cairn_column {
	const char *name;
	enum cairn_column_type type;
};

/* In the order in which they are written: a row comes after those that it refers to, so that a snapshot in the store is complete. */
enum {
	CAIRN_TABLE_FRAMES,
	CAIRN_TABLE_STACKS,
	CAIRN_TABLE_PROCESSES,
	CAIRN_TABLE_SAMPLES,
	CAIRN_TABLE_HOURLY,
	CAIRN_TABLE_BILLS,
	CAIRN_TABLE_SNAPSHOTS,
	CAIRN_TABLES,
};

/* `used_ns` is rounded down to the beginning of a week. */
#define CAIRN_STORE_WEEK_NS (7 * CAIRN_DAY_NS)

struct cairn_table {
	const char *name;
	const struct cairn_column *columns; /* the last has the name NULL */
	const char *key; /* the columns that identify a row; of two rows with the same key the later one stays */
	const char *rank; /* unless NULL: a row never replaces one with a lower number in this column */
	bool by_day; /* has `time_ns`, and is kept and removed by days; other tables have `used_ns` */
	unsigned block; /* rows that the server reads at a time, for tables of which scattered rows are read; 0 for its default */
};

extern const struct cairn_table cairn_tables[CAIRN_TABLES];

/* Writing, column by column. */
void cairn_row_number(struct cairn_buffer *rows, uint64_t value);
void cairn_row_real(struct cairn_buffer *rows, double value);
void cairn_row_text(struct cairn_buffer *rows, struct cairn_bytes text);
void cairn_row_list(struct cairn_buffer *rows, const uint64_t *items, size_t count);

/* Reading, in the same order. A missing value is zero, and the cursor has failed. Texts borrow. */
uint64_t cairn_row_take_number(struct cairn_cursor *rows);
double cairn_row_take_real(struct cairn_cursor *rows);
struct cairn_bytes cairn_row_take_text(struct cairn_cursor *rows);
/* Returns the items one after the other, 8 bytes each. */
struct cairn_bytes cairn_row_take_list(struct cairn_cursor *rows, size_t *count);

/* Skips one row of TABLE. */
void cairn_row_skip(struct cairn_cursor *rows, const struct cairn_table *table);

/* A number for TEXT after SEED, the same everywhere and always. Chain calls to identify several texts. It is part of a SHA-256 sum: rows
 * are found by it alone, so no sender must be able to choose a text with the number of another tenant's. */
uint64_t cairn_store_id(uint64_t seed, struct cairn_bytes text);
uint64_t cairn_store_id_number(uint64_t seed, uint64_t value);

#endif
