/* remedy.c - predictions from the sums of a walk.
 * SPDX-License-Identifier: Apache-2.0 */
#include "heap/remedy.h"

#include "base/sort.h"

/* Below that, a remedy is not worth a line. */
static const double least = 64 << 10;

/* Where glibc has this many arenas or fewer, there is nothing to gain from fewer. */
enum { arenas_few = 3 };

static int compare(const void *a, const void *b)
{
	const struct cairn_remedy *one = a, *other = b;
	return one->process < other->process ? 1 : one->process > other->process ? -1 : (int)one->kind - (int)other->kind;
}

static void add(struct cairn_remedy remedies[CAIRN_REMEDIES], size_t *count, const struct cairn_remedy *remedy)
{
	if (remedy->process >= least)
		remedies[(*count)++] = *remedy;
}

size_t cairn_remedies_find(struct cairn_remedy remedies[CAIRN_REMEDIES], const struct cairn_walk *walk, const struct cairn_huge *huge,
			   double drift)
{
	size_t count = 0;
	for (size_t i = 0; i < walk->heap_count; i++) {
		const struct cairn_walk_heap *heap = &walk->heaps[i];
		const struct cairn_walk_sum *sum = &heap->sum;
		double missed = (double)(heap->difference + heap->skipped + heap->doubtful);
		if (!heap->is_read)
			continue;
		add(remedies, &count,
		    &(struct cairn_remedy){.kind = CAIRN_REMEDY_RETURN,
					   .heap = heap,
					   .process = (double)sum->returnable,
					   .group = (double)sum->returnable_group,
					   .error = missed + drift + cairn_walk_return_error(heap->kind) * (double)sum->returnable});
		add(remedies, &count, &(struct cairn_remedy){.kind = CAIRN_REMEDY_CACHES, .heap = heap, .at_most = true, .restart = true,
							     .process = (double)(sum->cached + sum->pinned_by_cache),
							     .group = (double)(sum->cached + sum->pinned_by_cache)});
		if (heap->kind != CAIRN_WALK_GLIBC)
			continue;
		if (heap->arena_count > arenas_few)
			add(remedies, &count,
			    &(struct cairn_remedy){.kind = CAIRN_REMEDY_ARENAS,
						   .heap = heap,
						   .at_most = true,
						   .restart = true,
						   .process = (double)heap->others.resident_free,
						   .group = (double)heap->others.resident_free});
		if (heap->settings.known && !heap->settings.fixed_thresholds && heap->settings.mmap_threshold > CAIRN_WALK_LARGE)
			add(remedies, &count, &(struct cairn_remedy){.kind = CAIRN_REMEDY_THRESHOLD, .heap = heap, .at_most = true,
								     .restart = true, .process = (double)heap->large_free,
								     .group = (double)heap->large_free});
	}
	if (huge && huge->zero > 0)
		add(remedies, &count, &(struct cairn_remedy){.kind = CAIRN_REMEDY_HUGE, .process = huge->zero, .group = huge->zero,
							     .error = huge->zero_error, .restart = true});
	cairn_sort(remedies, count, sizeof *remedies, compare);
	return count;
}
