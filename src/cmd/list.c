/* list.c - `cairn list`: source code with what each line of it holds.
 * SPDX-License-Identifier: Apache-2.0 */
#include "cmd/command.h"
#include "cmd/view.h"
#include "report/list_html.h"

struct options {
	struct cairn_view_setup setup;
	const char *source_path;
};

static const struct cairn_option table[] = {
	{0, "source-path", "FOLDERS", "folders to search for source files, separated by colons (default: the current folder)",
	 CAIRN_OPTION_TEXT, offsetof(struct options, source_path), 0},
	{0},
};

static const struct cairn_option_group groups[] = {
	{NULL, table, 0},
	{NULL, cairn_report_option_table, 0},
	{NULL, cairn_order_option_table, 0},
	CAIRN_VIEW_GROUPS,
	{"output", cairn_output_option_table, 0},
	{0},
};

static const struct cairn_option_refusal refusals[] = {
	{"nodecount", NULL}, {"rows", NULL}, {"cum", NULL}, {"nodefraction", NULL}, {"edgefraction", NULL},
	{"functions", NULL}, {"files", NULL}, {"addresses", NULL}, CAIRN_UNFOLDED_REFUSALS,
	{0},
};

static void prepare(void *values)
{
	struct options *options = values;
	options->setup.view.granularity = CAIRN_BY_LINE;
}

static bool show(const void *values, struct cairn_report *report, struct cairn_error *error)
{
	const struct options *options = values;
	struct cairn_list list;
	struct cairn_pattern *pattern = cairn_pattern_compile(options->setup.pattern, error);
	if (!pattern)
		return false;
	bool any = cairn_list_make(&list, report->view, pattern);
	struct cairn_source_search search = cairn_source_search(report->view->profile, options->source_path);
	struct cairn_bytes output = cairn_bytes_of(options->setup.output ? options->setup.output : "");
	struct cairn_find_options find = cairn_source_find(&options->setup.source);
	if (cairn_bytes_end_with(output, ".html"))
		cairn_list_html(&list, report->view, options->setup.pattern, &search, &find, report->out);
	else
		cairn_list_write(&list, report, &search);
	cairn_list_free(&list);
	cairn_pattern_free(pattern);
	return any || cairn_fail(error, "no function matches '%s'; 'cairn top' lists the names", options->setup.pattern);
}

const struct cairn_command cairn_command_list = {
	.name = "list",
	.summary = "show source code with the memory allocated on each line",
	.arguments = "REGEX SOURCE...",
	.detail = "With -o FILE.html, writes a page that also shows the instructions of each line.",
	.groups = groups,
	.refusals = refusals,
	.options_size = sizeof(struct options),
	.view = &(const struct cairn_view_command){
		.takes_pattern = true, .suffixes = (const char *const[]){".html", NULL}, .prepare = prepare, .show = show},
};
