/* option.c - parsing by table: -x, --name value, --name=value, unique abbreviations, options before and after operands.
 * SPDX-License-Identifier: Apache-2.0 */
#include "cmd/option.h"

#include "base/text.h"
#include "protocol/config.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>

bool cairn_option_quiet;

struct match {
	const struct cairn_option *option;
	void *value;
	unsigned hits;
};

static bool same_letter(char a, char b)
{
	return a == b || (a == '-' && b == '_') || (a == '_' && b == '-');
}

/* 2 if TYPED is NAME, 1 if it is the beginning of NAME, else 0. */
static int compare_name(const char *name, struct cairn_bytes typed)
{
	for (size_t i = 0; i < typed.length; i++)
		if (!name[i] || !same_letter(name[i], typed.data[i]))
			return 0;
	return name[typed.length] ? 1 : 2;
}

const struct cairn_option *cairn_options_next(const struct cairn_command *command, struct cairn_option_walk *walk)
{
	while (command->groups && command->groups[walk->group].options) {
		const struct cairn_option *option = &command->groups[walk->group].options[walk->option++];
		if (option->name)
			return option;
		walk->group++;
		walk->option = 0;
	}
	return NULL;
}

static struct match find_long(const struct cairn_command *command, void *values, struct cairn_bytes typed)
{
	struct match match = {0};
	struct cairn_option_walk walk = {0};
	const struct cairn_option *option;
	while ((option = cairn_options_next(command, &walk))) {
		int rank = compare_name(option->name, typed);
		void *value = (char *)values + command->groups[walk.group].offset + option->offset;
		if (rank == 2)
			return (struct match){option, value, 1};
		if (rank == 1) {
			match.hits += !match.option || match.value != value || match.option->choice != option->choice;
			match.option = option;
			match.value = value;
		}
	}
	return match;
}

static struct match find_letter(const struct cairn_command *command, void *values, char letter)
{
	struct cairn_option_walk walk = {0};
	const struct cairn_option *option;
	while ((option = cairn_options_next(command, &walk)))
		if (option->letter == letter)
			return (struct match){option, (char *)values + command->groups[walk.group].offset + option->offset, 1};
	return (struct match){0};
}

static const struct cairn_option_refusal *find_refusal(const struct cairn_command *command, const struct cairn_option *option)
{
	for (const struct cairn_option_refusal *refusal = command->refusals; refusal && (refusal->name || refusal->table); refusal++) {
		if (refusal->name && strcmp(refusal->name, option->name) == 0)
			return refusal;
		for (const struct cairn_option *one = refusal->table; one && one->name; one++)
			if (one == option)
				return refusal;
	}
	return NULL;
}

static bool refuse(const struct cairn_command *command, const struct cairn_option *option, struct cairn_error *error)
{
	const struct cairn_option_refusal *refusal = find_refusal(command, option);
	if (!refusal)
		return false;
	if (refusal->why)
		cairn_fail_usage(error, "%s", refusal->why);
	else
		cairn_fail_usage(error, "--%s has no effect on 'cairn %s'; leave it out", option->name, command->name);
	return true;
}

bool cairn_option_is_listed(const struct cairn_command *command, const struct cairn_option *option)
{
	return option->help && !find_refusal(command, option);
}

bool cairn_option_group_is_listed(const struct cairn_command *command, const struct cairn_option_group *group)
{
	for (const struct cairn_option *option = group->options; option->name; option++)
		if (cairn_option_is_listed(command, option))
			return true;
	return false;
}

static bool unknown_option(const struct cairn_command *command, struct cairn_bytes typed, struct cairn_error *error)
{
	char name[64], upper[sizeof name];
	size_t length = typed.length < sizeof name - 1 ? typed.length : sizeof name - 1;
	memcpy(name, typed.data, length);
	name[length] = '\0';
	for (size_t i = 0; i <= length; i++)
		upper[i] = (char)toupper((unsigned char)name[i]);
	const struct cairn_option *option, *nearest = NULL, *takes = NULL;
	struct cairn_option_walk walk = {0};
	unsigned best = 3;
	while ((option = cairn_options_next(command, &walk))) {
		unsigned distance = cairn_text_distance(name, option->name);
		if (!cairn_option_is_listed(command, option))
			continue;
		if (distance < best) {
			best = distance;
			nearest = option;
		}
		if (!takes && length > 1 && option->argument && strstr(option->help, upper)) /* --port, where --listen takes HOST:PORT */
			takes = option;
	}
	if (!nearest && takes)
		return cairn_fail_usage(error, "no option --%s; did you mean --%s %s?", name, takes->name, takes->argument);
	if (nearest)
		return cairn_fail_usage(error, "no option --%s; did you mean --%s?", name, nearest->name);
	return cairn_fail_usage(error, "no option --%s; 'cairn %s --help' lists them", name, command->name);
}

/* Whether TEXT is one of the words that OPTION takes. */
static bool is_word(const struct cairn_option *option, const char *text, struct cairn_error *error)
{
	char known[400] = "";
	for (size_t i = 0, used = 0; option->words[i]; i++) {
		if (strcmp(option->words[i], text) == 0)
			return true;
		const char *between = i == 0 ? "" : option->words[i + 1] ? ", " : " or ";
		if (used < sizeof known)
			used += (size_t)snprintf(known + used, sizeof known - used, "%s%s", between, option->words[i]);
	}
	return cairn_fail_usage(error, "--%s takes %s, not '%.60s'", option->name, known, text);
}

bool cairn_option_set(const struct cairn_option *option, void *value, const char *text, struct cairn_error *error)
{
	switch (option->kind) {
	case CAIRN_OPTION_FLAG:
		*(bool *)value = true;
		return true;
	case CAIRN_OPTION_CHOICE:
		*(int *)value = option->choice;
		return true;
	case CAIRN_OPTION_TEXT:
		*(const char **)value = text;
		return !option->words || is_word(option, text, error);
	case CAIRN_OPTION_LIST: {
		struct cairn_option_list *list = value;
		if (list->count == CAIRN_OPTION_LIST_MAX)
			return cairn_fail_usage(error, "--%s is given more than %d times", option->name, CAIRN_OPTION_LIST_MAX);
		list->items[list->count++] = text;
		return true;
	}
	case CAIRN_OPTION_COUNT: {
		struct cairn_bytes rest = cairn_bytes_of(text);
		if (cairn_text_decimal(&rest, value) && rest.length == 0)
			return true;
		return cairn_fail_usage(error, "--%s takes a whole number, not '%s'", option->name, text);
	}
	case CAIRN_OPTION_SIZE:
		if (cairn_text_size(text, value))
			return true;
		return cairn_fail_usage(error, "--%s takes a size such as 512K or 4G, not '%s'", option->name, text);
	case CAIRN_OPTION_PERIOD: {
		uint64_t period;
		if (!cairn_text_size(text, &period) || period == 0 || period > CAIRN_PERIOD_MOST)
			return cairn_fail_usage(error, "--%s takes a size from 1 to 1T, such as 512K, not '%s'", option->name, text);
		*(uint64_t *)value = period;
		return true;
	}
	case CAIRN_OPTION_NUMBER:
	case CAIRN_OPTION_POSITIVE: {
		char *end;
		double number = strtod(text, &end);
		if (end == text || *end || !(number >= 0))
			return cairn_fail_usage(error, "--%s takes a number, not '%s'", option->name, text);
		if (option->kind == CAIRN_OPTION_POSITIVE && number == 0)
			return cairn_fail_usage(error, "--%s takes a number greater than 0, not '%s'", option->name, text);
		*(double *)value = number;
		return true;
	}
	}
	return false;
}

static bool ambiguous_option(const struct cairn_command *command, struct cairn_bytes typed, struct cairn_error *error)
{
	const struct cairn_option *option;
	struct cairn_option_walk walk = {0};
	char names[400] = "";
	size_t used = 0;
	while ((option = cairn_options_next(command, &walk)))
		if (compare_name(option->name, typed) == 1 && cairn_option_is_listed(command, option) && used < sizeof names)
			used += (size_t)snprintf(names + used, sizeof names - used, "%s--%s", used ? ", " : "", option->name);
	return cairn_fail_usage(error, "--%.*s is ambiguous (%s); write the option in full", (int)typed.length, typed.data, names);
}

struct parser {
	const struct cairn_command *command;
	void *values;
	int argc;
	char **argv;
	int at;
	bool *help;
};

static bool parse_long(struct parser *parser, const char *word, struct cairn_error *error)
{
	const char *equals = strchr(word, '=');
	struct cairn_bytes typed = {word, equals ? (size_t)(equals - word) : strlen(word)};
	if (cairn_bytes_equal(typed, cairn_bytes_of("help"))) {
		*parser->help = true;
		return true;
	}
	struct match match = find_long(parser->command, parser->values, typed);
	if (!match.option && cairn_bytes_equal(typed, cairn_bytes_of("quiet"))) {
		cairn_option_quiet = true;
		return true;
	}
	if (!match.option)
		return unknown_option(parser->command, typed, error);
	if (match.hits > 1)
		return ambiguous_option(parser->command, typed, error);
	if (refuse(parser->command, match.option, error))
		return false;
	if (!match.option->argument)
		return equals ? cairn_fail_usage(error, "--%s takes no value", match.option->name)
			      : cairn_option_set(match.option, match.value, NULL, error);
	if (equals)
		return cairn_option_set(match.option, match.value, equals + 1, error);
	if (parser->at + 1 >= parser->argc)
		return cairn_fail_usage(error, "--%s needs a value: %s", match.option->name, match.option->argument);
	return cairn_option_set(match.option, match.value, parser->argv[++parser->at], error);
}

static bool parse_letters(struct parser *parser, const char *letters, struct cairn_error *error)
{
	for (; *letters; letters++) {
		if (*letters == 'h') {
			*parser->help = true;
			continue;
		}
		struct match match = find_letter(parser->command, parser->values, *letters);
		if (!match.option && *letters == 'q') {
			cairn_option_quiet = true;
			continue;
		}
		if (!match.option)
			return cairn_fail_usage(error, "no option -%c; 'cairn %s --help' lists them", *letters, parser->command->name);
		if (refuse(parser->command, match.option, error))
			return false;
		if (!match.option->argument) {
			if (!cairn_option_set(match.option, match.value, NULL, error))
				return false;
			continue;
		}
		if (letters[1])
			return cairn_option_set(match.option, match.value, letters + 1, error);
		if (parser->at + 1 >= parser->argc)
			return cairn_fail_usage(error, "-%c needs a value: %s", *letters, match.option->argument);
		return cairn_option_set(match.option, match.value, parser->argv[++parser->at], error);
	}
	return true;
}

bool cairn_options_parse(const struct cairn_command *command, void *values, int *argc, char **argv, bool *help,
			 struct cairn_error *error)
{
	struct parser parser = {command, values, *argc, argv, 0, help};
	int operands = 0;
	*help = false;
	for (; parser.at < parser.argc; parser.at++) {
		char *word = argv[parser.at];
		if (strcmp(word, "--") == 0) {
			while (++parser.at < parser.argc)
				argv[operands++] = argv[parser.at];
			break;
		}
		if ((word[0] != '-' || !word[1]) && command->runs_another) {
			while (parser.at < parser.argc)
				argv[operands++] = argv[parser.at++];
			break;
		}
		if (word[0] != '-' || !word[1])
			argv[operands++] = word;
		else if (!(word[1] == '-' ? parse_long(&parser, word + 2, error) : parse_letters(&parser, word + 1, error)))
			return false;
	}
	if (operands < parser.argc)
		argv[operands] = NULL;
	*argc = operands;
	return true;
}

static void help_option(const struct cairn_option *option, struct cairn_buffer *out)
{
	enum { column = 30 };
	char left[80];
	char letter[8] = "    ";
	if (option->letter)
		snprintf(letter, sizeof letter, "-%c, ", option->letter);
	int width = snprintf(left, sizeof left, "  %s--%s%s%s", letter, option->name, option->argument ? " " : "",
			     option->argument ? option->argument : "");
	cairn_buffer_format(out, width < column ? "%-*s" : "%-*s\n%30s", column, left, "");
	cairn_buffer_format(out, "%s\n", option->help);
}

const struct cairn_option *cairn_options_common(const struct cairn_command *command)
{
	static const struct cairn_option common[] = {
		{.letter = 'q', .name = "quiet", .help = "print errors only, no notes"},
		{.letter = 'h', .name = "help", .help = "print the options"},
		{0},
	};
	struct cairn_option_walk walk = {0};
	for (const struct cairn_option *option; (option = cairn_options_next(command, &walk));)
		if (option->letter == 'q')
			return &common[1];
	return common;
}

void cairn_options_help(const struct cairn_command *command, struct cairn_buffer *out)
{
	cairn_buffer_format(out, "cairn %s - %s\n\nusage: cairn %s [options]%s%s\n", command->name, command->summary, command->name,
			    *command->arguments ? " " : "", command->arguments);
	for (const struct cairn_option_group *group = command->groups; group && group->options; group++) {
		if (!cairn_option_group_is_listed(command, group))
			continue;
		if (group == command->groups || group->title || group[-1].title)
			cairn_buffer_format(out, "\n%s:\n", group->title ? group->title : "options");
		for (const struct cairn_option *option = group->options; option->name; option++)
			if (cairn_option_is_listed(command, option))
				help_option(option, out);
	}
	cairn_buffer_text(out, "\nevery command:\n");
	for (const struct cairn_option *option = cairn_options_common(command); option->name; option++)
		help_option(option, out);
	if (command->detail)
		cairn_buffer_format(out, "\n%s\n", command->detail);
	/* A command that does not describe its SOURCE takes any. */
	if (strstr(command->arguments, "SOURCE") && !(command->detail && strstr(command->detail, "SOURCE is")))
		cairn_buffer_text(out, "\nSOURCE is a dump, a folder of dumps, - for standard input, or a live process: "
				       "its PID, its agent's socket, or a URL\n"
				       "such as localhost:9999. For several dumps, shows the newest.\n");
}
