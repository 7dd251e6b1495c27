/* json.h - writes JSON to a buffer, with commas, escapes and nesting.
 *
 * In text that is not valid UTF-8, each wrong byte becomes U+FFFD, so that every reader accepts it.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_BASE_JSON_H
#define CAIRN_BASE_JSON_H

#include "base/buffer.h"

struct cairn_json {
	struct cairn_buffer *out;
	bool comma;      /* the next value at this level needs one before it */
	unsigned depth;  /* of brackets that this writer has opened */
	uint64_t arrays; /* a bit for each of the outermost 64: it is an array */
};

struct cairn_json cairn_json(struct cairn_buffer *out);

/* Begins an answer of ours in OUT: an object with the member "version", and ends it, with a line end. */
struct cairn_json cairn_json_answer(struct cairn_buffer *out);
void cairn_json_end(struct cairn_json *json);

/* KEY is NULL inside an array and for the outermost value, and not inside an object. */
void cairn_json_open(struct cairn_json *json, const char *key, char bracket);
void cairn_json_close(struct cairn_json *json, char bracket);
void cairn_json_text(struct cairn_json *json, const char *key, struct cairn_bytes text);
void cairn_json_integer(struct cairn_json *json, const char *key, int64_t value);
/* A finite number with up to 17 digits, integers without a point; anything else is null. */
void cairn_json_number(struct cairn_json *json, const char *key, double value);
void cairn_json_bool(struct cairn_json *json, const char *key, bool value);
void cairn_json_null(struct cairn_json *json, const char *key);
/* VALUE is JSON already, with or without a line end; empty is null. */
void cairn_json_raw(struct cairn_json *json, const char *key, struct cairn_bytes value);

#endif
