/* shown.c - the table.
 * SPDX-License-Identifier: Apache-2.0 */
#include "dump/shown.h"

#include <stddef.h>
#include <string.h>

const struct cairn_shown_view cairn_shown_views[] = {
	[CAIRN_SHOWN_LIVE] = {
		.space = "inuse_space", .objects = "inuse_objects", .space_title = "live memory", .objects_title = "live objects",
		.label = "Live", .hint = "Memory that is not freed",
	},
	[CAIRN_SHOWN_PEAK] = {
		.option = "peak", .space = "peak_space", .objects = "peak_objects", .space_title = "live memory at its highest point",
		.objects_title = "live objects at the highest point of memory", .label = "Peak",
		.hint = "What was live at the highest point", .lacking = "what was live at the highest point", .where = "", .by_path = true,
	},
	[CAIRN_SHOWN_SLACK] = {
		.option = "slack", .space = "slack_space",
		.space_title = "slack: what live objects can hold beyond what was requested", .objects_title = "live objects",
		.label = "Slack", .hint = "What the allocator hands out beyond what was requested",
		.lacking = "how much of its objects was requested", .where = "", .by_object = true,
	},
	[CAIRN_SHOWN_FRAGMENTATION] = {
		.option = "fragmentation", .space = "fragmentation_space",
		.space_title = "free memory that live objects keep from being returned", .objects_title = "live objects",
		.label = "Fragmentation", .hint = "Free memory that live objects keep from being returned",
		.lacking = "what free memory its objects keep", .where = ", made by 'cairn dump PID' or on jemalloc 5.2 and later,",
		.by_object = true,
	},
	[CAIRN_SHOWN_MAPPED] = {
		.option = "mappings", .space = "mapped_space", .objects = "mapped_objects",
		.space_title = "memory mapped by the service itself", .objects_title = "mappings by the service itself", .label = "Mapped",
		.hint = "What the service mapped itself, past its allocator; without reserved addresses",
		.lacking = "what the service mapped itself", .where = ", where the allocator is a library,", .by_path = true, .exact = true,
	},
	[CAIRN_SHOWN_COUNT] = {
		.space = "alloc_space", .objects = "alloc_objects", .space_title = "allocated memory",
		.objects_title = "allocated objects", .label = "Allocated", .hint = "All allocations, freed or not",
	},
};

const struct cairn_shown_view *cairn_shown_of(const char *type)
{
	for (size_t i = 0; i < sizeof cairn_shown_views / sizeof *cairn_shown_views; i++) {
		const struct cairn_shown_view *view = &cairn_shown_views[i];
		if (strcmp(type, view->space) == 0 || (view->objects && strcmp(type, view->objects) == 0))
			return view;
	}
	return NULL;
}
