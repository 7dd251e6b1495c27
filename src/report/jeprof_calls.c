/* jeprof_calls.c - calls between source lines in callgrind's format, as jeprof counts them.
 *
 * A *place* is a line of the function that was compiled at an address. A stack adds its value to the place of its leaf, and to
 * each call on it.
 * SPDX-License-Identifier: Apache-2.0 */
#include "report/jeprof.h"

#include "base/array.h"

#include <stdlib.h>

struct place {
	uint32_t file, line, function; /* file and function in the strings of the graph */
};

/* CALLEE is CAIRN_NONE for what the caller holds itself. */
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
	uint32_t *numbers; /* of strings that were written, in their own order; 0 for those that were not */
	uint32_t *function_numbers;
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

/* A name is written whole the first time, then by its number; very short ones always whole. */
static void write_name(const struct graph *graph, const char *key, uint32_t string, uint32_t *numbers, struct cairn_buffer *out)
{
	struct cairn_bytes name = cairn_strings_bytes(&graph->strings, string);
	cairn_buffer_format(out, "%s=", key);
	if (name.length <= 3) {
		cairn_buffer_text(out, name.data);
	} else if (numbers[string]) {
		cairn_buffer_format(out, "(%u)", numbers[string]);
	} else {
		numbers[string] = ++numbers[0];
		cairn_buffer_format(out, "(%u) ", numbers[string]);
		cairn_buffer_append(out, name.data, name.length);
	}
	cairn_buffer_byte(out, '\n');
}

static void write_call(const struct graph *graph, const struct call *call, struct cairn_buffer *out)
{
	const struct place *caller = &graph->places[call->caller];
	write_name(graph, "fl", caller->file, graph->numbers, out);
	write_name(graph, "fn", caller->function, graph->function_numbers, out);
	if (call->callee != CAIRN_NONE) {
		const struct place *callee = &graph->places[call->callee];
		write_name(graph, "cfl", callee->file, graph->numbers, out);
		write_name(graph, "cfn", callee->function, graph->function_numbers, out);
		cairn_buffer_format(out, "calls=%lld %u\n", (long long)call->value, callee->line);
	}
	cairn_buffer_format(out, "%u %lld\n\n", caller->line, (long long)call->value);
}

void cairn_jeprof_callgrind(struct cairn_jeprof *jeprof, struct cairn_buffer *out)
{
	struct graph graph = {0};
	add_stacks(&graph, jeprof);
	qsort_r(graph.calls, graph.call_count, sizeof *graph.calls, compare_calls, &graph);
	/* Number 0 is no string's (that is the empty one): it counts. */
	graph.numbers = cairn_array_zero(graph.strings.count + 1, sizeof *graph.numbers);
	graph.function_numbers = cairn_array_zero(graph.strings.count + 1, sizeof *graph.function_numbers);
	cairn_buffer_text(out, "events: Hits\n\n");
	for (size_t i = 0; i < graph.call_count; i++)
		write_call(&graph, &graph.calls[i], out);
	cairn_strings_free(&graph.strings);
	cairn_index_free(&graph.place_index);
	cairn_map_free(&graph.call_map);
	free(graph.places);
	free(graph.calls);
	free(graph.numbers);
	free(graph.function_numbers);
}
