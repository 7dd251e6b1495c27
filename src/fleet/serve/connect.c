/* connect.c - reads and writes fields.
 * SPDX-License-Identifier: Apache-2.0 */
#include "fleet/serve/connect.h"

#include "base/json_read.h"
#include "base/protobuf.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Reading. */

static void keep_text(const struct cairn_connect_field *field, void *values, struct cairn_bytes text, struct cairn_arena *arena)
{
	char *at = (char *)values + field->offset;
	if (field->kind == CAIRN_CONNECT_TEXT) {
		*(const char **)(void *)at = cairn_arena_text(arena, text);
	} else if (field->kind == CAIRN_CONNECT_MESSAGE) {
		*(struct cairn_bytes *)(void *)at = text;
	} else if (field->kind == CAIRN_CONNECT_SEVERAL) {
		struct cairn_connect_texts *texts = (void *)at;
		if (texts->count < CAIRN_CONNECT_TEXTS)
			texts->items[texts->count++] = cairn_arena_text(arena, text);
	}
}

static const struct cairn_connect_field *find_number(const struct cairn_connect_field *fields, uint64_t number)
{
	for (; fields->name; fields++)
		if (fields->number == number)
			return fields;
	return NULL;
}

static bool read_binary(struct cairn_bytes message, const struct cairn_connect_field *fields, void *values, struct cairn_arena *arena)
{
	struct cairn_cursor in = cairn_cursor(message);
	for (struct cairn_protobuf_field part; cairn_protobuf_next(&in, &part);) {
		const struct cairn_connect_field *field = find_number(fields, part.id);
		char *at = field ? (char *)values + field->offset : NULL;
		if (!field)
			continue;
		if (part.wire == CAIRN_WIRE_VARINT && field->kind == CAIRN_CONNECT_WHOLE)
			*(int64_t *)(void *)at = (int64_t)part.number;
		else if (part.wire == CAIRN_WIRE_FIXED64 && field->kind == CAIRN_CONNECT_REAL)
			memcpy(at, &part.number, sizeof part.number);
		else if (part.wire == CAIRN_WIRE_BYTES)
			keep_text(field, values, part.bytes, arena);
	}
	return !in.failed;
}

static struct cairn_bytes json_text(struct cairn_json_value value, struct cairn_arena *arena)
{
	char *copy = cairn_arena_zero(arena, value.text.length + 1, 1);
	cairn_json_copy(value, copy, value.text.length + 1);
	return cairn_bytes_of(copy);
}

static void read_json(struct cairn_json_value message, const struct cairn_connect_field *fields, void *values, struct cairn_arena *arena)
{
	for (; fields->name; fields++) {
		char *at = (char *)values + fields->offset;
		struct cairn_json_value value = cairn_json_find(message, fields->name), item;
		size_t position = 0;
		if (value.kind == CAIRN_JSON_NONE)
			value = cairn_json_find(message, fields->proto_name);
		if (value.kind == CAIRN_JSON_NONE || value.kind == CAIRN_JSON_NULL)
			continue;
		if (fields->kind == CAIRN_CONNECT_WHOLE) /* a number, or a text that contains one */
			*(int64_t *)(void *)at = strtoll(json_text(value, arena).data, NULL, 10);
		else if (fields->kind == CAIRN_CONNECT_REAL)
			*(double *)(void *)at = strtod(json_text(value, arena).data, NULL);
		else if (fields->kind == CAIRN_CONNECT_MESSAGE)
			keep_text(fields, values, value.text, arena);
		else if (fields->kind == CAIRN_CONNECT_TEXT)
			keep_text(fields, values, json_text(value, arena), arena);
		else
			while (cairn_json_next(value, &position, NULL, &item))
				keep_text(fields, values, json_text(item, arena), arena);
	}
}

bool cairn_connect_read(struct cairn_bytes message, bool binary, const struct cairn_connect_field *fields, void *values,
			struct cairn_arena *arena, struct cairn_error *error)
{
	if (binary)
		return read_binary(message, fields, values, arena) || cairn_fail_usage(error, "the body is not a message of this method");
	struct cairn_json_value value = cairn_json_value(message);
	if (value.kind != CAIRN_JSON_OBJECT)
		return cairn_fail_usage(error, "the body is not a JSON object");
	read_json(value, fields, values, arena);
	return true;
}

/* Writing. */

static struct cairn_buffer *binary_out(struct cairn_connect *connect)
{
	return connect->depth ? &connect->open[connect->depth - 1].buffer : connect->out;
}

static void put_tag(struct cairn_connect *connect, uint32_t number, enum cairn_wire wire)
{
	cairn_buffer_uleb(binary_out(connect), (uint64_t)number << 3 | wire);
}

static void put_bytes(struct cairn_connect *connect, uint32_t number, struct cairn_bytes bytes)
{
	cairn_protobuf_bytes(binary_out(connect), number, bytes);
}

struct cairn_connect cairn_connect_begin(struct cairn_buffer *out, bool binary)
{
	struct cairn_connect connect = {.binary = binary, .out = out, .json = cairn_json(out)};
	if (!binary)
		cairn_json_open(&connect.json, NULL, '{');
	return connect;
}

void cairn_connect_end(struct cairn_connect *connect)
{
	if (!connect->binary)
		cairn_json_close(&connect->json, '}');
}

void cairn_connect_list(struct cairn_connect *connect, const char *name)
{
	if (!connect->binary)
		cairn_json_open(&connect->json, name, '[');
}

void cairn_connect_list_end(struct cairn_connect *connect)
{
	if (!connect->binary)
		cairn_json_close(&connect->json, ']');
}

void cairn_connect_open(struct cairn_connect *connect, uint32_t number, const char *name)
{
	if (!connect->binary) {
		cairn_json_open(&connect->json, name, '{');
	} else if (connect->depth < CAIRN_CONNECT_DEPTH) {
		connect->open[connect->depth].buffer = cairn_buffer(SIZE_MAX);
		connect->open[connect->depth++].number = number;
	}
}

void cairn_connect_close(struct cairn_connect *connect)
{
	if (!connect->binary) {
		cairn_json_close(&connect->json, '}');
	} else if (connect->depth > 0) {
		struct cairn_buffer inner = connect->open[--connect->depth].buffer;
		put_bytes(connect, connect->open[connect->depth].number, cairn_buffer_bytes(&inner));
		cairn_buffer_free(&inner);
	}
}

void cairn_connect_text(struct cairn_connect *connect, uint32_t number, const char *name, struct cairn_bytes text)
{
	if (connect->binary)
		put_bytes(connect, number, text);
	else
		cairn_json_text(&connect->json, name, text);
}

void cairn_connect_whole(struct cairn_connect *connect, uint32_t number, const char *name, int64_t value)
{
	char text[24];
	if (connect->binary) {
		put_tag(connect, number, CAIRN_WIRE_VARINT);
		cairn_buffer_uleb(binary_out(connect), (uint64_t)value);
		return;
	}
	snprintf(text, sizeof text, "%lld", (long long)value);
	cairn_json_text(&connect->json, name, cairn_bytes_of(text));
}

void cairn_connect_real(struct cairn_connect *connect, uint32_t number, const char *name, double value)
{
	if (connect->binary) {
		put_tag(connect, number, CAIRN_WIRE_FIXED64);
		cairn_buffer_append(binary_out(connect), &value, sizeof value);
	} else {
		cairn_json_number(&connect->json, name, value);
	}
}

void cairn_connect_wholes(struct cairn_connect *connect, uint32_t number, const char *name, const int64_t *values, size_t count)
{
	if (!connect->binary) {
		cairn_connect_list(connect, name);
		for (size_t i = 0; i < count; i++)
			cairn_connect_whole(connect, number, NULL, values[i]);
		cairn_connect_list_end(connect);
		return;
	}
	struct cairn_buffer packed = cairn_buffer(SIZE_MAX);
	for (size_t i = 0; i < count; i++)
		cairn_buffer_uleb(&packed, (uint64_t)values[i]);
	put_bytes(connect, number, cairn_buffer_bytes(&packed));
	cairn_buffer_free(&packed);
}
