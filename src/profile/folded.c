/* folded.c - reads collapsed stacks: "root;caller;leaf 123", the input of flame graph tools.
 *
 * The text does not say what it counts, so the value is "samples" in "count"; a report can be told otherwise. If every line ends in two
 * numbers, the file is the difference of two profiles as difffolded.pl writes it, with the values "before" and "after"; "after" is the
 * default, because flame graphs of such files draw it. Numbers may have a sign, a fraction and an exponent. Frame names are taken as they
 * are: spaces, digits and marks such as _[i] belong to them. Each name is one location without an address.
 * SPDX-License-Identifier: Apache-2.0 */
#include "profile/read.h"

#include "base/array.h"
#include "base/file.h"
#include "base/text.h"

#include <stdlib.h>

/* How much of a mapped file is read before its pages are released. */
enum { release_step = 2 << 20 };

struct folded {
	struct cairn_profile *profile;
	uint32_t *location_of; /* by string id of the name; CAIRN_NONE if that string is not a frame yet */
	size_t known, capacity;
	struct guess *guesses; /* by location + 1; 0 is for the leaf */
	size_t guess_count, guess_capacity;
	size_t line_number;
	size_t bad_lines, first_bad_line;
};

/* The frame that came next, as its caller, the last time a certain frame was read. It mostly comes next again, and then comparing its text
 * is enough, without a search for its end, a hash or a table lookup. */
struct guess {
	struct cairn_bytes name;
	uint32_t location;
};

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* Parses all of TOKEN as a number: digits, or anything else that strtod accepts around them. */
static bool parse_number(struct cairn_bytes token, double *number)
{
	uint64_t whole;
	struct cairn_bytes rest = token;
	if (cairn_text_decimal(&rest, &whole) && rest.length == 0) {
		*number = (double)whole;
		return true;
	}
	char text[64];
	if (token.length == 0 || token.length >= sizeof text)
		return false;
	bool digit = false;
	for (size_t i = 0; i < token.length; i++) {
		char c = token.data[i];
		digit |= is_digit(c);
		if (!is_digit(c) && c != '.' && c != '-' && c != '+' && (!digit || (c != 'e' && c != 'E')))
			return false;
	}
	memcpy(text, token.data, token.length);
	text[token.length] = 0;
	char *end;
	*number = strtod(text, &end);
	return digit && *end == 0 && *number - *number == 0;
}

/* Removes a number, and the space before it, from the end of LINE. A second space belongs to the last frame. */
static bool take_last_number(struct cairn_bytes *line, double *number)
{
	size_t start = line->length;
	while (start > 0 && line->data[start - 1] != ' ' && line->data[start - 1] != '\t')
		start--;
	if (start == 0 || !parse_number(cairn_bytes_skip(*line, start), number))
		return false;
	line->length = start - 1;
	return true;
}

/* Whether every line that ends in a number ends in two. Stops at the first line that does not; in most files, that is the first line. */
static bool is_difference(struct cairn_bytes text)
{
	struct cairn_bytes line;
	bool found = false;
	while (cairn_text_line(&text, &line, NULL)) {
		double number;
		line = cairn_text_trim(line);
		if (!take_last_number(&line, &number))
			continue;
		if (!take_last_number(&line, &number))
			return false;
		found = true;
	}
	return found;
}

static uint32_t new_location(struct cairn_profile *profile, uint32_t name)
{
	uint32_t function = cairn_profile_add_function(profile, &(struct cairn_function){.name = name, .system_name = name});
	uint32_t location = cairn_profile_new_location(profile, &(struct cairn_location){.mapping = CAIRN_NONE});
	cairn_profile_set_frames(profile, location, &(struct cairn_frame){.function = function}, 1);
	return location;
}

/* The location of the frame with the name that has string id ID. */
static uint32_t location_of(struct folded *folded, uint32_t id)
{
	if (id >= folded->known) {
		folded->location_of =
			cairn_array_reserve(folded->location_of, &folded->capacity, (size_t)id + 1, sizeof *folded->location_of);
		while (folded->known <= id)
			folded->location_of[folded->known++] = CAIRN_NONE;
	}
	if (folded->location_of[id] == CAIRN_NONE)
		folded->location_of[id] = new_location(folded->profile, id);
	return folded->location_of[id];
}

/* Whether STACK ends in the guessed frame. */
static bool is_right(const struct guess *guess, struct cairn_bytes stack)
{
	size_t length = guess->name.length;
	return length > 0 && stack.length >= length && (stack.length == length || stack.data[stack.length - length - 1] == ';') &&
	       memcmp(stack.data + stack.length - length, guess->name.data, length) == 0;
}

/* Removes the last frame from STACK. PREVIOUS is the index of the guess. */
static uint32_t take_frame(struct folded *folded, struct cairn_bytes *stack, size_t previous)
{
	struct guess *guess = &folded->guesses[previous];
	if (is_right(guess, *stack)) {
		stack->length -= guess->name.length + (stack->length > guess->name.length);
		return guess->location;
	}
	const char *mark = memrchr(stack->data, ';', stack->length);
	size_t start = mark ? (size_t)(mark - stack->data) + 1 : 0;
	uint32_t name = cairn_strings_add(&folded->profile->strings, cairn_bytes_skip(*stack, start));
	uint32_t location = location_of(folded, name);
	stack->length = mark ? start - 1 : 0;
	if (location + 2 > folded->guess_count) {
		folded->guesses = cairn_array_reserve(folded->guesses, &folded->guess_capacity, (size_t)location + 2, sizeof *guess);
		while (folded->guess_count < (size_t)location + 2)
			folded->guesses[folded->guess_count++] = (struct guess){{"", 0}, 0};
	}
	folded->guesses[previous] = (struct guess){cairn_strings_bytes(&folded->profile->strings, name), location};
	return location;
}

/* Reads from the end of the line to its beginning, because stacks are leaf first. */
static size_t read_frames(struct folded *folded, struct cairn_bytes stack)
{
	size_t depth = 0, previous = 0;
	while (stack.length > 0 && stack.data[stack.length - 1] == ';')
		stack.length--;
	while (stack.length > 0) {
		uint32_t location = take_frame(folded, &stack, previous);
		cairn_profile_stack_room(folded->profile, depth + 1)[depth] = location;
		depth++;
		previous = (size_t)location + 1;
	}
	return depth;
}

static bool read_line(struct folded *folded, struct cairn_bytes line)
{
	double values[2];
	for (size_t i = folded->profile->value_count; i-- > 0;)
		if (!take_last_number(&line, &values[i]))
			return false;
	cairn_profile_add_sample(folded->profile, read_frames(folded, line), 0, values);
	return true;
}

bool cairn_folded_read(struct cairn_reader *reader, struct cairn_bytes text, struct cairn_error *error)
{
	struct cairn_profile *profile = reader->profile;
	struct folded folded = {.profile = profile};
	cairn_array_room(folded.guesses, folded.guess_count, folded.guess_capacity);
	folded.guesses[folded.guess_count++] = (struct guess){{"", 0}, 0};
	profile->kind = CAIRN_PROFILE_OTHER;
	profile->format = "folded text";
	if (is_difference(text)) {
		cairn_profile_add_value_type(profile, "before", "count");
		cairn_profile_add_value_type(profile, "after", "count");
	} else {
		cairn_profile_add_value_type(profile, "samples", "count");
	}
	profile->default_value = profile->value_count - 1;

	struct cairn_bytes line;
	const char *released = text.data;
	while (cairn_text_line(&text, &line, NULL)) {
		folded.line_number++;
		if (reader->options.mapped && (size_t)(line.data - released) >= release_step) {
			cairn_file_release((struct cairn_bytes){released, (size_t)(line.data - released)});
			released = line.data;
		}
		line = cairn_text_trim(line);
		if (line.length > 0 && !read_line(&folded, line) && folded.bad_lines++ == 0)
			folded.first_bad_line = folded.line_number;
	}
	free(folded.location_of);
	free(folded.guesses);
	if (profile->sample_count == 0)
		return cairn_fail(error, "%s: no line has the form \"root;caller;leaf 123\"", reader->name);
	if (folded.bad_lines)
		cairn_profile_warn(profile, "%zu line%s (the first is line %zu) did not end in a number and %s left out",
				   folded.bad_lines, folded.bad_lines == 1 ? "" : "s", folded.first_bad_line,
				   folded.bad_lines == 1 ? "was" : "were");
	return true;
}
