/* top.c - `cairn top`: who holds the memory.
 * SPDX-License-Identifier: Apache-2.0 */
#include "cmd/command.h"
#include "cmd/view.h"
#include "report/tags.h"
#include "report/top.h"
#include "symbol/wrapper.h"

enum { default_rows = 30 };

static const struct cairn_option_refusal refusals[] = {{"edgefraction", NULL}, CAIRN_UNFOLDED_REFUSALS, {0}};

/* The table is jeprof's, which charges memory to zmalloc or the growth of a vector. */
static void note_wrapper(const struct cairn_view_setup *setup, const struct cairn_view *view, const struct cairn_top *top)
{
	const struct cairn_view_options *options = &setup->view;
	bool functions = options->granularity == CAIRN_BY_FUNCTION && !options->full_names && view->profile->kind == CAIRN_PROFILE_HEAP;
	bool chosen = options->fold_wrappers || options->keep_wrappers || options->wrappers || options->all_frames;
	if (!functions || chosen || top->shown == 0 || !(top->rows[0].flat > 0))
		return;
	struct cairn_bytes name = cairn_view_name(view, top->rows[0].entry);
	if (cairn_wrapper_is(name.data, NULL))
		cairn_note("%.*s allocates for its callers; --fold-wrappers charges the memory to them",
			   (int)(name.length < 120 ? name.length : 120), name.data);
}

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
	if (!json)
		note_wrapper(options, view, &top);
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
	.refusals = refusals,
	.options_size = sizeof(struct cairn_view_setup),
	.view = &(const struct cairn_view_command){.show = show},
};
