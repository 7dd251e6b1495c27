/* delta_test.c - what was allocated from one snapshot of a process to the next: loaded elsewhere, with several samples of one stack, after
 * counts began anew, and out of order.
 * SPDX-License-Identifier: Apache-2.0 */
#include "fleet/forward/delta.h"

#include "profile/read.h"
#include "tap.h"

#include <math.h>
#include <stdio.h>

static struct cairn_deltas deltas;

/* A dump of a process that was loaded at BASE: ONE and OTHER bytes were allocated at two places, and 100 are live at the first. */
static void read_dump(struct cairn_profile *profile, unsigned long base, int time, int one, int other)
{
	char text[1000];
	struct cairn_error error;
	snprintf(text, sizeof text,
		 "heap_v2/1\n  t*: 1: 100 [2: %d]\n@ 0x%lx\n  t*: 1: 100 [1: %d]\n@ 0x%lx\n  t*: 0: 0 [1: %d]\n\nMAPPED_LIBRARIES:\n"
		 "%lx-%lx r-xp 00000000 00:00 1 /srv/api\n# cairn trailer 1\n# cairn time %d.000000000\n"
		 "# cairn module %lx-%lx 0 abcdef /srv/api\n# cairn end\n",
		 one + other, base + 0x101, one, base + 0x201, other, base, base + 0x1000, time, base, base + 0x1000);
	cairn_profile_init(profile);
	if (!cairn_profile_read(profile, cairn_bytes_of(text), "dump", &(struct cairn_read_options){0}, &error))
		ok(false, "%s", error.text);
}

/* What process INSTANCE has allocated since, and how many samples say so; -1 where there is nothing to send. */
static double since(uint64_t instance, struct cairn_profile *profile, size_t *samples, int64_t *since_ns)
{
	struct cairn_arena arena = {0};
	struct cairn_profile out;
	double sum = -1;
	*samples = 0;
	if (cairn_deltas_make(&deltas, instance, profile, &arena, &out, since_ns)) {
		sum = cairn_profile_total(&out, cairn_profile_find_value(&out, "alloc_space"));
		*samples = out.sample_count;
		is_near(cairn_profile_total(&out, cairn_profile_find_value(&out, "inuse_space")), 100, 0.5, "live bytes stay as they are");
	}
	cairn_arena_free(&arena);
	cairn_profile_free(profile);
	return sum;
}

static double step(uint64_t instance, unsigned long base, int time, int one, int other, size_t *samples)
{
	struct cairn_profile profile;
	int64_t since_ns = 0;
	read_dump(&profile, base, time, one, other);
	return since(instance, &profile, samples, &since_ns);
}

static double step_without_addresses(uint64_t instance, int time, int one, int other, size_t *samples)
{
	struct cairn_profile profile;
	int64_t since_ns = 0;
	read_dump(&profile, 0x400000, time, one, other);
	for (uint32_t i = 0; i < profile.location_count; i++) {
		uint32_t name = cairn_profile_text(&profile, i ? "other" : "one");
		uint32_t function = cairn_profile_add_function(&profile, &(struct cairn_function){.name = name, .system_name = name});
		cairn_profile_set_frames(&profile, i, &(struct cairn_frame){.function = function}, 1);
		profile.locations[i].address = 0;
	}
	return since(instance, &profile, samples, &since_ns);
}

int main(void)
{
	size_t samples;
	is_near(step(1, 0x400000, 100, 1000, 500, &samples), 0, 0.5, "a process that is new has allocated nothing");
	is_int(samples, 1, "and what has no value at all is left out");
	is_near(step(1, 0x400000, 100, 1000, 500, &samples), 0, 0.5, "nor has it while that is not settled");
	cairn_deltas_settle(&deltas);
	is_near(step(1, 0x700000, 160, 1300, 700, &samples), 500, 0.5, "the next: what came since, wherever it is loaded");
	is_int(samples, 2, "at both places");
	is_near(step(1, 0x400000, 160, 1300, 700, &samples), 500, 0.5, "the same, asked again before it is settled");
	cairn_deltas_settle(&deltas);
	is_near(step(1, 0x400000, 160, 1300, 700, &samples), -1, 0.5, "what was settled is not sent again");
	is_near(step(1, 0x400000, 130, 1300, 700, &samples), -1, 0.5, "nor is what is older");
	is_near(step(1, 0x400000, 220, 1290, 800, &samples), 100, 0.5, "an estimate that goes down a little counts for nothing");
	cairn_deltas_settle(&deltas);
	is_near(step(1, 0x400000, 250, 1302, 800, &samples), 2, 0.5, "and its way back up was sent before");
	cairn_deltas_settle(&deltas);
	is_near(step(1, 0x400000, 280, 30, 20, &samples), 50, 0.5, "counts that go down as a whole have begun anew");
	cairn_deltas_settle(&deltas);
	is_near(step(2, 0x400000, 280, 30, 20, &samples), 0, 0.5, "another process begins with nothing");
	cairn_deltas_settle(&deltas);
	is_near(step(1, 0x400000, 340, 31, 22, &samples), 3, 0.5, "and the first goes on");
	cairn_deltas_settle(&deltas);

	/* Samples of one stack that differ in their labels. */
	struct cairn_profile profile;
	int64_t since_ns = 0;
	read_dump(&profile, 0x400000, 400, 131, 22);
	uint32_t *room = cairn_profile_stack_room(&profile, 1);
	room[0] = profile.stacks[profile.samples[0].stack];
	double values[CAIRN_VALUES_MAX] = {0};
	values[cairn_profile_find_value(&profile, "alloc_space")] = 900;
	cairn_profile_add_sample(&profile, 1, 0, values);
	is_near(since(1, &profile, &samples, &since_ns), 1000, 0.5, "samples of one stack are counted together");
	ok(since_ns == 340000000000, "and since when");

	/* Names without addresses, as some writers of pprof have them: what ends at one place says nothing of the other. */
	is_near(step_without_addresses(3, 100, 1000, 0, &samples), 0, 0.5, "places without addresses");
	cairn_deltas_settle(&deltas);
	is_near(step_without_addresses(3, 160, 990, 500, &samples), 500, 0.5, "are told apart by their names");
	cairn_deltas_free(&deltas);
	return tap_done();
}
