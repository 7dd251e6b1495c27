/* rows.c - the schema, and its rows as bytes.
 * SPDX-License-Identifier: Apache-2.0 */
#include "store/rows.h"

#include "base/sha256.h"

#include <string.h>

static const struct cairn_column frame_columns[] = {
	{"frame", CAIRN_COLUMN_NUMBER},
	{"build_id", CAIRN_COLUMN_TEXT},
	{"module", CAIRN_COLUMN_TEXT},
	{"place", CAIRN_COLUMN_NUMBER}, /* the offset in the file; the address if there is no file */
	{"names", CAIRN_COLUMN_TEXT},   /* functions with file and line, innermost first (store/snapshot.c); empty if unknown */
	{"nameless", CAIRN_COLUMN_NUMBER}, /* since version 3: 1 for a row without names, which never replaces one with names */
	{"used_ns", CAIRN_COLUMN_NUMBER}, /* since version 3: the week in which it was last put */
	{NULL, 0},
};

static const struct cairn_column stack_columns[] = {
	{"stack", CAIRN_COLUMN_NUMBER},
	{"frames", CAIRN_COLUMN_LIST}, /* leaf first */
	{"used_ns", CAIRN_COLUMN_NUMBER}, /* as in frames */
	{NULL, 0},
};

static const struct cairn_column process_columns[] = {
	{"instance", CAIRN_COLUMN_NUMBER},
	{"tenant", CAIRN_COLUMN_NUMBER},
	{"service", CAIRN_COLUMN_TEXT},
	{"version", CAIRN_COLUMN_TEXT},
	{"host", CAIRN_COLUMN_TEXT},
	{"pid", CAIRN_COLUMN_NUMBER},
	{"program", CAIRN_COLUMN_TEXT},
	{"build_id", CAIRN_COLUMN_TEXT},
	{"start_ns", CAIRN_COLUMN_NUMBER},
	{"labels", CAIRN_COLUMN_TEXT}, /* further ones, as a query string */
	{"used_ns", CAIRN_COLUMN_NUMBER}, /* as in frames */
	{NULL, 0},
};

static const struct cairn_column sample_columns[] = {
	{"instance", CAIRN_COLUMN_NUMBER},
	{"time_ns", CAIRN_COLUMN_NUMBER},
	{"stack", CAIRN_COLUMN_NUMBER},
	{"bytes", CAIRN_COLUMN_REAL}, /* estimates, un-sampled */
	{"objects", CAIRN_COLUMN_REAL},
	{"sampled", CAIRN_COLUMN_REAL}, /* the number of samples behind them */
	{"allocated_bytes", CAIRN_COLUMN_REAL}, /* so far, freed or not; 0 if the profile does not say */
	{"allocated_objects", CAIRN_COLUMN_REAL},
	{NULL, 0},
};

/* The live bytes of each call path once an hour, in an order that keeps a few call paths of many instances together. A cohort is all
 * instances of one release of a service. */
static const struct cairn_column hourly_columns[] = {
	{"instance", CAIRN_COLUMN_NUMBER},
	{"cohort", CAIRN_COLUMN_NUMBER},
	{"hour", CAIRN_COLUMN_NUMBER}, /* since 1970 */
	{"stack", CAIRN_COLUMN_NUMBER},
	{"time_ns", CAIRN_COLUMN_NUMBER}, /* of the snapshot, the first whole one of the hour */
	{"bytes", CAIRN_COLUMN_NUMBER}, /* integers, which take little room */
	{"total", CAIRN_COLUMN_NUMBER}, /* of all call paths of the snapshot */
	{"size", CAIRN_COLUMN_REAL}, /* the mean size of an object, mostly the same on all instances */
	{NULL, 0},
};

/* Since version 4: the breakdown of the resident memory of a snapshot. Its lines add up; those that are 0 have no row. */
static const struct cairn_column bill_columns[] = {
	{"instance", CAIRN_COLUMN_NUMBER},
	{"time_ns", CAIRN_COLUMN_NUMBER},
	{"line", CAIRN_COLUMN_TEXT}, /* its key (series/bill.h) */
	{"bytes", CAIRN_COLUMN_REAL},
	{NULL, 0},
};

static const struct cairn_column snapshot_columns[] = {
	{"instance", CAIRN_COLUMN_NUMBER},
	{"time_ns", CAIRN_COLUMN_NUMBER},
	{"bytes", CAIRN_COLUMN_REAL},
	{"resident", CAIRN_COLUMN_REAL}, /* of the process; 0 if unknown */
	{"memory_limit", CAIRN_COLUMN_REAL},
	{"limit_of_group", CAIRN_COLUMN_NUMBER},
	{"period", CAIRN_COLUMN_REAL},
	{"unsampling", CAIRN_COLUMN_NUMBER}, /* how it was sampled (cairn_sampling_number) */
	{"has_allocated", CAIRN_COLUMN_NUMBER},
	{"ended", CAIRN_COLUMN_TEXT}, /* for a snapshot of the last moment, how the process ended; otherwise empty */
	{"base_ns", CAIRN_COLUMN_NUMBER}, /* since version 2: the whole snapshot that the samples are changes to; 0 for a whole one */
	{NULL, 0},
};

const struct cairn_table cairn_tables[CAIRN_TABLES] = {
	[CAIRN_TABLE_FRAMES] = {"frames", frame_columns, "frame", "nameless", false, 0},
	[CAIRN_TABLE_STACKS] = {"stacks", stack_columns, "stack", NULL, false, 0},
	[CAIRN_TABLE_PROCESSES] = {"processes", process_columns, "instance", NULL, false, 0},
	[CAIRN_TABLE_SAMPLES] = {"samples", sample_columns, "instance, time_ns, stack", NULL, true, 0},
	[CAIRN_TABLE_HOURLY] = {"hourly", hourly_columns, "cohort, hour, stack, instance", NULL, true, 1024},
	[CAIRN_TABLE_BILLS] = {"bills", bill_columns, "instance, time_ns, line", NULL, true, 0},
	[CAIRN_TABLE_SNAPSHOTS] = {"snapshots", snapshot_columns, "instance, time_ns", NULL, true, 0},
};

void cairn_row_number(struct cairn_buffer *rows, uint64_t value)
{
	value = value > INT64_MAX ? INT64_MAX : value;
	cairn_buffer_append(rows, &value, sizeof value);
}

void cairn_row_real(struct cairn_buffer *rows, double value)
{
	cairn_buffer_append(rows, &value, sizeof value);
}

void cairn_row_text(struct cairn_buffer *rows, struct cairn_bytes text)
{
	cairn_buffer_uleb(rows, text.length);
	cairn_buffer_append(rows, text.data, text.length);
}

void cairn_row_list(struct cairn_buffer *rows, const uint64_t *items, size_t count)
{
	cairn_buffer_uleb(rows, count);
	cairn_buffer_append(rows, items, count * sizeof *items);
}

uint64_t cairn_row_take_number(struct cairn_cursor *rows)
{
	return cairn_cursor_u64(rows);
}

double cairn_row_take_real(struct cairn_cursor *rows)
{
	uint64_t bits = cairn_cursor_u64(rows);
	double value;
	memcpy(&value, &bits, sizeof value);
	return value;
}

struct cairn_bytes cairn_row_take_text(struct cairn_cursor *rows)
{
	return cairn_cursor_bytes(rows, cairn_cursor_uleb(rows));
}

struct cairn_bytes cairn_row_take_list(struct cairn_cursor *rows, size_t *count)
{
	uint64_t items = cairn_cursor_uleb(rows);
	struct cairn_bytes bytes = cairn_cursor_bytes(rows, items > SIZE_MAX / 8 ? SIZE_MAX : items * 8);
	*count = bytes.length / 8;
	return bytes;
}

void cairn_row_skip(struct cairn_cursor *rows, const struct cairn_table *table)
{
	size_t count;
	for (const struct cairn_column *column = table->columns; column->name; column++)
		switch (column->type) {
		case CAIRN_COLUMN_NUMBER:
		case CAIRN_COLUMN_REAL: cairn_cursor_skip(rows, 8); break;
		case CAIRN_COLUMN_TEXT: cairn_row_take_text(rows); break;
		case CAIRN_COLUMN_LIST: cairn_row_take_list(rows, &count); break;
		}
}

uint64_t cairn_store_id(uint64_t seed, struct cairn_bytes text)
{
	uint8_t digest[32];
	struct cairn_sha256 sum;
	uint64_t id = 0;
	cairn_sha256_begin(&sum);
	cairn_sha256_add(&sum, (struct cairn_bytes){(const char *)&seed, sizeof seed});
	cairn_sha256_add(&sum, text);
	cairn_sha256_end(&sum, digest);
	memcpy(&id, digest, sizeof id);
	return id & INT64_MAX;
}

uint64_t cairn_store_id_number(uint64_t seed, uint64_t value)
{
	return cairn_store_id(seed, (struct cairn_bytes){(const char *)&value, sizeof value});
}
