/* contention.c - reads lock contention as written by services with gperftools and by old Go mutex profiles.
 *
 *  --- contention:
 *  cycles/second = 2800000000
 *  sampling period = 100
 *  ms since reset = 60000
 *     43227965  12 @ 0xbccc97 0xc61202 0x42ed5f
 *  (maps)
 *
 * A line has the cycles spent waiting, the number of waits, and the stack; the sampling period multiplies both numbers. Older writers leave
 * out the count, which is then one. All other lines belong to the memory map.
 * SPDX-License-Identifier: Apache-2.0 */
#include "profile/read.h"

#include "base/text.h"
#include "profile/maps.h"

/* What jeprof assumes if the file does not say. */
static const double default_cycles_per_second = 2.8e9;

struct contention {
	struct cairn_profile *profile;
	double cycles_per_second; /* 0 if the file does not say */
	double period;
};

/* Reads "cycles/second = 2800000000". Returns true for any line of that form. */
static bool read_setting(struct contention *contention, struct cairn_bytes line)
{
	const char *equals = line.length && line.data[0] >= 'a' && line.data[0] <= 'z' ? memchr(line.data, '=', line.length) : NULL;
	if (!equals)
		return false;
	size_t length = (size_t)(equals - line.data);
	struct cairn_bytes key = cairn_text_trim((struct cairn_bytes){line.data, length});
	struct cairn_bytes value = cairn_text_trim(cairn_bytes_skip(line, length + 1));
	uint64_t number;
	if (!cairn_text_decimal(&value, &number) || number == 0)
		return true;
	if (cairn_bytes_equal(key, cairn_bytes_of("cycles/second")))
		contention->cycles_per_second = (double)number;
	else if (cairn_bytes_equal(key, cairn_bytes_of("sampling period")))
		contention->period = (double)number;
	else if (cairn_bytes_equal(key, cairn_bytes_of("discarded samples")))
		cairn_profile_warn(contention->profile, "the service had no room for %llu samples", (unsigned long long)number);
	return true;
}

static bool read_stack(struct contention *contention, struct cairn_bytes line)
{
	struct cairn_profile *profile = contention->profile;
	uint64_t cycles, count = 1;
	if (!cairn_text_decimal(&line, &cycles))
		return false;
	cairn_text_skip_blanks(&line);
	if (cairn_text_decimal(&line, &count))
		cairn_text_skip_blanks(&line);
	size_t depth;
	if (!cairn_text_take(&line, "@") || !cairn_stack_parse(profile, line, &depth))
		return false;
	double values[2] = {(double)count * contention->period, (double)cycles * contention->period};
	cairn_profile_add_sample(profile, depth, 0, values);
	return true;
}

bool cairn_contention_read(struct cairn_reader *reader, struct cairn_bytes text, struct cairn_error *error)
{
	struct cairn_profile *profile = reader->profile;
	struct contention contention = {.profile = profile, .period = 1};
	struct cairn_bytes line, maps;
	bool complete = true;
	cairn_text_line(&text, &line, NULL);
	if (cairn_bytes_start_with(line, "--- Stacks"))
		cairn_profile_warn(profile,
				   "a contention profile of the old form: signals of condition variables count as contention in it");
	profile->kind = CAIRN_PROFILE_CONTENTION;
	profile->format = "contention profile";
	cairn_profile_add_value_type(profile, "contentions", "count");
	cairn_profile_add_value_type(profile, "delay", "nanoseconds");
	profile->default_value = 1;
	profile->period_type = profile->value_types[0];
	for (maps = text; cairn_text_line(&text, &line, &complete); maps = text) {
		line = cairn_text_trim(line);
		bool ours = line.length == 0 || cairn_bytes_start_with(line, "slow release") || read_setting(&contention, line) ||
			    read_stack(&contention, line);
		if (!ours)
			break;
	}
	if (!complete) {
		cairn_profile_warn(profile, "the file ends in the middle of a line: it was cut short");
		maps.length = 0;
	}
	if (profile->sample_count == 0)
		return cairn_fail(error, "%s: this contention profile has no samples", reader->name);
	if (contention.cycles_per_second == 0) {
		contention.cycles_per_second = default_cycles_per_second;
		cairn_profile_warn(profile, "it does not say how long a cycle is; 2.8 GHz is assumed");
	}
	profile->period = contention.period;
	for (size_t i = 0; i < profile->sample_count; i++)
		profile->values[2 * i + 1] *= 1e9 / contention.cycles_per_second;
	cairn_maps_apply(profile, maps, reader->name);
	return true;
}
