/* mapped.c - who mapped the memory that is not the allocator's, by call path.
 * SPDX-License-Identifier: Apache-2.0 */
#include "base/array.h"
#include "live/rss/account.h"
#include "live/source.h"
#include "profile/live.h"
#include "profile/read.h"
#include "report/paths.h"
#include "report/view.h"

#include <stdlib.h>

static int compare(const void *a, const void *b)
{
	const struct cairn_account_mapped *one = a, *other = b;
	return one->resident < other->resident ? 1 : one->resident > other->resident ? -1 : strcmp(one->stack, other->stack);
}

/* The names of a path, one on each line, leaf first. */
static char *join(const struct cairn_view *view, const struct cairn_paths *paths, const struct cairn_path *path)
{
	struct cairn_buffer out = cairn_buffer(SIZE_MAX);
	for (size_t i = 0; i < path->depth; i++) {
		struct cairn_bytes name = cairn_view_name(view, paths->entries[path->first + i]);
		cairn_buffer_append(&out, name.data, name.length);
		cairn_buffer_byte(&out, '\n');
	}
	cairn_buffer_byte(&out, 0);
	return out.data;
}

/* Whether SAMPLE was mapped by code in the file at PATH, or for it. */
static bool is_mapped_by(const struct cairn_profile *profile, const struct cairn_sample *sample, const char *path)
{
	for (uint32_t i = 0; path[0] && i < sample->depth; i++) {
		uint32_t mapping = profile->locations[profile->stacks[sample->stack + i]].mapping;
		if (mapping != CAIRN_NONE &&
		    cairn_bytes_equal(cairn_strings_bytes(&profile->strings, profile->modules[profile->mappings[mapping].module].path),
				      cairn_bytes_of(path)))
			return true;
	}
	return false;
}

static void list(struct cairn_account *account, struct cairn_view *view, const char *allocator)
{
	struct cairn_paths paths = {0};
	double *sums = cairn_array_zero(view->sample_count + 1, sizeof *sums);
	for (size_t i = 0; i < view->sample_count; i++) {
		size_t depth;
		if (!(cairn_view_value(view, i) > 0) ||
		    is_mapped_by(view->profile, &view->profile->samples[view->samples[i]], allocator))
			continue;
		const uint32_t *stack = cairn_view_stack(view, i, &depth);
		sums[cairn_paths_add(&paths, stack, depth)] += cairn_view_value(view, i);
	}
	account->mapped = cairn_array_zero(paths.count + 1, sizeof *account->mapped);
	account->mapped_count = paths.count;
	for (size_t i = 0; i < paths.count; i++)
		account->mapped[i] = (struct cairn_account_mapped){sums[i], join(view, &paths, &paths.items[i])};
	if (paths.count)
		qsort(account->mapped, paths.count, sizeof *account->mapped, compare);
	free(sums);
	cairn_paths_free(&paths);
}

void cairn_account_name_mapped(struct cairn_account *account, struct cairn_bytes text, const char *name, const char *allocator)
{
	struct cairn_profile profile;
	struct cairn_view view;
	struct cairn_read_options reading = {
		.shown = CAIRN_SHOWN_MAPPED,
		.mapped_kinds = 1u << CAIRN_MAPPED_ANONYMOUS | 1u << CAIRN_MAPPED_RESERVED | 1u << CAIRN_MAPPED_BRK,
		.mapped_resident = true,
	};
	if (!(account->facts.mapped_bytes + account->facts.break_bytes > 0))
		return;
	cairn_profile_init(&profile);
	if (cairn_profile_read(&profile, text, name, &reading, NULL) && profile.facts.shows >> CAIRN_SHOWN_MAPPED & 1) {
		cairn_source_name(&profile, &(struct cairn_source_options){.quiet = true});
		if (cairn_view_make(&view, &profile, &(struct cairn_view_options){0}, NULL)) {
			list(account, &view, allocator);
			cairn_view_free(&view);
		}
	}
	cairn_profile_free(&profile);
}

void cairn_account_free(struct cairn_account *account)
{
	for (size_t i = 0; i < account->mapped_count; i++)
		free(account->mapped[i].stack);
	free(account->mapped);
	free(account);
}
