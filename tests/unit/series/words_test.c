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
		{{.verdict = CAIRN_GROWING, .since = 7}, "growing for 3.0 hours"},
		{{.verdict = CAIRN_GROWING, .since = -50}, "growing for 2.5 days"},
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
	char sure[32];
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
		is_text(words(cases[i].trend), cases[i].words, "%s", cases[i].words);
	is_text(cairn_words_sure(0.9999, sure, sizeof sure), "more than 99.9 % sure", "nothing is certain");
	is_text(cairn_words_sure(0.97, sure, sizeof sure), "97 % sure", "nor is most");
	is_text(cairn_words_sure(0.996, sure, sizeof sure), "99.6 % sure", "nor what is nearly so");
	return tap_done();
}
