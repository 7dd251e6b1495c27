/* option_test.c - the option table.
 * SPDX-License-Identifier: Apache-2.0 */
#include "cmd/option.h"
#include "tap.h"

enum shape { shape_round, shape_square };

struct options {
	bool loud;
	int shape;
	const char *name;
	struct cairn_option_list list;
	uint64_t count;
	uint64_t size;
	double part;
};

static const struct cairn_option table[] = {
	{'l', "loud", NULL, "louder", CAIRN_OPTION_FLAG, offsetof(struct options, loud), 0},
	{0, "round", NULL, "round", CAIRN_OPTION_CHOICE, offsetof(struct options, shape), shape_round},
	{0, "square", NULL, "square", CAIRN_OPTION_CHOICE, offsetof(struct options, shape), shape_square},
	{'n', "name", "TEXT", "a name", CAIRN_OPTION_TEXT, offsetof(struct options, name), 0},
	{0, "list-of", "ITEM", "items", CAIRN_OPTION_LIST, offsetof(struct options, list), 0},
	{'c', "count", "N", "how many", CAIRN_OPTION_COUNT, offsetof(struct options, count), 0},
	{0, "size", "SIZE", "how large", CAIRN_OPTION_SIZE, offsetof(struct options, size), 0},
	{0, "part", "X", "a fraction", CAIRN_OPTION_NUMBER, offsetof(struct options, part), 0},
	{0, "old", NULL, NULL, CAIRN_OPTION_FLAG, offsetof(struct options, loud), 0},
	{0},
};
static const struct cairn_option_group groups[] = {{NULL, table, 0}, {0}};
static const struct cairn_command command = {.name = "test", .summary = "tests", .arguments = "X...", .groups = groups};

/* The same table, of which this one does not take all. */
static const struct cairn_option_group refusing_groups[] = {{NULL, table, 0}, {"more", &table[7], 0}, {0}};
static const struct cairn_option_refusal refusals[] = {{"name", NULL}, {"part", "parts are for others"}, {"old", NULL}, {0}};
static const struct cairn_command refusing = {
	.name = "other", .summary = "tests", .arguments = "X...", .groups = refusing_groups, .refusals = refusals};

static const struct cairn_command *parsed = &command;
static struct options options;
static struct cairn_error error;
static char *operands[16];
static int operand_count;
static bool help;

#define parse(...) parse_words((const char *const[]){__VA_ARGS__, NULL})
static bool parse_words(const char *const *words)
{
	options = (struct options){0};
	for (operand_count = 0; words[operand_count]; operand_count++)
		operands[operand_count] = (char *)(uintptr_t)words[operand_count];
	return cairn_options_parse(parsed, &options, &operand_count, operands, &help, &error);
}

int main(void)
{
	ok(parse("a", "--loud", "--name", "x", "b", "--count=7", "--size=4K", "--part", "0.5", "--list_of", "p", "--list-of=q"),
	   "all kinds, before and after operands");
	ok(operand_count == 2 && strcmp(operands[1], "b") == 0, "operands in order");
	ok(options.loud && strcmp(options.name, "x") == 0 && options.count == 7 && options.size == 4096 && options.part == 0.5, "values");
	ok(options.list.count == 2 && strcmp(options.list.items[1], "q") == 0, "a list, spelt with - or _");
	ok(parse("-lc5", "-n", "y") && options.loud && options.count == 5 && strcmp(options.name, "y") == 0, "letters together");
	ok(parse("--square", "--round") && options.shape == shape_round, "the last choice wins");
	ok(parse("--lou") && options.loud, "a unique beginning is enough");
	ok(parse("--", "--loud", "-") && operand_count == 2 && !options.loud, "-- ends options");
	ok(parse("-") && operand_count == 1, "- is an operand");
	ok(parse("--help") && help, "help");
	ok(!parse("--lod"), "a typing error");
	like_text(error.text, "did you mean --loud?", "is recognised");
	ok(!parse("--xyzzy"), "nonsense");
	like_text(error.text, "cairn test --help", "is referred to the help");
	ok(!parse("--name"), "a value is missing");
	like_text(error.text, "--name needs a value: TEXT", "and named");
	ok(!parse("--count", "seven"), "no number");
	ok(!parse("--count", "99999999999999999999"), "a number that does not fit");
	ok(!parse("--size", "big"), "no size");
	ok(!parse("--part", "-1"), "no fraction");
	ok(!parse("--loud=yes"), "a flag takes no value");
	ok(!parse("-x"), "no such letter");
	struct cairn_buffer out = cairn_buffer(SIZE_MAX);
	cairn_options_help(&command, &out);
	cairn_buffer_byte(&out, '\0');
	like_text(out.data, "-n, --name TEXT", "the help lists options");
	ok(!strstr(out.data, "--old"), "but not those kept for compatibility");
	parsed = &refusing;
	ok(!parse("--na", "x"), "an option is refused");
	is_text(error.text, "--name has no effect on 'cairn other'; leave it out", "with the reason");
	ok(!parse("-ln", "x"), "by its letter, too");
	is_text(error.text, "--name has no effect on 'cairn other'; leave it out", "for the same reason");
	ok(!parse("--part=1"), "another");
	is_text(error.text, "parts are for others", "for its own");
	ok(!parse("--old"), "one that is not listed anyway");
	ok(!parse("--nam3"), "a typing error");
	is_text(error.text, "no option --nam3; 'cairn other --help' lists them", "leads to no option that is refused");
	ok(parse("--loud") && options.loud, "others are taken");
	out.length = 0;
	cairn_options_help(&refusing, &out);
	cairn_buffer_byte(&out, '\0');
	ok(strstr(out.data, "--loud") && !strstr(out.data, "--name") && !strstr(out.data, "--part"), "the help lists what it takes");
	ok(!strstr(out.data, "more:"), "and no group without such options");
	cairn_buffer_free(&out);
	return tap_done();
}
