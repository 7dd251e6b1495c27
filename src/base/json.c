/* json.c - the JSON writer (RFC 8259).
 * SPDX-License-Identifier: Apache-2.0 */
#include "base/json.h"

#include "base/utf8.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

struct cairn_json cairn_json(struct cairn_buffer *out)
{
	return (struct cairn_json){.out = out};
}

static void quote(struct cairn_buffer *out, struct cairn_bytes text)
{
	cairn_buffer_byte(out, '"');
	while (text.length > 0) {
		size_t plain = 0;
		while (plain < text.length && (unsigned char)text.data[plain] >= 0x20 && (unsigned char)text.data[plain] < 0x7f &&
		       text.data[plain] != '"' && text.data[plain] != '\\')
			plain++;
		cairn_buffer_append(out, text.data, plain);
		text = cairn_bytes_skip(text, plain);
		if (text.length == 0)
			break;
		unsigned char byte = (unsigned char)text.data[0];
		size_t length = cairn_utf8_length(text);
		if (byte == '"' || byte == '\\')
			cairn_buffer_format(out, "\\%c", byte);
		else if (byte < 0x20 || byte == 0x7f)
			cairn_buffer_format(out, "\\u%04x", byte);
		else if (length == 0)
			cairn_buffer_text(out, "\xef\xbf\xbd");
		else if (cairn_utf8_printable(text))
			cairn_buffer_append(out, text.data, length);
		else /* what a terminal would act on lies below U+10000 */
			cairn_buffer_format(out, "\\u%04x", length == 2 ? (byte & 0x1fu) << 6 | ((unsigned char)text.data[1] & 0x3fu)
								       : (byte & 0x0fu) << 12 | ((unsigned char)text.data[1] & 0x3fu) << 6 |
										 ((unsigned char)text.data[2] & 0x3fu));
		text = cairn_bytes_skip(text, length ? length : 1);
	}
	cairn_buffer_byte(out, '"');
}

/* Whether what is open at LEVEL is an array, as far as that is kept. For assertions only, so inline: in the agent there are none. */
static inline bool is_array(const struct cairn_json *json, unsigned level)
{
	return level < 64 && json->arrays >> level & 1;
}

static void begin(struct cairn_json *json, const char *key)
{
	assert(json->depth == 0 || json->depth > 64 || is_array(json, json->depth - 1) == !key);
	if (json->comma)
		cairn_buffer_byte(json->out, ',');
	json->comma = true;
	if (key) {
		quote(json->out, cairn_bytes_of(key));
		cairn_buffer_byte(json->out, ':');
	}
}

void cairn_json_open(struct cairn_json *json, const char *key, char bracket)
{
	begin(json, key);
	assert(bracket == '{' || bracket == '[');
	if (json->depth < 64)
		json->arrays = (json->arrays & ~(UINT64_C(1) << json->depth)) | (uint64_t)(bracket == '[') << json->depth;
	json->depth++;
	cairn_buffer_byte(json->out, bracket);
	json->comma = false;
}

void cairn_json_close(struct cairn_json *json, char bracket)
{
	assert(json->depth > 0);
	json->depth--;
	assert(json->depth >= 64 || bracket == (is_array(json, json->depth) ? ']' : '}'));
	cairn_buffer_byte(json->out, bracket);
	json->comma = true;
}

void cairn_json_text(struct cairn_json *json, const char *key, struct cairn_bytes text)
{
	begin(json, key);
	quote(json->out, text);
}

void cairn_json_integer(struct cairn_json *json, const char *key, int64_t value)
{
	begin(json, key);
	cairn_buffer_number(json->out, value);
}

void cairn_json_number(struct cairn_json *json, const char *key, double value)
{
	char text[32];
	begin(json, key);
	if (!isfinite(value)) {
		cairn_buffer_text(json->out, "null");
	} else if (fabs(value) < 0x1p63 && value == (double)(int64_t)value) {
		cairn_buffer_number(json->out, (int64_t)value);
	} else {
		/* What a person wrote with fewer digits reads so again, and nothing is lost. */
		snprintf(text, sizeof text, "%.15g", value);
		if (strtod(text, NULL) != value)
			snprintf(text, sizeof text, "%.17g", value);
		cairn_buffer_text(json->out, text);
	}
}

void cairn_json_bool(struct cairn_json *json, const char *key, bool value)
{
	begin(json, key);
	cairn_buffer_text(json->out, value ? "true" : "false");
}

void cairn_json_null(struct cairn_json *json, const char *key)
{
	begin(json, key);
	cairn_buffer_text(json->out, "null");
}

void cairn_json_raw(struct cairn_json *json, const char *key, struct cairn_bytes value)
{
	while (value.length > 0 && value.data[value.length - 1] == '\n')
		value.length--;
	begin(json, key);
	if (value.length > 0)
		cairn_buffer_append(json->out, value.data, value.length);
	else
		cairn_buffer_text(json->out, "null");
}

struct cairn_json cairn_json_answer(struct cairn_buffer *out)
{
	enum { version = 1 };
	struct cairn_json json = cairn_json(out);
	cairn_json_open(&json, NULL, '{');
	cairn_json_integer(&json, "version", version);
	return json;
}

void cairn_json_end(struct cairn_json *json)
{
	cairn_json_close(json, '}');
	cairn_buffer_byte(json->out, '\n');
}
