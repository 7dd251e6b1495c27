/* record.c - claiming, filling and publishing records.
 * SPDX-License-Identifier: Apache-2.0 */
#include "agent/sampler/record.h"

#include "agent/sampler/record_parts.h"
#include "arch/arch.h"
#include "base/exponential.h"
#include "base/time.h"

#include <sys/prctl.h>

enum { thread_window = 256 };

uint64_t cairn_record_objects(uint64_t size, uint64_t period)
{
	double chance = period ? cairn_exponential_chance((double)size / (double)period) : 1;
	return chance > 0 ? (uint64_t)(CAIRN_LEDGER_OBJECT / chance + 0.5) : 0;
}

static uint64_t bytes_of(uint64_t objects, uint64_t size)
{
	return (uint64_t)((double)objects * (double)size / CAIRN_LEDGER_OBJECT + 0.5);
}

static void add(_Atomic uint64_t *sum, uint64_t more)
{
	atomic_fetch_add_explicit(sum, more, memory_order_relaxed);
}

/* Stays at its end: a histogram that began again at zero would be wrong by all of it. */
static void count_up(_Atomic uint32_t *count)
{
	uint32_t before = atomic_load_explicit(count, memory_order_relaxed);
	while (before < UINT32_MAX &&
	       !atomic_compare_exchange_weak_explicit(count, &before, before + 1, memory_order_relaxed, memory_order_relaxed))
		;
}

/* Samples. */

/* The slot that holds KEY, or UINT32_MAX. */
static uint32_t find(const struct cairn_record *record, uint64_t key)
{
	if (key <= CAIRN_LEDGER_BUSY) /* states, not keys: they would be found in slots without a sample */
		return UINT32_MAX;
	const struct cairn_record_table *table = &record->sample_table;
	uint64_t hash = cairn_record_mix(key);
	for (uint32_t i = 0, open = atomic_load_explicit(&table->open, memory_order_acquire); i < open; i++) {
		uint32_t slot = cairn_record_bucket(table, i, hash);
		for (uint32_t k = 0; k < CAIRN_RECORD_KEYS; k++)
			if (atomic_load_explicit(&record->keys[slot + k], memory_order_relaxed) == key)
				return slot + k;
	}
	return UINT32_MAX;
}

bool cairn_record_has(const struct cairn_record *record, uint64_t key)
{
	return find(record, key) != UINT32_MAX;
}

/* Takes the slot from what it holds; only one thread succeeds. */
static bool claim(struct cairn_record *record, uint32_t slot, uint64_t holds)
{
	return atomic_compare_exchange_strong_explicit(&record->keys[slot], &holds, CAIRN_LEDGER_BUSY, memory_order_acq_rel,
						       memory_order_relaxed);
}

static void publish(struct cairn_record *record, uint32_t slot, uint64_t key, const struct cairn_ledger_sample *sample)
{
	struct cairn_ledger_sample *to = &record->samples[slot];
	uint32_t sequence = atomic_load_explicit(&to->sequence, memory_order_relaxed);
	atomic_store_explicit(&to->sequence, sequence + 1, memory_order_relaxed);
	atomic_thread_fence(memory_order_release);
	/* By whole words, the first of which has the sequence in it: a reader may be looking. */
	__atomic_store_n(&to->stack, sample->stack, __ATOMIC_RELAXED);
	for (size_t i = 1; i < sizeof *to / sizeof(uint64_t); i++)
		__atomic_store_n((uint64_t *)(void *)to + i, ((const uint64_t *)(const void *)sample)[i], __ATOMIC_RELAXED);
	atomic_store_explicit(&to->sequence, sequence + 2, memory_order_release);
	atomic_store_explicit(&record->keys[slot], key, memory_order_release);
}

/* A thread that finds another at it does not wait: at worst the saved sums are off by the samples of that instant. */
void cairn_record_save_peak(struct cairn_record *record, struct cairn_ledger_stack *stack)
{
	uint64_t number = atomic_load_explicit(&record->header->peak, memory_order_relaxed);
	uint64_t saved = atomic_load_explicit(&stack->peak, memory_order_relaxed);
	if (saved == number || saved == CAIRN_LEDGER_SAVING ||
	    !atomic_compare_exchange_strong_explicit(&stack->peak, &saved, CAIRN_LEDGER_SAVING, memory_order_acq_rel, memory_order_relaxed))
		return;
	const struct {
		_Atomic uint64_t *allocated, *freed, *thinned, *to;
	} sums[] = {
		{&stack->allocated_samples, &stack->freed_samples, &stack->thinned_samples, &stack->peak_samples},
		{&stack->allocated_objects, &stack->freed_objects, &stack->thinned_objects, &stack->peak_objects},
		{&stack->allocated_bytes, &stack->freed_bytes, &stack->thinned_bytes, &stack->peak_bytes},
	};
	for (size_t i = 0; i < sizeof sums / sizeof *sums; i++) {
		uint64_t lives = atomic_load_explicit(sums[i].allocated, memory_order_relaxed) -
				 atomic_load_explicit(sums[i].freed, memory_order_relaxed) -
				 atomic_load_explicit(sums[i].thinned, memory_order_relaxed);
		atomic_store_explicit(sums[i].to, lives, memory_order_relaxed);
	}
	atomic_store_explicit(&stack->peak, number, memory_order_release);
}

/* The last sum that one sample less of a stack changes: with no other, the stack may be another one from now on. */
static void give_up(_Atomic uint64_t *samples)
{
	atomic_fetch_add_explicit(samples, 1, memory_order_release);
}

static void count_freed(struct cairn_record *record, const struct cairn_ledger_sample *sample, uint32_t thread, int64_t now_ns)
{
	struct cairn_ledger_stack *stack = &record->stacks[sample->stack];
	uint64_t bytes = bytes_of(sample->objects, sample->size);
	cairn_record_save_peak(record, stack);
	add(&stack->freed_objects, sample->objects);
	add(&stack->freed_bytes, bytes);
	if (thread != sample->thread)
		add(&stack->freed_elsewhere, 1);
	uint64_t lived = now_ns > sample->birth_ns ? (uint64_t)(now_ns - sample->birth_ns) : 0;
	int bits = lived ? 64 - __builtin_clzll(lived) : 0, bucket = bits - CAIRN_LEDGER_FIRST_LIFETIME;
	bucket = bucket < 0 ? 0 : bucket >= CAIRN_LEDGER_LIFETIMES ? CAIRN_LEDGER_LIFETIMES - 1 : bucket;
	count_up(&stack->lifetimes[bucket]);
	give_up(&stack->freed_samples);
	add(&record->header->freed, 1);
	add(&record->header->freed_bytes, bytes);
}

static void count_allocated(struct cairn_record *record, const struct cairn_ledger_sample *sample)
{
	struct cairn_ledger_stack *stack = &record->stacks[sample->stack];
	struct cairn_ledger_header *header = record->header;
	uint64_t bytes = bytes_of(sample->objects, sample->size);
	cairn_record_save_peak(record, stack);
	add(&stack->allocated_samples, 1);
	add(&stack->allocated_objects, sample->objects);
	add(&stack->allocated_bytes, bytes);
	uint64_t allocated = atomic_fetch_add_explicit(&header->allocated_bytes, bytes, memory_order_relaxed) + bytes;
	uint64_t lives = allocated - atomic_load_explicit(&header->freed_bytes, memory_order_relaxed) -
			 atomic_load_explicit(&header->thinned_bytes, memory_order_relaxed);
	uint64_t highest = atomic_load_explicit(&header->highest_bytes, memory_order_relaxed);
	while ((int64_t)lives > (int64_t)highest)
		if (atomic_compare_exchange_weak_explicit(&header->highest_bytes, &highest, lives, memory_order_relaxed,
							  memory_order_relaxed)) {
			atomic_store_explicit(&header->peak_ns, sample->birth_ns, memory_order_relaxed);
			atomic_fetch_add_explicit(&header->peak, 1, memory_order_relaxed);
			return;
		}
}

/* A sample of OBJECTS, of which thinning leaves the given number, or none. */
static void count_thinned(struct cairn_record *record, const struct cairn_ledger_sample *sample, uint64_t left)
{
	struct cairn_ledger_stack *stack = &record->stacks[sample->stack];
	uint64_t bytes = bytes_of(sample->objects, sample->size) - bytes_of(left, sample->size);
	cairn_record_save_peak(record, stack);
	add(&stack->thinned_objects, sample->objects - left);
	add(&stack->thinned_bytes, bytes);
	add(&record->header->thinned_bytes, bytes);
	if (left == 0)
		give_up(&stack->thinned_samples);
}

/* A slot for KEY that the caller has claimed, or UINT32_MAX. The newest generation is the largest: what finds its bucket full there goes
 * to an older one, so that nearly all slots can be used. */
static uint32_t claim_free(struct cairn_record *record, uint64_t key)
{
	const struct cairn_record_table *table = &record->sample_table;
	uint64_t hash = cairn_record_mix(key);
	for (uint32_t i = atomic_load_explicit(&table->open, memory_order_acquire); i-- > 0;) {
		uint32_t slot = cairn_record_bucket(table, i, hash);
		for (uint32_t k = 0; k < CAIRN_RECORD_KEYS; k++)
			if (atomic_load_explicit(&record->keys[slot + k], memory_order_relaxed) == CAIRN_LEDGER_EMPTY &&
			    claim(record, slot + k, CAIRN_LEDGER_EMPTY))
				return slot + k;
	}
	return UINT32_MAX;
}

static bool is_nearly_full(const struct cairn_record *record)
{
	return atomic_load_explicit(&record->header->live, memory_order_relaxed) >= cairn_record_slots(record) / 4 * 3;
}

bool cairn_record_is_full(const struct cairn_record *record)
{
	bool grows = atomic_load_explicit(&record->sample_table.open, memory_order_relaxed) < record->sample_table.generations &&
		     atomic_load_explicit(&record->refusals_left, memory_order_relaxed) == 0;
	bool crowded = atomic_load_explicit(&record->crowding, memory_order_relaxed) >= CAIRN_RECORD_CROWD / 4 * 3;
	return (is_nearly_full(record) && !grows) || crowded;
}

/* The same, with memory for more if that is what it takes. */
static uint32_t claim_place(struct cairn_record *record, uint64_t key)
{
	if (is_nearly_full(record))
		cairn_record_grow_samples(record);
	for (;;) { /* as for stacks (record_stack.c) */
		uint32_t slot = claim_free(record, key);
		if (slot != UINT32_MAX || !cairn_record_grow_samples(record))
			return slot;
	}
}

/* Empties a slot that was claimed. */
static void empty(struct cairn_record *record, uint32_t slot)
{
	atomic_store_explicit(&record->keys[slot], CAIRN_LEDGER_EMPTY, memory_order_release);
	atomic_fetch_sub_explicit(&record->header->live, 1, memory_order_relaxed);
}

size_t cairn_record_thin(struct cairn_record *record, uint64_t first, uint32_t count, uint64_t period, uint64_t *random,
			 void (*forget)(uint64_t key))
{
	size_t gone = 0;
	uint32_t slots = cairn_record_slots(record);
	for (uint64_t at = first; at < first + count && slots; at++) {
		uint32_t i = (uint32_t)(at % slots);
		uint64_t key = atomic_load_explicit(&record->keys[i], memory_order_relaxed);
		/* One that moves just now is left for the next time. */
		if (key <= CAIRN_LEDGER_BUSY || (key & CAIRN_LEDGER_MOVING) || record->samples[i].period >= period ||
		    !claim(record, i, key))
			continue;
		struct cairn_ledger_sample sample = record->samples[i];
		double before = cairn_exponential_chance((double)sample.size / (double)sample.period);
		double now = cairn_exponential_chance((double)sample.size / (double)period);
		if ((double)(cairn_record_random(random) >> 11) * 0x1p-53 * before >= now) {
			count_thinned(record, &sample, 0);
			empty(record, i);
			forget(key);
			gone++;
		} else {
			uint64_t objects = cairn_record_objects(sample.size, period);
			count_thinned(record, &sample, objects);
			sample.period = period;
			sample.objects = objects;
			publish(record, i, key, &sample);
		}
	}
	add(&record->header->thinned, gone);
	return gone;
}

/* The shortest period of the samples in the bucket that begins with slot FIRST. */
static uint64_t shortest_period(const struct cairn_record *record, uint32_t first)
{
	uint64_t shortest = UINT64_MAX;
	for (uint32_t i = first; i < first + CAIRN_RECORD_KEYS; i++)
		shortest = record->samples[i].period < shortest ? record->samples[i].period : shortest;
	return shortest;
}

/* All slots of KEY are taken: those samples in the newest generation that stand for the least get twice their period, until one gives up
 * its slot. So the sums still stand for everything, and their errors grow as the periods do. */
static uint32_t claim_of_others(struct cairn_record *record, uint64_t key, const struct cairn_ledger_sample *sample)
{
	enum { tries = 16 };
	const struct cairn_record_table *table = &record->sample_table;
	uint32_t open = atomic_load_explicit(&table->open, memory_order_acquire), slot = UINT32_MAX;
	if (open == 0 || !record->forget)
		return UINT32_MAX;
	uint64_t hash = cairn_record_mix(key), random = cairn_record_mix(hash ^ (uint64_t)sample->birth_ns) | 1, period;
	uint32_t first = cairn_record_bucket(table, open - 1, hash);
	for (int i = 0; i < tries && slot == UINT32_MAX && (period = shortest_period(record, first)) < UINT64_C(1) << 40; i++) {
		cairn_record_thin(record, first, CAIRN_RECORD_KEYS, period * 2, &random, record->forget);
		slot = claim_free(record, key);
	}
	return slot;
}

static bool drop(struct cairn_record *record, const struct cairn_ledger_sample *sample)
{
	add(&record->header->dropped, 1);
	add(&record->header->dropped_bytes, bytes_of(sample->objects, sample->size));
	return false;
}

static bool add_sample(struct cairn_record *record, uint64_t key, const struct cairn_ledger_sample *sample, bool *replaced)
{
	uint32_t slot = find(record, key);
	if (slot != UINT32_MAX && claim(record, slot, key)) {
		struct cairn_ledger_sample old = record->samples[slot];
		count_freed(record, &old, sample->thread, sample->birth_ns);
		add(&record->header->replaced, 1);
		*replaced = true;
	} else {
		slot = claim_place(record, key);
		slot = slot != UINT32_MAX ? slot : claim_of_others(record, key, sample);
		if (slot == UINT32_MAX)
			return drop(record, sample);
		add(&record->header->live, 1);
	}
	publish(record, slot, key, sample);
	add(&record->header->taken, 1);
	count_allocated(record, sample);
	return true;
}

bool cairn_record_sample(struct cairn_record *record, uint64_t key, const struct cairn_ledger_sample *sample, bool *replaced)
{
	struct cairn_ledger_sample own = *sample;
	*replaced = false;
	if (atomic_load_explicit(&record->stack_table.open, memory_order_acquire) == 0 && !cairn_record_grow_stacks(record))
		return drop(record, sample); /* not even the unknown stack has memory */
	own.stack_check = cairn_record_stack_check(record, sample->stack);
	bool added = add_sample(record, key, &own, replaced);
	cairn_record_release_stack(record, sample->stack);
	return added;
}

static bool remove_slot(struct cairn_record *record, uint32_t slot, uint64_t holds, uint32_t thread, int64_t now_ns)
{
	if (!claim(record, slot, holds))
		return false;
	struct cairn_ledger_sample sample = record->samples[slot];
	empty(record, slot);
	count_freed(record, &sample, thread, now_ns);
	return true;
}

bool cairn_record_free(struct cairn_record *record, uint64_t key, uint32_t thread, int64_t now_ns)
{
	uint32_t slot = find(record, key);
	return slot != UINT32_MAX && remove_slot(record, slot, key, thread, now_ns);
}

uint32_t cairn_record_hold(struct cairn_record *record, uint64_t key)
{
	uint32_t slot = find(record, key);
	if (slot == UINT32_MAX)
		return 0;
	return atomic_compare_exchange_strong(&record->keys[slot], &key, key | CAIRN_LEDGER_MOVING) ? slot + 1 : 0;
}

bool cairn_record_release(struct cairn_record *record, uint64_t key, uint32_t held, bool moved, uint32_t thread, int64_t now_ns)
{
	uint32_t slot = held - 1;
	uint64_t holds = key | CAIRN_LEDGER_MOVING;
	/* Fails where it was thrown away meanwhile; another sample, moving too, may be in its place. */
	if (moved)
		return remove_slot(record, slot, holds, thread, now_ns);
	atomic_compare_exchange_strong(&record->keys[slot], &holds, key);
	return false;
}

/* Threads. */

void cairn_record_thread_name(struct cairn_record *record, uint32_t thread)
{
	char name[17] = "";
	uint64_t words[2];
	if (thread == 0 || cairn_arch_call(SYS_prctl, PR_GET_NAME, (uintptr_t)name) != 0)
		return;
	memcpy(words, name, sizeof words);
	atomic_store_explicit(&record->threads[thread].name[0], words[0], memory_order_relaxed);
	atomic_store_explicit(&record->threads[thread].name[1], words[1], memory_order_relaxed);
}

uint32_t cairn_record_thread(struct cairn_record *record, int64_t now_ns)
{
	struct cairn_ledger_header *header = record->header;
	_Atomic uint32_t *provided = &header->provided[CAIRN_LEDGER_THREADS];
	uint32_t id = (uint32_t)cairn_arch_call(SYS_gettid, 0);
	if (atomic_load(&header->threads_used) >= atomic_load(provided) / 4 * 3 && !cairn_record_grow(record, CAIRN_LEDGER_THREADS))
		cairn_record_sweep_threads(record, now_ns);
	uint32_t most = atomic_load(provided);
	for (uint32_t i = 0; i < thread_window && most; i++) {
		uint32_t place = (uint32_t)((cairn_record_mix(id) >> 20) + i) % most, free_state = CAIRN_LEDGER_STATE_FREE;
		struct cairn_ledger_thread *thread = &record->threads[place];
		if (place == 0 || !atomic_compare_exchange_strong(&thread->state, &free_state, CAIRN_LEDGER_STATE_WRITING))
			continue;
		add(&header->threads_used, 1);
		thread->id = id;
		thread->birth_ns = now_ns;
		cairn_record_thread_name(record, place);
		atomic_store_explicit(&thread->state, CAIRN_LEDGER_STATE_COMPLETE, memory_order_release);
		return place;
	}
	add(&header->threads_lost, 1);
	return 0;
}

static void sweep_threads(struct cairn_record *record, int process)
{
	struct cairn_ledger_header *header = record->header;
	uint32_t most = atomic_load(&header->provided[CAIRN_LEDGER_THREADS]);
	for (uint32_t i = 1; i < most; i++) {
		struct cairn_ledger_thread *thread = &record->threads[i];
		if (atomic_load(&thread->state) == CAIRN_LEDGER_STATE_COMPLETE && cairn_arch_call(SYS_tgkill, (uintptr_t)process, thread->id) != 0)
			atomic_store(&thread->state, CAIRN_LEDGER_STATE_ENDED);
	}
	for (uint32_t i = 0, slots = cairn_record_slots(record); i < slots; i++) { /* whose names are still needed */
		uint32_t thread = record->samples[i].thread, ended = CAIRN_LEDGER_STATE_ENDED;
		uint64_t key = atomic_load(&record->keys[i]);
		if (key > CAIRN_LEDGER_BUSY && thread < most)
			atomic_compare_exchange_strong(&record->threads[thread].state, &ended, CAIRN_LEDGER_STATE_COMPLETE);
	}
	const struct cairn_ledger_mapping *mappings = (const void *)((const char *)header + header->mappings.offset);
	for (uint64_t i = 0; i < atomic_load(&header->mappings_used); i++) {
		uint32_t thread = mappings[i].thread, ended = CAIRN_LEDGER_STATE_ENDED;
		if (atomic_load(&mappings[i].start) > CAIRN_LEDGER_BUSY && thread < most)
			atomic_compare_exchange_strong(&record->threads[thread].state, &ended, CAIRN_LEDGER_STATE_COMPLETE);
	}
	uint64_t used = 0;
	for (uint32_t i = 1; i < most; i++) {
		uint32_t ended = CAIRN_LEDGER_STATE_ENDED;
		used += !atomic_compare_exchange_strong(&record->threads[i].state, &ended, CAIRN_LEDGER_STATE_FREE) &&
			atomic_load(&record->threads[i].state) != CAIRN_LEDGER_STATE_FREE;
	}
	atomic_store(&header->threads_used, used);
}

/* Takes a millisecond, of a thread that may be the host's: so not more often than each second. */
void cairn_record_sweep_threads(struct cairn_record *record, int64_t now_ns)
{
	int64_t before = atomic_load(&record->swept_ns);
	if (atomic_load(&record->header->threads_used) >= record->header->areas[CAIRN_LEDGER_THREADS].count / 2 &&
	    (before == 0 || now_ns - before >= CAIRN_SECOND_NS) && atomic_compare_exchange_strong(&record->swept_ns, &before, now_ns))
		sweep_threads(record, (int)cairn_arch_call(SYS_getpid, 0));
}

/* Modules. */

static struct cairn_ledger_module *find_module(struct cairn_record *record, uint64_t count, const struct cairn_ledger_module *module,
					       struct cairn_bytes path)
{
	for (uint64_t i = 0; i < count; i++) {
		uint64_t place = (record->next_module + i) % count;
		struct cairn_ledger_module *known = &record->modules[place];
		if (known->start == module->start && known->end == module->end && known->offset == module->offset &&
		    known->id_length == module->id_length && memcmp(known->build_id, module->build_id, sizeof known->build_id) == 0 &&
		    cairn_bytes_equal((struct cairn_bytes){record->text + known->path, known->path_length}, path)) {
			record->next_module = place + 1;
			return known;
		}
	}
	return NULL;
}

/* What lay where MODULE is now, of the first COUNT, is not there any more. */
static void retire_modules(struct cairn_record *record, uint64_t count, const struct cairn_ledger_module *module)
{
	for (uint64_t i = 0; i < count; i++)
		if (record->modules[i].start < module->end && module->start < record->modules[i].end)
			atomic_store(&record->modules[i].state, CAIRN_LEDGER_STATE_ENDED);
}

bool cairn_record_module(struct cairn_record *record, const struct cairn_ledger_module *module, struct cairn_bytes path)
{
	struct cairn_ledger_header *header = record->header;
	uint64_t count = atomic_load(&header->modules_used), text = atomic_load(&header->text_used);
	struct cairn_ledger_module *known = find_module(record, count, module, path);
	if (known && atomic_load(&known->state) != CAIRN_LEDGER_STATE_ENDED)
		return false;
	if (known) { /* loaded again, at the same place */
		retire_modules(record, count, module);
		atomic_store(&known->state, CAIRN_LEDGER_STATE_COMPLETE);
		return true;
	}
	while (path.length > atomic_load(&header->provided[CAIRN_LEDGER_TEXT]) - text && cairn_record_grow(record, CAIRN_LEDGER_TEXT))
		;
	if (count == atomic_load(&header->provided[CAIRN_LEDGER_MODULES]))
		cairn_record_grow(record, CAIRN_LEDGER_MODULES);
	if (count == atomic_load(&header->provided[CAIRN_LEDGER_MODULES]) ||
	    path.length > atomic_load(&header->provided[CAIRN_LEDGER_TEXT]) - text) {
		add(&header->modules_lost, 1);
		return false;
	}
	struct cairn_ledger_module *to = &record->modules[count];
	memcpy(record->text + text, path.data, path.length);
	to->id_length = module->id_length;
	to->start = module->start;
	to->end = module->end;
	to->offset = module->offset;
	memcpy(to->build_id, module->build_id, sizeof to->build_id);
	to->path = (uint32_t)text;
	to->path_length = (uint32_t)path.length;
	atomic_store(&header->text_used, text + path.length);
	retire_modules(record, count, module);
	atomic_store_explicit(&to->state, CAIRN_LEDGER_STATE_COMPLETE, memory_order_release);
	atomic_store(&header->modules_used, count + 1);
	return true;
}

/* All of it. */

/* Takes out of the sums what does not live any more: all but samples that are being recorded. */
static void clear_stack(struct cairn_ledger_stack *stack)
{
	const struct {
		_Atomic uint64_t *allocated, *freed, *thinned;
	} sums[] = {
		{&stack->allocated_samples, &stack->freed_samples, &stack->thinned_samples},
		{&stack->allocated_objects, &stack->freed_objects, &stack->thinned_objects},
		{&stack->allocated_bytes, &stack->freed_bytes, &stack->thinned_bytes},
	};
	for (size_t i = 0; i < sizeof sums / sizeof *sums; i++) {
		uint64_t freed = atomic_load(sums[i].freed), thinned = atomic_load(sums[i].thinned);
		/* Never less than lives: that would be a stack to be given up. */
		atomic_fetch_sub(sums[i].freed, freed);
		atomic_fetch_sub(sums[i].thinned, thinned);
		atomic_fetch_sub(sums[i].allocated, freed + thinned);
	}
	atomic_store_explicit(&stack->freed_elsewhere, 0, memory_order_relaxed);
	atomic_store_explicit(&stack->peak, 0, memory_order_relaxed);
	for (int i = 0; i < CAIRN_LEDGER_LIFETIMES; i++)
		atomic_store_explicit(&stack->lifetimes[i], 0, memory_order_relaxed);
}

void cairn_record_clear(struct cairn_record *record, void (*forget)(uint64_t key))
{
	struct cairn_ledger_header *header = record->header;
	for (uint32_t i = 0, slots = cairn_record_slots(record); i < slots; i++) {
		uint64_t key = atomic_load_explicit(&record->keys[i], memory_order_relaxed);
		if (key <= CAIRN_LEDGER_BUSY || !claim(record, i, key))
			continue;
		struct cairn_ledger_sample sample = record->samples[i];
		empty(record, i);
		count_thinned(record, &sample, 0);
		forget(key & ~(uint64_t)CAIRN_LEDGER_MOVING);
	}
	for (uint32_t i = 0; i < atomic_load(&header->provided[CAIRN_LEDGER_STACKS]); i++)
		if (cairn_record_try_stack(record, i)) {
			clear_stack(&record->stacks[i]);
			cairn_record_release_stack(record, i);
		}
	_Atomic uint64_t *const counts[] = {&header->taken, &header->freed, &header->replaced, &header->dropped, &header->dropped_bytes,
					    &header->thinned, &header->allocated_bytes, &header->freed_bytes, &header->highest_bytes,
					    &header->thinned_bytes, &header->stacks_lost, &header->stacks_recycled};
	for (size_t i = 0; i < sizeof counts / sizeof *counts; i++)
		atomic_store_explicit(counts[i], 0, memory_order_relaxed);
	atomic_store_explicit(&header->peak_ns, 0, memory_order_relaxed);
	add(&header->peak, 1);
}
