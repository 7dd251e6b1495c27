/* raw.c - writes the complete listing.
 * SPDX-License-Identifier: Apache-2.0 */
#include "report/raw.h"

#include "base/utf8.h"

#include <assert.h>

static const char *const kinds[] = {
	[CAIRN_PROFILE_HEAP] = "heap",
	[CAIRN_PROFILE_GROWTH] = "growth",
	[CAIRN_PROFILE_CPU] = "cpu",
	[CAIRN_PROFILE_CONTENTION] = "contention",
	[CAIRN_PROFILE_OTHER] = "other",
};
static_assert(sizeof kinds / sizeof *kinds == CAIRN_PROFILE_OTHER + 1, "every kind has a name");

/* Writes BEFORE, the string with number ID, and AFTER. */
static void write_text(const struct cairn_profile *profile, const char *before, uint32_t id, const char *after, struct cairn_buffer *out)
{
	cairn_buffer_text(out, before);
	cairn_utf8_show(out, cairn_strings_bytes(&profile->strings, id));
	cairn_buffer_text(out, after);
}

static void write_type(const struct cairn_profile *profile, struct cairn_value_type type, struct cairn_buffer *out)
{
	write_text(profile, "", type.type, "/", out);
	write_text(profile, "", type.unit, "", out);
}

static void write_header(const struct cairn_profile *profile, struct cairn_buffer *out)
{
	cairn_buffer_format(out, "format: %s\nkind: %s\n", profile->format, kinds[profile->kind]);
	if (profile->facts.process)
		write_text(profile, "process: ", profile->facts.process, "\n", out);
	if (profile->facts.process_id)
		cairn_buffer_format(out, "pid: %llu\n", (unsigned long long)profile->facts.process_id);
	if (profile->period > 0) {
		cairn_buffer_format(out, "period: %.17g ", profile->period);
		write_type(profile, profile->period_type, out);
		cairn_buffer_text(out, profile->mixed_periods ? " mixed\n" : "\n");
	}
	if (profile->facts.duration_ns)
		cairn_buffer_format(out, "duration: %lld ns\n", (long long)profile->facts.duration_ns);
	cairn_buffer_text(out, "values:");
	for (uint32_t v = 0; v < profile->value_count; v++) {
		cairn_buffer_byte(out, ' ');
		write_type(profile, profile->value_types[v], out);
		if (v == profile->default_value)
			cairn_buffer_byte(out, '*');
	}
	cairn_buffer_byte(out, '\n');
	for (size_t i = 0; i < profile->comment_count; i++)
		write_text(profile, "comment: ", profile->comments[i], "\n", out);
	for (size_t i = 0; i < profile->thread_count; i++) {
		cairn_buffer_format(out, "thread: %llu", (unsigned long long)profile->threads[i].uid);
		write_text(profile, " ", profile->threads[i].name, "\n", out);
	}
	for (size_t i = 0; i < profile->warning_count; i++)
		write_text(profile, "warning: ", profile->warnings[i], "\n", out);
}

static void write_labels(const struct cairn_profile *profile, const struct cairn_label_set *set, struct cairn_buffer *out)
{
	for (uint32_t i = 0; i < set->count; i++) {
		const struct cairn_label *label = &profile->labels[set->first + i];
		write_text(profile, " ", label->key, "=", out);
		if (label->is_number) {
			cairn_buffer_number(out, label->number);
			write_text(profile, label->unit ? " " : "", label->unit, "", out);
		} else {
			write_text(profile, "", label->text, "", out);
		}
	}
}

static void write_samples(const struct cairn_profile *profile, struct cairn_buffer *out)
{
	cairn_buffer_format(out, "samples: %zu\n", profile->sample_count);
	for (size_t i = 0; i < profile->sample_count; i++) {
		const struct cairn_sample *sample = &profile->samples[i];
		const double *values = cairn_profile_values(profile, i);
		for (uint32_t v = 0; v < profile->value_count; v++)
			cairn_buffer_format(out, " %.17g", values[v]);
		if (profile->sampled)
			cairn_buffer_format(out, " ~%.17g", profile->sampled[i]);
		cairn_buffer_byte(out, ':');
		for (uint32_t d = 0; d < sample->depth; d++) {
			cairn_buffer_byte(out, ' ');
			cairn_buffer_number(out, (int64_t)profile->stacks[sample->stack + d] + 1);
		}
		if (sample->labels) {
			cairn_buffer_text(out, " |");
			write_labels(profile, &profile->label_sets[sample->labels], out);
		}
		cairn_buffer_byte(out, '\n');
	}
}

static void write_locations(const struct cairn_profile *profile, struct cairn_buffer *out)
{
	cairn_buffer_format(out, "locations: %zu\n", profile->location_count);
	for (size_t i = 0; i < profile->location_count; i++) {
		const struct cairn_location *location = &profile->locations[i];
		cairn_buffer_format(out, " %zu: 0x%llx%s", i + 1, (unsigned long long)location->address, location->is_call ? "+1" : "");
		if (location->mapping != CAIRN_NONE)
			cairn_buffer_format(out, " M%u", location->mapping + 1);
		for (uint32_t f = 0; f < location->frame_count; f++) {
			const struct cairn_frame *frame = &profile->frames[location->first_frame + f];
			const struct cairn_function *function = &profile->functions[frame->function];
			write_text(profile, f ? " <- " : " ", function->name, "", out);
			if (function->file) {
				write_text(profile, " ", function->file, ":", out);
				cairn_buffer_number(out, frame->line);
			}
		}
		cairn_buffer_byte(out, '\n');
	}
}

void cairn_raw_text(const struct cairn_profile *profile, struct cairn_buffer *out)
{
	write_header(profile, out);
	write_samples(profile, out);
	write_locations(profile, out);
	cairn_buffer_format(out, "mappings: %zu\n", profile->mapping_count);
	for (size_t i = 0; i < profile->mapping_count; i++) {
		const struct cairn_mapping *mapping = &profile->mappings[i];
		const struct cairn_module *module = &profile->modules[mapping->module];
		cairn_buffer_format(out, " %zu: 0x%llx/0x%llx/0x%llx", i + 1, (unsigned long long)mapping->start,
				    (unsigned long long)mapping->limit, (unsigned long long)mapping->offset);
		write_text(profile, " ", module->path, module->build_id ? " build-id " : "", out);
		write_text(profile, "", module->build_id, module->deleted ? " (deleted)\n" : "\n", out);
	}
}
