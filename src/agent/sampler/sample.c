/* sample.c - drawing, unwinding and recording.
 * SPDX-License-Identifier: Apache-2.0 */
#include "agent/sampler/sample.h"

#include "agent/sampler/probe.h"
#include "arch/arch.h"
#include "base/exponential.h"
#include "process/clock.h"

enum {
	measured_each = 64, /* a power of two */
	own_call = UINT32_MAX, /* instead of a stack */
	rooms = 32,         /* for long stacks; fibers have little of their own */
	room_frames = 1024,
	small_frames = 48,
};

struct cairn_sampling cairn_sampling;

extern const char __start_cairn_sampler[] __attribute__((visibility("hidden")));
extern const char __stop_cairn_sampler[] __attribute__((visibility("hidden")));

static struct {
	atomic_flag taken;
	void *pcs[room_frames];
} room_table[rooms];

bool cairn_sample_is_ours(void)
{
	if (!atomic_load_explicit(&cairn_sampling.open, memory_order_acquire))
		return false;
	if (CAIRN_FORK_WIPES)
		return true;
	if (cairn_sampling.guard)
		return atomic_load_explicit(cairn_sampling.guard, memory_order_relaxed) == 1;
	return atomic_load_explicit(&cairn_sampling.process, memory_order_relaxed) == (int)cairn_arch_call(SYS_getpid, 0);
}

static uint64_t next_random(struct cairn_local *thread)
{
	if (thread->random == 0) {
		thread->random = (uintptr_t)thread ^ (uint64_t)cairn_clock_ns() * 0x9e3779b97f4a7c15u ^ (uint64_t)cairn_arch_call(SYS_gettid, 0) << 40;
		thread->random |= 1;
	}
	return cairn_record_random(&thread->random);
}

/* The distance to the next sample: exponential, so that it does not matter how far the last one is behind. */
static void draw(struct cairn_local *thread)
{
	static const double farthest = 0x1p60;
	uint64_t period = atomic_load_explicit(&cairn_sampling.period, memory_order_relaxed);
	double chance = (double)((next_random(thread) >> 11) + 1) * 0x1p-53;
	double distance = -cairn_exponential_log(chance) * (double)period;
	thread->period = period;
	thread->countdown = (uint64_t)(distance < farthest ? distance : farthest);
}

static bool count_off(struct cairn_local *thread, size_t size)
{
	return __builtin_sub_overflow(thread->countdown, size, &thread->countdown);
}

static void notify(void)
{
	void (*function)(void) = atomic_load_explicit(&cairn_sampling.notify, memory_order_relaxed);
	if (function)
		function();
}

/* Redraws. True where this allocation is a sample, with the period it was drawn with. */
static bool is_due(struct cairn_local *thread, size_t size, uint64_t *period)
{
	bool first = thread->period == 0;
	if (thread->quiet || cairn_sampling.period == 0) { /* not yet on: custom heaps count all the same */
		thread->countdown = thread->quiet ? INT64_MAX : 1 << 20;
		return false;
	}
	if (!first && !cairn_local_has_counted(thread) && !count_off(thread, size))
		return false;
	*period = thread->period;
	draw(thread);
	if (first) { /* nothing had been drawn: this allocation is the first to be counted */
		*period = thread->period;
		if (!count_off(thread, size))
			return false;
		draw(thread);
	}
	if (size > 0 && atomic_load_explicit(&cairn_sampling.active, memory_order_relaxed) && cairn_sample_is_ours())
		return true;
	notify();
	return false;
}

static uint32_t number_of(struct cairn_local *thread, int64_t now_ns)
{
	if (thread->quiet)
		return 0;
	cairn_local_renew(thread);
	unsigned generation = atomic_load_explicit(&cairn_sampling.generation, memory_order_relaxed);
	if (thread->ledger != generation) {
		thread->number = cairn_record_thread(&cairn_sampling.record, now_ns);
		thread->ledger = generation;
		thread->samples = 0;
	}
	thread->samples++;
	if ((thread->samples & (thread->samples - 1)) == 0) /* names are given late, and change */
		cairn_record_thread_name(&cairn_sampling.record, thread->number);
	return thread->number;
}

/* Whether ADDRESS is in code of an allocator inside. */
static bool is_inside(uintptr_t address)
{
	unsigned count = atomic_load_explicit(&cairn_inside.count, memory_order_acquire);
	for (unsigned i = 0; i < count; i++) {
		const struct cairn_inside_block *block = (const void *)cairn_inside.blocks[i].address;
		const struct cairn_inside_range *ranges = (const void *)((const char *)block + block->ranges.at);
		unsigned low = 0, high = block->ranges.count;
		while (low < high) {
			unsigned middle = low + (high - low) / 2;
			if (ranges[middle].end <= address)
				low = middle + 1;
			else
				high = middle;
		}
		if (low < block->ranges.count && address >= ranges[low].start)
			return true;
	}
	return false;
}

/* Whether a caller is an allocator inside. Its own call is no call of the host, which is counted where it called the allocator: since
 * countdowns do not remember, it does not matter that this call has counted, too. */
static bool is_own_call(void *const *pcs, unsigned count)
{
	bool found = false;
	for (unsigned i = 1; i < count && !found && atomic_load_explicit(&cairn_inside.count, memory_order_relaxed); i++)
		found = is_inside((uintptr_t)pcs[i] - 1);
	return found;
}

/* FUNCTION, which the host called, is the innermost frame: its own code, not ours, and one byte into it, as a return address would be. */
CAIRN_SAMPLER_CODE static uint32_t take_stack(uintptr_t function, void **pcs, unsigned most, unsigned *count)
{
	struct cairn_registers registers;
	static const unsigned gap = 0;
	struct cairn_unwind_ranges ours;
	ours.ranges[0] = (struct cairn_unwind_range){(uintptr_t)__start_cairn_sampler, (uintptr_t)__stop_cairn_sampler};
	ours.count = 1;
	ours.gap = gap;
	cairn_registers_here(&registers);
	enum cairn_unwind_end end = cairn_unwind(&registers, &ours, pcs, most, count);
	if (end == CAIRN_UNWIND_TRUNCATED)
		pcs[*count - 1] = (char *)(uintptr_t)cairn_stack_is_truncated + 1;
	pcs[0] = (void *)(function + 1);
	atomic_fetch_add_explicit(&cairn_sampling.tally.ends[end], 1, memory_order_relaxed);
	return is_own_call(pcs, *count) ? own_call : cairn_record_stack(&cairn_sampling.record, pcs, *count);
}

CAIRN_SAMPLER_CODE static uint32_t take_short_stack(uintptr_t function, unsigned *count)
{
	void *pcs[small_frames];
	return take_stack(function, pcs, small_frames, count);
}

CAIRN_SAMPLER_CODE static uint32_t find_stack(uintptr_t function, unsigned *count)
{
	unsigned depth = atomic_load_explicit(&cairn_sampling.depth, memory_order_relaxed);
	for (unsigned i = 0; i < rooms; i++) {
		if (atomic_flag_test_and_set_explicit(&room_table[i].taken, memory_order_acquire))
			continue;
		uint32_t stack = take_stack(function, room_table[i].pcs, depth < room_frames ? depth : room_frames, count);
		atomic_flag_clear_explicit(&room_table[i].taken, memory_order_release);
		return stack;
	}
	return take_short_stack(function, count);
}

/* The ledger is three quarters full, of samples or of stacks with live samples: from now on one sample in two, and those that are there
 * give up half of their slots. Each new sample sees to a few slots, so that nobody has to do all of it at once; once all of them have had
 * their turn, the period may double again. */
static void make_room(struct cairn_record *record, struct cairn_local *thread)
{
	enum { slots_each = 256 };
	struct cairn_ledger_header *header = record->header;
	uint64_t slots = cairn_record_slots(record), period = atomic_load_explicit(&cairn_sampling.period, memory_order_relaxed);
	bool sweeps = atomic_load_explicit(&cairn_sampling.sweep, memory_order_relaxed) <
		      atomic_load_explicit(&cairn_sampling.sweep_end, memory_order_relaxed);
	if (!sweeps && !cairn_record_is_full(record))
		return;
	atomic_store_explicit(&record->crowding, 0, memory_order_relaxed); /* it says nothing before this is done */
	uint64_t at = atomic_fetch_add(&cairn_sampling.sweep, slots_each), end = atomic_load(&cairn_sampling.sweep_end);
	if (at >= end && !sweeps && period < UINT64_C(1) << 40 && atomic_compare_exchange_strong(&cairn_sampling.sweep_end, &end, at + slots) &&
	    atomic_compare_exchange_strong(&cairn_sampling.period, &period, period * 2)) {
		period *= 2;
		atomic_store(&header->period, period);
		atomic_fetch_add(&header->doublings, 1);
		atomic_store(&header->doubled_ns, cairn_clock_wall_ns());
	}
	cairn_record_thin(record, at, slots_each, period, &thread->random, cairn_filter_remove);
}

static void see_to_clear(void)
{
	if (!atomic_load_explicit(&cairn_sampling.clear, memory_order_relaxed) || !atomic_exchange(&cairn_sampling.clear, false))
		return;
	cairn_record_clear(&cairn_sampling.record, cairn_filter_remove);
	atomic_store(&cairn_sampling.sweep_end, atomic_load(&cairn_sampling.sweep));
}

CAIRN_SAMPLER_CODE static void record_sample(uint64_t key, struct cairn_ledger_sample *sample, uintptr_t function)
{
	struct cairn_local *thread = cairn_local();
	struct cairn_record *record = &cairn_sampling.record;
	unsigned frames = 0;
	see_to_clear();
	sample->birth_ns = cairn_clock_ns();
	sample->thread = number_of(thread, sample->birth_ns);
	sample->stack = find_stack(function, &frames);
	if (sample->stack == own_call)
		return;
	sample->objects = cairn_record_objects(sample->size, sample->period);
	cairn_filter_add(key); /* first: once it is in the ledger another thread may take it out of both */
	bool replaced, recorded = cairn_record_sample(record, key, sample, &replaced);
	if (!recorded || replaced)
		cairn_filter_remove(key);
	cairn_filter_grow(atomic_load_explicit(&record->header->live, memory_order_relaxed));
	if ((thread->samples & (measured_each - 1)) == 0) {
		atomic_fetch_add_explicit(&cairn_sampling.tally.measured_ns, (uint64_t)(cairn_clock_ns() - sample->birth_ns),
					  memory_order_relaxed);
		atomic_fetch_add_explicit(&cairn_sampling.tally.measured_frames, frames, memory_order_relaxed);
		atomic_fetch_add_explicit(&cairn_sampling.tally.measured, 1, memory_order_relaxed);
	}
	make_room(record, thread);
	if (atomic_load_explicit(&record->header->wanted, memory_order_relaxed))
		notify();
	cairn_probe_alloc(sample->address, sample->size, sample->objects * sample->size / CAIRN_LEDGER_OBJECT);
}

CAIRN_SAMPLER_CODE static void spent(void *object, size_t size, uintptr_t function, size_t (*usable_size)(void *object))
{
	uint64_t period;
	if (!is_due(cairn_local(), size, &period) || !object || ((uintptr_t)object & 7) != 0)
		return;
	struct cairn_ledger_sample sample = {.address = (uintptr_t)object, .size = size, .period = period};
	size_t usable = usable_size ? usable_size(object) : size;
	sample.slack = usable > size ? usable - size < UINT32_MAX ? (uint32_t)(usable - size) : UINT32_MAX : 0;
	record_sample((uintptr_t)object, &sample, function);
}

CAIRN_SAMPLER_CODE void cairn_sample_spent(void *object, size_t size, uintptr_t function)
{
	spent(object, size, function, cairn_sampling.usable_size);
}

CAIRN_SAMPLER_CODE void cairn_sample_spent_inside(void *object, size_t size, const struct cairn_inside_function *function)
{
	spent(object, size, function->function, (size_t(*)(void *))function->usable_size);
}

void cairn_sample_skip(void)
{
	uint64_t period;
	is_due(cairn_local(), 0, &period);
}

CAIRN_SAMPLER_CODE bool cairn_sample_place(uintptr_t function, uint32_t *stack, uint32_t *thread, int64_t *now_ns)
{
	unsigned frames = 0;
	*now_ns = cairn_clock_ns();
	*thread = number_of(cairn_local(), *now_ns);
	*stack = find_stack(function, &frames);
	return *stack != own_call;
}

/* Objects of custom heaps have keys that no address has: the lowest bits are 010. Ids of two heaps are often the same, or close. */
static uint64_t key_of(uint64_t id, uint32_t heap)
{
	uint64_t key = (id ^ heap * UINT64_C(0xff51afd7ed558ccd)) * 0x9e3779b97f4a7c15u;
	return ((key ^ key >> 31) & ~UINT64_C(7)) | 2;
}

CAIRN_SAMPLER_CODE void cairn_sample_spent_heap(uint64_t id, size_t size, uint32_t heap, uintptr_t function)
{
	uint64_t period;
	if (!is_due(cairn_local(), size, &period))
		return;
	struct cairn_ledger_sample sample = {.address = id, .size = size, .period = period, .heap = heap};
	record_sample(key_of(id, heap), &sample, function);
}

static void freed(uint64_t key, uint64_t address)
{
	if (!cairn_sample_is_ours())
		return;
	struct cairn_record *record = &cairn_sampling.record;
	see_to_clear();
	if (!cairn_record_has(record, key))
		return;
	int64_t now = cairn_clock_ns();
	if (cairn_record_free(record, key, number_of(cairn_local(), now), now)) {
		cairn_filter_remove(key);
		cairn_probe_free(address);
	}
}

void cairn_sample_freed(const void *object)
{
	if (object) /* hosts free NULL often, and the filter may take it for a sample */
		freed((uintptr_t)object, (uintptr_t)object);
}

void cairn_sample_freed_heap(uint64_t id, uint32_t heap)
{
	uint64_t key = key_of(id, heap);
	if (cairn_filter_has(key))
		freed(key, id);
}

uint32_t cairn_sample_hold(const void *object)
{
	return object && cairn_filter_has((uintptr_t)object) && cairn_sample_is_ours() ?
	       cairn_record_hold(&cairn_sampling.record, (uintptr_t)object) : 0;
}

void cairn_sample_release(const void *object, uint32_t held, bool moved)
{
	if (!held || !cairn_sample_is_ours())
		return;
	int64_t now = cairn_clock_ns();
	/* One that a reset threw away meanwhile is out of the filter already. */
	if (cairn_record_release(&cairn_sampling.record, (uintptr_t)object, held, moved, number_of(cairn_local(), now), now))
		cairn_filter_remove((uintptr_t)object);
}

void cairn_sample_in_child(void)
{
	struct cairn_local *thread = cairn_local();
	thread->random = thread->period = thread->countdown = 0;
	for (unsigned i = 0; i < rooms; i++)
		atomic_flag_clear_explicit(&room_table[i].taken, memory_order_relaxed);
}

void cairn_sample_keep_quiet(void)
{
	cairn_local()->quiet = true;
	cairn_local()->countdown = INT64_MAX;
}
