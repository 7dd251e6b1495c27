/* hash.c - linear probing in tables whose capacity is a power of two.
 * SPDX-License-Identifier: Apache-2.0 */
#include "base/hash.h"

#include "base/error.h"

#include <stdlib.h>
#include <unistd.h>

uint64_t cairn_hash_secret;

/* Where the kernel has nothing to give, the secret is none. */
__attribute__((constructor)) static void choose_secret(void)
{
	if (getentropy(&cairn_hash_secret, sizeof cairn_hash_secret) != 0)
		cairn_hash_secret = 0;
}

static uint64_t load64(const unsigned char *at)
{
	uint64_t value;
	memcpy(&value, at, 8);
	return value;
}

static uint64_t fold(uint64_t a, uint64_t b)
{
	__extension__ typedef unsigned __int128 wide;
	wide product = (wide)a * b;
	return (uint64_t)product ^ (uint64_t)(product >> 64);
}

uint64_t cairn_hash_bytes(const void *data, size_t length)
{
	const uint64_t k0 = 0xa0761d6478bd642fu, k1 = 0xe7037ed1a0b428dbu ^ cairn_hash_secret;
	const unsigned char *at = data;
	uint64_t state = k0 ^ length;
	size_t left = length;
	for (; left > 16; at += 16, left -= 16)
		state = fold(load64(at) ^ k1, load64(at + 8) ^ state);
	uint64_t a = 0, b = 0;
	if (left > 8) {
		a = load64(at);
		b = load64(at + left - 8);
	} else if (left > 0) {
		unsigned char tail[8] = {0};
		memcpy(tail, at, left);
		a = load64(tail);
	}
	return fold(k1 ^ length, fold(a ^ k1, b ^ state));
}

static void *new_slots(size_t capacity, size_t size)
{
	void *slots = calloc(capacity, size);
	if (!slots)
		cairn_out_of_memory(capacity * size);
	return slots;
}

static inline struct cairn_map_slot *map_slot(const struct cairn_map *map, uint64_t key)
{
	/* One multiplication spreads addresses well enough, and this is the innermost step of reading a dump. */
	size_t mask = map->capacity - 1;
	for (size_t at = fold(key ^ cairn_hash_secret, 0x9e3779b97f4a7c15u) >> map->shift;; at = (at + 1) & mask)
		if (!map->slots[at].used || map->slots[at].key == key)
			return &map->slots[at];
}

uint32_t cairn_map_get(const struct cairn_map *map, uint64_t key)
{
	if (!map->capacity)
		return CAIRN_NONE;
	const struct cairn_map_slot *slot = map_slot(map, key);
	return slot->used ? slot->value : CAIRN_NONE;
}

static void map_grow(struct cairn_map *map)
{
	struct cairn_map old = *map;
	map->capacity = old.capacity ? old.capacity * 2 : 64;
	map->shift = old.capacity ? old.shift - 1 : 64 - 6;
	map->slots = new_slots(map->capacity, sizeof *map->slots);
	for (size_t i = 0; i < old.capacity; i++)
		if (old.slots[i].used)
			*map_slot(map, old.slots[i].key) = old.slots[i];
	free(old.slots);
}

uint32_t *cairn_map_at(struct cairn_map *map, uint64_t key)
{
	if (map->count >= map->capacity / 4 * 3)
		map_grow(map);
	struct cairn_map_slot *slot = map_slot(map, key);
	if (!slot->used) {
		*slot = (struct cairn_map_slot){key, CAIRN_NONE, 1};
		map->count++;
	}
	return &slot->value;
}

void cairn_map_free(struct cairn_map *map)
{
	free(map->slots);
	*map = (struct cairn_map){0};
}

uint32_t cairn_index_next(const struct cairn_index *index, uint64_t hash, size_t *position)
{
	if (!index->capacity)
		return CAIRN_NONE;
	size_t mask = index->capacity - 1;
	uint32_t half = (uint32_t)(hash >> 32);
	for (size_t step = *position;; step++) {
		const struct cairn_index_slot *slot = &index->slots[(half + step) & mask];
		if (!slot->id_plus_one)
			return CAIRN_NONE;
		if (slot->hash == half) {
			*position = step + 1;
			return slot->id_plus_one - 1;
		}
	}
}

static void index_put(struct cairn_index *index, uint32_t half, uint32_t id_plus_one)
{
	size_t mask = index->capacity - 1;
	size_t at = half & mask;
	while (index->slots[at].id_plus_one)
		at = (at + 1) & mask;
	index->slots[at] = (struct cairn_index_slot){half, id_plus_one};
}

void cairn_index_add(struct cairn_index *index, uint64_t hash, uint32_t id)
{
	if (index->count >= index->capacity / 4 * 3) {
		struct cairn_index old = *index;
		index->capacity = old.capacity ? old.capacity * 2 : 64;
		index->slots = new_slots(index->capacity, sizeof *index->slots);
		for (size_t i = 0; i < old.capacity; i++)
			if (old.slots[i].id_plus_one)
				index_put(index, old.slots[i].hash, old.slots[i].id_plus_one);
		free(old.slots);
	}
	index_put(index, (uint32_t)(hash >> 32), id + 1);
	index->count++;
}

void cairn_index_free(struct cairn_index *index)
{
	free(index->slots);
	*index = (struct cairn_index){0};
}
