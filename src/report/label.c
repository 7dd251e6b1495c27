/* label.c - reads labels, and applies tag filters.
 * SPDX-License-Identifier: Apache-2.0 */
#include "report/label.h"

#include "base/array.h"
#include "base/pattern.h"
#include "base/text.h"
#include "base/utf8.h"
#include "profile/kind.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static bool has_size(const struct cairn_profile *profile, const struct cairn_label_set *set)
{
	for (uint32_t i = 0; i < set->count; i++)
		if (strcmp(cairn_profile_string(profile, profile->labels[set->first + i].key), "bytes") == 0)
			return true;
	return false;
}

/* The mean size of the objects of SAMPLE, or 0. Sampled bytes and objects were scaled by the same factor, so the quotient is what was
 * measured. */
static int64_t mean_size(const struct cairn_view *view, size_t sample)
{
	const struct cairn_profile *profile = view->profile;
	bool allocated = cairn_value_is_allocated(cairn_profile_value_kind(profile, view->value));
	uint32_t bytes = cairn_profile_find_value(profile, allocated ? "alloc_space" : "inuse_space");
	uint32_t objects = cairn_profile_find_value(profile, allocated ? "alloc_objects" : "inuse_objects");
	if (bytes == CAIRN_NONE || objects == CAIRN_NONE)
		return 0;
	size_t of = view->samples[sample];
	const double *values = cairn_profile_values(profile, of);
	/* With a base, the mean of what was there before and after: the quotient of two changes is no size. */
	double all_bytes = values[bytes] + 2 * cairn_profile_base(profile, of, bytes);
	double all_objects = values[objects] + 2 * cairn_profile_base(profile, of, objects);
	double size = all_objects != 0 ? all_bytes / all_objects : 0;
	return size >= 1 && size < 0x1p62 ? (int64_t)(size + 1e-6) : 0;
}

bool cairn_view_label(const struct cairn_view *view, size_t sample, size_t index, struct cairn_view_label *label)
{
	const struct cairn_profile *profile = view->profile;
	static const struct cairn_label_set none;
	uint32_t labels = profile->samples[view->samples[sample]].labels;
	const struct cairn_label_set *set = labels < profile->label_set_count ? &profile->label_sets[labels] : &none;
	if (index < set->count) {
		const struct cairn_label *own = &profile->labels[set->first + index];
		*label = (struct cairn_view_label){
			.key = cairn_strings_bytes(&profile->strings, own->key),
			.text = cairn_strings_bytes(&profile->strings, own->text),
			.is_number = own->is_number,
			.number = own->number,
			.unit = cairn_strings_bytes(&profile->strings, own->unit),
		};
		return true;
	}
	int64_t size = index == set->count && !has_size(profile, set) ? mean_size(view, sample) : 0;
	*label = (struct cairn_view_label){cairn_bytes_of("bytes"), {"", 0}, true, size, cairn_bytes_of("bytes")};
	return size > 0;
}

static bool counts_bytes(struct cairn_bytes unit)
{
	return cairn_bytes_equal(unit, cairn_bytes_of("bytes"));
}

char *cairn_label_text(const struct cairn_view_label *label, bool plain, char *out, size_t room)
{
	struct cairn_buffer text = cairn_buffer(room - 1);
	char human[24];
	if (!label->is_number) {
		cairn_utf8_show(&text, label->text);
	} else if (counts_bytes(label->unit) && !plain) {
		cairn_buffer_text(&text, cairn_text_human((double)label->number, human));
	} else {
		cairn_buffer_number(&text, label->number);
		cairn_buffer_text(&text, label->unit.length ? " " : "");
		cairn_utf8_show(&text, label->unit);
	}
	if (text.length)
		memcpy(out, text.data, text.length);
	out[text.length] = '\0';
	cairn_buffer_free(&text);
	return out;
}

void cairn_label_json(const struct cairn_view_label *label, struct cairn_json *json)
{
	if (label->is_number) {
		cairn_json_integer(json, "number", label->number);
		cairn_json_text(json, "unit", label->unit);
	} else {
		cairn_json_text(json, "text", label->text);
	}
}

struct cairn_label_filter {
	char *key; /* NULL for any key */
	char *text; /* without the key */
	bool is_range;
	double low, high;
	struct cairn_pattern *patterns[16];
	size_t pattern_count;
};

/* Parses one end of a range: a number, perhaps with a unit of bytes. An empty end is open and leaves *VALUE unchanged. */
static bool parse_end(struct cairn_bytes text, double *value)
{
	char copy[32];
	uint64_t size;
	bool negative = cairn_text_take(&text, "-");
	if (!negative)
		cairn_text_take(&text, "+");
	if (text.length == 0)
		return !negative;
	if (text.length >= sizeof copy)
		return false;
	memcpy(copy, text.data, text.length);
	copy[text.length] = '\0';
	if (!cairn_text_size(copy, &size))
		return false;
	*value = negative ? -(double)size : (double)size;
	return true;
}

static bool parse_range(struct cairn_bytes text, double *low, double *high)
{
	const char *colon = memchr(text.data, ':', text.length);
	*low = -INFINITY;
	*high = INFINITY;
	if (text.length == 0)
		return false;
	if (!colon)
		return parse_end(text, low) && !isinf(*low) && ((*high = *low), true);
	size_t before = (size_t)(colon - text.data);
	return text.length > 1 && parse_end((struct cairn_bytes){text.data, before}, low) &&
	       parse_end(cairn_bytes_skip(text, before + 1), high);
}

static bool compile_patterns(struct cairn_label_filter *filter, const char *text, struct cairn_error *error)
{
	for (;;) {
		size_t length = strcspn(text, ",");
		if (filter->pattern_count == sizeof filter->patterns / sizeof *filter->patterns)
			return cairn_fail(error, "more than %zu expressions", filter->pattern_count);
		char *part = strndup(text, length);
		if (!part)
			cairn_out_of_memory(length);
		struct cairn_pattern *pattern = cairn_pattern_compile(part, error);
		free(part);
		if (!pattern)
			return false;
		filter->patterns[filter->pattern_count++] = pattern;
		if (!text[length])
			return true;
		text += length + 1;
	}
}

struct cairn_label_filter *cairn_label_filter_compile(const char *text, struct cairn_error *error)
{
	struct cairn_label_filter *filter = cairn_array_zero(1, sizeof *filter);
	const char *equals = strchr(text, '=');
	if (equals && !(filter->key = strndup(text, (size_t)(equals - text))))
		cairn_out_of_memory((size_t)(equals - text));
	text = equals ? equals + 1 : text;
	if (!(filter->text = strdup(text)))
		cairn_out_of_memory(strlen(text));
	filter->is_range = parse_range(cairn_bytes_of(text), &filter->low, &filter->high);
	if (filter->is_range || compile_patterns(filter, text, error))
		return filter;
	cairn_label_filter_free(filter);
	return NULL;
}

void cairn_label_filter_free(struct cairn_label_filter *filter)
{
	if (!filter)
		return;
	for (size_t i = 0; i < filter->pattern_count; i++)
		cairn_pattern_free(filter->patterns[i]);
	free(filter->key);
	free(filter->text);
	free(filter);
}

/* Whether PATTERN matches a text label: its value if the filter has a key, else "key:value". */
static bool match_labels(const struct cairn_label_filter *filter, const struct cairn_pattern *pattern,
			 const struct cairn_view *view, size_t sample)
{
	struct cairn_view_label label;
	for (size_t i = 0; cairn_view_label(view, sample, i, &label); i++) {
		if (label.is_number || (filter->key && !cairn_bytes_equal(label.key, cairn_bytes_of(filter->key))))
			continue;
		struct cairn_buffer text = cairn_buffer(1 << 20);
		if (!filter->key) {
			cairn_buffer_append(&text, label.key.data, label.key.length);
			cairn_buffer_byte(&text, ':');
		}
		cairn_buffer_append(&text, label.text.data, label.text.length);
		bool matches = cairn_pattern_match(pattern, cairn_buffer_bytes(&text));
		cairn_buffer_free(&text);
		if (matches)
			return true;
	}
	return false;
}

/* A range applies to numbers with its key or, without a key, to any number. A text that is a number, such as a thread's, must be equal. */
static bool match_range(const struct cairn_label_filter *filter, const struct cairn_view *view, size_t sample)
{
	struct cairn_view_label label;
	for (size_t i = 0; cairn_view_label(view, sample, i, &label); i++) {
		if (filter->key && !cairn_bytes_equal(label.key, cairn_bytes_of(filter->key)))
			continue;
		if (label.is_number ? (double)label.number >= filter->low && (double)label.number <= filter->high
				    : cairn_bytes_equal(label.text, cairn_bytes_of(filter->text)))
			return true;
	}
	return false;
}

bool cairn_label_filter_match(const struct cairn_label_filter *filter, const struct cairn_view *view, size_t sample)
{
	if (filter->is_range)
		return match_range(filter, view, sample);
	/* As in pprof: without a key, every expression must match some label; with a key, one match is enough. */
	for (size_t i = 0; i < filter->pattern_count; i++)
		if (match_labels(filter, filter->patterns[i], view, sample) == (filter->key != NULL))
			return filter->key != NULL;
	return filter->key == NULL;
}
