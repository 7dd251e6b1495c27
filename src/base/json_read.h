/* json_read.h - reads JSON in place: no copy, no allocation, any input.
 *
 * A value is the bytes that spell it. Members and elements are visited one after another, and a path of keys leads from a value to one
 * inside it. Nothing is trusted: truncated or invalid text has no values from the damage on.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_BASE_JSON_READ_H
#define CAIRN_BASE_JSON_READ_H

#include "base/bytes.h"

enum cairn_json_kind {
	CAIRN_JSON_NONE, /* not there */
	CAIRN_JSON_NULL,
	CAIRN_JSON_FALSE,
	CAIRN_JSON_TRUE,
	CAIRN_JSON_NUMBER,
	CAIRN_JSON_TEXT,
	CAIRN_JSON_ARRAY,
	CAIRN_JSON_OBJECT,
};

struct cairn_json_value {
	enum cairn_json_kind kind;
	struct cairn_bytes text; /* with its quotes or brackets; borrowed from the input */
};

/* The value that all of INPUT spells, apart from blanks around it; has no kind if there is none. Values inside it are checked when they
 * are reached. */
struct cairn_json_value cairn_json_value(struct cairn_bytes input);

/* Iterates over the members of an object or the elements of an array: start with *POSITION = 0; returns false at the end and at damaged
 * text. KEY, which may be NULL, receives the key with its quotes, or nothing in an array. */
bool cairn_json_next(struct cairn_json_value container, size_t *position, struct cairn_bytes *key, struct cairn_json_value *value);

/* The value at PATH, keys separated by dots ("snapshots.last.samples"); has no kind if it is missing. */
struct cairn_json_value cairn_json_find(struct cairn_json_value value, const char *path);

/* Copies the text of a string to OUT, unescaped and truncated to SIZE; for a number or boolean, its spelling; "" for anything else. */
void cairn_json_copy(struct cairn_json_value value, char *out, size_t size);

/* The value of a number; 1 for true; 0 for anything else. */
double cairn_json_double(struct cairn_json_value value);

#endif
