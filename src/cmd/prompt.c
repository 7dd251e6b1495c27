/* prompt.c - takes lines apart, and shows what they ask for.
 * SPDX-License-Identifier: Apache-2.0 */
#include "cmd/prompt.h"

#include "base/array.h"
#include "base/file.h"
#include "base/text.h"
#include "cmd/command.h"
#include "cmd/prompt/line.h"
#include "cmd/prompt/settings.h"
#include "report/jeprof.h"
#include "symbol/shorten.h"

#include <ctype.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

enum { words_most = 64, jeprof_rows = 10 };

struct shell {
	struct cairn_reload reload;
	struct cairn_settings settings;
	bool jeprof;
	struct cairn_arena arena; /* of candidates */
	const char **candidates;  /* for completion: commands, options, then functions */
	size_t candidate_count, candidate_capacity, first_name;
	unsigned pictures; /* written so far */
	bool failed;       /* standard output took no more */
};

/* One line, taken apart. */
struct line {
	char *words[words_most + 1];
	int count;
	const char *file; /* after >; NULL for none */
	struct cairn_arena arena;
};

static const struct cairn_command *find_view(const char *name)
{
	for (size_t i = 0; cairn_commands[i]; i++)
		if (cairn_commands[i]->view && !cairn_commands[i]->view->compares && strcmp(cairn_commands[i]->name, name) == 0)
			return cairn_commands[i];
	return NULL;
}

static void say(const struct cairn_error *error)
{
	cairn_print(stderr, "%s\n", error->text);
}

static void show_help(struct cairn_buffer *out)
{
	cairn_buffer_text(out, "Commands:\n");
	for (size_t i = 0; cairn_commands[i]; i++) {
		if (!find_view(cairn_commands[i]->name))
			continue;
		bool regex = cairn_commands[i]->view->takes_pattern;
		int width = 22 - (int)strlen(cairn_commands[i]->name);
		cairn_buffer_format(out, "  %s%-*s %s\n", cairn_commands[i]->name, width, regex ? " REGEX" : "",
				    cairn_commands[i]->summary);
	}
	cairn_buffer_text(
		out, "  top20, top 20          show 20 rows; works with any number\n"
		     "  web, svg, pdf, png     write the call graph to a file\n"
		     "  callgrind [FILE]       write calls between lines to FILE, for KCachegrind\n"
		     "  weblist REGEX          write a page with source code and instructions\n"
		     "  options, o             list all options and their values\n"
		     "  NAME=VALUE, NAME       set an option: focus=malloc, lines, cum\n"
		     "  NAME=                  unset an option\n"
		     "  quit                   leave the shell; so does Ctrl-D\n\n"
		     "After a command: --NAME=VALUE sets an option for this command only, REGEX keeps matching stacks, -REGEX drops them,\n"
		     "> FILE writes to a file. Tab completes commands, options and functions.\n");
}

/* Splits TEXT at blanks; quotes keep them together. */
static bool split(const char *text, struct line *line, struct cairn_error *error)
{
	bool to_file = false;
	while (*(text += strspn(text, " \t"))) {
		if (*text == '>') {
			to_file = true;
			text++;
			continue;
		}
		struct cairn_buffer word = cairn_buffer(1 << 16);
		for (char quote = 0; *text && (quote || (!isspace((unsigned char)*text) && *text != '>')); text++) {
			if (quote ? *text == quote : *text == '"' || *text == '\'')
				quote = quote ? 0 : *text;
			else
				cairn_buffer_byte(&word, *text);
		}
		char *copy = cairn_arena_text(&line->arena, cairn_buffer_bytes(&word));
		cairn_buffer_free(&word);
		if (to_file)
			line->file = copy;
		else if (line->count == words_most)
			return cairn_fail(error, "the line has more than %d words", words_most);
		else
			line->words[line->count++] = copy;
	}
	return !to_file || line->file || cairn_fail(error, "missing file name after >");
}

/* Output for another program goes to a file, whose ending also selects the format. */
static const struct picture {
	const char *word;
	const char *command;
	const char *ending;
} pictures[] = {
	{"flame", "flame", "svg"}, {"html", "html", "html"}, {"pprof", "pprof", "pb.gz"}, {"export", "export", "pb.gz"},
	{"graph", "graph", "svg"},
	{"web", "graph", "svg"},   {"svg", "graph", "svg"},  {"gv", "graph", "ps"},	 {"ps", "graph", "ps"},	 {"evince", "graph", "pdf"},
	{"weblist", "list", "html"},
	{"pdf", "graph", "pdf"},   {"png", "graph", "png"},  {"gif", "graph", "gif"},	 {"dot", "graph", "dot"},
};

static const struct picture *find_picture(const char *word)
{
	for (size_t i = 0; i < sizeof pictures / sizeof *pictures; i++)
		if (strcmp(pictures[i].word, word) == 0)
			return &pictures[i];
	return NULL;
}

/* Prints TEXT, through a pager if it does not fit on the terminal. */
static void show(struct shell *shell, struct cairn_bytes text)
{
	struct winsize size;
	size_t lines = 0;
	for (size_t i = 0; i < text.length; i++)
		lines += text.data[i] == '\n';
	if (isatty(STDOUT_FILENO) && ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && lines >= size.ws_row) {
		const char *pager = getenv("PAGER");
		FILE *pipe = popen(pager && *pager ? pager : "less -FRX", "w");
		if (pipe) {
			fwrite(text.data, 1, text.length, pipe);
			if (pclose(pipe) == 0)
				return;
		}
	}
	fflush(stdout); /* earlier output comes first */
	shell->failed |= cairn_say_output(NULL, text) != CAIRN_EXIT_DONE;
}

static void deliver(struct shell *shell, const struct line *line, struct cairn_bytes text)
{
	struct cairn_error error;
	if (!line->file)
		show(shell, text);
	else if (cairn_file_write(line->file, text, &error))
		cairn_print(stdout, "wrote %s\n", line->file);
	else
		say(&error);
}

static const char *either(struct line *line, const char *before, const char *word)
{
	return before ? cairn_arena_format(&line->arena, "%s|%s", before, word) : word;
}

static bool is_count(const char *word, uint64_t *count)
{
	struct cairn_bytes rest = cairn_bytes_of(word);
	return cairn_text_decimal(&rest, count) && rest.length == 0;
}

/* The words after a command that are not options: the pattern if it takes one, the number of rows, what to focus on, and -what to ignore.
 * Options are moved to ARGUMENTS. */
static int sort_words(const struct cairn_command *command, struct line *line, struct cairn_view_setup *setup, char **arguments)
{
	struct cairn_filter_options *filter = &setup->view.filter;
	const char *focus = NULL, *ignore = NULL;
	uint64_t rows;
	int count = 0;
	for (int i = 1; i < line->count; i++) {
		char *word = line->words[i];
		if (strcmp(word, "-n") == 0 && i + 1 < line->count && is_count(line->words[i + 1], &rows)) {
			setup->shape.node_count = rows;
			i++;
		} else if (strncmp(word, "-n", 2) == 0 && is_count(word + 2, &rows))
			setup->shape.node_count = rows;
		else if (word[0] == '-' && (word[1] == '-' || cairn_settings_apply_to(command, word + 1)))
			arguments[count++] = word[1] == '-' ? word : cairn_arena_format(&line->arena, "-%s", word);
		else if (word[0] == '-' && word[1])
			ignore = either(line, ignore, word + 1);
		else if (command->view->takes_pattern && !setup->pattern)
			setup->pattern = word;
		else if (is_count(word, &rows))
			setup->shape.node_count = rows;
		else
			focus = either(line, focus, word);
	}
	if (ignore)
		filter->ignore = either(line, filter->ignore, ignore);
	if (focus)
		filter->focus = focus;
	return count;
}

/* Prints the reports that jeprof formats differently. False if COMMAND is not one of them. */
static bool show_as_jeprof(const struct shell *shell, const struct cairn_profile *profile, const struct cairn_command *command,
			   const struct cairn_view_setup *setup, struct cairn_buffer *out, bool *good, struct cairn_error *error)
{
	bool is_page = setup->output && cairn_bytes_end_with(cairn_bytes_of(setup->output), ".html");
	bool is_top = command == &cairn_command_top, is_list = command == &cairn_command_list, is_disasm = command == &cairn_command_disasm;
	if (!shell->jeprof || setup->json || is_page || !(is_top || is_list || is_disasm))
		return false;
	struct cairn_jeprof jeprof;
	struct cairn_view_options view = setup->view;
	char total[32];
	if (!is_top) {
		view.granularity = is_list ? CAIRN_BY_LINE : CAIRN_BY_ADDRESS;
		view.no_inlines = true;
	}
	*good = cairn_jeprof_make(&jeprof, profile, &view, error);
	jeprof.show_bytes = setup->shape.bytes;
	jeprof.find = cairn_source_find(&setup->source);
	if (*good) {
		cairn_buffer_format(out, "Total: %s %s\n", cairn_jeprof_number(&jeprof, jeprof.total, total), cairn_jeprof_unit(&jeprof));
		if (is_top)
			cairn_jeprof_text(&jeprof, setup->shape.by_cum, cairn_view_shape(setup, jeprof_rows, 0, 0).node_count, out);
		else
			*good = (is_list ? cairn_jeprof_list : cairn_jeprof_disasm)(&jeprof, setup->pattern, out, error);
	}
	cairn_jeprof_free(&jeprof);
	return true;
}

/* The profile that COMMAND shows: split by thread if an option asks for it and the profile can. NULL if there is none, or if the command
 * refuses the options. */
static const struct cairn_profile *find_profile(struct shell *shell, const struct cairn_command *command,
						struct cairn_view_setup *setup, struct cairn_error *error)
{
	bool split = setup->source.split_threads;
	if (command->view->prepare)
		command->view->prepare(setup);
	if (command->view->check && !command->view->check(setup, error))
		return NULL;
	struct cairn_source_options source = setup->source;
	cairn_view_split_labels(&source, &setup->view.filter);
	const struct cairn_profile *profile = cairn_reload_get(&shell->reload, &source, error);
	if (profile || source.split_threads == split)
		return profile;
	source.split_threads = split;
	source.split_ages = source.split_sizes = source.every_kind = source.with_freed = false;
	return cairn_reload_get(&shell->reload, &source, error);
}

static void run_view(struct shell *shell, const struct cairn_command *command, struct line *line, uint64_t rows)
{
	struct cairn_error error;
	char *arguments[2 * words_most + 2] = {0};
	struct cairn_view_setup *setup = cairn_arena_zero(&line->arena, 1, command->options_size + 1);
	struct cairn_buffer out = cairn_buffer(SIZE_MAX);
	bool help = false, good;
	*setup = shell->settings.setup;
	setup->view.keep_wrappers |= shell->jeprof; /* its tables show who called malloc */
	if (rows)
		setup->shape.node_count = rows;
	int count = sort_words(command, line, setup, arguments);
	count += cairn_settings_extras(&shell->settings, command, &line->arena, arguments + count);
	const struct picture *picture = find_picture(line->words[0]);
	if (!line->file && picture)
		line->file = cairn_arena_format(&line->arena, "cairn.%d.%u.%s", (int)getpid(), shell->pictures++, picture->ending);
	setup->output = line->file;
	if (command->view->takes_pattern && !setup->pattern)
		good = cairn_fail(&error, "missing REGEX: %s REGEX", command->name);
	else
		good = cairn_options_parse(command, setup, &count, arguments, &help, &error);
	line->file = help ? NULL : setup->output;
	if (good && help)
		cairn_options_help(command, &out);
	else if (good) {
		const struct cairn_profile *profile = find_profile(shell, command, setup, &error);
		good = profile != NULL;
		if (good && !show_as_jeprof(shell, profile, command, setup, &out, &good, &error))
			good = cairn_view_show(command, setup, profile, &out, &error);
	}
	if (good)
		deliver(shell, line, cairn_buffer_bytes(&out));
	else
		say(&error);
	cairn_buffer_free(&out);
}

static void write_callgrind(struct shell *shell, struct line *line)
{
	struct cairn_error error;
	struct cairn_jeprof jeprof;
	struct cairn_buffer out = cairn_buffer(SIZE_MAX);
	if (line->count > 1)
		line->file = line->words[1];
	if (!line->file)
		line->file = cairn_arena_format(&line->arena, "cairn.%d.%u.callgrind", (int)getpid(), shell->pictures++);
	const struct cairn_profile *profile = cairn_reload_get(&shell->reload, &shell->settings.setup.source, &error);
	bool good = profile && cairn_jeprof_make(&jeprof, profile, &shell->settings.setup.view, &error);
	if (good) {
		cairn_jeprof_callgrind(&jeprof, &out);
		deliver(shell, line, cairn_buffer_bytes(&out));
	} else {
		say(&error);
	}
	if (profile)
		cairn_jeprof_free(&jeprof);
	cairn_buffer_free(&out);
}

/* "top20" is top with 20 rows; "text" is another name that jeprof has for top. */
static const struct cairn_command *find_command(char *word, uint64_t *rows)
{
	size_t letters = strlen(word);
	while (letters > 0 && isdigit((unsigned char)word[letters - 1]))
		letters--;
	*rows = 0;
	if (word[letters] && !is_count(word + letters, rows))
		return NULL;
	word[letters] = '\0';
	const struct picture *picture = find_picture(word);
	return find_view(strcmp(word, "text") == 0 ? "top" : picture ? picture->command : word);
}

/* False when there is no such option. */
static bool set_option(struct shell *shell, const char *word)
{
	struct cairn_error error;
	bool known;
	if (!cairn_settings_set(&shell->settings, &shell->reload, word, &known, &error) && known)
		say(&error);
	return known;
}

/* False when the person is done. */
static bool run_line(struct shell *shell, struct line *line)
{
	struct cairn_buffer out = cairn_buffer(SIZE_MAX);
	const char *word = line->words[0];
	uint64_t rows;
	if (line->count == 0)
		return true;
	if (strcmp(word, "quit") == 0 || strcmp(word, "exit") == 0 || strcmp(word, "q") == 0)
		return false;
	if (strcmp(word, "help") == 0)
		show_help(&out);
	else if (strcmp(word, "options") == 0 || strcmp(word, "o") == 0)
		cairn_settings_show(&shell->settings, &out);
	if (out.length) {
		deliver(shell, line, cairn_buffer_bytes(&out));
		cairn_buffer_free(&out);
		return true;
	}
	char *copy = cairn_arena_text(&line->arena, cairn_bytes_of(word));
	const struct cairn_command *command = find_command(copy, &rows);
	if (command)
		run_view(shell, command, line, rows);
	else if (strcmp(word, "callgrind") == 0)
		write_callgrind(shell, line);
	else if (line->count > 1 || !set_option(shell, word))
		cairn_print(stderr, "no command or option '%s'; 'help' lists them\n", word);
	return true;
}

static void add_candidate(struct shell *shell, const char *text)
{
	cairn_array_room(shell->candidates, shell->candidate_count, shell->candidate_capacity);
	shell->candidates[shell->candidate_count++] = text;
}

/* Completes names of functions up to the first character that has a meaning in a regular expression. */
static void add_names(struct shell *shell)
{
	const struct cairn_profile *profile = shell->reload.first;
	shell->first_name = shell->candidate_count;
	for (size_t i = 0; i < profile->function_count; i++) {
		const char *name = cairn_name_shorten(&shell->arena, cairn_profile_string(profile, profile->functions[i].name));
		size_t length = strcspn(name, " (<[{*+");
		if (length)
			add_candidate(shell, cairn_arena_text(&shell->arena, (struct cairn_bytes){name, length}));
	}
	size_t count = shell->candidate_count - shell->first_name, kept = shell->first_name;
	if (count)
		qsort(shell->candidates + shell->first_name, count, sizeof *shell->candidates, cairn_text_compare);
	for (size_t i = shell->first_name; i < shell->candidate_count; i++)
		if (i == shell->first_name || strcmp(shell->candidates[i], shell->candidates[kept - 1]) != 0)
			shell->candidates[kept++] = shell->candidates[i];
	shell->candidate_count = kept;
}

static void add_candidates(struct shell *shell)
{
	static const char *const own[] = {"help", "options", "quit", "callgrind", "web", "weblist"};
	for (size_t i = 0; i < sizeof own / sizeof *own; i++)
		add_candidate(shell, own[i]);
	for (size_t i = 0; cairn_commands[i]; i++)
		if (find_view(cairn_commands[i]->name))
			add_candidate(shell, cairn_commands[i]->name);
	const struct cairn_option *option;
	const void *value;
	for (size_t i = 0; (option = cairn_settings_option(&shell->settings, i, &value)); i++) {
		add_candidate(shell, cairn_arena_format(&shell->arena, "%s%s", option->name, option->argument ? "=" : ""));
		add_candidate(shell, cairn_arena_format(&shell->arena, "--%s%s", option->name, option->argument ? "=" : ""));
	}
	add_names(shell);
}

/* A first word is a command or an option; a later one an option or a function. */
static const char *candidate(void *context, const char *line, size_t start, size_t index)
{
	const struct shell *shell = context;
	bool first = strspn(line, " \t") >= start, option = !first && line[start] == '-';
	if (!first && !option)
		index += shell->first_name;
	size_t end = first || option ? shell->first_name : shell->candidate_count;
	return index < end ? shell->candidates[index] : NULL;
}

int cairn_prompt_run(const struct cairn_profile *profile, const struct cairn_view_setup *setup, int count, char **names, bool jeprof)
{
	struct shell shell = {
		.reload = {.first = profile, .first_options = setup->source, .count = count, .names = names},
		.settings.setup = *setup,
		.jeprof = jeprof,
	};
	signal(SIGINT, SIG_IGN);
	if (isatty(STDIN_FILENO))
		add_candidates(&shell);
	if (jeprof)
		fprintf(stderr, "Welcome to jeprof!  For help, type 'help'.\n");
	cairn_line_open(&(struct cairn_line_options){
		.prompt = jeprof ? "(jeprof) " : "(cairn) ", .prompt_always = jeprof, .candidate = candidate, .context = &shell});
	bool more = true;
	for (char *text; more && !shell.failed && (text = cairn_line_read());) {
		struct line line = {0};
		struct cairn_error error;
		if (split(text, &line, &error))
			more = run_line(&shell, &line);
		else
			say(&error);
		cairn_arena_free(&line.arena);
		free(text);
	}
	if (more && !shell.failed)
		fputc('\n', stderr);
	cairn_line_close();
	free(shell.candidates);
	cairn_reload_free(&shell.reload);
	cairn_settings_free(&shell.settings);
	cairn_arena_free(&shell.arena);
	return shell.failed ? CAIRN_EXIT_FAILED : CAIRN_EXIT_DONE;
}
