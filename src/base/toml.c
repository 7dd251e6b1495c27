/* toml.c - keys and values of TOML (toml.io/en/v1.0.0), line by line; what is not understood is skipped.
 * SPDX-License-Identifier: Apache-2.0 */
#include "base/toml.h"

#include "base/text.h"

#include <stdio.h>

static void skip_space(struct cairn_toml *in, bool lines)
{
	while (in->rest.length > 0) {
		char c = in->rest.data[0];
		if (c == '#') {
			const char *end = memchr(in->rest.data, '\n', in->rest.length);
			in->rest = cairn_bytes_skip(in->rest, end ? (size_t)(end - in->rest.data) : in->rest.length);
		} else if (c == ' ' || c == '\t' || c == '\r' || (lines && c == '\n')) {
			in->rest = cairn_bytes_skip(in->rest, 1);
		} else {
			return;
		}
	}
}

static void skip_line(struct cairn_toml *in)
{
	struct cairn_bytes line;
	cairn_text_line(&in->rest, &line, NULL);
}

/* A string of any of the four kinds; escapes other than \" and \\ are left as they are. */
static struct cairn_bytes take_string(struct cairn_toml *in, char *out, size_t size)
{
	char quote = in->rest.data[0];
	char triple[4] = {quote, quote, quote, 0};
	bool multiline = cairn_text_take(&in->rest, triple);
	if (!multiline)
		in->rest = cairn_bytes_skip(in->rest, 1);
	size_t length = 0;
	while (in->rest.length > 0) {
		if (multiline ? cairn_text_take(&in->rest, triple) : in->rest.data[0] == quote || in->rest.data[0] == '\n') {
			if (!multiline)
				in->rest = cairn_bytes_skip(in->rest, in->rest.data[0] == quote);
			break;
		}
		if (quote == '"' && in->rest.data[0] == '\\' && in->rest.length > 1)
			in->rest = cairn_bytes_skip(in->rest, 1);
		if (length + 1 < size)
			out[length++] = in->rest.data[0];
		in->rest = cairn_bytes_skip(in->rest, 1);
	}
	return (struct cairn_bytes){out, length};
}

/* Skips an array or inline table, however deep, with the strings in it. */
static void skip_brackets(struct cairn_toml *in)
{
	char scratch[8];
	int depth = 0;
	do {
		char c = in->rest.data[0];
		if (c == '"' || c == '\'') {
			take_string(in, scratch, sizeof scratch);
		} else {
			depth += (c == '[' || c == '{') - (c == ']' || c == '}');
			in->rest = cairn_bytes_skip(in->rest, 1);
		}
		if (depth > 0)
			skip_space(in, true);
	} while (depth > 0 && in->rest.length > 0);
}

/* A bare value ends with its line, in an inline table also with the comma or brace behind it. */
static struct cairn_bytes take_value(struct cairn_toml *in, char *out, size_t size)
{
	const char *ends = in->depth ? "\n#,}" : "\n#";
	if (in->rest.length == 0)
		return (struct cairn_bytes){"", 0};
	char c = in->rest.data[0];
	if (c == '"' || c == '\'')
		return take_string(in, out, size);
	if (c == '[' || c == '{') {
		skip_brackets(in);
		return (struct cairn_bytes){"", 0};
	}
	size_t length = 0;
	while (length < in->rest.length && !memchr(ends, in->rest.data[length], strlen(ends)))
		length++;
	struct cairn_bytes bare = cairn_text_trim((struct cairn_bytes){in->rest.data, length});
	in->rest = cairn_bytes_skip(in->rest, length);
	return bare;
}

/* A dotted name up to STOP, with spaces and quotes taken out. */
static bool take_name(struct cairn_toml *in, char stop, char *out, size_t size)
{
	size_t length = 0;
	while (in->rest.length > 0 && in->rest.data[0] != stop && in->rest.data[0] != '\n') {
		char c = in->rest.data[0];
		if (c != ' ' && c != '\t' && c != '"' && c != '\'' && c != '\r' && length + 1 < size)
			out[length++] = c;
		in->rest = cairn_bytes_skip(in->rest, 1);
	}
	out[length] = 0;
	bool found = in->rest.length > 0 && in->rest.data[0] == stop;
	in->rest = cairn_bytes_skip(in->rest, found);
	return found && length > 0;
}

struct cairn_toml cairn_toml(struct cairn_bytes text)
{
	return (struct cairn_toml){.rest = text};
}

/* Opens the inline table KEY at the brace that comes next; returns false if it is too deep or its name too long. */
static bool open_table(struct cairn_toml *in, const char *key)
{
	size_t length = strlen(in->inside), added = strlen(key) + 1;
	if (in->depth == CAIRN_TOML_DEPTH || length + added >= sizeof in->inside)
		return false;
	in->before[in->depth++] = length;
	memcpy(in->inside + length, key, added - 1);
	memcpy(in->inside + length + added - 1, ".", 2);
	in->rest = cairn_bytes_skip(in->rest, 1);
	return true;
}

/* Closes the innermost inline table; what follows the last one in its line is no key. */
static void close_table(struct cairn_toml *in)
{
	in->rest = cairn_bytes_skip(in->rest, 1);
	in->inside[in->before[--in->depth]] = 0;
	if (!in->depth)
		skip_line(in);
}

static void close_all(struct cairn_toml *in)
{
	in->depth = 0;
	in->inside[0] = 0;
}

bool cairn_toml_next(struct cairn_toml *in, char name[CAIRN_TOML_NAME], char *room, size_t size, struct cairn_bytes *value)
{
	for (skip_space(in, true); in->rest.length > 0; skip_space(in, true)) {
		char key[128];
		if (in->depth && in->rest.data[0] == '}') {
			close_table(in);
			continue;
		}
		if (in->depth && in->rest.data[0] == ',') {
			in->rest = cairn_bytes_skip(in->rest, 1);
			continue;
		}
		if (in->rest.data[0] == '[') { /* also behind an inline table that was never closed: no key begins so */
			close_all(in);
			in->rest = cairn_bytes_skip(in->rest, cairn_bytes_start_with(in->rest, "[[") ? 2 : 1);
			if (!take_name(in, ']', in->section, sizeof in->section))
				in->section[0] = 0;
			skip_line(in);
			continue;
		}
		if (!take_name(in, '=', key, sizeof key)) { /* no table either, if it was in one */
			close_all(in);
			skip_line(in);
			continue;
		}
		skip_space(in, false);
		if (cairn_bytes_start_with(in->rest, "{") && open_table(in, key))
			continue;
		*value = take_value(in, room, size);
		snprintf(name, CAIRN_TOML_NAME, "%s%s%s%s", in->section, in->section[0] ? "." : "", in->inside, key);
		if (!in->depth)
			skip_line(in);
		return true;
	}
	return false;
}
