/* summary.c - reports what could not be named, what share of the profile that is, and why.
 * SPDX-License-Identifier: Apache-2.0 */
#include "base/path.h"
#include "symbol/allocator.h"
#include "symbol/symbolize.h"

#include <math.h>
#include <stdlib.h>

static int heaviest_first(const void *a, const void *b)
{
	const struct cairn_symbolize_module *x = a, *y = b;
	if (x->unnamed_weight != y->unnamed_weight)
		return x->unnamed_weight < y->unnamed_weight ? 1 : -1;
	return (x->unnamed < y->unnamed) - (x->unnamed > y->unnamed);
}

/* The code that calls main is at the bottom of every stack, and its name is of no interest. */
static bool is_start(const struct cairn_sample *sample, uint32_t depth)
{
	enum { start_frames = 2 };
	return sample->depth > start_frames && depth + start_frames >= sample->depth;
}

/* Adds each sample's value once to every module that contains one of its unnamed locations. SLOT_OF maps a module to its place in the
 * report, with one more place at the end for locations in no module. */
static void add_weights(const struct cairn_profile *profile, const struct cairn_symbolize_scope *scope,
			struct cairn_symbolize_report *report, const uint32_t *slot_of)
{
	size_t *last_sample = cairn_arena_zero(&report->arena, report->module_count, sizeof *last_sample);
	for (size_t i = 0; i < scope->sample_count; i++) {
		size_t number = scope->samples ? scope->samples[i] : i;
		const struct cairn_sample *sample = &profile->samples[number];
		double weight = fabs(profile->values[number * profile->value_count + scope->value]);
		report->weight += weight;
		for (uint32_t d = 0; d < sample->depth; d++) {
			const struct cairn_location *location = &profile->locations[profile->stacks[sample->stack + d]];
			if (location->frame_count || is_start(sample, d))
				continue;
			size_t module =
				location->mapping == CAIRN_NONE ? profile->module_count : profile->mappings[location->mapping].module;
			uint32_t slot = slot_of[module];
			if (slot == CAIRN_NONE || last_sample[slot] == i + 1)
				continue;
			last_sample[slot] = i + 1;
			report->modules[slot].unnamed_weight += weight;
		}
	}
}

void cairn_symbolize_weigh(const struct cairn_profile *profile, const struct cairn_symbolize_scope *scope,
			   struct cairn_symbolize_report *report)
{
	struct cairn_symbolize_scope all = {NULL, profile->sample_count, profile->default_value};
	scope = scope ? scope : &all;
	report->weight = 0;
	report->value = scope->value;
	if (!report->unnamed || !profile->value_count)
		return;
	uint32_t *slot_of = cairn_arena_alloc(&report->arena, (profile->module_count + 1) * sizeof *slot_of);
	memset(slot_of, 0xff, (profile->module_count + 1) * sizeof *slot_of);
	for (size_t i = 0; i < report->module_count; i++) {
		report->modules[i].unnamed_weight = 0;
		slot_of[report->modules[i].module == CAIRN_NONE ? profile->module_count : report->modules[i].module] = (uint32_t)i;
	}
	add_weights(profile, scope, report, slot_of);
	qsort(report->modules, report->module_count, sizeof *report->modules, heaviest_first);
}

void cairn_symbolize_explain(const struct cairn_profile *profile, const struct cairn_symbolize_report *report, double share,
			     struct cairn_buffer *out)
{
	double total = report->weight;
	const char *unit = profile->value_count ? cairn_profile_string(profile, profile->value_types[report->value].unit) : "";
	for (size_t i = 0; i < report->module_count; i++) {
		const struct cairn_symbolize_module *module = &report->modules[i];
		double part = total != 0 ? module->unnamed_weight / total : 0;
		if (!module->unnamed || part < share)
			continue;
		const char *path = module->module == CAIRN_NONE ? "" : cairn_profile_string(profile, profile->modules[module->module].path);
		if (cairn_allocator_is_module(path))
			continue;
		if (*path)
			cairn_buffer_format(out, "%s: %s", cairn_base_name(path), module->reason);
		else
			cairn_buffer_text(out, "code made at run time has no names (node --perf-basic-prof writes them)");
		cairn_buffer_format(out, ": %zu of %zu frames without a name", module->unnamed, module->locations);
		if (total != 0)
			cairn_buffer_format(out, ", in %.1f %% of %s", 100 * part, *unit ? unit : "all");
		cairn_buffer_byte(out, '\n');
	}
}
