/* words_test.c - every verdict says what there is to say, the same everywhere.
 * SPDX-License-Identifier: Apache-2.0 */
#include "series/words.h"
#include "tap.h"

static const char *words(struct cairn_trend trend)
{
	static struct cairn_buffer out;
	struct cairn_profile profile;
	struct cairn_view view;
	struct cairn_error error;
	cairn_profile_init(&profile);
	cairn_profile_add_value_type(&profile, "inuse_space", "bytes");
	cairn_view_make(&view, &profile, &(struct cairn_view_options){0}, &error);
	cairn_buffer_free(&out);
	out = cairn_buffer(SIZE_MAX);
	cairn_words_trend(&trend, 10, &view, &(struct cairn_shape){0}, &out);
	cairn_buffer_byte(&out, '\0');
	cairn_view_free(&view);
	cairn_profile_free(&profile);
	return out.data;
}

static const char *fleet_words(const struct cairn_fleet *fleet)
{
	static struct cairn_buffer out;
	cairn_buffer_free(&out);
	out = cairn_buffer(SIZE_MAX);
	cairn_words_fleet(fleet, &out);
	cairn_buffer_byte(&out, '\0');
	return out.data;
}

/* What is too early to tell is no all-clear. */
static void test_fleet(void)
{
	struct cairn_fleet fleet = {.count = 2};
	struct cairn_fleet_row rows[2] = {{.verdict = CAIRN_STEADY, .now = 900}, {.verdict = CAIRN_TOO_EARLY, .now = 100}};
	rows[0].path = cairn_strings_add(&fleet.stacks, cairn_bytes_of("cache\nmain\n"));
	rows[1].path = cairn_strings_add(&fleet.stacks, cairn_bytes_of("open_session\nmain\n"));
	fleet.rows = rows;
	is_text(fleet_words(&fleet), "too early to tell whether open_session keeps growing", "a tenth of the memory is too early to tell");
	rows[1].now = 10;
	is_text(fleet_words(&fleet), "nothing keeps growing", "a hundredth is not much");
	rows[0].verdict = CAIRN_TOO_EARLY;
	is_text(fleet_words(&fleet), "too early to tell whether cache keeps growing", "the largest is named");
	fleet.count = 0;
	is_text(fleet_words(&fleet), "too early to tell", "and nothing is known of no rows");
	cairn_strings_free(&fleet.stacks);
}

/* The page has this rule, too: tests/unit/page/units.test.mjs reads the same list. */
static void test_rates(void)
{
	FILE *list = fopen("tests/fixtures/rates.txt", "r");
	char line[100], rate[CAIRN_WORDS_RATE];
	int count = 0, wrong = 0;
	while (list && fgets(line, sizeof line, list)) {
		double per_hour;
		int end = 0;
		line[strcspn(line, "\n")] = 0;
		if (line[0] == '#' || sscanf(line, "%lf %n", &per_hour, &end) != 1)
			continue;
		count++;
		wrong += strcmp(cairn_words_rate(NULL, NULL, per_hour, rate), line + end) != 0;
	}
	ok(count >= 10 && wrong == 0, "%d rates have the unit that the list says: %d have not", count, wrong);
	if (list)
		fclose(list);
}

int main(void)
{
	static const struct {
		struct cairn_trend trend;
		const char *words;
	} cases[] = {
		{{.verdict = CAIRN_GROWING}, "growing"},
		{{.verdict = CAIRN_GROWING, .since = 7}, "growing at this rate for 3.0 hours"},
		{{.verdict = CAIRN_GROWING, .since = -50}, "growing at this rate for 2.5 days"},
		{{.verdict = CAIRN_GROWING, .period_hours = 24}, "growing under a rhythm of 24.0 hours"},
		{{.verdict = CAIRN_FILLING, .level = 4096, .level_low = 2048, .level_high = 8192},
		 "filling: levels off near 4.0 KiB, 2.0 KiB to 8.0 KiB"},
		{{.verdict = CAIRN_FILLING, .refilling = true, .level = 4096, .level_low = 2048, .level_high = 8192},
		 "filling: fills again, was near 4.0 KiB, 2.0 KiB to 8.0 KiB"},
		{{.verdict = CAIRN_STOPPED, .since = 9.5}, "stopped since 30.0 minutes ago"},
		{{.verdict = CAIRN_STEADY}, "steady"},
		{{.verdict = CAIRN_WANDERING}, "wandering"},
		{{.verdict = CAIRN_SAWTOOTH}, "sawtooth"},
		{{.verdict = CAIRN_SAWTOOTH, .period_hours = 0.01}, "sawtooth every 36.0 seconds"},
		{{.verdict = CAIRN_SAWTOOTH, .period_hours = 23.5}, "sawtooth daily"},
		{{.verdict = CAIRN_SHRINKING}, "shrinking"},
		{{.verdict = CAIRN_TOO_EARLY}, "too early"},
		{{.verdict = CAIRN_TOO_EARLY, .more_dumps = 1}, "too early: 1 more dump may tell"},
		{{.verdict = CAIRN_TOO_EARLY, .more_hours = 2}, "too early: 2.0 hours more may tell"},
		{{.verdict = CAIRN_TOO_EARLY, .more_hours = 0.02 / 3600}, "too early: less than 0.1 seconds more may tell"},
	};
	for (enum cairn_verdict verdict = 0; verdict <= CAIRN_TOO_EARLY; verdict++)
		ok(strlen(cairn_words_meaning(verdict)) > 3, "%s: %s", cairn_verdict_name(verdict), cairn_words_meaning(verdict));
	char sure[32], rate[CAIRN_WORDS_RATE];
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
		is_text(words(cases[i].trend), cases[i].words, "%s", cases[i].words);
	is_text(cairn_words_confidence(1, sure, sizeof sure), "more than 99.9 %", "nothing is certain");
	is_text(cairn_words_confidence_column(0.9999, sure, sizeof sure), ">99.9%", "nor in a column");
	is_text(cairn_words_confidence(0.989, sure, sizeof sure), "98 %", "99 %% is not said of less");
	is_text(cairn_words_confidence(0.97, sure, sizeof sure), "97 %", "nor is most");
	is_text(cairn_words_confidence(0.996, sure, sizeof sure), "99.6 %", "nor what is nearly so");
	is_text(cairn_words_rate(NULL, NULL, 3600.0 * (1 << 20), rate), "1.0 MiB/s", "a fast rate is one a second");
	is_text(cairn_words_rate(NULL, NULL, 3600.0 * 99 * 1024, rate), "348.0 MiB/h", "a slow one is one an hour");
	struct cairn_buffer why = cairn_buffer(SIZE_MAX);
	cairn_words_no_samples(&(struct cairn_own_memory){.anonymous = 60 << 20, .before = 40 << 20}, 524288, &why);
	cairn_buffer_text(&why, "; ");
	cairn_words_no_samples(&(struct cairn_own_memory){.anonymous = 30 << 20, .swapped = 50 << 20, .before = 40 << 20}, 524288, &why);
	cairn_buffer_byte(&why, '\0');
	is_text(why.data, "no samples: sampling was off, or less was allocated than the sampling period of 512.0 KiB; no samples, but the "
			  "process has grown by 40.0 MiB: something else than the profiled allocator holds that",
		"memory that nobody samples is not too little of it");
	cairn_buffer_free(&why);
	test_fleet();
	test_rates();
	return tap_done();
}
