/* perl_option.c - Getopt::Long's rules.
 * SPDX-License-Identifier: Apache-2.0 */
#include "cmd/jeprof/perl_option.h"

#include <ctype.h>

struct match {
	const struct cairn_option *option;
	void *value;
	bool negated;
	bool exact;
};

enum { matches_shown = 6 };

struct matches {
	struct match found[matches_shown];
	size_t count;
};

static bool same_letter(char a, char b)
{
	a = a == '-' ? '_' : (char)tolower((unsigned char)a);
	b = b == '-' ? '_' : (char)tolower((unsigned char)b);
	return a == b;
}

/* Whether TYPED is the beginning of NAME; *EXACT says whether it is all of it. */
static bool begins(struct cairn_bytes typed, const char *name, bool *exact)
{
	for (size_t i = 0; i < typed.length; i++)
		if (!name[i] || !same_letter(name[i], typed.data[i]))
			return false;
	*exact = name[typed.length] == '\0';
	return true;
}

static void add_match(struct matches *matches, struct cairn_bytes typed, const struct cairn_option *option, void *value, bool negated)
{
	bool exact;
	if (!begins(typed, option->name, &exact))
		return;
	if (matches->count == 1 && matches->found[0].exact)
		return;
	if (exact)
		matches->count = 0;
	if (matches->count < matches_shown)
		matches->found[matches->count] = (struct match){option, value, negated, exact};
	matches->count++;
}

static bool take_no(struct cairn_bytes *typed)
{
	if (typed->length < 3 || !same_letter(typed->data[0], 'n') || !same_letter(typed->data[1], 'o'))
		return false;
	*typed = cairn_bytes_skip(*typed, same_letter(typed->data[2], '-') ? 3 : 2);
	return typed->length > 0;
}

static struct matches find(const struct cairn_command *command, void *values, struct cairn_bytes typed)
{
	struct matches matches = {0};
	struct cairn_option_walk walk = {0};
	const struct cairn_option *option;
	struct cairn_bytes negated = typed;
	bool has_no = take_no(&negated);
	while ((option = cairn_options_next(command, &walk))) {
		void *value = (char *)values + command->groups[walk.group].offset + option->offset;
		add_match(&matches, typed, option, value, false);
		if (has_no && option->kind == CAIRN_OPTION_FLAG)
			add_match(&matches, negated, option, value, true);
	}
	return matches;
}

static bool explain_matches(const struct matches *matches, struct cairn_bytes typed, struct cairn_error *error)
{
	if (matches->count == 0)
		return cairn_fail(error, "no option --%.*s; --help lists them", (int)typed.length, typed.data);
	cairn_fail(error, ")");
	for (size_t i = matches->count < matches_shown ? matches->count : matches_shown; i-- > 0;)
		cairn_fail_within(error, "%s--%s%s", i ? ", " : "", matches->found[i].negated ? "no" : "", matches->found[i].option->name);
	return cairn_fail_within(error, "option --%.*s is ambiguous (", (int)typed.length, typed.data);
}

bool cairn_perl_options_parse(const struct cairn_command *command, void *values, int *argc, char **argv, struct cairn_error *error)
{
	int operands = 0;
	for (int at = 0; at < *argc; at++) {
		char *word = argv[at];
		if (strcmp(word, "--") == 0) {
			while (++at < *argc)
				argv[operands++] = argv[at];
			break;
		}
		if (word[0] != '-' || !word[1]) {
			argv[operands++] = word;
			continue;
		}
		word += word[1] == '-' ? 2 : 1;
		const char *equals = strchr(word, '=');
		struct cairn_bytes typed = {word, equals ? (size_t)(equals - word) : strlen(word)};
		struct matches matches = find(command, values, typed);
		const struct match *match = &matches.found[0];
		if (matches.count != 1)
			return explain_matches(&matches, typed, error);
		const char *text = equals ? equals + 1 : NULL;
		if (!match->option->argument) {
			if (text)
				return cairn_fail(error, "--%s does not take a value", match->option->name);
			*(bool *)match->value = !match->negated;
			continue;
		}
		if (!text)
			text = ++at < *argc ? argv[at] : "";
		if (!*text)
			return cairn_fail(error, "--%s needs a value: %s", match->option->name, match->option->argument);
		if (!cairn_option_set(match->option, match->value, text, error))
			return false;
	}
	*argc = operands;
	return true;
}
