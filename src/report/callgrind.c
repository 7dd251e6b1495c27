/* callgrind.c - the writer of the format, and a view in it, from the call graph of its lines.
 * SPDX-License-Identifier: Apache-2.0 */
#include "report/callgrind.h"

#include "base/array.h"
#include "base/utf8.h"
#include "base/whole.h"
#include "report/graph.h"

#include <stdlib.h>

/* The writer. */

void cairn_callgrind_open(struct cairn_callgrind *callgrind, struct cairn_buffer *out, size_t file_count, size_t function_count)
{
	*callgrind = (struct cairn_callgrind){
		.out = out,
		.files = cairn_array_zero(file_count, sizeof *callgrind->files),
		.functions = cairn_array_zero(function_count, sizeof *callgrind->functions),
	};
}

void cairn_callgrind_close(struct cairn_callgrind *callgrind)
{
	free(callgrind->files);
	free(callgrind->functions);
}

/* Writes TEXT to the end of the line: control characters in it would end the line early. */
static void write_text(struct cairn_buffer *out, struct cairn_bytes text)
{
	cairn_utf8_show(out, text);
}

/* Short names take less room than a number, so they are written in full, unless they could be mistaken for one. */
static void write_name(struct cairn_buffer *out, const char *key, struct cairn_callgrind_name name, uint32_t *numbers, uint32_t *last)
{
	enum { short_most = 3 };
	struct cairn_bytes text = name.text.length ? name.text : cairn_bytes_of("???");
	cairn_buffer_format(out, "%s=", key);
	if (text.length > short_most || text.data[0] == '(') {
		bool first = !numbers[name.id];
		if (first)
			numbers[name.id] = ++*last;
		cairn_buffer_format(out, first ? "(%u) " : "(%u)", numbers[name.id]);
		if (first)
			write_text(out, text);
	} else {
		write_text(out, text);
	}
	cairn_buffer_byte(out, '\n');
}

void cairn_callgrind_function(struct cairn_callgrind *callgrind, struct cairn_callgrind_name file, struct cairn_callgrind_name function)
{
	write_name(callgrind->out, "fl", file, callgrind->files, &callgrind->last_file);
	write_name(callgrind->out, "fn", function, callgrind->functions, &callgrind->last_function);
}

void cairn_callgrind_cost(struct cairn_callgrind *callgrind, uint32_t line, double value)
{
	cairn_buffer_format(callgrind->out, "%u %lld\n", line, (long long)cairn_whole(value));
}

void cairn_callgrind_call(struct cairn_callgrind *callgrind, struct cairn_callgrind_name file, struct cairn_callgrind_name function,
			  uint32_t callee_line, double count, uint32_t line, double value)
{
	write_name(callgrind->out, "cfl", file, callgrind->files, &callgrind->last_file);
	write_name(callgrind->out, "cfn", function, callgrind->functions, &callgrind->last_function);
	cairn_buffer_format(callgrind->out, "calls=%lld %u\n", (long long)cairn_whole(count), callee_line);
	cairn_callgrind_cost(callgrind, line, value);
}

/* A view. */

/* The line of a function that a node of the graph stands for. */
struct place {
	uint32_t file;     /* string of the profile */
	uint32_t name;     /* of the function, in `names` */
	uint32_t function; /* both of them: functions are numbered by their largest line */
	uint32_t line;
	double own; /* its own cost, a whole number */
};

struct lines {
	struct cairn_view *view;
	struct cairn_graph graph;
	struct cairn_strings names;
	struct place *places; /* of the nodes */
	uint32_t *order;      /* nodes by function and line */
};

static struct place place_of(struct lines *lines, uint32_t id, struct cairn_map *functions)
{
	struct cairn_view *view = lines->view;
	const struct cairn_entry *entry = &view->entries[id];
	bool named = entry->function != CAIRN_NONE, by_line = view->options.granularity == CAIRN_BY_LINE;
	struct place place = {
		.file = named ? view->profile->functions[entry->function].file : 0,
		.name = named && by_line ? cairn_strings_add_text(&lines->names, cairn_view_function(view, entry->function))
					 : cairn_strings_add(&lines->names, cairn_view_name(view, id)),
		.line = view->options.granularity == CAIRN_BY_FILE ? 0 : entry->line,
	};
	uint32_t *function = cairn_map_at(functions, (uint64_t)place.file << 32 | place.name);
	if (*function == CAIRN_NONE)
		*function = (uint32_t)functions->count - 1;
	place.function = *function;
	return place;
}

static int compare_nodes(const void *a, const void *b, void *context)
{
	const struct place *places = context, *left = &places[*(const uint32_t *)a], *right = &places[*(const uint32_t *)b];
	if (left->function != right->function)
		return left->function < right->function ? -1 : 1;
	return left->line < right->line ? -1 : left->line > right->line;
}

static void lines_make(struct lines *lines, struct cairn_view *view)
{
	struct cairn_map functions = {0};
	*lines = (struct lines){.view = view};
	cairn_graph_make(&lines->graph, view, &(struct cairn_shape){0});
	size_t count = lines->graph.count;
	lines->places = cairn_array_new(count + 1, sizeof *lines->places);
	lines->order = cairn_array_new(count + 1, sizeof *lines->order);
	for (uint32_t n = 0; n < count; n++) {
		lines->places[n] = place_of(lines, lines->graph.nodes[n].entry, &functions);
		lines->order[n] = n;
	}
	qsort_r(lines->order, count, sizeof *lines->order, compare_nodes, lines->places);
	cairn_map_free(&functions);
}

static void lines_free(struct lines *lines)
{
	free(lines->places);
	free(lines->order);
	cairn_strings_free(&lines->names);
	cairn_graph_free(&lines->graph);
}

static struct cairn_callgrind_name file_of(const struct lines *lines, const struct place *place)
{
	return (struct cairn_callgrind_name){place->file, cairn_strings_bytes(&lines->view->profile->strings, place->file)};
}

static struct cairn_callgrind_name function_of(const struct lines *lines, const struct place *place)
{
	return (struct cairn_callgrind_name){place->name, cairn_strings_bytes(&lines->names, place->name)};
}

static void write_head(const struct cairn_view *view, struct cairn_buffer *out)
{
	const struct cairn_profile *profile = view->profile;
	cairn_buffer_text(out, "# callgrind format\nversion: 1\ncreator: cairn " CAIRN_VERSION "\npositions: line\ncmd: ");
	write_text(out, cairn_strings_bytes(&profile->strings, profile->facts.process));
	cairn_buffer_text(out, "\nevents: ");
	/* An event is one word. */
	struct cairn_bytes type = cairn_strings_bytes(&profile->strings, profile->value_types[view->value].type);
	for (size_t i = 0; i < type.length; i++)
		cairn_buffer_byte(out, (unsigned char)type.data[i] <= ' ' ? '_' : type.data[i]);
	cairn_buffer_text(out, type.length ? "\n" : "value\n");
}

/* Fills in the own cost of each line, in whole numbers. Returns their sum, which is that of the estimates. */
static double own_costs(struct lines *lines)
{
	double sum = 0, rest = 0;
	for (size_t i = 0; i < lines->graph.count; i++) {
		uint32_t node = lines->order[i];
		lines->places[node].own = (double)cairn_whole_carry(lines->graph.nodes[node].flat, &rest);
		sum += lines->places[node].own;
	}
	return sum;
}

static void write_line(struct cairn_callgrind *callgrind, const struct lines *lines, uint32_t n)
{
	const struct cairn_graph *graph = &lines->graph;
	const struct cairn_graph_node *node = &graph->nodes[n];
	const struct place *place = &lines->places[n];
	if (place->own > 0)
		cairn_callgrind_cost(callgrind, place->line, place->own);
	for (uint32_t e = 0; e < node->out_count; e++) {
		const struct cairn_graph_edge *edge = &graph->edges[graph->out_edges[node->first_out + e]];
		const struct place *callee = &lines->places[edge->to];
		if (edge->to == n)
			continue; /* recursion in one line: the calls of that line have all of it already */
		cairn_callgrind_call(callgrind, file_of(lines, callee), function_of(lines, callee), callee->line, 1, place->line,
				     round(edge->value));
	}
}

void cairn_callgrind_write(struct cairn_view *view, struct cairn_buffer *out)
{
	struct lines lines;
	struct cairn_callgrind callgrind;
	lines_make(&lines, view);
	write_head(view, out);
	long long total = cairn_whole(own_costs(&lines));
	cairn_buffer_format(out, "summary: %lld\n", total);
	cairn_callgrind_open(&callgrind, out, view->profile->strings.count + 1, lines.names.count + 1); /* including the empty string */
	for (size_t i = 0; i < lines.graph.count; i++) {
		const struct place *place = &lines.places[lines.order[i]];
		if (i == 0 || place->function != lines.places[lines.order[i - 1]].function) {
			cairn_buffer_byte(out, '\n');
			cairn_callgrind_function(&callgrind, file_of(&lines, place), function_of(&lines, place));
		}
		write_line(&callgrind, &lines, lines.order[i]);
	}
	cairn_buffer_format(out, "\ntotals: %lld\n", total);
	cairn_callgrind_close(&callgrind);
	lines_free(&lines);
}
