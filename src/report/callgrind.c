/* callgrind.c - the writer of the format, and a view in it, from the call graph.
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

static double not_negative(double value)
{
	return value > 0 ? value : 0;
}

static struct cairn_callgrind_name file_of(const struct cairn_view *view, uint32_t entry)
{
	uint32_t function = view->entries[entry].function;
	uint32_t file = function == CAIRN_NONE ? 0 : view->profile->functions[function].file;
	return (struct cairn_callgrind_name){file, cairn_strings_bytes(&view->profile->strings, file)};
}

static struct cairn_callgrind_name function_of(const struct cairn_view *view, uint32_t entry)
{
	return (struct cairn_callgrind_name){entry, cairn_view_name(view, entry)};
}

static void write_head(const struct cairn_view *view, struct cairn_buffer *out)
{
	const struct cairn_profile *profile = view->profile;
	cairn_buffer_text(out, "# callgrind format\nversion: 1\ncreator: cairn " CAIRN_VERSION "\npositions: line\ncmd: ");
	write_text(out, cairn_strings_bytes(&profile->strings, profile->process));
	cairn_buffer_text(out, "\nevents: ");
	/* An event is one word. */
	struct cairn_bytes type = cairn_strings_bytes(&profile->strings, profile->value_types[view->value].type);
	for (size_t i = 0; i < type.length; i++)
		cairn_buffer_byte(out, (unsigned char)type.data[i] <= ' ' ? '_' : type.data[i]);
	cairn_buffer_text(out, type.length ? "\n" : "value\n");
}

/* Fills in the own cost of each node, in whole numbers. Returns their sum, which is that of the estimates. */
static double own_costs(const struct cairn_graph *graph, double *costs)
{
	double sum = 0, rest = 0;
	for (size_t n = 0; n < graph->count; n++) {
		costs[n] = (double)cairn_whole_carry(not_negative(graph->nodes[n].flat), &rest);
		sum += costs[n];
	}
	return sum;
}

static void write_node(struct cairn_callgrind *callgrind, const struct cairn_view *view, const struct cairn_graph *graph,
		       const struct cairn_graph_node *node, double own)
{
	uint32_t line = view->entries[node->entry].line;
	cairn_buffer_byte(callgrind->out, '\n');
	cairn_callgrind_function(callgrind, file_of(view, node->entry), function_of(view, node->entry));
	if (own > 0)
		cairn_callgrind_cost(callgrind, line, own);
	for (uint32_t e = 0; e < node->out_count; e++) {
		const struct cairn_graph_edge *edge = &graph->edges[graph->out_edges[node->first_out + e]];
		uint32_t callee = graph->nodes[edge->to].entry;
		cairn_callgrind_call(callgrind, file_of(view, callee), function_of(view, callee), view->entries[callee].line, 1, line,
				     round(not_negative(edge->value)));
	}
}

void cairn_callgrind_write(struct cairn_view *view, struct cairn_buffer *out)
{
	struct cairn_graph graph;
	struct cairn_callgrind callgrind;
	cairn_graph_make(&graph, view, &(struct cairn_shape){0});
	write_head(view, out);
	double *costs = cairn_array_new(graph.count + 1, sizeof *costs);
	long long total = cairn_whole(own_costs(&graph, costs));
	cairn_buffer_format(out, "summary: %lld\n", total);
	cairn_callgrind_open(&callgrind, out, view->profile->strings.count + 1, view->entry_count); /* including the empty string */
	for (size_t n = 0; n < graph.count; n++)
		write_node(&callgrind, view, &graph, &graph.nodes[n], costs[n]);
	cairn_buffer_format(out, "\ntotals: %lld\n", total);
	cairn_callgrind_close(&callgrind);
	free(costs);
	cairn_graph_free(&graph);
}
