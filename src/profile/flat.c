/* flat.c - reads heap profiles with one line for each stack: gperftools, tcmalloc and its growth, jemalloc up to 3.6, Go's old text form.
 *
 *  heap profile:   3:  1234 [  7:  9999] @ heap_v2/524288
 *       1:      512 [     4:     2048] @ 0xc635c8 0x42ecc3
 *  MAPPED_LIBRARIES:
 *  (maps)
 *
 * The first pair of a line is what is live, the second what was ever allocated. Each pair is un-sampled separately, by the rule for the
 * word after the header's @:
 *
 *  heapprofile                     nothing was sampled
 *  heap_v2, heapz_v2, any _v2      Poisson, mean distance N; 128 KiB if N is missing or 0
 *  heap/N                          Poisson, mean distance N / 2: Go's text form, which prints twice its rate
 *  any other with "heap" in it     by ratio, mean distance N / 2, 128 KiB if N is missing or 0: tcmalloc before 2007
 *  no word at all                  by ratio with 128 KiB if the header's pairs are equal, else nothing was sampled
 *  growth, anything else           nothing was sampled; these are requests to the system, never returned
 *
 * jeprof reads "heap/N" by ratio too, but Go has been its only writer for many years, and pprof reads it as Poisson.
 * SPDX-License-Identifier: Apache-2.0 */
#include "profile/read.h"

#include "base/text.h"
#include "profile/maps.h"
#include "profile/unsample.h"

static const double default_period = 128 << 10;

struct counts {
	int64_t objects;
	int64_t bytes;
};

struct flat {
	struct cairn_profile *profile;
	enum cairn_unsampling method;
	uint32_t bytes_word; /* "bytes": both the key and the unit of the size label */
	bool total_differs;  /* in some line, the second pair is larger than the first */
	size_t line_number;
	size_t bad_lines, first_bad_line;
};

static bool take_number(struct cairn_bytes *rest, int64_t *number)
{
	uint64_t magnitude;
	cairn_text_skip_blanks(rest);
	bool negative = cairn_text_take(rest, "-");
	if (!cairn_text_decimal(rest, &magnitude) || magnitude > INT64_MAX)
		return false;
	*number = negative ? -(int64_t)magnitude : (int64_t)magnitude;
	return true;
}

static bool take_mark(struct cairn_bytes *rest, const char *mark)
{
	cairn_text_skip_blanks(rest);
	return cairn_text_take(rest, mark);
}

static bool take_counts(struct cairn_bytes *rest, struct counts *live, struct counts *total)
{
	return take_number(rest, &live->objects) && take_mark(rest, ":") && take_number(rest, &live->bytes) &&
	       take_mark(rest, "[") && take_number(rest, &total->objects) && take_mark(rest, ":") &&
	       take_number(rest, &total->bytes) && take_mark(rest, "]");
}

static bool differs(const struct counts *live, const struct counts *total)
{
	return (total->objects != 0 && total->objects != live->objects) || (total->bytes != 0 && total->bytes != live->bytes);
}

static void choose_method(struct flat *flat, struct cairn_bytes type, double period, bool pairs_equal)
{
	struct cairn_profile *profile = flat->profile;
	profile->kind = CAIRN_PROFILE_HEAP;
	profile->format = "flat heap profile, sampled";
	if (type.length == 0) {
		flat->method = pairs_equal ? CAIRN_UNSAMPLE_RATIO : CAIRN_UNSAMPLE_NONE;
		period = default_period;
	} else if (!cairn_bytes_contain(type, "heap")) {
		flat->method = CAIRN_UNSAMPLE_NONE;
		profile->kind = CAIRN_PROFILE_GROWTH;
	} else if (cairn_bytes_equal(type, cairn_bytes_of("heapprofile"))) {
		flat->method = CAIRN_UNSAMPLE_NONE;
	} else if (cairn_bytes_contain(type, "_v2")) {
		flat->method = CAIRN_UNSAMPLE_POISSON;
	} else {
		bool of_go = cairn_bytes_equal(type, cairn_bytes_of("heap")) && period > 0;
		flat->method = of_go ? CAIRN_UNSAMPLE_POISSON : CAIRN_UNSAMPLE_RATIO;
		period /= 2;
	}
	if (!(period > 0))
		period = default_period;
	if (period <= 1)
		flat->method = CAIRN_UNSAMPLE_NONE;
	if (flat->method == CAIRN_UNSAMPLE_NONE) {
		period = 1;
		profile->format = profile->kind == CAIRN_PROFILE_GROWTH ? "growth profile" : "flat heap profile";
	}
	profile->period = period;
	profile->unsampling = flat->method;
}

static bool read_header(struct flat *flat, struct cairn_bytes line)
{
	struct counts live, total;
	if (!cairn_text_take(&line, "heap profile:") || !take_counts(&line, &live, &total))
		return false;
	struct cairn_bytes type = {line.data, 0};
	uint64_t period = 0;
	if (take_mark(&line, "@")) {
		cairn_text_skip_blanks(&line);
		type.data = line.data;
		while (type.length < line.length && !strchr("/ \t", line.data[type.length]))
			type.length++;
		line = cairn_bytes_skip(line, type.length);
		if (cairn_text_take(&line, "/") && line.length > 0 && !cairn_text_decimal(&line, &period))
			cairn_profile_warn(flat->profile,
					   "the sampling period in the header is not a number that fits; 128 KiB is assumed");
	}
	flat->total_differs = differs(&live, &total);
	choose_method(flat, type, (double)period, live.objects == total.objects && live.bytes == total.bytes);
	return true;
}

static void declare_values(struct flat *flat)
{
	struct cairn_profile *profile = flat->profile;
	profile->period_type = (struct cairn_value_type){cairn_profile_text(profile, "space"), flat->bytes_word};
	if (profile->kind == CAIRN_PROFILE_GROWTH) {
		cairn_profile_add_value_type(profile, "objects", "count");
		cairn_profile_add_value_type(profile, "space", "bytes");
	} else {
		cairn_profile_add_value_type(profile, "alloc_objects", "count");
		cairn_profile_add_value_type(profile, "alloc_space", "bytes");
		cairn_profile_add_value_type(profile, "inuse_objects", "count");
		cairn_profile_add_value_type(profile, "inuse_space", "bytes");
	}
	profile->default_value = profile->value_count - 1;
}

static void add_sample(struct flat *flat, struct counts live, struct counts total, size_t depth)
{
	struct cairn_profile *profile = flat->profile;
	struct counts sized = live.objects ? live : total;
	struct cairn_label size = {.key = flat->bytes_word, .unit = flat->bytes_word, .is_number = true};
	size.number = sized.objects ? sized.bytes / sized.objects : 0;
	uint32_t labels = cairn_profile_add_labels(profile, &size, 1);

	double values[4] = {(double)total.objects, (double)total.bytes, (double)live.objects, (double)live.bytes};
	cairn_unsample(flat->method, profile->period, &values[0], &values[1]);
	cairn_unsample(flat->method, profile->period, &values[2], &values[3]);
	/* Growth has only the live pair. */
	size_t sample = cairn_profile_add_sample(profile, depth, labels, values + 4 - profile->value_count);
	if (flat->method != CAIRN_UNSAMPLE_NONE)
		cairn_profile_set_sampled(profile, sample, (double)live.objects);
	flat->total_differs |= differs(&live, &total);
}

static bool read_stack(struct flat *flat, struct cairn_bytes line)
{
	struct counts live, total;
	if (!take_counts(&line, &live, &total) || !take_mark(&line, "@"))
		return false;
	size_t depth;
	if (!cairn_stack_parse(flat->profile, line, &depth))
		return false;
	add_sample(flat, live, total, depth);
	return true;
}

static bool is_maps_mark(struct cairn_bytes line)
{
	return cairn_bytes_start_with(line, "MAPPED_LIBRARIES:") || cairn_bytes_start_with(line, "--- Memory map:");
}

/* Reads stack lines up to the memory map. REST then starts at the map. */
static void read_stacks(struct flat *flat, struct cairn_bytes *rest)
{
	struct cairn_bytes line;
	bool complete = true;
	while (cairn_text_line(rest, &line, &complete)) {
		flat->line_number++;
		line = cairn_text_trim(line);
		if (is_maps_mark(line))
			return;
		if (line.length == 0 || line.data[0] == '#' || line.data[0] == '%')
			continue;
		if (!read_stack(flat, line) && flat->bad_lines++ == 0)
			flat->first_bad_line = flat->line_number;
	}
	if (!complete)
		cairn_profile_warn(flat->profile, "the file ends in the middle of line %zu: it was cut short", flat->line_number);
}

bool cairn_flat_read(struct cairn_reader *reader, struct cairn_bytes text, struct cairn_error *error)
{
	struct cairn_profile *profile = reader->profile;
	struct flat flat = {.profile = profile, .bytes_word = cairn_profile_text(profile, "bytes"), .line_number = 1};
	struct cairn_bytes header = {0};
	cairn_text_line(&text, &header, NULL);
	if (!read_header(&flat, cairn_text_trim(header)))
		return cairn_fail(
			error, "%s:1: not a heap profile's header; \"heap profile: 1: 2 [3: 4] @ heap_v2/524288\" would be one",
			reader->name);
	declare_values(&flat);
	read_stacks(&flat, &text);
	if (flat.bad_lines)
		cairn_profile_warn(profile, "%zu line%s (the first is line %zu) could not be read and %s left out",
				   flat.bad_lines, flat.bad_lines == 1 ? "" : "s", flat.first_bad_line,
				   flat.bad_lines == 1 ? "was" : "were");
	if (profile->kind == CAIRN_PROFILE_HEAP && !flat.total_differs) {
		cairn_profile_drop_value(profile, 0);
		cairn_profile_drop_value(profile, 0);
	}
	cairn_maps_apply(profile, text, reader->name);
	return true;
}
