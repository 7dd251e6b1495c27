/* picture.c - the call graphs of `cairn jeprof`: written to standard output, or shown by a viewer.
 * SPDX-License-Identifier: Apache-2.0 */
#include "cmd/jeprof/jeprof.h"

#include "base/file.h"
#include "base/process.h"
#include "report/dot.h"
#include "report/graph_svg.h"
#include "report/graphviz.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* A picture by the name of its option: what Graphviz calls it, and its viewers; the first that is installed is started. */
struct picture {
	const char *option;
	const char *format;
	const char *viewers[5];
	bool stays; /* the viewer returns at once and reads the file later */
};

static const struct picture pictures[] = {
	{"dot", NULL, {0}, false},
	{"svg", "svg", {0}, false},
	{"pdf", "pdf", {0}, false},
	{"ps", "ps2", {0}, false},
	{"gif", "gif", {0}, false},
	{"gv", "ps2", {"gv"}, false},
	{"evince", "pdf", {"evince"}, false},
	{"web", "svg", {"xdg-open", "x-www-browser", "google-chrome", "firefox"}, true},
};

static const struct picture *find_picture(const char *option)
{
	for (size_t i = 0; i < sizeof pictures / sizeof *pictures; i++)
		if (strcmp(pictures[i].option, option) == 0)
			return &pictures[i];
	return &pictures[0];
}

static char *write_number(const void *context, double value, char *out)
{
	return cairn_jeprof_number(context, value, out);
}

static bool write_dot(const struct cairn_jeprof_options *options, struct cairn_jeprof *jeprof,
		      struct cairn_buffer *out, struct cairn_error *error)
{
	const struct cairn_profile *profile = jeprof->view.profile;
	struct cairn_dot_options dot = {
		.shape = {.node_count = options->node_count,
			  .node_fraction = options->node_fraction,
			  .edge_fraction = options->edge_fraction},
		.max_degree = options->max_degree,
		.number = write_number,
		.number_context = jeprof,
		.plain = true,
		.program = options->program   ? options->program
			   : profile->facts.process ? cairn_profile_string(profile, profile->facts.process)
					      : NULL,
		.unit = cairn_jeprof_unit(jeprof),
		.total = jeprof->total,
	};
	return cairn_dot_text(&jeprof->view, &dot, out, error);
}

static bool write_temporary(char *path, size_t room, const char *suffix, struct cairn_bytes bytes, struct cairn_error *error)
{
	const char *folder = getenv("TMPDIR");
	snprintf(path, room, "%s/jeprof.XXXXXX.%s", folder && *folder ? folder : "/tmp", suffix);
	int descriptor = mkstemps(path, (int)strlen(suffix) + 1);
	if (descriptor < 0)
		return cairn_fail_errno(error, "%s", path);
	close(descriptor);
	return cairn_file_write(path, bytes, error);
}

static bool view_picture(const struct picture *picture, struct cairn_bytes bytes, struct cairn_error *error)
{
	char path[4096];
	if (!write_temporary(path, sizeof path, strcmp(picture->format, "ps2") == 0 ? "ps" : picture->format, bytes, error))
		return false;
	bool shown = false;
	for (size_t i = 0; !shown && picture->viewers[i]; i++) {
		struct cairn_buffer said = cairn_buffer(1 << 16);
		shown = cairn_process_read((const char *const[]){picture->viewers[i], path, NULL}, &said, error);
		cairn_buffer_free(&said);
	}
	if (!shown)
		return cairn_fail(error, "--%s: no program to show it could be run (%s); the picture is in %s", picture->option,
				  picture->viewers[0], path);
	if (!picture->stays)
		unlink(path);
	return true;
}

bool cairn_jeprof_picture(const struct cairn_jeprof_options *options, struct cairn_jeprof *jeprof, struct cairn_buffer *out,
			  struct cairn_error *error)
{
	const struct picture *picture = find_picture(options->picture);
	if (!picture->format)
		return write_dot(options, jeprof, out, error);
	struct cairn_buffer dot = cairn_buffer(SIZE_MAX), drawn = cairn_buffer(SIZE_MAX);
	bool good =
		write_dot(options, jeprof, &dot, error) && cairn_graphviz_render(cairn_buffer_bytes(&dot), picture->format, &drawn, error);
	if (good && picture->viewers[0]) {
		struct cairn_buffer page = cairn_buffer(SIZE_MAX);
		if (strcmp(picture->format, "svg") == 0)
			cairn_graph_svg(cairn_buffer_bytes(&drawn), &page);
		good = view_picture(picture, cairn_buffer_bytes(page.length ? &page : &drawn), error);
		cairn_buffer_free(&page);
	}
	if (good && !picture->viewers[0] && strcmp(picture->format, "svg") == 0)
		cairn_graph_svg(cairn_buffer_bytes(&drawn), out);
	else if (good && !picture->viewers[0])
		cairn_buffer_append(out, drawn.data, drawn.length);
	cairn_buffer_free(&dot);
	cairn_buffer_free(&drawn);
	return good;
}
