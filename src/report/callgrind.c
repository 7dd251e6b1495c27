/* callgrind.c - writing it, from the graph of calls. Names are given once with a number and by the number from then on.
 * SPDX-License-Identifier: Apache-2.0 */
#include "report/callgrind.h"

#include "base/array.h"
#include "report/graph.h"

#include <stdlib.h>

struct writer {
	struct cairn_view *view;
	struct cairn_buffer *out;
	bool *named_functions; /* by entry */
	bool *named_files;     /* by string of the profile */
};

static uint64_t cost(double value)
{
	return value >= 1 ? (uint64_t)value : 0;
}

/* Text up to the line's end: control characters would end it. */
static void write_text(struct cairn_buffer *out, struct cairn_bytes text)
{
	for (size_t i = 0; i < text.length; i++)
		cairn_buffer_byte(out, (unsigned char)text.data[i] < 0x20 ? ' ' : text.data[i]);
}

static void write_name(struct writer *writer, const char *key, uint32_t id, bool *named, struct cairn_bytes name)
{
	cairn_buffer_format(writer->out, "%s=(%u)", key, id + 1);
	if (!*named) {
		cairn_buffer_byte(writer->out, ' ');
		write_text(writer->out, name.length ? name : cairn_bytes_of("???"));
	}
	*named = true;
	cairn_buffer_byte(writer->out, '\n');
}

static void write_function(struct writer *writer, uint32_t entry, const char *file_key, const char *function_key)
{
	const struct cairn_profile *profile = writer->view->profile;
	uint32_t function = writer->view->entries[entry].function;
	uint32_t file = function == CAIRN_NONE ? 0 : profile->functions[function].file;
	write_name(writer, file_key, file, &writer->named_files[file], cairn_strings_bytes(&profile->strings, file));
	write_name(writer, function_key, entry, &writer->named_functions[entry], cairn_view_name(writer->view, entry));
}

static void write_head(struct writer *writer)
{
	const struct cairn_profile *profile = writer->view->profile;
	cairn_buffer_text(writer->out, "# callgrind format\nversion: 1\ncreator: cairn " CAIRN_VERSION "\npositions: line\ncmd: ");
	write_text(writer->out, cairn_strings_bytes(&profile->strings, profile->process));
	cairn_buffer_text(writer->out, "\nevents: ");
	/* An event is one word. */
	struct cairn_bytes type = cairn_strings_bytes(&profile->strings, profile->value_types[writer->view->value].type);
	for (size_t i = 0; i < type.length; i++)
		cairn_buffer_byte(writer->out, (unsigned char)type.data[i] <= ' ' ? '_' : type.data[i]);
	cairn_buffer_text(writer->out, type.length ? "\n" : "value\n");
}

void cairn_callgrind_write(struct cairn_view *view, struct cairn_buffer *out)
{
	struct cairn_graph graph;
	struct writer writer = {.view = view, .out = out};
	writer.named_functions = calloc(view->entry_count + 1, sizeof *writer.named_functions);
	writer.named_files = calloc(view->profile->strings.count + 1, sizeof *writer.named_files);
	if (!writer.named_functions || !writer.named_files)
		cairn_out_of_memory(view->entry_count);
	cairn_graph_make(&graph, view, &(struct cairn_shape){0});
	write_head(&writer);
	uint64_t total = 0;
	for (size_t n = 0; n < graph.count; n++)
		total += cost(graph.nodes[n].flat);
	cairn_buffer_format(out, "summary: %llu\n", (unsigned long long)total);
	for (size_t n = 0; n < graph.count; n++) {
		const struct cairn_graph_node *node = &graph.nodes[n];
		uint32_t line = view->entries[node->entry].line;
		cairn_buffer_byte(out, '\n');
		write_function(&writer, node->entry, "fl", "fn");
		if (cost(node->flat))
			cairn_buffer_format(out, "%u %llu\n", line, (unsigned long long)cost(node->flat));
		for (uint32_t e = 0; e < node->out_count; e++) {
			const struct cairn_graph_edge *edge = &graph.edges[graph.out_edges[node->first_out + e]];
			uint32_t callee = graph.nodes[edge->to].entry;
			write_function(&writer, callee, "cfi", "cfn");
			cairn_buffer_format(out, "calls=1 %u\n%u %llu\n", view->entries[callee].line, line, (unsigned long long)cost(edge->value));
		}
	}
	cairn_buffer_format(out, "\ntotals: %llu\n", (unsigned long long)total);
	cairn_graph_free(&graph);
	free(writer.named_functions);
	free(writer.named_files);
}
