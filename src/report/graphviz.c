/* graphviz.c - libgvc and libcgraph, loaded when first needed.
 * SPDX-License-Identifier: Apache-2.0 */
#include "report/graphviz.h"

#include "base/library.h"

#include <stdio.h>

/* The functions that we use; the structs of the libraries are opaque. */
struct context;
struct graph;

static struct {
	struct graph *(*read)(const char *text);
	int (*close)(struct graph *graph);
	int (*set_least_level)(int level);
	int (*(*set_error_writer)(int (*write)(char *text)))(char *text);
	struct context *(*open)(void);
	int (*layout)(struct context *of, struct graph *graph, const char *engine);
	int (*free_layout)(struct context *of, struct graph *graph);
	int (*render)(struct context *of, struct graph *graph, const char *format, char **data, unsigned *length);
	void (*free_data)(char *data);
} library;
/* One context for all pictures, never freed: Graphviz remembers the last font by a pointer into it. */
static struct context *context;

static bool start(void)
{
	context = library.open();
	return context != NULL;
}

static struct cairn_library graphviz = { /* libgvc brings libcgraph with it */
	.files = "libgvc.so.6",
	.names = "agmemread agclose agseterr agseterrf gvContext gvLayout gvFreeLayout gvRenderData gvFreeRenderData",
	.members = &library,
	.size = sizeof library,
	.start = start,
	.is_global = true,
};

/* The library prints its complaints; the first one becomes part of our error message. */
static char complaint[200];

static int keep_complaint(char *text)
{
	size_t length = strlen(complaint);
	snprintf(complaint + length, sizeof complaint - length, "%s", text);
	return 0;
}

static bool draw(struct graph *graph, const char *format, struct cairn_buffer *out)
{
	char *data = NULL;
	unsigned length = 0;
	if (library.layout(context, graph, "dot") != 0)
		return false;
	bool good = library.render(context, graph, format, &data, &length) == 0 && data;
	if (good)
		cairn_buffer_append(out, data, length);
	if (data)
		library.free_data(data);
	library.free_layout(context, graph);
	return good;
}

bool cairn_graphviz_render(struct cairn_bytes dot, const char *format, struct cairn_buffer *out, struct cairn_error *error)
{
	enum { only_errors = 1 };
	if (!cairn_library_is_there(&graphviz))
		return cairn_fail(
			error, "Graphviz is not installed (package graphviz), which draws call graphs; dot text can be written without it");
	complaint[0] = 0;
	library.set_least_level(only_errors);
	library.set_error_writer(keep_complaint);
	struct cairn_buffer text = cairn_buffer(SIZE_MAX);
	cairn_buffer_append(&text, dot.data, dot.length);
	cairn_buffer_byte(&text, '\0');
	struct graph *graph = library.read(text.data);
	bool good = graph && draw(graph, format, out);
	if (graph)
		library.close(graph);
	cairn_buffer_free(&text);
	complaint[strcspn(complaint, "\n")] = 0;
	return good || cairn_fail(error, "Graphviz cannot draw this as %s%s%s", format, complaint[0] ? ": " : "", complaint);
}
