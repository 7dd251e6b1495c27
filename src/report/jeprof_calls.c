/* jeprof_calls.c - calls between source lines, counted as in jeprof, for Callgrind's format.
 *
 * A *place* is a line of the function that was compiled at an address. A stack adds its value to the place of its leaf, and to each call on
 * the stack.
 * SPDX-License-Identifier: Apache-2.0 */
#include "report/jeprof.h"

#include "base/array.h"
#include "report/callgrind.h"

#include <stdlib.h>

struct place {
	uint32_t file, line, function; /* file and function are strings of the graph */
};

/* CALLEE is CAIRN_NONE for the caller's own value. */
struct call {
	uint32_t caller, callee;
	double value;
};

struct graph {
	struct cairn_strings strings;
	struct place *places;
	size_t place_count, place_capacity;
	struct cairn_index place_index;
	struct call *calls;
	size_t call_count, call_capacity;
	struct cairn_map call_map;
};

static uint32_t add_place(struct graph *graph, struct place place)
{
	uint64_t hash = cairn_hash_bytes(&place, sizeof place);
	size_t position = 0;
	uint32_t id;
	while ((id = cairn_index_next(&graph->place_index, hash, &position)) != CAIRN_NONE)
		if (memcmp(&graph->places[id], &place, sizeof place) == 0)
			return id;
	cairn_array_room(graph->places, graph->place_count, graph->place_capacity);
	id = (uint32_t)graph->place_count++;
	graph->places[id] = place;
	cairn_index_add(&graph->place_index, hash, id);
	return id;
}

static uint32_t place_of(struct graph *graph, const struct cairn_jeprof *jeprof, uint32_t id, struct cairn_buffer *scratch)
{
	const struct cairn_profile *profile = jeprof->view.profile;
	const struct cairn_location *location = &profile->locations[id];
	struct place place = {.file = cairn_strings_add_text(&graph->strings, "??")};
	scratch->length = 0;
	if (location->frame_count) {
		const struct cairn_frame *frame = &profile->frames[location->first_frame + location->frame_count - 1];
		uint32_t file = profile->functions[frame->function].file;
		place.line = frame->line;
		if (file)
			place.file = cairn_strings_add(&graph->strings, cairn_strings_bytes(&profile->strings, file));
		struct cairn_bytes name = cairn_jeprof_name(&jeprof->names, frame->function);
		cairn_buffer_append(scratch, name.data, name.length);
	}
	if (scratch->length == 0)
		cairn_view_place(&jeprof->view, location, scratch);
	place.function = cairn_strings_add(&graph->strings, cairn_buffer_bytes(scratch));
	return add_place(graph, place);
}

static void add_call(struct graph *graph, uint32_t caller, uint32_t callee, double value)
{
	uint32_t *at = cairn_map_at(&graph->call_map, (uint64_t)caller << 32 | callee);
	if (*at == CAIRN_NONE) {
		*at = (uint32_t)graph->call_count;
		cairn_array_room(graph->calls, graph->call_count, graph->call_capacity);
		graph->calls[graph->call_count++] = (struct call){caller, callee, 0};
	}
	graph->calls[*at].value += value;
}

static void add_stacks(struct graph *graph, struct cairn_jeprof *jeprof)
{
	struct cairn_view *view = &jeprof->view;
	const struct cairn_profile *profile = view->profile;
	uint32_t *places = cairn_array_new(profile->location_count, sizeof *places);
	struct cairn_buffer scratch = cairn_buffer(SIZE_MAX);
	for (size_t i = 0; i < profile->location_count; i++)
		places[i] = place_of(graph, jeprof, (uint32_t)i, &scratch);
	cairn_buffer_free(&scratch);
	for (size_t i = 0; i < view->sample_count; i++) {
		size_t depth;
		uint32_t callee = CAIRN_NONE;
		cairn_view_stack(view, i, &depth);
		for (size_t d = 0; d < depth; d++) {
			if (cairn_view_inlined(view)[d])
				continue;
			uint32_t caller = places[cairn_view_locations(view)[d]];
			add_call(graph, caller, callee, cairn_view_value(view, i));
			callee = caller;
		}
	}
	free(places);
}

static int compare_places(const struct graph *graph, const struct place *a, const struct place *b)
{
	int order = strcmp(cairn_strings_text(&graph->strings, a->file), cairn_strings_text(&graph->strings, b->file));
	if (order == 0 && a->line != b->line)
		order = a->line < b->line ? -1 : 1;
	if (order == 0)
		order = strcmp(cairn_strings_text(&graph->strings, a->function), cairn_strings_text(&graph->strings, b->function));
	return order;
}

static int compare_calls(const void *a, const void *b, void *context)
{
	const struct call *left = a, *right = b;
	const struct graph *graph = context;
	int order = compare_places(graph, &graph->places[left->caller], &graph->places[right->caller]);
	if (order || left->callee == right->callee)
		return order;
	if (left->callee == CAIRN_NONE || right->callee == CAIRN_NONE)
		return left->callee == CAIRN_NONE ? -1 : 1;
	return compare_places(graph, &graph->places[left->callee], &graph->places[right->callee]);
}

static struct cairn_callgrind_name name_of(const struct graph *graph, uint32_t string)
{
	return (struct cairn_callgrind_name){string, cairn_strings_bytes(&graph->strings, string)};
}

static void write_call(const struct graph *graph, const struct call *call, struct cairn_callgrind *callgrind)
{
	const struct place *caller = &graph->places[call->caller];
	cairn_callgrind_function(callgrind, name_of(graph, caller->file), name_of(graph, caller->function));
	if (call->callee != CAIRN_NONE) {
		const struct place *callee = &graph->places[call->callee];
		cairn_callgrind_call(callgrind, name_of(graph, callee->file), name_of(graph, callee->function), callee->line, call->value,
				     caller->line, call->value);
	} else {
		cairn_callgrind_cost(callgrind, caller->line, call->value);
	}
	cairn_buffer_byte(callgrind->out, '\n');
}

void cairn_jeprof_callgrind(struct cairn_jeprof *jeprof, struct cairn_buffer *out)
{
	struct graph graph = {0};
	struct cairn_callgrind callgrind;
	add_stacks(&graph, jeprof);
	if (graph.call_count > 0)
		qsort_r(graph.calls, graph.call_count, sizeof *graph.calls, compare_calls, &graph);
	cairn_buffer_text(out, "events: Hits\n\n");
	size_t names = graph.strings.count + 1; /* including the empty string */
	cairn_callgrind_open(&callgrind, out, names, names);
	for (size_t i = 0; i < graph.call_count; i++)
		write_call(&graph, &graph.calls[i], &callgrind);
	cairn_callgrind_close(&callgrind);
	cairn_strings_free(&graph.strings);
	cairn_index_free(&graph.place_index);
	cairn_map_free(&graph.call_map);
	free(graph.places);
	free(graph.calls);
}
