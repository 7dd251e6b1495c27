/* completion.c - `cairn completion SHELL`: completions for bash, zsh and fish, from the option tables.
 * SPDX-License-Identifier: Apache-2.0 */
#include "cmd/command.h"

#include <stdio.h>

/* The next listed command, from *I on; NULL at the end. */
static const struct cairn_command *next_command(size_t *i)
{
	while (cairn_commands[*i] && !cairn_commands[*i]->summary)
		++*i;
	return cairn_commands[*i] ? cairn_commands[(*i)++] : NULL;
}

typedef void option_visitor(const struct cairn_command *command, const struct cairn_option *option, struct cairn_buffer *out);

static void each_option(const struct cairn_command *command, option_visitor *visit, struct cairn_buffer *out)
{
	struct cairn_option_walk walk = {0};
	const struct cairn_option *option;
	while ((option = cairn_options_next(command, &walk)))
		if (cairn_option_is_listed(command, option))
			visit(command, option, out);
}

static void bash_option(const struct cairn_command *command, const struct cairn_option *option, struct cairn_buffer *out)
{
	(void)command;
	cairn_buffer_format(out, " --%s", option->name);
}

/* The processes with an agent, for a command that takes one: the first column of `cairn ps`. */
static const char profiled[] = "cairn ps --quiet 2>/dev/null | awk \"NR > 1 { print \\$1 }\"";

/* The user's own processes, for a command that takes any. */
static const char own[] = "ps -u \"$(id -un)\" -o pid= 2>/dev/null";

/* The shell command that lists the processes that COMMAND takes; NULL if it takes none. */
static const char *list_processes(const struct cairn_command *command)
{
	bool takes_profiled = strstr(command->arguments, "SOURCE") || strstr(command->arguments, "TARGET");
	return takes_profiled ? profiled : strcmp(command->arguments, "PID") == 0 ? own : NULL;
}

static void write_words(const struct cairn_option *option, struct cairn_buffer *out)
{
	for (size_t i = 0; option->words[i]; i++)
		cairn_buffer_format(out, "%s%s", i ? " " : "", option->words[i]);
}

/* A case for the word after an option that takes one of a few words. */
static void bash_words(const struct cairn_command *command, const struct cairn_option *option, struct cairn_buffer *out)
{
	if (!option->words)
		return;
	cairn_buffer_format(out, "\t%s:--%s) words='", command->name, option->name);
	write_words(option, out);
	cairn_buffer_text(out, "' files= ;;\n");
}

static void write_names(struct cairn_buffer *out)
{
	const struct cairn_command *command;
	for (size_t i = 0; (command = next_command(&i));)
		cairn_buffer_format(out, " %s", command->name);
}

static void write_bash(struct cairn_buffer *out)
{
	const struct cairn_command *command;
	cairn_buffer_format(out, "_cairn_profiled() { compgen -f -- \"$1\"; compgen -W \"$(%s)\" -- \"$1\"; }\n"
				 "_cairn_own() { compgen -W \"$(%s)\" -- \"$1\"; }\n", profiled, own);
	cairn_buffer_text(out, "_cairn() {\n\tlocal word=${COMP_WORDS[COMP_CWORD]} commands='");
	write_names(out);
	cairn_buffer_text(out,
			  "' words= files=-f\n\tif [ \"$COMP_CWORD\" -eq 1 ]; then\n\t\twords=\"help $commands --version --help\" files=\n"
			  "\telif [ \"${COMP_WORDS[1]}\" = help ]; then\n\t\twords=$commands files=\n"
			  "\telif [ \"${COMP_WORDS[1]}\" = completion ]; then\n\t\twords='bash zsh fish --help' files=\n"
			  "\telse\n\t\tcase ${COMP_WORDS[1]} in\n");
	for (size_t i = 0; (command = next_command(&i));) {
		cairn_buffer_format(out, "\t\t%s) words='--help", command->name);
		each_option(command, bash_option, out);
		const char *list = list_processes(command);
		cairn_buffer_format(out, "' %s;;\n", list == own ? "files=_cairn_own " : list ? "files=_cairn_profiled " : "");
	}
	cairn_buffer_text(out, "\t\tesac\n\tfi\n\tcase ${COMP_WORDS[1]}:${COMP_WORDS[COMP_CWORD-1]} in\n");
	for (size_t i = 0; (command = next_command(&i));)
		each_option(command, bash_words, out);
	cairn_buffer_text(out, "\t*) ;;\n\tesac\n\tif [[ $files == _cairn_* && $word != -* ]]; then\n"
			       "\t\tmapfile -t COMPREPLY < <($files \"$word\")\n\t\treturn\n\tfi\n");
	cairn_buffer_text(out, "\tif [ -z \"$files\" ] || [[ $word == -* ]]; then\n"
			       "\t\tmapfile -t COMPREPLY < <(compgen -W \"$words\" -- \"$word\")\n\telse\n"
			       "\t\tmapfile -t COMPREPLY < <(compgen -f -- \"$word\")\n\tfi\n}\ncomplete -o filenames -F _cairn cairn\n");
}

/* Help texts contain no quotes; this makes sure. */
static void quoted(const char *text, struct cairn_buffer *out)
{
	for (; *text; text++)
		if (*text != '\'' && *text != '[' && *text != ']' && *text != ':')
			cairn_buffer_byte(out, *text);
}

static void zsh_option(const struct cairn_command *command, const struct cairn_option *option, struct cairn_buffer *out)
{
	(void)command;
	cairn_buffer_format(out, " '--%s%s[", option->name, option->argument ? "=" : "");
	quoted(option->help, out);
	cairn_buffer_text(out, option->words ? "]:value:(" : option->argument ? "]:value:_files" : "]");
	if (option->words)
		write_words(option, out);
	cairn_buffer_text(out, option->words ? ")'" : "'");
}

static void write_zsh(struct cairn_buffer *out)
{
	const struct cairn_command *command;
	cairn_buffer_format(
		out,
		"#compdef cairn\n_cairn_profiled() {\n\tlocal -a processes=(${(f)\"$(%s)\"})\n"
		"\t_alternative 'files:file:_files' \"processes:process:($processes)\"\n}\n"
		"_cairn_own() {\n\tlocal -a processes=(${=${(f)\"$(%s)\"}})\n\t_alternative \"processes:process:($processes)\"\n}\n",
		profiled, own);
	cairn_buffer_text(out, "_cairn() {\n\tif (( CURRENT == 2 )); then\n\t\tlocal -a commands=(");
	for (size_t i = 0; (command = next_command(&i));) {
		cairn_buffer_format(out, " '%s:", command->name);
		quoted(command->summary, out);
		cairn_buffer_text(out, "'");
	}
	cairn_buffer_text(out, ")\n\t\t_describe command commands\n\t\treturn\n\tfi\n"
			       "\tlocal name=$words[2]\n\tshift words; (( CURRENT-- ))\n\tcase $name in\n");
	for (size_t i = 0; (command = next_command(&i));) {
		cairn_buffer_format(out, "\t%s) _arguments '--help[show the options]'", command->name);
		each_option(command, zsh_option, out);
		const char *list = list_processes(command);
		cairn_buffer_text(out, command == &cairn_command_completion ? " '*:shell:(bash zsh fish)' ;;\n" :
				       list == own ? " '*:process:_cairn_own' ;;\n" :
				       list ? " '*:source:_cairn_profiled' ;;\n" : " '*:source:_files' ;;\n");
	}
	cairn_buffer_text(out, "\thelp) _arguments '1:command:(");
	write_names(out);
	/* As a file in zsh's function path it is loaded and called at the first completion; otherwise it is sourced. */
	cairn_buffer_text(out,
			  ")' ;;\n\tesac\n}\nif [ \"$funcstack[1]\" = _cairn ]; then\n\t_cairn \"$@\"\nelse\n\tcompdef _cairn cairn\nfi\n");
}

static void fish_option(const struct cairn_command *command, const struct cairn_option *option, struct cairn_buffer *out)
{
	cairn_buffer_format(out, "complete -c cairn -n '__fish_seen_subcommand_from %s' -l %s", command->name, option->name);
	if (option->letter)
		cairn_buffer_format(out, " -s %c", option->letter);
	cairn_buffer_text(out, option->argument ? " -r" : "");
	if (option->words) {
		cairn_buffer_text(out, " -f -a '");
		write_words(option, out);
		cairn_buffer_text(out, "'");
	}
	cairn_buffer_text(out, " -d '");
	quoted(option->help, out);
	cairn_buffer_text(out, "'\n");
}

static void write_fish(struct cairn_buffer *out)
{
	const struct cairn_command *command;
	for (size_t i = 0; (command = next_command(&i));) {
		cairn_buffer_format(out, "complete -c cairn -n __fish_use_subcommand -f -a %s -d '", command->name);
		quoted(command->summary, out);
		cairn_buffer_text(out, "'\n");
	}
	for (size_t i = 0; (command = next_command(&i));) {
		each_option(command, fish_option, out);
		const char *list = list_processes(command);
		if (list)
			cairn_buffer_format(out, "complete -c cairn -n '__fish_seen_subcommand_from %s'%s -a '(%s)'\n", command->name,
					    list == own ? " -f" : "", list);
	}
	cairn_buffer_text(out, "complete -c cairn -n '__fish_seen_subcommand_from completion' -f -a 'bash zsh fish'\n"
			       "complete -c cairn -n __fish_use_subcommand -f -a help -d 'show the options of a command'\n"
			       "complete -c cairn -n '__fish_seen_subcommand_from help' -f -a '");
	write_names(out);
	cairn_buffer_text(out, "'\n");
}

static int run(const void *options, int operand_count, char **operands)
{
	(void)options;
	const char *shell = operand_count == 1 ? operands[0] : "";
	struct cairn_buffer out = cairn_buffer(SIZE_MAX);
	if (strcmp(shell, "bash") == 0)
		write_bash(&out);
	else if (strcmp(shell, "zsh") == 0)
		write_zsh(&out);
	else if (strcmp(shell, "fish") == 0)
		write_fish(&out);
	else
		return cairn_say_usage("completion needs one shell: bash, zsh or fish");
	int code = cairn_say_output(NULL, cairn_buffer_bytes(&out));
	cairn_buffer_free(&out);
	return code;
}

const struct cairn_command cairn_command_completion = {
	.name = "completion",
	.summary = "print completions for bash, zsh or fish",
	.arguments = "bash|zsh|fish",
	.detail = "For bash: source <(cairn completion bash)",
	.run = run,
};
