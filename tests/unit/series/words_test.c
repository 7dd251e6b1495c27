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
	is_text(why.data, "no samples: sampling was off, or less was allocated than the sampling period of 512.0 KiB; no samples: sampling was "
			  "off, or something else than the profiled allocator holds the 40.0 MiB by which the process has grown",
		"memory that nobody samples is not too little of it");
	cairn_buffer_free(&why);
	return tap_done();
}
