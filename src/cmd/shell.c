/* shell.c - `cairn shell`: a prompt for one profile.
 * SPDX-License-Identifier: Apache-2.0 */
#include "cmd/command.h"
#include "cmd/prompt.h"

static int run(const void *options, int operand_count, char **operands)
{
	const struct cairn_view_setup *setup = options;
	struct cairn_profile profile;
	struct cairn_error error;
	struct cairn_source_options source = setup->source;
	bool good = cairn_source_load(&profile, &source, operand_count, operands, &error);
	int code = good ? cairn_prompt_run(&profile, setup, operand_count, operands, false) : cairn_say_failure(&error);
	cairn_profile_free(&profile);
	return code;
}

const struct cairn_command cairn_command_shell = {
	.name = "shell",
	.summary = "explore one profile interactively",
	.arguments = "SOURCE...",
	.detail = "Reads the profile once, and again when a source option changes. "
		  "At the prompt, 'help' lists the commands and 'options' the options.",
	.groups = cairn_report_groups,
	.options_size = sizeof(struct cairn_view_setup),
	.has_setup = true,
	.run = run,
};
