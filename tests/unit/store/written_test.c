/* written_test.c - which rows are written: everything at first and every ten minutes, in between what changed beyond its error bar.
 * SPDX-License-Identifier: Apache-2.0 */
#include "store/written.h"

#include "tap.h"

#include <math.h>

enum { stacks = 200 };
static const int64_t second = CAIRN_SECOND_NS, start = 1790000000 * (int64_t)CAIRN_SECOND_NS; /* 14:13:20 UTC */
static const double period = 524288;

static struct cairn_buffer rows[CAIRN_TABLES], lacking[CAIRN_TABLES];

/* A snapshot whose stack I has FACTORS[I] times a hundred objects of 64 KiB. */
static void make(int64_t time_ns, const double *factors, uint64_t unsampling, const char *ended)
{
	for (size_t i = 0; i < CAIRN_TABLES; i++)
		rows[i].length = lacking[i].length = 0;
	for (size_t i = 0; i < stacks; i++) {
		double objects = 100 * factors[i];
		cairn_row_number(&rows[CAIRN_TABLE_SAMPLES], 1);
		cairn_row_number(&rows[CAIRN_TABLE_SAMPLES], (uint64_t)time_ns);
		cairn_row_number(&rows[CAIRN_TABLE_SAMPLES], 1000 - i);
		const double values[] = {objects * 65536, objects, objects / 8, 0, 0};
		for (size_t k = 0; k < 5; k++)
			cairn_row_real(&rows[CAIRN_TABLE_SAMPLES], values[k]);
	}
	struct cairn_buffer *out = &rows[CAIRN_TABLE_SNAPSHOTS];
	cairn_row_number(out, 1);
	cairn_row_number(out, (uint64_t)time_ns);
	for (size_t k = 0; k < 3; k++)
		cairn_row_real(out, 0);
	cairn_row_number(out, 0);
	cairn_row_real(out, period);
	cairn_row_number(out, unsampling);
	cairn_row_number(out, 0);
	cairn_row_text(out, cairn_bytes_of(ended));
	cairn_row_number(out, 0);
	cairn_row_number(&rows[CAIRN_TABLE_STACKS], 7);
	cairn_row_list(&rows[CAIRN_TABLE_STACKS], (uint64_t[]){1, 2, 3}, 3);
	cairn_row_number(&rows[CAIRN_TABLE_STACKS], 0);
}

/* Selects what was made. Returns how many samples are to be written, and which base they have. */
static size_t choose(struct cairn_written *written, int64_t *base_ns)
{
	struct cairn_snapshot_part part = {stacks, 99};
	uint64_t base;
	cairn_written_select(written, rows, &part, lacking);
	memcpy(&base, lacking[CAIRN_TABLE_SNAPSHOTS].data + lacking[CAIRN_TABLE_SNAPSHOTS].length - 8, 8);
	*base_ns = (int64_t)base;
	return lacking[CAIRN_TABLE_SAMPLES].length / 64;
}

static void test_times(struct cairn_written *written, const double *same)
{
	const struct {
		int64_t at;
		const char *ended, *name;
		bool whole;
	} cases[] = {
		{0, "", "the first", true},
		{60, "", "a minute later", false},
		{599, "", "just before ten minutes", false},
		{600, "", "after ten minutes", true},
		{630, "killed", "a last moment", true},
		{500, "", "one that comes late, from before the last whole one", true},
		{560, "", "after that one, though out of order", false},
		{9 * 3600 + 2790, "", "23:59:50", true},
		{9 * 3600 + 2805, "", "five seconds into the next day", true},
		{9 * 3600 + 2810, "", "and five more", false},
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		int64_t base;
		make(start + cases[i].at * second, same, CAIRN_UNSAMPLE_POISSON, cases[i].ended);
		size_t count = choose(written, &base);
		ok(cases[i].whole ? count == stacks && base == 0 : count == 0 && base != 0, "%s", cases[i].name);
	}
}

/* The first whole snapshot of an hour is written by call path as well. */
static void test_hours(const double *same)
{
	const struct {
		int64_t at;
		const char *name;
		size_t rows;
	} cases[] = {
		{0, "the first one, at 14:13:20", stacks},
		{600, "another whole one within the hour", 0},
		{2700, "one that is not whole, at 14:58:20", 0},
		{2800, "the first of the next hour, which is not whole", 0},
		{3300, "the first whole one of the next hour", stacks},
		{3900, "and the second", 0},
	};
	struct cairn_written written = {0};
	int64_t base;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		if (cases[i].at == 2700) { /* what it stands on */
			make(start + 2640 * second, same, CAIRN_UNSAMPLE_POISSON, "");
			choose(&written, &base);
		}
		make(start + cases[i].at * second, same, CAIRN_UNSAMPLE_POISSON, "");
		choose(&written, &base);
		is_int(lacking[CAIRN_TABLE_HOURLY].length / 64, cases[i].rows, "hourly: %s", cases[i].name);
	}
	cairn_written_free(&written);
	double odd[stacks] = {1, 0, -1, 1e30};
	make(start, odd, CAIRN_UNSAMPLE_POISSON, "");
	choose(&written, &base);
	struct cairn_cursor row = cairn_cursor(cairn_buffer_bytes(&lacking[CAIRN_TABLE_HOURLY]));
	is_int(cairn_cursor_left(&row) / 64, 2, "what holds nothing, or less, has no row");
	is_int(cairn_row_take_number(&row), 1, "instance,");
	is_int(cairn_row_take_number(&row), 99, "cohort,");
	is_int(cairn_row_take_number(&row), 1790000000 / 3600, "hour,");
	is_int(cairn_row_take_number(&row), 997, "stack, in order,");
	is_int(cairn_row_take_number(&row), start, "time,");
	is_int(cairn_row_take_number(&row), (int64_t)1 << 48, "and bytes, within what can be added up");
	is_int(cairn_row_take_number(&row), ((int64_t)1 << 48) + 6553600, "with those of all call paths");
	cairn_row_take_real(&row);
	cairn_cursor_skip(&row, 40);
	is_int(cairn_row_take_number(&row), 6553600, "or whole ones");
	cairn_row_take_number(&row);
	ok(cairn_row_take_real(&row) == 65536, "of objects of so many bytes");
	cairn_written_free(&written);
}

int main(void)
{
	struct cairn_written written = {0};
	double same[stacks], other[stacks];
	int64_t base;
	for (size_t i = 0; i < CAIRN_TABLES; i++)
		rows[i] = lacking[i] = cairn_buffer(SIZE_MAX);
	for (size_t i = 0; i < stacks; i++)
		same[i] = other[i] = 1;
	test_times(&written, same);
	cairn_written_free(&written);
	test_hours(same);

	make(start, same, CAIRN_UNSAMPLE_POISSON, "");
	is_int(choose(&written, &base), stacks, "whole at first");
	ok(lacking[CAIRN_TABLE_STACKS].length > 0, "with its stacks");
	other[3] = 3, other[4] = 0, other[5] = 1.2;
	make(start + 60 * second, other, CAIRN_UNSAMPLE_POISSON, "");
	is_int(choose(&written, &base), 2, "then what tripled and what is gone; a fifth is within the error of twelve samples");
	is_int(lacking[CAIRN_TABLE_STACKS].length, 0, "stacks are written once");
	for (size_t i = 0; i < stacks; i++)
		other[i] = 1.3;
	make(start + 120 * second, other, CAIRN_UNSAMPLE_POISSON, "");
	size_t many = choose(&written, &base);
	ok(many > stacks / 2, "a little more of everything is much together: rows are written until the total is right");
	cairn_written_free(&written);

	make(start, same, CAIRN_UNSAMPLE_NONE, "");
	choose(&written, &base);
	other[0] = 1.01;
	for (size_t i = 1; i < stacks; i++)
		other[i] = 1;
	make(start + 60 * second, other, CAIRN_UNSAMPLE_NONE, "");
	is_int(choose(&written, &base), 1, "where everything was recorded, any change is one");
	make(start + 120 * second, other, CAIRN_UNSAMPLE_POISSON, "");
	is_int(choose(&written, &base), stacks, "a base that was sampled otherwise is none");
	cairn_written_free(&written);

	const struct cairn_stored_sample before[] = {{1, 10, 1, 1, 0, 0}, {2, 20, 2, 1, 0, 0}, {5, 50, 5, 1, 0, 0}};
	const struct cairn_stored_sample after[] = {{2, 25, 2, 1, 0, 0}, {3, 30, 3, 1, 0, 0}, {5, 0, 0, 0, 0, 0}};
	struct cairn_stored_sample joined[6];
	is_int(cairn_samples_join(before, 3, after, 3, joined), 3, "one carried on, one replaced, one new, one gone");
	ok(joined[0].bytes == 10 && joined[1].bytes == 25 && joined[2].bytes == 30, "with their values");
	for (size_t i = 0; i < CAIRN_TABLES; i++) {
		cairn_buffer_free(&rows[i]);
		cairn_buffer_free(&lacking[i]);
	}
	return tap_done();
}
