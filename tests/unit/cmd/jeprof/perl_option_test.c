/* perl_option_test.c - Getopt::Long's rules; what is expected was tried with Perl's own.
 * SPDX-License-Identifier: Apache-2.0 */
#include "cmd/jeprof/perl_option.h"
#include "tap.h"

struct options {
	bool text, test, cum, contentions;
	const char *list, *lines, *base;
	uint64_t count;
};

#define AT(member) offsetof(struct options, member)
static const struct cairn_option table[] = {
	{0, "text", NULL, "", CAIRN_OPTION_FLAG, AT(text), 0},
	{0, "test", NULL, "", CAIRN_OPTION_FLAG, AT(test), 0},
	{0, "cum", NULL, "", CAIRN_OPTION_FLAG, AT(cum), 0},
	{0, "contentions", NULL, "", CAIRN_OPTION_FLAG, AT(contentions), 0},
	{0, "list", "RE", "", CAIRN_OPTION_TEXT, AT(list), 0},
	{0, "line_s", "X", "", CAIRN_OPTION_TEXT, AT(lines), 0},
	{0, "base", "FILE", "", CAIRN_OPTION_TEXT, AT(base), 0},
	{0, "nodecount", "N", "", CAIRN_OPTION_COUNT, AT(count), 0},
	{0},
};
static const struct cairn_option_group groups[] = {{NULL, table, 0}, {0}};
static const struct cairn_command command = {.name = "test", .summary = "tests", .arguments = "", .groups = groups};

static struct options options;
static struct cairn_error error;
static char *operands[16];
static int count;

#define parse(...) parse_words((const char *const[]){__VA_ARGS__, NULL})
static bool parse_words(const char *const *words)
{
	options = (struct options){0};
	error.text[0] = '\0';
	for (count = 0; words[count]; count++)
		memcpy(&operands[count], &words[count], sizeof *words);
	return cairn_perl_options_parse(&command, &options, &count, operands, &error);
}

int main(void)
{
	ok(parse("a", "--cum", "b", "-text") && options.cum && options.text && count == 2, "options anywhere, one dash or two");
	is_text(operands[0], "a", "the first operand");
	is_text(operands[1], "b", "the second");
	ok(parse("--CUM", "--Base", "x") && options.cum && strcmp(options.base, "x") == 0, "any case");
	ok(parse("--base=x=y") && strcmp(options.base, "x=y") == 0, "a value after the first equals sign");
	ok(parse("--base", "--cum") && strcmp(options.base, "--cum") == 0 && !options.cum, "a value may begin with dashes");
	ok(parse("--cum", "--nocum") && !options.cum, "--noname");
	ok(parse("--cum", "--no-cum") && !options.cum, "--no-name");
	ok(parse("--cum", "--nocu") && !options.cum, "shortened too");
	ok(parse("--node=5") && options.count == 5, "an option that begins with no is itself");
	ok(parse("--con") && options.contentions, "a unique beginning");
	ok(parse("--tex") && options.text && !options.test, "another");
	ok(parse("--text") && options.text, "a whole name that begins no other");
	ok(!parse("--te"), "a beginning of two");
	is_text(error.text, "option --te is ambiguous (--text, --test)", "names both");
	ok(!parse("--l", "x"), "another beginning of two");
	ok(parse("--line-s=1") && options.lines, "dashes and underscores are the same");
	ok(!parse("--bas"), "no value");
	is_text(error.text, "--base needs a value: FILE", "is missed");
	ok(!parse("--base="), "an empty value is none");
	ok(!parse("--cum=1"), "a flag takes none");
	ok(!parse("--nolist"), "only flags are taken back");
	ok(!parse("--nodecount=x"), "a number is a number");
	ok(!parse("--frob"), "no such option");
	is_text(error.text, "no option --frob; --help lists them", "is said");
	ok(parse("--", "--cum", "-x") && count == 2 && !options.cum, "-- ends the options");
	ok(parse("-") && count == 1, "a dash alone is an operand");
	ok(!parse("--no"), "no alone is nothing");
	return tap_done();
}
