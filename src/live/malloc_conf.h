/* malloc_conf.h - parses MALLOC_CONF and the like: pairs key:value, separated by commas, and common mistakes in them.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_LIVE_MALLOC_CONF_H
#define CAIRN_LIVE_MALLOC_CONF_H

#include "base/arena.h"

enum { CAIRN_MALLOC_CONF_PAIRS = 64 };

/* All zeroes is an empty configuration. Texts are kept in ARENA, which the caller sets and frees. */
struct cairn_malloc_conf {
	struct cairn_arena *arena;
	struct {
		const char *key, *value;
	} pairs[CAIRN_MALLOC_CONF_PAIRS];
	size_t count;
	const char *problem; /* the first mistake: a sentence; NULL for none */
	const char *right;   /* the corrected text; NULL if unknown */
};

/* Adds the pairs of TEXT, which override earlier ones, as jemalloc reads them: an unknown pair is ignored, and a malformed one ends the
 * text. */
void cairn_malloc_conf_add(struct cairn_malloc_conf *conf, const char *text);

/* The value of KEY; NULL if it is not set. */
const char *cairn_malloc_conf_get(const struct cairn_malloc_conf *conf, const char *key);

/* Whether KEY is true; UNLESS if it is not set. */
bool cairn_malloc_conf_true(const struct cairn_malloc_conf *conf, const char *key, bool unless);

/* The number of KEY; UNLESS if it is not set, or not a number. */
long cairn_malloc_conf_number(const struct cairn_malloc_conf *conf, const char *key, long unless);

#endif
