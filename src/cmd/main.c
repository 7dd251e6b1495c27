/* main.c - finds and runs the command, by its name or by the name of the program.
 * SPDX-License-Identifier: Apache-2.0 */
#include "base/array.h"
#include "base/path.h"
#include "base/text.h"
#include "base/url.h"
#include "cmd/command.h"
#include "cmd/view.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

const struct cairn_command *const cairn_commands[] = {
	&cairn_command_run,
	&cairn_command_attach,
	&cairn_command_detach,
	&cairn_command_watch,
	&cairn_command_serve,
	&cairn_command_ps,

	&cairn_command_status,
	&cairn_command_activate,
	&cairn_command_deactivate,
	&cairn_command_reset,
	&cairn_command_dump,
	&cairn_command_gdump,
	&cairn_command_cpu,
	&cairn_command_stats,

	&cairn_command_top,
	&cairn_command_tree,
	&cairn_command_peek,
	&cairn_command_traces,
	&cairn_command_list,
	&cairn_command_disasm,
	&cairn_command_tags,
	&cairn_command_raw,
	&cairn_command_collapsed,
	&cairn_command_shell,

	&cairn_command_leaks,
	&cairn_command_timeline,
	&cairn_command_churn,
	&cairn_command_diff,
	&cairn_command_rss,
	&cairn_command_why,
	&cairn_command_dumps,
	&cairn_command_doctor,

	&cairn_command_flame,
	&cairn_command_flamegraph,
	&cairn_command_html,
	&cairn_command_graph,
	&cairn_command_gallery,
	&cairn_command_gen_flamegraph,
	&cairn_command_pprof,
	&cairn_command_export,

	&cairn_command_collect,
	&cairn_command_store,
	&cairn_command_fleet,
	&cairn_command_symbols,

	&cairn_command_jeprof,
	&cairn_command_addr2line,
	&cairn_command_cache,
	&cairn_command_completion,
	&cairn_command_manual,
	NULL,
};

/* The headings in `cairn help`, each above a command of that list and those that follow. */
static const struct {
	const struct cairn_command *first;
	const char *title;
} headings[] = {
	{&cairn_command_run, "profile a process"},
	{&cairn_command_status, "control a profiled process"},
	{&cairn_command_top, "read a profile"},
	{&cairn_command_leaks, "find out what grows, and what resident memory is"},
	{&cairn_command_flame, "draw and convert"},
	{&cairn_command_collect, "many machines"},
	{&cairn_command_jeprof, "replace other tools, and the rest"},
};

static const struct cairn_command *find_command(const char *name)
{
	for (size_t i = 0; cairn_commands[i]; i++)
		if (strcmp(cairn_commands[i]->name, name) == 0)
			return cairn_commands[i];
	static const struct cairn_command *const untyped[] = {&cairn_command_beside, &cairn_command_inside};
	for (size_t i = 0; i < sizeof untyped / sizeof *untyped; i++)
		if (strcmp(name, untyped[i]->name) == 0)
			return untyped[i];
	return NULL;
}

/* Takes users and passwords out of whatever may name a server. An argument takes precedence over the environment. */
static bool set_credentials_aside(int argc, char **argv, struct cairn_error *error)
{
	bool good = true;
	for (int i = 1; i < argc; i++)
		good = cairn_url_set_aside(argv[i], good ? error : NULL) && good;
	char *store = getenv("CAIRN_STORE") ? strdup(getenv("CAIRN_STORE")) : NULL;
	if (store) {
		cairn_url_set_aside(store, NULL);
		setenv("CAIRN_STORE", store, 1);
		free(store);
	}
	return good;
}

int cairn_run_command(const struct cairn_command *command, int argc, char **argv)
{
	struct cairn_error error;
	bool help;
	if (!command->runs_another && !set_credentials_aside(argc, argv, &error))
		return cairn_say_failure(&error);
	if (command->run_arguments)
		return command->run_arguments(argc, argv);
	void *options = cairn_array_zero(1, command->options_size + 1);
	if (command->view || command->has_setup)
		cairn_view_set_not_given(options);
	int operand_count = argc - 1, code;
	if (!cairn_options_parse(command, options, &operand_count, argv + 1, &help, &error)) {
		code = cairn_say_failure(&error);
	} else if (help) {
		struct cairn_buffer out = cairn_buffer(SIZE_MAX);
		cairn_options_help(command, &out);
		code = cairn_say_output(NULL, cairn_buffer_bytes(&out));
		cairn_buffer_free(&out);
	} else {
		code = command->run ? command->run(options, operand_count, argv + 1)
				    : cairn_view_run(command, options, operand_count, argv + 1);
	}
	free(options);
	return code;
}

static int show_help(void)
{
	struct cairn_buffer out = cairn_buffer(SIZE_MAX);
	cairn_buffer_text(&out, "cairn - heap profiler: where a service's memory is, how it changes, and why\n\n"
				"usage: cairn COMMAND [options] ...\n");
	for (size_t i = 0, heading = 0; cairn_commands[i]; i++) {
		if (heading < sizeof headings / sizeof *headings && headings[heading].first == cairn_commands[i])
			cairn_buffer_format(&out, "\n%s:\n", headings[heading++].title);
		if (cairn_commands[i]->summary)
			cairn_buffer_format(&out, "  %-12s %s\n", cairn_commands[i]->name, cairn_commands[i]->summary);
	}
	cairn_buffer_text(&out, "\n'cairn COMMAND --help' shows the options of a command, 'cairn --version' the version.\n");
	int code = cairn_say_output(NULL, cairn_buffer_bytes(&out));
	cairn_buffer_free(&out);
	return code;
}

void cairn_consider_word(const char *name, const char *word, const char **nearest, size_t *best)
{
	size_t distance = cairn_text_distance(name, word), most = strlen(name) / 3;
	if (distance <= (most > 1 ? most : 1) && distance < *best) {
		*best = distance;
		*nearest = word;
	}
}

static int unknown_command(char *name)
{
	struct cairn_error error;
	cairn_url_set_aside(name, NULL);
	const char *nearest = strcmp(name, "-v") == 0 || strcmp(name, "version") == 0 ? "--version" : NULL;
	size_t best = nearest ? 0 : SIZE_MAX;
	for (size_t i = 0; cairn_commands[i]; i++)
		cairn_consider_word(name, cairn_commands[i]->name, &nearest, &best);
	cairn_consider_word(name, "help", &nearest, &best);
	cairn_consider_word(name, "--help", &nearest, &best);
	cairn_consider_word(name, "--version", &nearest, &best);
	if (nearest)
		cairn_fail_usage(&error, "no command '%s'; did you mean '%s'?", name, nearest);
	else
		cairn_fail_usage(&error, "no command '%s'; 'cairn help' lists them", name);
	return cairn_say_failure(&error);
}

static int dispatch(int argc, char **argv)
{
	const char *name = argc > 0 ? cairn_base_name(argv[0]) : "cairn";
	const struct cairn_command *command = find_command(name);
	if (command && command->run_arguments)
		return cairn_run_command(command, argc, argv);
	if (argc < 2 || strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0)
		return argc < 2 ? (show_help(), CAIRN_EXIT_USAGE) : show_help();
	if (strcmp(argv[1], "--version") == 0 || strcmp(argv[1], "-V") == 0) {
		puts("cairn " CAIRN_VERSION);
		return CAIRN_EXIT_DONE;
	}
	if (strcmp(argv[1], "help") == 0) {
		if (argc == 2 || strcmp(argv[2], "help") == 0)
			return show_help();
		command = find_command(argv[2]);
		char help[] = "--help";
		return command ? cairn_run_command(command, 2, (char *[]){argv[2], help, NULL}) : unknown_command(argv[2]);
	}
	command = find_command(argv[1]);
	return command ? cairn_run_command(command, argc - 1, argv + 1) : unknown_command(argv[1]);
}

/* Output that was printed line by line is checked here: a full disk must not look like success. A closed pipe is no failure. */
int main(int argc, char **argv)
{
	signal(SIGPIPE, SIG_IGN);
	cairn_note_taker.note = cairn_say_note;
	if (isatty(STDERR_FILENO))
		cairn_note_taker.progress = cairn_say_progress;
	int code = dispatch(argc, argv);
	errno = EIO; /* of an earlier write the reason is forgotten */
	if ((fflush(stdout) == 0 && !ferror(stdout)) || errno == EPIPE)
		return code;
	struct cairn_error error;
	cairn_fail_errno(&error, "cannot write standard output");
	return code == CAIRN_EXIT_DONE ? cairn_say_error(error.text) : code;
}
