/* rows.h - the tables of a store, and their rows.
 *
 * A row is a struct, and a table says where each of its columns is in it. What a statement answers is a struct with a list of columns, too.
 * Each engine turns them into its own form: SQLite binds them, ClickHouse has a wire format (store/clickhouse.c).
 *
 * Every identity in a store is a number below 2^63, which SQLite keeps as an integer: a hash that is the same on every machine. So no
 * statement contains text that came from outside.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_STORE_ROWS_H
#define CAIRN_STORE_ROWS_H

#include "base/arena.h"
#include "base/buffer.h"
#include "base/time.h"

#include <stddef.h>

struct cairn_list {
	struct cairn_bytes items; /* numbers, 8 bytes each, not aligned */
};

enum cairn_column_type {
	CAIRN_COLUMN_NUMBER, /* uint64_t or int64_t: a whole number from 0 to 2^63 - 1 */
	CAIRN_COLUMN_REAL,   /* double */
	CAIRN_COLUMN_TEXT,   /* struct cairn_bytes */
	CAIRN_COLUMN_LIST,   /* struct cairn_list */
};

struct cairn_column {
	const char *name; /* of what a statement answers, it may be any expression */
	enum cairn_column_type type;
	size_t offset;
};

/* The column NAME, which is MEMBER of ROW, a struct. The member's type decides that of the column. */
#define CAIRN_COLUMN_AS(row, member, name)                                                                             \
	{name, _Generic(((row *)NULL)->member, uint64_t: CAIRN_COLUMN_NUMBER, int64_t: CAIRN_COLUMN_NUMBER,            \
			double: CAIRN_COLUMN_REAL, struct cairn_bytes: CAIRN_COLUMN_TEXT, struct cairn_list: CAIRN_COLUMN_LIST), \
	 offsetof(row, member)}
#define CAIRN_COLUMN(row, member) CAIRN_COLUMN_AS(row, member, #member)

/* A number of ROW that a store can keep: at most 2^63 - 1. */
uint64_t cairn_column_number(const struct cairn_column *column, const void *row);

/* Appends "SELECT " and the names of COLUMNS. */
void cairn_columns_select(const struct cairn_column *columns, struct cairn_buffer *out);

/* In the order in which they are written: a row comes after those that it refers to, so that a snapshot in the store is complete. */
enum {
	CAIRN_TABLE_SETTINGS,
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
	size_t row_size;
	const char *key; /* the columns that identify a row; of two rows with the same key the later one stays */
	const char *rank; /* unless NULL: a row never replaces one with a lower number in this column */
	bool by_day; /* has `time_ns`, and is kept and removed by days; other tables have `used_ns` */
	unsigned block; /* rows that the server reads at a time, for tables of which scattered rows are read; 0 for its default */
};

extern const struct cairn_table cairn_tables[CAIRN_TABLES];

struct cairn_row_setting {
	uint64_t setting, value;
};

struct cairn_row_frame {
	uint64_t frame;
	struct cairn_bytes build_id, module;
	uint64_t place;           /* the offset in the file; the address if there is no file */
	struct cairn_bytes names; /* functions with file and line, innermost first (store/snapshot.c); empty if unknown */
	uint64_t nameless;        /* since version 3: 1 for a row without names, which never replaces one with names */
	int64_t used_ns;          /* since version 3: the week in which it was last put */
};

struct cairn_row_stack {
	uint64_t stack;
	struct cairn_list frames; /* leaf first */
	int64_t used_ns;          /* as in frames */
};

struct cairn_row_process {
	uint64_t instance, tenant;
	struct cairn_bytes service, version, host;
	uint64_t pid;
	struct cairn_bytes program, build_id;
	int64_t start_ns;
	struct cairn_bytes labels; /* further ones, as a query string */
	int64_t used_ns;           /* as in frames */
};

/* What a snapshot holds by one stack. */
struct cairn_stored_sample {
	uint64_t stack;
	double bytes, objects;                     /* estimates, un-sampled */
	double sampled;                            /* the number of samples behind them */
	double allocated_bytes, allocated_objects; /* so far, freed or not; 0 if the profile does not say */
};

struct cairn_row_sample {
	uint64_t instance;
	int64_t time_ns;
	struct cairn_stored_sample sample;
};

/* The live bytes of each call path once an hour, in an order that keeps a few call paths of many instances together. A cohort is all
 * instances of one release of a service. */
struct cairn_row_hour {
	uint64_t instance, cohort;
	int64_t hour; /* since 1970 */
	uint64_t stack;
	int64_t time_ns; /* of the snapshot, the first whole one of the hour */
	uint64_t bytes;  /* integers, which take little room */
	uint64_t total;  /* of all call paths of the snapshot */
	double size;     /* the mean size of an object, mostly the same on all instances */
};

/* Since version 4: the breakdown of the resident memory of a snapshot. Its lines add up; those that are 0 have no row. */
struct cairn_row_bill {
	uint64_t instance;
	int64_t time_ns;
	struct cairn_bytes line; /* its key (series/bill.h) */
	double bytes;
};

struct cairn_row_snapshot {
	uint64_t instance;
	int64_t time_ns;
	double bytes, resident, memory_limit; /* of the process; 0 if unknown */
	uint64_t limit_of_group;
	double period;
	uint64_t unsampling; /* how it was sampled (cairn_sampling_number) */
	uint64_t has_allocated;
	struct cairn_bytes ended; /* for a snapshot of the last moment, how the process ended; otherwise empty */
	int64_t base_ns;          /* since version 2: the whole snapshot that the samples are changes to; 0 for a whole one */
	int64_t since_ns;         /* since version 5: when sampling began; 0 if unknown, like the next two */
	uint64_t before_bytes;    /* the anonymous memory that the process had by then, if that was late */
	uint64_t own_bytes;       /* its anonymous memory, resident or swapped out */
};

/* Rows of all tables. All zeroes is none. */
struct cairn_rows {
	struct cairn_row_set {
		void *items;
		size_t count, capacity;
	} tables[CAIRN_TABLES];
	struct cairn_arena texts;                  /* for texts and lists of rows that nothing else keeps */
	struct cairn_buffer packed[CAIRN_TABLES]; /* the rows as an engine sends them, if it has packed them */
};

/* Adds ROW to TABLE, which borrows its texts. */
void cairn_rows_add(struct cairn_rows *rows, unsigned table, const void *row);
void cairn_rows_free(struct cairn_rows *rows);

static inline const void *cairn_rows_at(const struct cairn_rows *rows, unsigned table, size_t i)
{
	return (const char *)rows->tables[table].items + i * cairn_tables[table].row_size;
}

/* A hash of all columns, stable within the process only (base/hash.h). */
uint64_t cairn_row_hash(const struct cairn_column *columns, const void *row);

/* A number for TEXT after SEED, the same everywhere and always. Chain calls to identify several texts. It is part of a SHA-256 sum: rows
 * are found by it alone, so no sender must be able to choose a text with the number of another tenant's. */
uint64_t cairn_store_id(uint64_t seed, struct cairn_bytes text);
uint64_t cairn_store_id_number(uint64_t seed, uint64_t value);

#endif
