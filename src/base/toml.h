/* toml.h - the keys and plain values of a TOML file that may be somebody else's.
 *
 * As much of TOML as it takes to find a few keys among anything else: tables, also inline, dotted keys, strings of all four kinds, bare
 * values. Arrays are passed over whole and read as an empty value. Nothing is allocated, and no input is an error.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_BASE_TOML_H
#define CAIRN_BASE_TOML_H

#include "base/bytes.h"

enum { CAIRN_TOML_NAME = 400, CAIRN_TOML_DEPTH = 8 };

struct cairn_toml {
	struct cairn_bytes rest;
	char section[128];
	char inside[128];                 /* the inline tables that are open, each name with a dot behind it */
	size_t before[CAIRN_TOML_DEPTH];  /* length of `inside` before each of them */
	unsigned depth;                   /* how many are open; deeper ones are passed over */
};

struct cairn_toml cairn_toml(struct cairn_bytes text);

/* The next key with its table before it ("memory.enable_heap_profiling") in NAME, and its value; false after the last. A string lies in
 * ROOM, cut to SIZE - 1, any other value in the text. */
bool cairn_toml_next(struct cairn_toml *in, char name[CAIRN_TOML_NAME], char *room, size_t size, struct cairn_bytes *value);

#endif
