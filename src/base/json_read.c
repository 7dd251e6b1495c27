/* json_read.c - a JSON scanner (RFC 8259) that skips whole values by their brackets and quotes.
 *
 * Skipping keeps no stack: inside brackets only strings can hide a bracket, so depth is a counter. That accepts `[}` inside a value
 * which nobody looks into; a walk into it ends there.
 * SPDX-License-Identifier: Apache-2.0 */
#include "base/json_read.h"

#include "base/text.h"

#include <stdio.h>
#include <stdlib.h>

static bool is_blank(char byte)
{
	return byte == ' ' || byte == '\t' || byte == '\n' || byte == '\r';
}

static void skip_blanks(struct cairn_bytes *rest)
{
	size_t count = 0;
	while (count < rest->length && is_blank(rest->data[count]))
		count++;
	*rest = cairn_bytes_skip(*rest, count);
}

/* The length of the string at the start of TEXT with both its quotes; 0 where it has no end. */
static size_t string_length(struct cairn_bytes text)
{
	for (size_t i = 1; i < text.length; i++) {
		if (text.data[i] == '\\')
			i++;
		else if (text.data[i] == '"')
			return i + 1;
	}
	return 0;
}

static size_t container_length(struct cairn_bytes text)
{
	size_t depth = 0;
	for (size_t i = 0; i < text.length; i++) {
		switch (text.data[i]) {
		case '"': {
			size_t length = string_length(cairn_bytes_skip(text, i));
			if (!length)
				return 0;
			i += length - 1;
			break;
		}
		case '{':
		case '[':
			depth++;
			break;
		case '}':
		case ']':
			if (--depth == 0)
				return i + 1;
		}
	}
	return 0;
}

static size_t number_length(struct cairn_bytes text)
{
	size_t length = 0;
	while (length < text.length && (strchr("+-.eE", text.data[length]) ? text.data[length] != 0
									   : text.data[length] >= '0' && text.data[length] <= '9'))
		length++;
	return length;
}

/* Takes the value at the start of REST. */
static struct cairn_json_value take_value(struct cairn_bytes *rest)
{
	static const struct {
		const char *word;
		enum cairn_json_kind kind;
	} words[] = {{"null", CAIRN_JSON_NULL}, {"false", CAIRN_JSON_FALSE}, {"true", CAIRN_JSON_TRUE}};
	struct cairn_json_value value = {CAIRN_JSON_NONE, {rest->data, 0}};
	skip_blanks(rest);
	if (rest->length == 0)
		return value;
	char first = rest->data[0];
	if (first == '"') {
		value = (struct cairn_json_value){CAIRN_JSON_TEXT, {rest->data, string_length(*rest)}};
	} else if (first == '{' || first == '[') {
		value = (struct cairn_json_value){first == '{' ? CAIRN_JSON_OBJECT : CAIRN_JSON_ARRAY,
						  {rest->data, container_length(*rest)}};
	} else if (first == '-' || (first >= '0' && first <= '9')) {
		value = (struct cairn_json_value){CAIRN_JSON_NUMBER, {rest->data, number_length(*rest)}};
	} else {
		for (size_t i = 0; i < sizeof words / sizeof *words; i++)
			if (cairn_bytes_start_with(*rest, words[i].word))
				value = (struct cairn_json_value){words[i].kind, {rest->data, strlen(words[i].word)}};
	}
	if (value.text.length == 0)
		value.kind = CAIRN_JSON_NONE;
	*rest = cairn_bytes_skip(*rest, value.text.length);
	return value;
}

struct cairn_json_value cairn_json_value(struct cairn_bytes input)
{
	struct cairn_json_value value = take_value(&input);
	skip_blanks(&input);
	return input.length == 0 ? value : (struct cairn_json_value){0};
}

/* Moves past the byte WANTED, and past blanks before it. */
static bool take_byte(struct cairn_bytes *rest, char wanted)
{
	skip_blanks(rest);
	if (rest->length == 0 || rest->data[0] != wanted)
		return false;
	*rest = cairn_bytes_skip(*rest, 1);
	return true;
}

bool cairn_json_next(struct cairn_json_value container, size_t *position, struct cairn_bytes *key, struct cairn_json_value *value)
{
	if (container.kind != CAIRN_JSON_OBJECT && container.kind != CAIRN_JSON_ARRAY)
		return false;
	/* Between the brackets; a container has both. */
	struct cairn_bytes rest =
		cairn_bytes_skip((struct cairn_bytes){container.text.data, container.text.length - 1}, *position ? *position : 1);
	struct cairn_bytes name = {rest.data, 0};
	if (*position && !take_byte(&rest, ','))
		return false;
	if (container.kind == CAIRN_JSON_OBJECT) {
		struct cairn_json_value named = take_value(&rest);
		if (named.kind != CAIRN_JSON_TEXT || !take_byte(&rest, ':'))
			return false;
		name = named.text;
	}
	*value = take_value(&rest);
	if (value->kind == CAIRN_JSON_NONE)
		return false;
	*position = container.text.length - 1 - rest.length;
	if (key)
		*key = name;
	return true;
}

/* Keys are compared as they are spelled: ours need no escapes. */
static struct cairn_json_value find_member(struct cairn_json_value object, struct cairn_bytes wanted)
{
	struct cairn_bytes key;
	struct cairn_json_value value;
	for (size_t position = 0; object.kind == CAIRN_JSON_OBJECT && cairn_json_next(object, &position, &key, &value);)
		if (cairn_bytes_equal((struct cairn_bytes){key.data + 1, key.length - 2}, wanted))
			return value;
	return (struct cairn_json_value){0};
}

struct cairn_json_value cairn_json_find(struct cairn_json_value value, const char *path)
{
	for (const char *end; value.kind != CAIRN_JSON_NONE; path = end + 1) {
		end = strchrnul(path, '.');
		value = find_member(value, (struct cairn_bytes){path, (size_t)(end - path)});
		if (!*end)
			break;
	}
	return value;
}

/* Appends the character CODE as UTF-8; one that would not fit whole is left out, and FULL says so. */
static void put_code(unsigned code, char *out, size_t size, size_t *used, bool *full)
{
	char bytes[4];
	size_t length = 0;
	if (code < 0x80) {
		bytes[length++] = (char)code;
	} else if (code < 0x800) {
		bytes[length++] = (char)(0xc0 | code >> 6);
	} else if (code < 0x10000) {
		bytes[length++] = (char)(0xe0 | code >> 12);
		bytes[length++] = (char)(0x80 | (code >> 6 & 0x3f));
	} else {
		bytes[length++] = (char)(0xf0 | code >> 18);
		bytes[length++] = (char)(0x80 | (code >> 12 & 0x3f));
		bytes[length++] = (char)(0x80 | (code >> 6 & 0x3f));
	}
	if (code >= 0x80)
		bytes[length++] = (char)(0x80 | (code & 0x3f));
	*full = *full || *used + length >= size;
	for (size_t i = 0; i < length && !*full; i++)
		out[(*used)++] = bytes[i];
}

/* Four hexadecimal digits at TEXT[AT]; 0xfffd where they are none. */
static unsigned take_hex(struct cairn_bytes text, size_t at)
{
	unsigned code = 0;
	for (size_t i = at; i < at + 4; i++) {
		int value = i < text.length ? cairn_text_hex_digit(text.data[i]) : -1;
		if (value < 0)
			return 0xfffd;
		code = code << 4 | (unsigned)value;
	}
	return code;
}

/* The character behind the backslash at TEXT[*AT]; *AT moves to its last byte. */
static unsigned take_escape(struct cairn_bytes text, size_t *at)
{
	static const char letters[] = "bfnrt", meant[] = "\b\f\n\r\t";
	char letter = *at + 1 < text.length ? text.data[*at + 1] : 0;
	const char *found = letter ? strchr(letters, letter) : NULL;
	(*at)++;
	if (found)
		return (unsigned char)meant[found - letters];
	if (letter != 'u')
		return (unsigned char)letter;
	unsigned code = take_hex(text, *at + 1);
	*at += 4;
	if (code < 0xd800 || code > 0xdfff)
		return code;
	unsigned low = *at + 2 < text.length && text.data[*at + 1] == '\\' && text.data[*at + 2] == 'u' ? take_hex(text, *at + 3) : 0;
	if (code > 0xdbff || low < 0xdc00 || low > 0xdfff)
		return 0xfffd;
	*at += 6;
	return 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
}

void cairn_json_copy(struct cairn_json_value value, char *out, size_t size)
{
	out[0] = 0;
	if (value.kind == CAIRN_JSON_NUMBER || value.kind == CAIRN_JSON_TRUE || value.kind == CAIRN_JSON_FALSE)
		snprintf(out, size, "%.*s", (int)value.text.length, value.text.data);
	if (value.kind != CAIRN_JSON_TEXT)
		return;
	struct cairn_bytes text = {value.text.data + 1, value.text.length - 2};
	size_t used = 0;
	bool full = false;
	for (size_t i = 0; i < text.length && !full; i++) {
		if (text.data[i] == '\\') {
			unsigned code = take_escape(text, &i);
			put_code(code ? code : 0xfffd, out, size, &used, &full);
		} else if (used + 1 < size && text.data[i]) {
			out[used++] = text.data[i];
		} else {
			break;
		}
	}
	out[used] = 0;
}

double cairn_json_double(struct cairn_json_value value)
{
	char text[48];
	cairn_json_copy(value, text, sizeof text);
	return value.kind == CAIRN_JSON_TRUE ? 1 : value.kind == CAIRN_JSON_NUMBER ? strtod(text, NULL) : 0;
}
