/* record_stack.c - stacks: finding and adding them, and giving them up for others.
 *
 * Who looks a stack up first holds it and then looks whether it is still the one; who gives one up first claims it, by its hash, and then
 * looks whether it is held or has live samples. One of the two sees the other, so that no sample is ever counted for a stack that is gone.
 * A sample keeps its stack from when it is counted as allocated, the first of its changes to the stack's sums, until it is counted as
 * freed or thinned, the last. What a stack that is given up has counted is added to the unknown stack: totals stay as they are.
 *
 * Frames of stacks that were given up are kept in lists by their length, linked through their first word. The head of a list has a count
 * beside it, which changes with each use, so that a list that changed twice is not taken for one that did not.
 * SPDX-License-Identifier: Apache-2.0 */
#include "agent/sampler/record_parts.h"

enum { crowding_times = 64 };

static void add(_Atomic uint64_t *sum, uint64_t more)
{
	atomic_fetch_add_explicit(sum, more, memory_order_relaxed);
}

/* Frames. */

static unsigned runs_of(unsigned count)
{
	return (count + CAIRN_RECORD_RUN - 1) / CAIRN_RECORD_RUN;
}

static void push_run(struct cairn_record *record, uint32_t first, unsigned runs)
{
	_Atomic uint64_t *list = &record->runs[runs];
	uint64_t head = atomic_load_explicit(list, memory_order_relaxed), next;
	do {
		__atomic_store_n(&record->frames[first], head & UINT32_MAX, __ATOMIC_RELAXED);
		next = ((head >> 32) + 1) << 32 | (first + 1);
	} while (!atomic_compare_exchange_weak_explicit(list, &head, next, memory_order_acq_rel, memory_order_relaxed));
	add(&record->frames_free, (uint64_t)runs * CAIRN_RECORD_RUN);
}

static bool pop_run(struct cairn_record *record, unsigned runs, uint32_t *first)
{
	_Atomic uint64_t *list = &record->runs[runs];
	uint64_t head = atomic_load_explicit(list, memory_order_acquire), next;
	do {
		if ((uint32_t)head == 0)
			return false;
		*first = (uint32_t)head - 1;
		/* Whatever this reads if another thread has taken the run meanwhile: the count has changed then. */
		next = __atomic_load_n(&record->frames[*first], __ATOMIC_RELAXED);
		next = ((head >> 32) + 1) << 32 | (uint32_t)next;
	} while (!atomic_compare_exchange_weak_explicit(list, &head, next, memory_order_acq_rel, memory_order_acquire));
	add(&record->frames_free, -(uint64_t)runs * CAIRN_RECORD_RUN);
	return true;
}

/* Frames that nobody has used. */
static bool take_new(struct cairn_record *record, unsigned count, uint32_t *first)
{
	struct cairn_ledger_header *header = record->header;
	_Atomic uint32_t *provided = &header->provided[CAIRN_LEDGER_FRAMES];
	uint64_t used = atomic_load_explicit(&header->frames_used, memory_order_relaxed);
	for (;;) {
		uint32_t most = atomic_load_explicit(provided, memory_order_acquire);
		if (used + count > most) {
			if (!cairn_record_grow(record, CAIRN_LEDGER_FRAMES))
				return false;
			continue;
		}
		if (used + count + CAIRN_RECORD_DEPTH > most && used + count <= most && most - used <= CAIRN_RECORD_DEPTH)
			cairn_record_grow(record, CAIRN_LEDGER_FRAMES); /* before threads meet at the end */
		if (atomic_compare_exchange_weak_explicit(&header->frames_used, &used, used + count, memory_order_relaxed,
							  memory_order_relaxed))
			break;
	}
	*first = (uint32_t)used;
	return true;
}

static bool take_frames(struct cairn_record *record, unsigned count, uint32_t *first)
{
	unsigned runs = runs_of(count);
	if (runs == 0) {
		*first = 0;
		return true;
	}
	if (pop_run(record, runs, first) || take_new(record, runs * CAIRN_RECORD_RUN, first))
		return true;
	for (unsigned more = runs + 1; more <= CAIRN_RECORD_DEPTH / CAIRN_RECORD_RUN; more++)
		if (pop_run(record, more, first)) {
			push_run(record, *first + runs * CAIRN_RECORD_RUN, more - runs);
			return true;
		}
	return false;
}

/* Holding. */

void cairn_record_hold_stack(struct cairn_record *record, uint32_t stack)
{
	if (atomic_load_explicit(&record->stack_table.open, memory_order_acquire)) /* otherwise it is the unknown one, without memory yet */
		atomic_fetch_add(&record->holds[stack], 1);
}

void cairn_record_release_stack(struct cairn_record *record, uint32_t stack)
{
	if (atomic_load_explicit(&record->stack_table.open, memory_order_acquire))
		atomic_fetch_sub_explicit(&record->holds[stack], 1, memory_order_release);
}

bool cairn_record_try_stack(struct cairn_record *record, uint32_t index)
{
	if (atomic_load(&record->stacks[index].hash) < 2)
		return false;
	cairn_record_hold_stack(record, index);
	if (atomic_load(&record->stacks[index].hash) >= 2)
		return true;
	cairn_record_release_stack(record, index);
	return false;
}

uint32_t cairn_record_stack_check(const struct cairn_record *record, uint32_t stack)
{
	return (uint32_t)atomic_load_explicit(&record->stacks[stack].hash, memory_order_relaxed);
}

/* Giving up. */

/* What lived of STACK at the highest point is not nothing. */
static bool is_of_peak(const struct cairn_record *record, struct cairn_ledger_stack *stack)
{
	return atomic_load_explicit(&stack->peak, memory_order_relaxed) ==
		       atomic_load_explicit(&record->header->peak, memory_order_relaxed) &&
	       atomic_load_explicit(&stack->peak_bytes, memory_order_relaxed) > 0;
}

/* Whether a mapping has the stack in SLOT. One that is being changed counts: who changes it holds the stack before it is in no record. */
static bool is_mapped(const struct cairn_record *record, uint32_t slot)
{
	struct cairn_ledger_header *header = record->header;
	struct cairn_ledger_mapping *mappings = (void *)((char *)header + header->mappings.offset);
	for (uint64_t i = 0, used = atomic_load(&header->mappings_used); i < used; i++)
		if (__atomic_load_n(&mappings[i].stack, __ATOMIC_RELAXED) == slot && atomic_load(&mappings[i].start) != CAIRN_LEDGER_EMPTY)
			return true;
	return false;
}

/* Nobody else looks at STACK. */
static void move_sums(struct cairn_record *record, struct cairn_ledger_stack *stack)
{
	struct cairn_ledger_stack *unknown = &record->stacks[0];
	const struct {
		_Atomic uint64_t *from, *to;
	} sums[] = {
		{&stack->freed_samples, &unknown->freed_samples},         {&stack->freed_objects, &unknown->freed_objects},
		{&stack->freed_bytes, &unknown->freed_bytes},             {&stack->freed_elsewhere, &unknown->freed_elsewhere},
		{&stack->thinned_samples, &unknown->thinned_samples},     {&stack->thinned_objects, &unknown->thinned_objects},
		{&stack->thinned_bytes, &unknown->thinned_bytes},         {&stack->allocated_samples, &unknown->allocated_samples},
		{&stack->allocated_objects, &unknown->allocated_objects}, {&stack->allocated_bytes, &unknown->allocated_bytes},
	};
	cairn_record_save_peak(record, unknown);
	if (is_of_peak(record, stack)) {
		add(&unknown->peak_samples, stack->peak_samples);
		add(&unknown->peak_objects, stack->peak_objects);
		add(&unknown->peak_bytes, stack->peak_bytes);
	}
	atomic_store_explicit(&stack->peak, 0, memory_order_relaxed);
	for (size_t i = 0; i < sizeof sums / sizeof *sums; i++)
		add(sums[i].to, atomic_exchange_explicit(sums[i].from, 0, memory_order_relaxed));
	for (int i = 0; i < CAIRN_LEDGER_LIFETIMES; i++) {
		uint32_t more = atomic_exchange_explicit(&stack->lifetimes[i], 0, memory_order_relaxed);
		uint32_t before = atomic_load_explicit(&unknown->lifetimes[i], memory_order_relaxed);
		while (more && !atomic_compare_exchange_weak_explicit(&unknown->lifetimes[i], &before,
								      before > UINT32_MAX - more ? UINT32_MAX : before + more,
								      memory_order_relaxed, memory_order_relaxed))
			;
	}
}

/* Claims the stack in SLOT, which had HASH, and gives it up, unless somebody needs it. */
static bool give_up(struct cairn_record *record, uint32_t slot, uint64_t hash)
{
	struct cairn_ledger_stack *stack = &record->stacks[slot];
	/* Readers do not see a stack that is claimed: so not one that is needed again already. */
	if (atomic_load(&record->holds[slot]) != 0 || cairn_record_live_samples(stack) != 0 ||
	    !atomic_compare_exchange_strong(&stack->hash, &hash, 1))
		return false;
	/* After the claim, and mappings first: whoever holds it from now on sees that it is not there. */
	if (is_mapped(record, slot) || atomic_load(&record->holds[slot]) != 0 || cairn_record_live_samples(stack) != 0) {
		atomic_store_explicit(&stack->hash, hash, memory_order_release);
		return false;
	}
	move_sums(record, stack);
	if (stack->depth)
		push_run(record, stack->first, runs_of(stack->depth));
	atomic_store_explicit(&stack->hash, 0, memory_order_release);
	add(&record->header->stacks_used, (uint64_t)-1);
	add(&record->header->stacks_recycled, 1);
	return true;
}

/* A stack without live samples that can make place for one with HASH. */
struct candidate {
	uint64_t hash, worth;
	uint32_t slot;
};

/* Lists them, best first: those that had the fewest samples, of these in the largest generation, and last those that the highest point
 * needs. */
static unsigned list_candidates(struct cairn_record *record, uint64_t hash, struct candidate *candidates)
{
	static const uint64_t of_peak = UINT64_C(1) << 62;
	const struct cairn_record_table *table = &record->stack_table;
	unsigned count = 0;
	uint64_t all = 0, live = 0; /* by the size of the generation, of which these slots stand for the others */
	for (uint32_t i = atomic_load_explicit(&table->open, memory_order_acquire); i-- > 0;) {
		uint32_t slot = cairn_record_bucket(table, i, hash), size = table->bounds[i + 1] - table->bounds[i];
		for (uint32_t k = 0; k < CAIRN_RECORD_STACKS; k++) {
			struct cairn_ledger_stack *stack = &record->stacks[slot + k];
			struct candidate one = {.hash = atomic_load_explicit(&stack->hash, memory_order_acquire), .slot = slot + k};
			bool dead = one.hash < 2 || cairn_record_live_samples(stack) == 0;
			all += size;
			live += dead ? 0 : size;
			if (!dead || one.slot == 0 || one.hash < 2)
				continue;
			one.worth = atomic_load_explicit(&stack->allocated_samples, memory_order_relaxed) +
				    (is_of_peak(record, stack) ? of_peak : 0);
			unsigned at = count++;
			for (; at > 0 && candidates[at - 1].worth > one.worth; at--)
				candidates[at] = candidates[at - 1];
			candidates[at] = one;
		}
	}
	uint32_t before = atomic_load_explicit(&record->crowding, memory_order_relaxed);
	if (all)
		atomic_store_explicit(&record->crowding,
				      before - before / crowding_times +
					      (uint32_t)(CAIRN_RECORD_CROWD / crowding_times * live / all),
				      memory_order_relaxed);
	return count;
}

/* Finding. */

static uint64_t hash_stack(void *const *pcs, unsigned count)
{
	uint64_t hash = count;
	for (unsigned i = 0; i < count; i++)
		hash = (hash ^ (uintptr_t)pcs[i]) * 0x9e3779b97f4a7c15u, hash ^= hash >> 32;
	return hash < 2 ? hash + 2 : hash;
}

/* Whether SLOT has the stack, which is then held. */
static bool hold_same(struct cairn_record *record, uint32_t slot, uint64_t hash, void *const *pcs, unsigned count)
{
	struct cairn_ledger_stack *stack = &record->stacks[slot];
	cairn_record_hold_stack(record, slot);
	if (atomic_load(&stack->hash) == hash && stack->depth == count &&
	    memcmp(record->frames + stack->first, pcs, count * sizeof *pcs) == 0)
		return true;
	cairn_record_release_stack(record, slot);
	return false;
}

/* The older generations first: what is found most often was found early. One that is being written may turn out to be this one, which then
 * stands here twice: readers add it up. */
static uint32_t find(struct cairn_record *record, uint64_t hash, void *const *pcs, unsigned count)
{
	const struct cairn_record_table *table = &record->stack_table;
	for (uint32_t i = 0, open = atomic_load_explicit(&table->open, memory_order_acquire); i < open; i++) {
		uint32_t slot = cairn_record_bucket(table, i, hash);
		for (uint32_t k = 0; k < CAIRN_RECORD_STACKS; k++)
			if (atomic_load_explicit(&record->stacks[slot + k].hash, memory_order_acquire) == hash &&
			    hold_same(record, slot + k, hash, pcs, count))
				return slot + k;
	}
	return UINT32_MAX;
}

/* A free slot, now claimed. */
static uint32_t claim_free(struct cairn_record *record, uint64_t hash)
{
	const struct cairn_record_table *table = &record->stack_table;
	for (uint32_t i = atomic_load_explicit(&table->open, memory_order_acquire); i-- > 0;) {
		uint32_t slot = cairn_record_bucket(table, i, hash);
		for (uint32_t k = 0; k < CAIRN_RECORD_STACKS; k++) {
			uint64_t there = atomic_load_explicit(&record->stacks[slot + k].hash, memory_order_relaxed);
			if (there == 0 && atomic_compare_exchange_strong(&record->stacks[slot + k].hash, &there, 1))
				return slot + k;
		}
	}
	return UINT32_MAX;
}

static uint32_t claim_place(struct cairn_record *record, uint64_t hash)
{
	const struct cairn_record_table *table = &record->stack_table;
	uint32_t slots = table->bounds[atomic_load_explicit(&table->open, memory_order_relaxed)];
	if (atomic_load_explicit(&record->header->stacks_used, memory_order_relaxed) >= slots / 4 * 3)
		cairn_record_grow_stacks(record);
	for (;;) { /* each step makes the table larger; the last of a generation makes that usable */
		uint32_t slot = claim_free(record, hash);
		if (slot != UINT32_MAX || !cairn_record_grow_stacks(record))
			return slot;
	}
}

/* A slot and frames for a new stack, at the cost of others if there is no other way. */
static uint32_t claim_room(struct cairn_record *record, uint64_t hash, unsigned depth, uint32_t *first)
{
	struct candidate candidates[CAIRN_RECORD_GENERATIONS * CAIRN_RECORD_STACKS];
	uint32_t slot = claim_place(record, hash);
	bool framed = slot != UINT32_MAX && take_frames(record, depth, first);
	unsigned count = framed ? 0 : list_candidates(record, hash, candidates);
	for (unsigned i = 0; i < count && !framed; i++) {
		if (!give_up(record, candidates[i].slot, candidates[i].hash))
			continue;
		if (slot == UINT32_MAX)
			slot = claim_free(record, hash);
		framed = slot != UINT32_MAX && take_frames(record, depth, first);
	}
	if (framed)
		return slot;
	if (slot != UINT32_MAX) { /* all frames are those of stacks that are needed */
		atomic_store_explicit(&record->stacks[slot].hash, 0, memory_order_release);
		atomic_store_explicit(&record->crowding, CAIRN_RECORD_CROWD, memory_order_relaxed);
	}
	return UINT32_MAX;
}

static void fill(struct cairn_record *record, uint32_t slot, uint64_t hash, void *const *pcs, unsigned count, uint32_t first)
{
	struct cairn_ledger_stack *stack = &record->stacks[slot];
	for (unsigned i = 0; i < count; i++)
		__atomic_store_n(&record->frames[first + i], (uintptr_t)pcs[i], __ATOMIC_RELAXED);
	__atomic_store_n(&stack->first, first, __ATOMIC_RELAXED);
	__atomic_store_n(&stack->depth, count, __ATOMIC_RELAXED);
	cairn_record_hold_stack(record, slot);
	atomic_store_explicit(&stack->hash, hash, memory_order_release);
	add(&record->header->stacks_used, 1);
}

uint32_t cairn_record_stack(struct cairn_record *record, void *const *pcs, unsigned count)
{
	uint64_t hash = hash_stack(pcs, count);
	uint32_t slot = UINT32_MAX, first;
	if (count <= CAIRN_RECORD_DEPTH) {
		slot = find(record, hash, pcs, count);
		if (slot != UINT32_MAX)
			return slot;
		slot = claim_room(record, hash, count, &first);
	}
	if (slot != UINT32_MAX) {
		fill(record, slot, hash, pcs, count, first);
		return slot;
	}
	add(&record->header->stacks_lost, 1);
	cairn_record_hold_stack(record, 0);
	return 0;
}
