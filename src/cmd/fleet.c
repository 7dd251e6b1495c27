/* fleet.c - `cairn fleet`: questions to a store that many machines write to.
 *
 * A question is a word. Some are answered in cmd/fleet/; a report or picture is that command's, with the store as its source.
 * SPDX-License-Identifier: Apache-2.0 */
#include "base/array.h"
#include "cmd/command.h"
#include "cmd/fleet/answer.h"
#include "cmd/shared_options.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The questions that are answered here. Their names are the two words that people type; the second is the question. */
static const struct cairn_command questions[] = {
	{.name = "fleet services",
	 .summary = "what the store has: services, releases, instances",
	 .arguments = "",
	 .groups = cairn_fleet_answer_groups,
	 .options_size = sizeof(struct cairn_fleet_answer_options),
	 .run = cairn_fleet_answer_services},
	{.name = "fleet leaks",
	 .summary = "which call path grows, on how many instances, since which release",
	 .arguments = "",
	 .groups = cairn_fleet_answer_groups,
	 .options_size = sizeof(struct cairn_fleet_answer_options),
	 .run = cairn_fleet_answer_leaks},
	{.name = "fleet diff",
	 .summary = "how an instance of one release differs from one of another, with error bars",
	 .arguments = "",
	 .groups = cairn_fleet_diff_groups,
	 .options_size = sizeof(struct cairn_fleet_diff_options),
	 .run = cairn_fleet_answer_diff},
	{.name = "fleet bill",
	 .summary = "break down the resident memory of each release",
	 .arguments = "",
	 .groups = cairn_fleet_answer_groups,
	 .options_size = sizeof(struct cairn_fleet_answer_options),
	 .run = cairn_fleet_answer_bill},
	{.name = "fleet timeline",
	 .summary = "memory of all instances over time; with -o or --json by call path",
	 .arguments = "",
	 .groups = cairn_fleet_answer_groups,
	 .options_size = sizeof(struct cairn_fleet_answer_options),
	 .run = cairn_fleet_answer_timeline},
	{.name = "fleet kills",
	 .summary = "processes that have ended, and how",
	 .arguments = "",
	 .groups = cairn_fleet_answer_groups,
	 .options_size = sizeof(struct cairn_fleet_answer_options),
	 .run = cairn_fleet_answer_kills},
};

/* And those that are other commands'. */
static const struct cairn_command *const views[] = {&cairn_command_top, &cairn_command_tree, &cairn_command_traces,
						    &cairn_command_collapsed, &cairn_command_flame, &cairn_command_html,
						    &cairn_command_graph, &cairn_command_pprof, &cairn_command_timeline};

static const char *word_of(const struct cairn_command *question)
{
	return strchr(question->name, ' ') + 1;
}

static const struct cairn_option *find_option(const char *argument, size_t length)
{
	for (const struct cairn_option *option = cairn_fleet_option_table; option->name; option++)
		if (strlen(option->name) == length && strncmp(option->name, argument, length) == 0)
			return option;
	return NULL;
}

/* Takes the options of a question out of ARGV, and moves the others to its front. */
static bool take_options(int *argc, char **argv, struct cairn_fleet_options *options, struct cairn_error *error)
{
	int kept = 1;
	for (int i = 1; i < *argc; i++) {
		const char *name = argv[i] + 2, *equals = strchr(argv[i], '=');
		const struct cairn_option *option = strncmp(argv[i], "--", 2) == 0 ?
			find_option(name, equals ? (size_t)(equals - name) : strlen(name)) : NULL;
		if (!option) {
			argv[kept++] = argv[i];
			continue;
		}
		bool flag = option->kind == CAIRN_OPTION_FLAG;
		if (!equals && !flag && i + 1 == *argc)
			return cairn_fail_usage(error, "--%s takes a %s", option->name, option->argument);
		if (!cairn_option_set(option, (char *)options + option->offset, flag ? NULL : equals ? equals + 1 : argv[++i], error))
			return false;
	}
	*argc = kept;
	argv[kept] = NULL;
	return true;
}

/* Whether --help is among the words after a question. */
static bool wants_help(int argc, char **argv)
{
	for (int i = 1; i < argc; i++)
		if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0)
			return true;
	return false;
}

/* The options of VIEW as a question: its own, and those that say what is asked about. It has no SOURCE, since the store is that. */
static int help_view(const struct cairn_command *view)
{
	size_t count = 0;
	while (view->groups[count].options)
		count++;
	struct cairn_option_group *groups = cairn_array_zero(count + 2, sizeof *groups);
	memcpy(groups, view->groups, count * sizeof *groups);
	groups[count] = (struct cairn_option_group){"selection", cairn_fleet_option_table, 0};
	char name[40];
	snprintf(name, sizeof name, "fleet %s", view->name);
	struct cairn_command question = {
		.name = name,
		.summary = view->summary,
		.arguments = "",
		.detail = "Shows what the chosen instances hold, as one profile.",
		.groups = groups,
		.refusals = view->refusals,
	};
	struct cairn_buffer out = cairn_buffer(SIZE_MAX);
	cairn_options_help(&question, &out);
	int code = cairn_say_output(NULL, cairn_buffer_bytes(&out));
	cairn_buffer_free(&out);
	free(groups);
	return code;
}

static int run_view(const struct cairn_command *view, int argc, char **argv)
{
	if (wants_help(argc, argv))
		return help_view(view);
	struct cairn_error error;
	struct cairn_fleet_options options = {0};
	struct cairn_buffer source = cairn_buffer(1 << 20);
	struct cairn_arena arena = {0};
	bool good = take_options(&argc, argv, &options, &error) && (options.store = cairn_store_name(options.store, &arena, &error));
	if (good && options.version && strstr(options.version, ".."))
		good = cairn_fail_usage(&error, "--version A..B is for diff; %s shows one release", view->name);
	if (good) {
		cairn_fleet_source_name(&options, &source);
		cairn_buffer_byte(&source, 0);
	}
	char **arguments = cairn_array_zero((size_t)argc + 3, sizeof *arguments);
	memcpy(arguments, argv, (size_t)argc * sizeof *arguments);
	if (source.length)
		arguments[argc++] = source.data;
	int code = good ? cairn_run_command(view, argc, arguments) : cairn_say_failure(&error);
	free(arguments);
	cairn_arena_free(&arena);
	cairn_buffer_free(&source);
	return code;
}

/* The options that all questions take, and the questions. */
static int show_questions(int code)
{
	struct cairn_buffer out = cairn_buffer(SIZE_MAX);
	struct cairn_command any = cairn_command_fleet;
	any.name = "fleet QUESTION"; /* the options come after it */
	any.arguments = "";
	cairn_options_help(&any, &out);
	cairn_buffer_text(&out, "\nquestions:\n");
	for (size_t i = 0; i < sizeof questions / sizeof *questions; i++)
		cairn_buffer_format(&out, "  %-12s %s\n", word_of(&questions[i]), questions[i].summary);
	for (size_t i = 0; i < sizeof views / sizeof *views && views[i] != &cairn_command_timeline; i++)
		cairn_buffer_format(&out, "  %-12s %s\n", views[i]->name, views[i]->summary);
	int written = cairn_say_output(NULL, cairn_buffer_bytes(&out));
	cairn_buffer_free(&out);
	return code == CAIRN_EXIT_DONE ? written : code;
}

/* Whether a timeline is to be drawn, by the command of that name; else it is a table. */
static bool is_picture(int argc, char **argv)
{
	for (int i = 2; i < argc; i++)
		if (strncmp(argv[i], "-o", 2) == 0 || strncmp(argv[i], "--output", 8) == 0 || strncmp(argv[i], "--format", 8) == 0 ||
		    strcmp(argv[i], "--json") == 0)
			return strcmp(argv[1], "timeline") == 0;
	return false;
}

static int unknown_question(const char *word)
{
	struct cairn_error error;
	const char *nearest = NULL;
	size_t best = SIZE_MAX;
	for (size_t i = 0; i < sizeof questions / sizeof *questions; i++)
		cairn_consider_word(word, word_of(&questions[i]), &nearest, &best);
	for (size_t i = 0; i < sizeof views / sizeof *views; i++)
		cairn_consider_word(word, views[i]->name, &nearest, &best);
	if (word[0] == '-')
		cairn_fail_usage(&error, "%s comes after the question: cairn fleet QUESTION [options]", word);
	else if (nearest)
		cairn_fail_usage(&error, "no question '%s'; did you mean '%s'?", word, nearest);
	else
		cairn_fail_usage(&error, "no question '%s'; 'cairn fleet --help' lists them", word);
	return cairn_say_failure(&error);
}

static int run(int argc, char **argv)
{
	if (argc < 2 || strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0)
		return show_questions(argc < 2 ? CAIRN_EXIT_USAGE : CAIRN_EXIT_DONE);
	const char *word = strcmp(argv[1], "rss") == 0 ? "bill" : argv[1]; /* `cairn rss` is the same of one process */
	for (size_t i = 0; i < sizeof questions / sizeof *questions; i++)
		if (strcmp(word, word_of(&questions[i])) == 0 && !is_picture(argc, argv))
			return cairn_run_command(&questions[i], argc - 1, argv + 1);
	for (size_t i = 0; i < sizeof views / sizeof *views; i++)
		if (strcmp(argv[1], views[i]->name) == 0)
			return run_view(views[i], argc - 1, argv + 1);
	return unknown_question(argv[1]);
}

const struct cairn_command cairn_command_fleet = {
	.name = "fleet",
	.summary = "ask a store about all instances of a service",
	.arguments = "QUESTION",
	.groups = cairn_fleet_answer_groups,
	.options_size = sizeof(struct cairn_fleet_answer_options),
	.run_arguments = run,
};
