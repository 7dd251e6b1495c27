/* raw.c - `cairn raw`: everything in a profile, as plain text.
 * SPDX-License-Identifier: Apache-2.0 */
#include "cmd/command.h"
#include "cmd/shared_options.h"
#include "cmd/suffix.h"
#include "live/source.h"
#include "report/raw.h"

struct options {
	struct cairn_source_options source;
	const char *output;
	bool threads;
};

static const struct cairn_option table[] = {
	{0, "threads", NULL, "split each stack by thread", CAIRN_OPTION_FLAG, offsetof(struct options, threads), 0},
	{'o', "output", "FILE", "write to FILE instead of standard output", CAIRN_OPTION_TEXT, offsetof(struct options, output), 0},
	{0},
};

static const struct cairn_option_group groups[] = {
	{NULL, table, 0},
	{"sums and differences", cairn_combine_option_table, offsetof(struct options, source)},
	{"instead of live memory", cairn_shown_option_table, offsetof(struct options, source)},
	{"sources", cairn_source_option_table, offsetof(struct options, source)},
	{0},
};

static int run(const void *values, int operand_count, char **operands)
{
	const struct options *options = values;
	struct cairn_source_options source = options->source;
	source.split_threads = options->threads;
	struct cairn_error error;
	struct cairn_profile profile;
	int code;
	if (!cairn_suffix_check("raw", options->output, NULL, &error))
		return cairn_say_failure(&error);
	if (!cairn_source_load(&profile, &source, operand_count, operands, &error)) {
		code = cairn_say_failure(&error);
	} else {
		struct cairn_buffer out = cairn_buffer(SIZE_MAX);
		cairn_raw_text(&profile, &out);
		code = cairn_say_output(options->output, cairn_buffer_bytes(&out));
		cairn_buffer_free(&out);
	}
	cairn_profile_free(&profile);
	return code;
}

const struct cairn_command cairn_command_raw = {
	.name = "raw",
	.summary = "print everything in a profile as plain text",
	.arguments = "SOURCE...",
	.detail = "doc/formats.md describes the listing.",
	.groups = groups,
	.options_size = sizeof(struct options),
	.run = run,
};
