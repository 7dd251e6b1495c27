/* top.c - `cairn top`: who holds the memory.
 * SPDX-License-Identifier: Apache-2.0 */
#include "cmd/command.h"
#include "cmd/view.h"
#include "report/tags.h"
#include "report/top.h"

enum { default_rows = 30 };

static bool show(const void *options, struct cairn_view *view, struct cairn_buffer *out, struct cairn_json *json, struct cairn_error *error)
{
	(void)error;
	struct cairn_shape shape = cairn_view_shape(options, default_rows, 0, 0);
	struct cairn_top top;
	cairn_top_make(&top, view, &shape);
	if (json)
		cairn_top_json(&top, view, json);
	else
		cairn_top_text(&top, view, &shape, out);
	cairn_top_free(&top);
	if (((const struct cairn_view_setup *)options)->source.tree && json) {
		cairn_tags_json(view, &shape, json);
	} else if (((const struct cairn_view_setup *)options)->source.tree) {
		cairn_buffer_byte(out, '\n');
		cairn_tags_text(view, &shape, out);
	}
	return true;
}

const struct cairn_command cairn_command_top = {
	.name = "top",
	.summary = "show which functions hold the memory",
	.arguments = "SOURCE...",
	.detail = "Shows 30 rows by default.",
	.groups = cairn_report_groups,
	.options_size = sizeof(struct cairn_view_setup),
	.view = &(const struct cairn_view_command){.show = show},
};
