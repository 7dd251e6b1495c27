/* written_test.c - which rows are written: everything at first and every ten minutes, in between what changed beyond its error bar.
 * SPDX-License-Identifier: Apache-2.0 */
#include "store/written.h"

#include "tap.h"

#include <math.h>

enum { stacks = 200 };
static const int64_t second = CAIRN_SECOND_NS, start = 1790000000 * (int64_t)CAIRN_SECOND_NS; /* 14:13:20 UTC */
static const double period = 524288;

static struct cairn_rows rows, lacking;

/* A snapshot whose stack I has FACTORS[I] times a hundred objects of 64 KiB. */
static void make(int64_t time_ns, const double *factors, uint64_t unsampling, const char *ended)
{
	static const uint64_t frames[] = {1, 2, 3};
	cairn_rows_free(&rows);
	cairn_rows_free(&lacking);
	for (size_t i = 0; i < stacks; i++) {
		double objects = 100 * factors[i];
		struct cairn_stored_sample sample = {1000 - i, objects * 65536, objects, objects / 8, 0, 0};
		cairn_rows_add(&rows, CAIRN_TABLE_SAMPLES, &(struct cairn_row_sample){1, time_ns, sample});
	}
	cairn_rows_add(&rows, CAIRN_TABLE_SNAPSHOTS, &(struct cairn_row_snapshot){
		.instance = 1, .time_ns = time_ns, .period = period, .unsampling = unsampling, .ended = cairn_bytes_of(ended)});
	cairn_rows_add(&rows, CAIRN_TABLE_STACKS, &(struct cairn_row_stack){7, {{(const char *)frames, sizeof frames}}, 0});
}

/* Selects what was made. Returns how many samples are to be written, and which base they have. */
static size_t choose(struct cairn_written *written, int64_t *base_ns)
{
	cairn_written_select(written, &rows, &(struct cairn_snapshot_part){stacks, 99}, &lacking);
	*base_ns = ((const struct cairn_row_snapshot *)lacking.tables[CAIRN_TABLE_SNAPSHOTS].items)->base_ns;
	return lacking.tables[CAIRN_TABLE_SAMPLES].count;
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
		is_int(lacking.tables[CAIRN_TABLE_HOURLY].count, cases[i].rows, "hourly: %s", cases[i].name);
	}
	cairn_written_free(&written);
	double odd[stacks] = {1, 0, -1, 1e30};
	make(start, odd, CAIRN_UNSAMPLE_POISSON, "");
	choose(&written, &base);
	const struct cairn_row_hour *hours = lacking.tables[CAIRN_TABLE_HOURLY].items;
	is_int(lacking.tables[CAIRN_TABLE_HOURLY].count, 2, "what holds nothing, or less, has no row");
	is_int(hours[0].instance, 1, "instance,");
	is_int(hours[0].cohort, 99, "cohort,");
	is_int(hours[0].hour, 1790000000 / 3600, "hour,");
	is_int(hours[0].stack, 997, "stack, in order,");
	is_int(hours[0].time_ns, start, "time,");
	is_int(hours[0].bytes, (int64_t)1 << 48, "and bytes, within what can be added up");
	is_int(hours[0].total, ((int64_t)1 << 48) + 6553600, "with those of all call paths");
	is_int(hours[1].bytes, 6553600, "or whole ones");
	ok(hours[1].size == 65536, "of objects of so many bytes");
	cairn_written_free(&written);
}

int main(void)
{
	struct cairn_written written = {0};
	double same[stacks], other[stacks];
	int64_t base;
	for (size_t i = 0; i < stacks; i++)
		same[i] = other[i] = 1;
	test_times(&written, same);
	cairn_written_free(&written);
	test_hours(same);

	make(start, same, CAIRN_UNSAMPLE_POISSON, "");
	is_int(choose(&written, &base), stacks, "whole at first");
	ok(lacking.tables[CAIRN_TABLE_STACKS].count > 0, "with its stacks");
	other[3] = 3, other[4] = 0, other[5] = 1.2;
	make(start + 60 * second, other, CAIRN_UNSAMPLE_POISSON, "");
	is_int(choose(&written, &base), 2, "then what tripled and what is gone; a fifth is within the error of twelve samples");
	is_int(lacking.tables[CAIRN_TABLE_STACKS].count, 0, "stacks are written once");
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
	cairn_rows_free(&rows);
	cairn_rows_free(&lacking);
	return tap_done();
}
