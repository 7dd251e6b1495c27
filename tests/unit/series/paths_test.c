/* paths_test.c - what one sample of a path stands for, above all where its objects are resized.
 * SPDX-License-Identifier: Apache-2.0 */
#include "series/paths.h"

#include "series/leaks.h"
#include "simulate.h"
#include "tap.h"

enum { dumps = 16 };
static const double period = 524288, megabyte = 1e6;

/* A path of COUNT(i) objects of SIZE(i) bytes in dump I, beside one that rests. */
struct made {
	double (*count)(int i);
	double (*size)(int i);
};

static double one(int i)
{
	(void)i;
	return 1;
}

static double eight(int i)
{
	(void)i;
	return 8;
}

static double more(int i)
{
	return 1 + i / 4;
}

static double large(int i)
{
	(void)i;
	return 64 * megabyte;
}

static double growing(int i)
{
	return (32 + 8 * i) * megabyte;
}

static double doubling(int i)
{
	return ldexp(megabyte, i / 3);
}

static double changing(int i)
{
	return (32 + 20 * (i * 7 % 5)) * megabyte;
}

static void add_sample(struct cairn_profile *profile, const char *name, uint64_t address, double count, double bytes)
{
	double values[] = {count, bytes};
	uint32_t function = cairn_profile_add_function(profile, &(struct cairn_function){.name = cairn_profile_text(profile, name)});
	uint32_t location = cairn_profile_add_location(profile, address, CAIRN_NONE, false);
	cairn_profile_set_frames(profile, location, &(struct cairn_frame){.function = function}, 1);
	*cairn_profile_stack_room(profile, 1) = location;
	cairn_profile_add_sample(profile, 1, 0, values);
}

/* The verdict on the path over COUNT dumps; its unit, and that of all together. */
static enum cairn_verdict judge(struct made made, size_t count, struct cairn_unit_size *unit, struct cairn_trend *total)
{
	struct cairn_series series;
	struct cairn_view view;
	struct cairn_leaks leaks;
	struct cairn_error error;
	struct cairn_series_value values[dumps];
	size_t duplicates, row = 0;
	cairn_series_start(&series);
	for (size_t i = 0; i < count; i++) {
		struct cairn_profile profile;
		double objects = made.count((int)i);
		sim_start_profile(&profile, period);
		profile.facts.time_ns = (int64_t)(i + 1) * 600000000000;
		profile.facts.process_id = 1;
		add_sample(&profile, "buffer", 0x1000, objects, objects * made.size((int)i));
		add_sample(&profile, "rest", 0x2000, 50 * period / 4096, 50 * period);
		cairn_series_add(&series, &profile, "made up", &error);
		cairn_profile_free(&profile);
	}
	cairn_series_finish(&series, &duplicates);
	cairn_view_make(&view, &series.profile, &(struct cairn_view_options){0}, &error);
	cairn_leaks_rank(&leaks, &series, &view);
	while (strcmp(cairn_leak_name(&leaks, &view, &leaks.rows[row], 0).data, "buffer") != 0)
		row++;
	cairn_series_paths_values(&leaks.paths, leaks.rows[row].path, values);
	*unit = cairn_series_unit(values, count);
	*total = leaks.total;
	enum cairn_verdict verdict = leaks.rows[row].trend.verdict;
	cairn_leaks_free(&leaks);
	cairn_view_free(&view);
	cairn_series_free(&series);
	return verdict;
}

int main(void)
{
	struct cairn_unit_size unit;
	struct cairn_trend total;
	is_int(judge((struct made){one, growing}, dumps, &unit, &total), CAIRN_GROWING, "one buffer that grows does");
	ok(unit.resized && !unit.known && fabs(unit.amount / megabyte - 8) < 0.1, "it grows by pieces of %.1f MB", unit.amount / megabyte);
	is_int(total.verdict, CAIRN_GROWING, "and so does the whole");
	is_int(judge((struct made){eight, growing}, dumps, &unit, &total), CAIRN_GROWING, "so do eight");
	is_int(judge((struct made){one, growing}, 4, &unit, &total), CAIRN_TOO_EARLY, "four dumps are too early to tell");
	is_int(total.verdict, CAIRN_TOO_EARLY, "for the whole, too");
	is_int(judge((struct made){one, doubling}, dumps, &unit, &total), CAIRN_TOO_EARLY, "one that doubles again and again may grow");
	is_int(judge((struct made){one, changing}, dumps, &unit, &total), CAIRN_WANDERING, "one whose size changes wanders");
	is_int(judge((struct made){one, large}, dumps, &unit, &total), CAIRN_STEADY, "one that stays as it is is steady");
	ok(!unit.resized && unit.all_seen && fabs(unit.amount / megabyte - 64) < 1, "it would come or go as a whole");
	is_int(judge((struct made){more, large}, dumps, &unit, &total), CAIRN_TOO_EARLY, "one more from time to time is not steady");
	ok(!unit.resized && unit.all_seen, "they come as a whole");
	return tap_done();
}
