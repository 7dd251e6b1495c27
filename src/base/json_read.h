/* json_read.h - reading JSON where it lies: no copy, no allocation, any input.
 *
 * A value is the run of bytes that spells it. Members and elements are walked one after another, and a path of keys is followed
 * from a value inwards. Nothing is believed: a text that is cut short or not JSON has no values from the damage on.
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

/* The value that all of INPUT spells, blanks around it aside; of no kind when it spells none. Values inside it are checked when they
 * are reached. */
struct cairn_json_value cairn_json_value(struct cairn_bytes input);

/* Walks the members of an object or the elements of an array: start with *POSITION = 0; false at the end and where the text is damaged.
 * KEY, which may be NULL, receives the key with its quotes, or nothing in an array. */
bool cairn_json_next(struct cairn_json_value container, size_t *position, struct cairn_bytes *key, struct cairn_json_value *value);

/* The value at PATH, keys with points between them ("snapshots.last.samples"), of no kind when it is not there. */
struct cairn_json_value cairn_json_find(struct cairn_json_value value, const char *path);

/* Copies the text of a string to OUT, unescaped and cut to SIZE; of a number or a truth value, its spelling; "" for all else. */
void cairn_json_copy(struct cairn_json_value value, char *out, size_t size);

/* A number as itself, true as 1, all else as 0. */
double cairn_json_double(struct cairn_json_value value);

#endif
