/* graph.c - `cairn graph`: the call graph, as a picture.
 * SPDX-License-Identifier: Apache-2.0 */
#include "cmd/command.h"
#include "cmd/view.h"
#include "report/dot.h"
#include "report/graph_svg.h"
#include "report/graphviz.h"

#include <strings.h>

struct options {
	struct cairn_view_setup setup;
	const char *format;
	uint64_t max_degree;
};

enum { default_degree = 64 };

#define AT(member) offsetof(struct options, member)

static const struct cairn_option table[] = {
	{0, "format", "NAME", "dot, svg, pdf, png, ps or gif (default: by the output's extension, else dot)", CAIRN_OPTION_TEXT, AT(format),
	 0, (const char *const[]){"dot", "svg", "pdf", "png", "ps", "gif", NULL}},
	{'n', "nodecount", "N", "draw at most N functions; 0 draws all (default: 80)", CAIRN_OPTION_COUNT, AT(setup.shape.node_count), 0},
	{0, "rows", "N", NULL, CAIRN_OPTION_COUNT, AT(setup.shape.node_count), 0},
	{0, "nodefraction", "F", "leave out functions below this fraction of the total (default: 0.005)", CAIRN_OPTION_NUMBER,
	 AT(setup.shape.node_fraction), 0},
	{0, "edgefraction", "F", "leave out calls below this fraction of the total (default: 0.001)", CAIRN_OPTION_NUMBER,
	 AT(setup.shape.edge_fraction), 0},
	{0, "maxdegree", "N", "draw at most N callers and N callees of a function (default: 64)", CAIRN_OPTION_COUNT, AT(max_degree), 0},
	{0, "bytes", NULL, "print plain integers", CAIRN_OPTION_FLAG, AT(setup.shape.bytes), 0},
	{0},
};

static const struct cairn_option_group groups[] = {
	{NULL, cairn_output_option_table, 0},
	{"picture", table, 0},
	CAIRN_VIEW_GROUPS,
	{0},
};

static const struct cairn_option_refusal refusals[] = {CAIRN_UNFOLDED_REFUSALS, {0}};

/* Graphviz's name for the requested format; "dot" for the text itself. NULL if there is no such format. */
static const char *find_format(const struct options *options, struct cairn_error *error)
{
	static const struct {
		const char *name, *graphviz;
	} known[] = {
		{"dot", "dot"}, {"gv", "dot"},	{"svg", "svg"}, {"svgz", "svgz"}, {"pdf", "pdf"},  {"png", "png"},
		{"ps", "ps2"},	{"eps", "eps"}, {"gif", "gif"}, {"jpg", "jpg"},	  {"jpeg", "jpeg"}, {"webp", "webp"},
	};
	const char *name = options->format;
	if (!name && options->setup.output) {
		const char *point = strrchr(options->setup.output, '.');
		name = point && !strchr(point, '/') ? point + 1 : NULL;
	}
	for (size_t i = 0; i < sizeof known / sizeof *known; i++)
		if (!name || strcasecmp(name, known[i].name) == 0)
			return known[i].graphviz;
	cairn_fail_usage(error, "unknown picture format '%s'; use --format with dot, svg, pdf, png, ps or gif", name);
	return NULL;
}

static bool check(const void *values, struct cairn_error *error)
{
	const struct options *options = values;
	const char *format = find_format(options, error);
	return format && (strcmp(format, "dot") == 0 || cairn_view_takes_binary(&options->setup, error));
}

static bool show(const void *values, struct cairn_report *report, struct cairn_error *error)
{
	const struct options *options = values;
	const char *format = find_format(options, error);
	struct cairn_dot_options dot = {
		.shape = report->shape,
		.max_degree = options->max_degree ? options->max_degree : default_degree,
	};
	if (!format)
		return false;
	if (strcmp(format, "dot") == 0)
		return cairn_dot_text(report->view, &dot, report->out, error);
	struct cairn_buffer text = cairn_buffer(SIZE_MAX), drawn = cairn_buffer(SIZE_MAX);
	bool is_svg = strcmp(format, "svg") == 0, good = cairn_dot_text(report->view, &dot, &text, error) &&
		cairn_graphviz_render(cairn_buffer_bytes(&text), format, is_svg ? &drawn : report->out, error);
	if (good && is_svg)
		cairn_graph_svg(cairn_buffer_bytes(&drawn), report->out);
	cairn_buffer_free(&text);
	cairn_buffer_free(&drawn);
	return good;
}

const struct cairn_command cairn_command_graph = {
	.name = "graph",
	.summary = "draw the call graph as SVG, PDF, PNG or dot text",
	.arguments = "SOURCE...",
	.detail = "The output's extension decides the format: out.svg, out.pdf, out.png, out.dot. "
		  "Pictures need Graphviz's library (package graphviz);\n"
		  "dot text does not. In a browser, drag and zoom out.svg.",
	.groups = groups,
	.refusals = refusals,
	.options_size = sizeof(struct options),
	.view = &(const struct cairn_view_command){
		.bare = true, .check = check, .rows = 80, .node_fraction = 0.005, .edge_fraction = 0.001, .show = show},
};
