/* views_fuzz.c - any profile through every report, with filters taken from the input's first line.
 *
 * The first line is a regular expression for the filters and a tag filter, the rest a profile.
 * SPDX-License-Identifier: Apache-2.0 */
#include "base/text.h"
#include "profile/combine.h"
#include "profile/read.h"
#include "report/collapsed.h"
#include "report/diff.h"
#include "report/head.h"
#include "report/list.h"
#include "report/peek.h"
#include "report/tags.h"
#include "report/top.h"
#include "report/traces.h"
#include "report/tree.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void show_all(struct cairn_view *view, const char *text)
{
	static const struct cairn_shape shape = {.node_count = 50, .node_fraction = 0.001, .edge_fraction = 0.001};
	struct cairn_buffer out = cairn_buffer(1 << 20);
	struct cairn_json json = cairn_json(&out);
	struct cairn_graph graph;
	struct cairn_list list;
	struct cairn_tree tree;
	cairn_head_text(view, &shape, &out);
	cairn_head_json(view, &json);
	struct cairn_report reports[] = {cairn_report(view, &shape, &out, NULL), cairn_report(view, &shape, &out, &json)};
	cairn_graph_make(&graph, view, &shape);
	for (size_t i = 0; i < sizeof reports / sizeof *reports; i++) {
		cairn_top_write(&reports[i]);
		cairn_peek_write(&reports[i], &graph, NULL);
		cairn_diff_report(&reports[i]);
		cairn_traces_write(&reports[i]);
		cairn_tags_write(&reports[i]);
	}
	cairn_graph_free(&graph);
	cairn_tree_make(&tree, view, NULL);
	cairn_tree_free(&tree);
	struct cairn_pattern *pattern = cairn_pattern_compile(text, NULL);
	if (pattern && view->options.granularity == CAIRN_BY_LINE) {
		cairn_list_make(&list, view, pattern);
		static const struct cairn_source_search nowhere = {.folders = "/nonexistent", .confined = true};
		cairn_list_write(&list, &reports[0], &nowhere);
		cairn_list_write(&list, &reports[1], &nowhere);
		cairn_list_free(&list);
	}
	cairn_pattern_free(pattern);
	cairn_buffer_free(&out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct cairn_bytes rest = {(const char *)data, size}, line = {"", 0};
	struct cairn_error error;
	struct cairn_profile profile, sum;
	struct cairn_combine combine;
	if (!cairn_text_line(&rest, &line, NULL))
		return 0;
	char *text = strndup(line.data, line.length);
	struct cairn_view_options options = {.granularity = (int)(line.length % 4), .no_inlines = line.length % 3 == 0};
	const char **filters[] = {&options.filter.focus, &options.filter.ignore, &options.filter.hide,
				  &options.filter.show, &options.filter.show_from, &options.filter.exclude,
				  &options.filter.retain, &options.filter.tag_focus, &options.filter.tag_ignore};
	if (line.length > 0)
		*filters[line.length % (sizeof filters / sizeof *filters)] = text;
	cairn_profile_init(&profile);
	cairn_profile_init(&sum);
	cairn_combine_start(&combine, &sum);
	if (cairn_profile_read(&profile, rest, "fuzz", &(struct cairn_read_options){.split_threads = line.length % 2}, &error) &&
	    cairn_combine_add(&combine, &profile, 2, &error) && cairn_combine_add(&combine, &profile, -1, &error)) {
		struct cairn_view view;
		if (cairn_view_make(&view, &sum, &options, &error))
			show_all(&view, text);
		cairn_view_free(&view);
	}
	cairn_combine_finish(&combine);
	cairn_profile_free(&sum);
	cairn_profile_free(&profile);
	free(text);
	return 0;
}
