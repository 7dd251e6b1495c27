/* sample.c - drawing, unwinding and recording.
 * SPDX-License-Identifier: Apache-2.0 */
#include "agent/sampler/sample.h"

#include "agent/jemalloc/hook.h"
#include "agent/sampler/probe.h"
#include "base/exponential.h"
#include "process/clock.h"

#include <sys/syscall.h>
#include <unistd.h>

enum {
	measured_each = 64, /* a power of two */
	rooms = 32,         /* for long stacks; fibers have little of their own */
	room_frames = 1024,
	small_frames = 48,
};

_Thread_local struct cairn_sample_thread cairn_sample_thread __attribute__((tls_model("initial-exec")));
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
	if (cairn_sampling.guard)
		return atomic_load_explicit(cairn_sampling.guard, memory_order_relaxed) == 1;
	return atomic_load_explicit(&cairn_sampling.process, memory_order_relaxed) == (int)syscall(SYS_getpid);
}

static uint64_t next_random(struct cairn_sample_thread *thread)
{
	if (thread->random == 0) {
		thread->random = (uintptr_t)thread ^ (uint64_t)cairn_clock_ns() * 0x9e3779b97f4a7c15u ^ (uint64_t)syscall(SYS_gettid) << 40;
		thread->random |= 1;
	}
	return cairn_record_random(&thread->random);
}

/* The distance to the next sample: exponential, so that it does not matter how far the last one is behind. */
static void draw(struct cairn_sample_thread *thread)
{
	static const double farthest = 0x1p60;
	uint64_t period = atomic_load_explicit(&cairn_sampling.period, memory_order_relaxed);
	double chance = (double)((next_random(thread) >> 11) + 1) * 0x1p-53;
	double distance = -cairn_exponential_log(chance) * (double)period;
	thread->period = period;
	thread->countdown = (uint64_t)(distance < farthest ? distance : farthest);
}

/* Redraws. True where this allocation is a sample, with the period it was drawn with. */
static bool is_due(struct cairn_sample_thread *thread, size_t size, uint64_t *period)
{
	bool first = thread->period == 0;
	if (thread->quiet || cairn_sampling.period == 0) { /* not yet on: custom heaps count all the same */
		thread->countdown = thread->quiet ? INT64_MAX : 1 << 20;
		return false;
	}
	*period = thread->period;
	draw(thread);
	if (first) { /* nothing had been drawn: this allocation is the first to be counted */
		*period = thread->period;
		if (!cairn_sample_count_down(size))
			return false;
		draw(thread);
	}
	if (size > 0 && atomic_load_explicit(&cairn_sampling.active, memory_order_relaxed) && cairn_sample_is_ours())
		return true;
	void (*notify)(void) = atomic_load_explicit(&cairn_sampling.notify, memory_order_relaxed);
	if (notify)
		notify();
	return false;
}

static uint32_t number_of(struct cairn_sample_thread *thread, int64_t now_ns)
{
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
	return cairn_record_stack(&cairn_sampling.record, pcs, *count);
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

/* The ledger is three quarters full: from now on one sample in two, and those that are there give up half of their slots. Each new sample
 * sees to a few slots, so that nobody has to do all of it at once; when all of them have had their turn and it is still as full, the
 * period doubles again. */
static void make_room(struct cairn_record *record, struct cairn_sample_thread *thread)
{
	enum { slots_each = 64 };
	struct cairn_ledger_header *header = record->header;
	uint64_t slots = (uint64_t)record->sample_mask + 1, period = atomic_load_explicit(&cairn_sampling.period, memory_order_relaxed);
	if (atomic_load_explicit(&header->live, memory_order_relaxed) < slots / 4 * 3)
		return;
	uint64_t at = atomic_fetch_add(&cairn_sampling.sweep, slots_each), end = atomic_load(&cairn_sampling.sweep_end);
	if (at >= end && period < UINT64_C(1) << 40 && atomic_compare_exchange_strong(&cairn_sampling.sweep_end, &end, at + slots) &&
	    atomic_compare_exchange_strong(&cairn_sampling.period, &period, period * 2)) {
		period *= 2;
		atomic_store(&header->period, period);
		atomic_fetch_add(&header->doublings, 1);
		atomic_store(&header->doubled_ns, cairn_clock_wall_ns());
	}
	cairn_record_thin(record, at, slots_each, period, &thread->random, cairn_filter_remove);
}

CAIRN_SAMPLER_CODE static void record_sample(uint64_t key, struct cairn_ledger_sample *sample, uintptr_t function)
{
	struct cairn_sample_thread *thread = &cairn_sample_thread;
	struct cairn_record *record = &cairn_sampling.record;
	unsigned frames = 0;
	sample->birth_ns = cairn_clock_ns();
	sample->thread = number_of(thread, sample->birth_ns);
	sample->stack = find_stack(function, &frames);
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
	cairn_probe_alloc(sample->address, sample->size, sample->objects * sample->size / CAIRN_LEDGER_OBJECT);
}

CAIRN_SAMPLER_CODE void cairn_sample_spent(void *object, size_t size, uintptr_t function)
{
	uint64_t period;
	if (!is_due(&cairn_sample_thread, size, &period) || !object || ((uintptr_t)object & 7) != 0)
		return;
	struct cairn_ledger_sample sample = {.address = (uintptr_t)object, .size = size, .period = period};
	size_t usable = cairn_sampling.usable_size ? cairn_sampling.usable_size(object) : size;
	sample.slack = usable > size ? usable - size < UINT32_MAX ? (uint32_t)(usable - size) : UINT32_MAX : 0;
	record_sample((uintptr_t)object, &sample, function);
}

CAIRN_SAMPLER_CODE void cairn_sample_place(uintptr_t function, uint32_t *stack, uint32_t *thread, int64_t *now_ns)
{
	unsigned frames = 0;
	*now_ns = cairn_clock_ns();
	*thread = number_of(&cairn_sample_thread, *now_ns);
	*stack = find_stack(function, &frames);
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
	if (!is_due(&cairn_sample_thread, size, &period))
		return;
	struct cairn_ledger_sample sample = {.address = id, .size = size, .period = period, .heap = heap};
	record_sample(key_of(id, heap), &sample, function);
}

static void freed(uint64_t key, uint64_t address)
{
	if (!cairn_sample_is_ours())
		return;
	struct cairn_record *record = &cairn_sampling.record;
	if (!cairn_record_has(record, key))
		return;
	int64_t now = cairn_clock_ns();
	if (cairn_record_free(record, key, number_of(&cairn_sample_thread, now), now)) {
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
	if (cairn_record_release(&cairn_sampling.record, (uintptr_t)object, held, moved, number_of(&cairn_sample_thread, now), now))
		cairn_filter_remove((uintptr_t)object);
}

void cairn_sample_in_child(void)
{
	struct cairn_sample_thread *thread = &cairn_sample_thread;
	thread->random = thread->period = thread->countdown = 0;
	for (unsigned i = 0; i < rooms; i++)
		atomic_flag_clear_explicit(&room_table[i].taken, memory_order_relaxed);
}

void cairn_sample_keep_quiet(void)
{
	cairn_sample_thread.quiet = true;
	cairn_sample_thread.countdown = INT64_MAX;
}
