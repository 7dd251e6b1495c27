/* manual.c - `cairn manual COMMAND`: the options of a command in scdoc's markup, for its man page. Used by the build.
 * SPDX-License-Identifier: Apache-2.0 */
#include "cmd/command.h"

/* scdoc takes _ and * for markup; a backslash makes them plain. */
static void plain(const char *text, struct cairn_buffer *out)
{
	for (; *text; text++) {
		if (strchr("_*\\#[]~", *text))
			cairn_buffer_byte(out, '\\');
		cairn_buffer_byte(out, *text);
	}
}

static void write_option(const struct cairn_option *option, struct cairn_buffer *out)
{
	if (option->letter)
		cairn_buffer_format(out, "*-%c*, ", option->letter);
	cairn_buffer_format(out, "*--%s*", option->name);
	if (option->argument) {
		cairn_buffer_text(out, " _");
		plain(option->argument, out);
		cairn_buffer_byte(out, '_');
	}
	cairn_buffer_text(out, "\n\t");
	plain(option->help, out);
	cairn_buffer_text(out, "\n\n");
}

static int run(const void *options, int operand_count, char **operands)
{
	(void)options;
	const struct cairn_command *command = NULL;
	for (size_t i = 0; operand_count == 1 && cairn_commands[i]; i++)
		if (strcmp(cairn_commands[i]->name, operands[0]) == 0)
			command = cairn_commands[i];
	if (!command)
		return cairn_say_usage("manual needs the name of one command");
	struct cairn_buffer out = cairn_buffer(SIZE_MAX);
	for (const struct cairn_option_group *group = command->groups; group && group->options; group++) {
		if (group->title && cairn_option_group_is_listed(command, group))
			cairn_buffer_format(&out, "## %s\n\n", group->title);
		for (const struct cairn_option *option = group->options; option->name; option++)
			if (cairn_option_is_listed(command, option))
				write_option(option, &out);
	}
	cairn_buffer_text(&out, "## every command\n\n");
	for (const struct cairn_option *option = cairn_options_common(command); option->name; option++)
		write_option(option, &out);
	int code = cairn_say_output(NULL, cairn_buffer_bytes(&out));
	cairn_buffer_free(&out);
	return code;
}

const struct cairn_command cairn_command_manual = {
	.name = "manual",
	.arguments = "COMMAND",
	.run = run,
};
