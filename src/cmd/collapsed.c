/* collapsed.c - `cairn collapsed`: folded text for flame graph tools.
 * SPDX-License-Identifier: Apache-2.0 */
#include "cmd/command.h"
#include "cmd/source.h"
#include "cmd/view.h"
#include "report/collapsed.h"

struct options {
	struct cairn_source_options source;
	struct cairn_view_options view;
	const char *output;
};

static const struct cairn_option table[] = {
	{'o', "output", "FILE", "write to FILE instead of standard output", CAIRN_OPTION_TEXT, offsetof(struct options, output), 0},
	{0},
};

static const struct cairn_option_group groups[] = {
	{NULL, table, 0},
	{"what is shown", cairn_view_option_table, offsetof(struct options, view)},
	{"sources", cairn_source_option_table, offsetof(struct options, source)},
	{0},
};

static int run(const void *values, int operand_count, char **operands)
{
	const struct options *options = values;
	struct cairn_error error;
	struct cairn_profile profile;
	struct cairn_view view = {0};
	int code;
	if (!cairn_source_load(&profile, &options->source, operand_count, operands, &error) ||
	    !cairn_view_make(&view, &profile, &options->view, &error)) {
		code = cairn_say_error(error.text);
	} else {
		struct cairn_buffer out = cairn_buffer(SIZE_MAX);
		cairn_collapsed_text(&view, &out);
		code = cairn_say_output(options->output, cairn_buffer_bytes(&out));
		cairn_buffer_free(&out);
	}
	cairn_view_free(&view);
	cairn_profile_free(&profile);
	return code;
}

const struct cairn_command cairn_command_collapsed = {
	.name = "collapsed",
	.summary = "folded text, one line for each stack, root to leaf",
	.arguments = "SOURCE...",
	.groups = groups,
	.options_size = sizeof(struct options),
	.run = run,
};
