/* filter.c - removes samples that are not wanted.
 * SPDX-License-Identifier: Apache-2.0 */
#include "profile/filter.h"

#include "base/array.h"
#include "base/buffer.h"

#include <stdlib.h>

static bool set_has_thread(const struct cairn_profile *profile, const struct cairn_label_set *set, uint32_t thread)
{
	for (uint32_t i = 0; i < set->count; i++) {
		const struct cairn_label *label = &profile->labels[set->first + i];
		const char *key = cairn_profile_string(profile, label->key);
		if (label->text == thread && (strcmp(key, "thread") == 0 || strcmp(key, "thread_id") == 0))
			return true;
	}
	return false;
}

bool cairn_filter_no_thread(const struct cairn_profile *profile, const char *thread, struct cairn_error *error)
{
	struct cairn_buffer known = cairn_buffer(300);
	struct cairn_map said = {0}; /* a sum has the threads of each part, most of them several times */
	for (size_t i = 0; i < profile->thread_count && !known.failed; i++) {
		const struct cairn_thread *item = &profile->threads[i];
		uint32_t *before = cairn_map_at(&said, cairn_hash_mix(item->uid) ^ item->name);
		if (*before != CAIRN_NONE)
			continue;
		*before = (uint32_t)i;
		cairn_buffer_format(&known, "%s%llu", i ? ", " : "", (unsigned long long)item->uid);
		if (item->name)
			cairn_buffer_format(&known, " (%s)", cairn_profile_string(profile, item->name));
	}
	if (profile->thread_count == 0)
		cairn_fail(error, "no samples of thread '%s': the profile has no threads", thread);
	else
		cairn_fail(error, "no samples of thread '%s'; its threads are %.*s%s", thread, (int)known.length, known.data,
			   known.failed ? " …" : "");
	cairn_map_free(&said);
	cairn_buffer_free(&known);
	return false;
}

/* Drops the values that are known by call path only, and so are 0 in all samples of a thread. TOTALS are those of the whole profile. */
static void drop_paths_only(struct cairn_profile *profile, const double *totals)
{
	for (uint32_t v = profile->value_count; v-- > 0;)
		if (v != profile->default_value && totals[v] != 0 && cairn_profile_total(profile, v) == 0)
			cairn_profile_drop_value(profile, v);
}

void cairn_filter_thread(struct cairn_profile *profile, const char *thread)
{
	uint32_t wanted = cairn_strings_find(&profile->strings, cairn_bytes_of(thread));
	bool *set_matches = cairn_array_zero(profile->label_set_count, sizeof *set_matches);
	bool *keep = cairn_array_zero(profile->sample_count, sizeof *keep), any = false;
	for (size_t i = 1; wanted != CAIRN_NONE && i < profile->label_set_count; i++)
		set_matches[i] = set_has_thread(profile, &profile->label_sets[i], wanted);
	for (size_t i = 0; i < profile->sample_count; i++)
		any |= keep[i] = set_matches[profile->samples[i].labels];
	double totals[CAIRN_VALUES_MAX];
	for (uint32_t v = 0; v < profile->value_count; v++)
		totals[v] = cairn_profile_total(profile, v);
	cairn_profile_keep_samples(profile, keep);
	if (any && profile->allocated == CAIRN_ALLOCATED_BY_PATH)
		drop_paths_only(profile, totals);
	/* These are of all threads. */
	profile->facts.allocated_bytes = profile->facts.before_bytes = profile->facts.anonymous_bytes = profile->facts.swap_bytes = 0;
	free(set_matches);
	free(keep);
}

static void drop_locations(struct cairn_profile *profile)
{
	uint32_t *numbers = cairn_array_zero(profile->location_count + 1, sizeof *numbers), count = 0;
	for (size_t i = 0; i < profile->sample_count; i++)
		for (size_t k = 0; k < profile->samples[i].depth; k++)
			numbers[profile->stacks[profile->samples[i].stack + k]] = 1;
	for (size_t i = 0; i < profile->location_count; i++) {
		bool used = numbers[i];
		numbers[i] = count;
		if (used)
			profile->locations[count++] = profile->locations[i];
	}
	profile->location_count = count;
	for (size_t i = 0; i < profile->stack_count;
	     i++) /* includes stacks of removed samples: their numbers are now wrong, but never read */
		profile->stacks[i] = numbers[profile->stacks[i]];
	free(numbers);
}

void cairn_filter_empty(struct cairn_profile *profile)
{
	bool *keep = cairn_array_zero(profile->sample_count + 1, sizeof *keep), any = false;
	for (size_t i = 0; i < profile->sample_count; i++)
		for (uint32_t k = 0; k < profile->value_count; k++)
			any |= keep[i] |= cairn_profile_values(profile, i)[k] != 0;
	if (any) {
		cairn_profile_keep_samples(profile, keep);
		drop_locations(profile);
	}
	free(keep);
}
