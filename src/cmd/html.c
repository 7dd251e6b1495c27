/* html.c - `cairn html`: the profile as a page to look around in, in one file.
 * SPDX-License-Identifier: Apache-2.0 */
#include "cmd/command.h"
#include "cmd/view.h"
#include "report/page.h"

struct options {
	struct cairn_view_setup setup;
	const char *title;
	uint64_t node_most;
};

#define AT(member) offsetof(struct options, member)

static const struct cairn_option table[] = {
	{0, "title", "TEXT", "the heading, instead of the process", CAIRN_OPTION_TEXT, AT(title), 0},
	{0, "nodes", "N", "keep the N largest nodes of the call tree in the file (1000000)", CAIRN_OPTION_COUNT, AT(node_most), 0},
	{0},
};

static const struct cairn_option_group groups[] = {
	{NULL, cairn_output_option_table, 0},
	{"the page", table, 0},
	{"what is shown", cairn_view_option_table, 0},
	{"filters", cairn_filter_option_table, 0},
	{"sources", cairn_source_option_table, offsetof(struct cairn_view_setup, source)},
	{0},
};

static void prepare(void *values)
{
	struct options *options = values;
	options->setup.source.split_threads = true;
	options->setup.source.columns_compare = true;
}

static bool show(const void *values, struct cairn_view *view, struct cairn_buffer *out, struct cairn_json *json, struct cairn_error *error)
{
	(void)json, (void)error;
	const struct options *options = values;
	cairn_page_write(view, &(struct cairn_page_options){.title = options->title, .node_most = (size_t)options->node_most}, out);
	return true;
}

const struct cairn_command cairn_command_html = {
	.name = "html",
	.summary = "one HTML file to look around in: flame graph, table, callers, threads",
	.arguments = "SOURCE...",
	.detail = "The file needs nothing else: no network, no server. With --base it shows what changed, red for what grew and blue for what shrank.",
	.groups = groups,
	.options_size = sizeof(struct options),
	.view = &(const struct cairn_view_command){.bare = true, .prepare = prepare, .show = show},
};
