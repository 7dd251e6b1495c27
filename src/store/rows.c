/* rows.c - the schema, and lists of rows.
 * SPDX-License-Identifier: Apache-2.0 */
#include "store/rows.h"

#include "base/array.h"
#include "base/hash.h"
#include "base/sha256.h"

#include <stdlib.h>
#include <string.h>

#define C(member) CAIRN_COLUMN(struct cairn_row_setting, member)
static const struct cairn_column setting_columns[] = {C(setting), C(value), {0}};
#undef C
#define C(member) CAIRN_COLUMN(struct cairn_row_frame, member)
static const struct cairn_column frame_columns[] = {C(frame), C(build_id), C(module), C(place), C(names), C(nameless), C(used_ns), {0}};
#undef C
#define C(member) CAIRN_COLUMN(struct cairn_row_stack, member)
static const struct cairn_column stack_columns[] = {C(stack), C(frames), C(used_ns), {0}};
#undef C
#define C(member) CAIRN_COLUMN(struct cairn_row_process, member)
static const struct cairn_column process_columns[] = {C(instance), C(tenant), C(service), C(version), C(host), C(pid), C(program), C(build_id),
						      C(start_ns), C(labels), C(used_ns), {0}};
#undef C
#define C(member) CAIRN_COLUMN(struct cairn_row_sample, member)
#define S(member) CAIRN_COLUMN_AS(struct cairn_row_sample, sample.member, #member)
static const struct cairn_column sample_columns[] = {C(instance), C(time_ns), S(stack), S(bytes), S(objects), S(sampled), S(allocated_bytes),
						     S(allocated_objects), {0}};
#undef C
#define C(member) CAIRN_COLUMN(struct cairn_row_hour, member)
static const struct cairn_column hourly_columns[] = {C(instance), C(cohort), C(hour), C(stack), C(time_ns), C(bytes), C(total), C(size), {0}};
#undef C
#define C(member) CAIRN_COLUMN(struct cairn_row_bill, member)
static const struct cairn_column bill_columns[] = {C(instance), C(time_ns), C(line), C(bytes), {0}};
#undef C
#define C(member) CAIRN_COLUMN(struct cairn_row_snapshot, member)
static const struct cairn_column snapshot_columns[] = {C(instance), C(time_ns), C(bytes), C(resident), C(memory_limit), C(limit_of_group),
						       C(period), C(unsampling), C(has_allocated), C(ended), C(base_ns),
						       C(since_ns), C(before_bytes), C(own_bytes), {0}};
#undef C

const struct cairn_table cairn_tables[CAIRN_TABLES] = {
	[CAIRN_TABLE_SETTINGS] = {"settings", setting_columns, sizeof(struct cairn_row_setting), "setting", NULL, false, 0},
	[CAIRN_TABLE_FRAMES] = {"frames", frame_columns, sizeof(struct cairn_row_frame), "frame", "nameless", false, 0},
	[CAIRN_TABLE_STACKS] = {"stacks", stack_columns, sizeof(struct cairn_row_stack), "stack", NULL, false, 0},
	[CAIRN_TABLE_PROCESSES] = {"processes", process_columns, sizeof(struct cairn_row_process), "instance", NULL, false, 0},
	[CAIRN_TABLE_SAMPLES] = {"samples", sample_columns, sizeof(struct cairn_row_sample), "instance, time_ns, stack", NULL, true, 0},
	[CAIRN_TABLE_HOURLY] = {"hourly", hourly_columns, sizeof(struct cairn_row_hour), "cohort, hour, stack, instance", NULL, true, 1024},
	[CAIRN_TABLE_BILLS] = {"bills", bill_columns, sizeof(struct cairn_row_bill), "instance, time_ns, line", NULL, true, 0},
	[CAIRN_TABLE_SNAPSHOTS] = {"snapshots", snapshot_columns, sizeof(struct cairn_row_snapshot), "instance, time_ns", NULL, true, 0},
};

uint64_t cairn_column_number(const struct cairn_column *column, const void *row)
{
	uint64_t value;
	memcpy(&value, (const char *)row + column->offset, sizeof value);
	return value > INT64_MAX ? INT64_MAX : value;
}

void cairn_columns_select(const struct cairn_column *columns, struct cairn_buffer *out)
{
	for (const struct cairn_column *column = columns; column->name; column++)
		cairn_buffer_format(out, "%s%s", column == columns ? "SELECT " : ", ", column->name);
}

void cairn_rows_add(struct cairn_rows *rows, unsigned table, const void *row)
{
	struct cairn_row_set *set = &rows->tables[table];
	size_t size = cairn_tables[table].row_size;
	set->items = cairn_array_reserve(set->items, &set->capacity, set->count + 1, size);
	memcpy((char *)set->items + set->count++ * size, row, size);
}

void cairn_rows_free(struct cairn_rows *rows)
{
	for (size_t i = 0; i < CAIRN_TABLES; i++) {
		free(rows->tables[i].items);
		cairn_buffer_free(&rows->packed[i]);
	}
	cairn_arena_free(&rows->texts);
	*rows = (struct cairn_rows){0};
}

uint64_t cairn_row_hash(const struct cairn_column *columns, const void *row)
{
	uint64_t hash = 0;
	for (const struct cairn_column *column = columns; column->name; column++) {
		struct cairn_bytes bytes = {(const char *)row + column->offset, 8};
		if (column->type == CAIRN_COLUMN_TEXT || column->type == CAIRN_COLUMN_LIST)
			memcpy(&bytes, (const char *)row + column->offset, sizeof bytes); /* a list is no more than bytes */
		hash = cairn_hash_mix(hash + cairn_hash_bytes(bytes.data, bytes.length));
	}
	return hash;
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
