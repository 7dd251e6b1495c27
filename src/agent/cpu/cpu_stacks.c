/* cpu_stacks.c - an open-addressing table over records that are only ever appended.
 * SPDX-License-Identifier: Apache-2.0 */
#include "agent/cpu/cpu_stacks.h"

enum { slots_at_first = 1 << 12, records_maximum = 256 << 20, word = sizeof(uint64_t) };

bool cairn_cpu_stacks_open(struct cairn_cpu_stacks *stacks)
{
	*stacks = (struct cairn_cpu_stacks){
		.records = cairn_pages(records_maximum),
		.slots = cairn_pages_map(slots_at_first * sizeof *stacks->slots),
		.slot_count = slots_at_first,
	};
	return stacks->slots != NULL;
}

void cairn_cpu_stacks_close(struct cairn_cpu_stacks *stacks)
{
	cairn_buffer_free(&stacks->records);
	if (stacks->slots)
		cairn_pages_unmap(stacks->slots, stacks->slot_count * sizeof *stacks->slots);
	stacks->slots = NULL;
}

static struct cairn_cpu_stack *record_at(const struct cairn_cpu_stacks *stacks, uint32_t place)
{
	return (struct cairn_cpu_stack *)(void *)(stacks->records.data + (size_t)(place - 1) * word);
}

static uint64_t hash_stack(uint32_t thread, const uint64_t *pcs, size_t depth)
{
	uint64_t hash = thread + 1;
	for (size_t i = 0; i < depth; i++)
		hash = (hash ^ pcs[i]) * 0x9e3779b97f4a7c15u, hash ^= hash >> 29;
	return hash;
}

static bool grow(struct cairn_cpu_stacks *stacks)
{
	size_t wider = stacks->slot_count * 2;
	uint32_t *slots = cairn_pages_map(wider * sizeof *slots);
	if (!slots)
		return false;
	for (size_t i = 0; i < stacks->slot_count; i++) {
		if (!stacks->slots[i])
			continue;
		size_t at = record_at(stacks, stacks->slots[i])->hash & (wider - 1);
		while (slots[at])
			at = (at + 1) & (wider - 1);
		slots[at] = stacks->slots[i];
	}
	cairn_pages_unmap(stacks->slots, stacks->slot_count * sizeof *slots);
	stacks->slots = slots;
	stacks->slot_count = wider;
	return true;
}

bool cairn_cpu_stacks_add(struct cairn_cpu_stacks *stacks, uint32_t thread, uint32_t times, const uint64_t *pcs, size_t depth)
{
	uint64_t hash = hash_stack(thread, pcs, depth);
	size_t at = hash & (stacks->slot_count - 1);
	for (; stacks->slots[at]; at = (at + 1) & (stacks->slot_count - 1)) {
		struct cairn_cpu_stack *stack = record_at(stacks, stacks->slots[at]);
		if (stack->hash == hash && stack->thread == thread && stack->depth == depth && memcmp(stack->pcs, pcs, depth * word) == 0) {
			stack->times += times;
			return true;
		}
	}
	if (stacks->count * 2 >= stacks->slot_count) {
		if (!grow(stacks))
			return false;
		for (at = hash & (stacks->slot_count - 1); stacks->slots[at];)
			at = (at + 1) & (stacks->slot_count - 1);
	}
	size_t place = stacks->records.length / word;
	struct cairn_cpu_stack head = {.hash = hash, .thread = thread, .times = times, .depth = depth};
	char *room = cairn_buffer_room(&stacks->records, sizeof head + depth * word);
	if (!room)
		return false;
	memcpy(room, &head, sizeof head);
	memcpy(room + sizeof head, pcs, depth * word);
	stacks->records.length += sizeof head + depth * word;
	stacks->slots[at] = (uint32_t)place + 1;
	stacks->count++;
	return true;
}

const struct cairn_cpu_stack *cairn_cpu_stacks_next(const struct cairn_cpu_stacks *stacks, const struct cairn_cpu_stack *previous)
{
	const char *at = previous ? (const char *)(previous->pcs + previous->depth) : stacks->records.data;
	bool more = stacks->records.length > 0 && at < stacks->records.data + stacks->records.length;
	return more ? (const struct cairn_cpu_stack *)(const void *)at : NULL;
}
