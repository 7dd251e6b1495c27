/* speedscope.c - writes speedscope's JSON.
 * SPDX-License-Identifier: Apache-2.0 */
#include "report/speedscope.h"

#include "base/json.h"

#include <math.h>

static const char *unit_of(const struct cairn_profile *profile, uint32_t value)
{
	static const char *const known[] = {"bytes", "nanoseconds", "microseconds", "milliseconds", "seconds"};
	const char *unit = cairn_profile_string(profile, profile->value_types[value].unit);
	for (size_t i = 0; i < sizeof known / sizeof *known; i++)
		if (strcmp(unit, known[i]) == 0)
			return known[i];
	return "none";
}

static void write_frames(const struct cairn_view *view, struct cairn_json *json)
{
	const struct cairn_profile *profile = view->profile;
	cairn_json_open(json, "shared", '{');
	cairn_json_open(json, "frames", '[');
	for (uint32_t e = 0; e < view->entry_count; e++) {
		const struct cairn_entry *entry = &view->entries[e];
		cairn_json_open(json, NULL, '{');
		cairn_json_text(json, "name", cairn_view_name(view, e));
		if (entry->function != CAIRN_NONE && profile->functions[entry->function].file) {
			cairn_json_text(json, "file", cairn_strings_bytes(&profile->strings, profile->functions[entry->function].file));
			if (entry->line)
				cairn_json_integer(json, "line", entry->line);
		}
		cairn_json_close(json, '}');
	}
	cairn_json_close(json, ']');
	cairn_json_close(json, '}');
}

/* The weight of sample I in the profile for SIGN: 1 for growth, -1 for decrease. */
static double weight_of(const struct cairn_view *view, size_t i, uint32_t value, int sign)
{
	double weight = cairn_profile_values(view->profile, view->samples[i])[value] * sign;
	return weight > 0 ? weight : 0;
}

static double total_of(const struct cairn_view *view, uint32_t value, int sign)
{
	double total = 0;
	for (size_t i = 0; i < view->sample_count; i++)
		total += weight_of(view, i, value, sign);
	return total;
}

/* Returns whether there was anything to write. */
static bool write_value(struct cairn_view *view, uint32_t value, int sign, bool is_change, struct cairn_json *json)
{
	const struct cairn_profile *profile = view->profile;
	double total = total_of(view, value, sign);
	if (total == 0)
		return false;
	struct cairn_buffer name = cairn_buffer(4096);
	cairn_buffer_text(&name, cairn_profile_string(profile, profile->value_types[value].type));
	if (is_change)
		cairn_buffer_text(&name, sign > 0 ? " (grown)" : " (shrunk)");
	cairn_json_open(json, NULL, '{');
	cairn_json_text(json, "type", cairn_bytes_of("sampled"));
	cairn_json_text(json, "name", cairn_buffer_bytes(&name));
	cairn_json_text(json, "unit", cairn_bytes_of(unit_of(profile, value)));
	cairn_json_integer(json, "startValue", 0);
	cairn_json_number(json, "endValue", total);
	cairn_json_open(json, "samples", '[');
	for (size_t i = 0; i < view->sample_count; i++) {
		if (weight_of(view, i, value, sign) == 0)
			continue;
		size_t depth;
		const uint32_t *stack = cairn_view_stack(view, i, &depth);
		cairn_json_open(json, NULL, '[');
		while (depth-- > 0)
			cairn_json_integer(json, NULL, stack[depth]);
		cairn_json_close(json, ']');
	}
	cairn_json_close(json, ']');
	cairn_json_open(json, "weights", '[');
	for (size_t i = 0; i < view->sample_count; i++)
		if (weight_of(view, i, value, sign) != 0)
			cairn_json_number(json, NULL, weight_of(view, i, value, sign));
	cairn_json_close(json, ']');
	cairn_json_close(json, '}');
	cairn_buffer_free(&name);
	return true;
}

void cairn_speedscope_write(struct cairn_view *view, struct cairn_buffer *out)
{
	const struct cairn_profile *profile = view->profile;
	struct cairn_json json = cairn_json(out);
	cairn_json_open(&json, NULL, '{');
	cairn_json_text(&json, "$schema", cairn_bytes_of("https://www.speedscope.app/file-format-schema.json"));
	cairn_json_text(&json, "exporter", cairn_bytes_of("cairn " CAIRN_VERSION));
	cairn_json_text(&json, "name",
			profile->facts.process ? cairn_strings_bytes(&profile->strings, profile->facts.process) : cairn_bytes_of("profile"));
	write_frames(view, &json);
	int64_t written = 0, active = 0;
	cairn_json_open(&json, "profiles", '[');
	for (uint32_t v = 0; v < profile->value_count; v++) {
		bool is_change = total_of(view, v, -1) > 0;
		if (v == view->value)
			active = written;
		written += write_value(view, v, 1, is_change, &json);
		written += is_change && write_value(view, v, -1, is_change, &json);
	}
	cairn_json_close(&json, ']');
	cairn_json_integer(&json, "activeProfileIndex", active < written ? active : 0);
	cairn_json_close(&json, '}');
	cairn_buffer_byte(out, '\n');
}
