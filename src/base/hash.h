/* hash.h - hashing, and two small open-addressing tables.
 *
 * A *map* maps 64-bit keys to 32-bit numbers. An *index* maps hashes to 32-bit numbers of things that the caller stores elsewhere and
 * compares itself. Neither ever shrinks; both double when three quarters full.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_BASE_HASH_H
#define CAIRN_BASE_HASH_H

#include "base/bytes.h"

#define CAIRN_NONE UINT32_MAX

/* Different in each process, so that nobody can write a file whose names or addresses all fall into one slot and make its reader search
 * for ever. */
extern uint64_t cairn_hash_secret;

/* A good 64-bit hash of DATA. Stable within a process only. */
uint64_t cairn_hash_bytes(const void *data, size_t length);

/* The same as cairn_hash_bytes for one number: stable within a process only. */
static inline uint64_t cairn_hash_mix(uint64_t value)
{
	value ^= cairn_hash_secret;
	value ^= value >> 32;
	value *= 0x9e3779b97f4a7c15u;
	value ^= value >> 29;
	value *= 0xbf58476d1ce4e5b9u;
	return value ^ (value >> 32);
}

/* FNV-1a, for checksums of short text: the same everywhere and for ever. */
static inline uint64_t cairn_hash_text(struct cairn_bytes text)
{
	uint64_t hash = 0xcbf29ce484222325u;
	for (size_t i = 0; i < text.length; i++)
		hash = (hash ^ (unsigned char)text.data[i]) * 0x100000001b3u;
	return hash;
}

/* All zeroes is an empty map. */
struct cairn_map {
	struct cairn_map_slot {
		uint64_t key;
		uint32_t value;
		uint32_t used;
	} *slots;
	size_t count;
	size_t capacity;
	unsigned shift; /* 64 less the bits of the capacity */
};

/* The value stored for KEY, or CAIRN_NONE. */
uint32_t cairn_map_get(const struct cairn_map *map, uint64_t key);
/* The place of KEY's value, added as CAIRN_NONE if it was missing. Borrowed until the next call. */
uint32_t *cairn_map_at(struct cairn_map *map, uint64_t key);
void cairn_map_free(struct cairn_map *map);

/* All zeroes is an empty index. */
struct cairn_index {
	struct cairn_index_slot {
		uint32_t hash;
		uint32_t id_plus_one; /* 0 is an empty slot */
	} *slots;
	size_t count;
	size_t capacity;
};

/* Iterates over the IDs added under HASH: start with *POSITION = 0; ends with CAIRN_NONE. IDs of other hashes may appear as well (only
 * half of the hash is compared), so the caller compares the things themselves. */
uint32_t cairn_index_next(const struct cairn_index *index, uint64_t hash, size_t *position);
void cairn_index_add(struct cairn_index *index, uint64_t hash, uint32_t id);
void cairn_index_free(struct cairn_index *index);

#endif
