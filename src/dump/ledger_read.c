/* ledger_read.c - copies records and checks them.
 * SPDX-License-Identifier: Apache-2.0 */
#include "dump/ledger_read.h"

#include <assert.h>

bool cairn_ledger_is(struct cairn_bytes bytes)
{
	uint64_t magic;
	if (bytes.length < sizeof magic)
		return false;
	memcpy(&magic, bytes.data, sizeof magic);
	return magic == CAIRN_LEDGER_MAGIC;
}

/* The minimum size of a record in each area; later versions may append fields. */
static const uint32_t least_sizes[] = {
	[CAIRN_LEDGER_KEYS] = sizeof(uint64_t),
	[CAIRN_LEDGER_SAMPLES] = sizeof(struct cairn_ledger_sample),
	[CAIRN_LEDGER_STACKS] = sizeof(struct cairn_ledger_stack),
	[CAIRN_LEDGER_FRAMES] = sizeof(uint64_t),
	[CAIRN_LEDGER_MODULES] = sizeof(struct cairn_ledger_module),
	[CAIRN_LEDGER_THREADS] = sizeof(struct cairn_ledger_thread),
	[CAIRN_LEDGER_TEXT] = 1,
	[CAIRN_LEDGER_HISTORY] = sizeof(struct cairn_ledger_row),
};
static_assert(sizeof least_sizes / sizeof *least_sizes == CAIRN_LEDGER_AREAS, "every area has a minimum");

static bool fits(const struct cairn_ledger_area *area, uint32_t least, size_t length)
{
	uint64_t bytes = (uint64_t)area->size * area->count;
	return area->offset >= CAIRN_LEDGER_HEADER && area->offset <= length && bytes <= length - area->offset && area->size >= least &&
	       (least == 1 || (area->offset % 8 == 0 && area->size % 8 == 0));
}

bool cairn_ledger_open(struct cairn_ledger *ledger, struct cairn_bytes bytes, struct cairn_error *error)
{
	*ledger = (struct cairn_ledger){.memory = bytes};
	if (!cairn_ledger_is(bytes) || bytes.length < CAIRN_LEDGER_HEADER)
		return cairn_fail(error, "not a ledger of Cairn's own engine");
	memcpy(&ledger->header, bytes.data, sizeof ledger->header);
	const struct cairn_ledger_header *header = &ledger->header;
	if (header->version != CAIRN_LEDGER_VERSION)
		return cairn_fail(error, "a ledger of version %u; this program reads version %d", header->version, CAIRN_LEDGER_VERSION);
	if (!header->ready)
		return cairn_fail(error, "a ledger whose writer ended before it was set up");
	if ((uintptr_t)bytes.data % 8 != 0)
		return cairn_fail(error, "a ledger must lie at a multiple of 8 bytes");
	for (int i = 0; i < CAIRN_LEDGER_AREAS; i++)
		if (!fits(&header->areas[i], least_sizes[i], bytes.length))
			return cairn_fail(error, "a ledger whose area %d does not fit into its %zu bytes", i, bytes.length);
	if (header->areas[CAIRN_LEDGER_KEYS].count != header->areas[CAIRN_LEDGER_SAMPLES].count)
		return cairn_fail(error, "a ledger with %u keys for %u samples", header->areas[CAIRN_LEDGER_KEYS].count,
				  header->areas[CAIRN_LEDGER_SAMPLES].count);
	/* A ledger of an earlier version has no mappings. */
	if (!fits(&header->mappings, sizeof(struct cairn_ledger_mapping), bytes.length))
		ledger->header.mappings.count = 0;
	/* Terminates texts within their arrays, whoever wrote them. */
	ledger->header.host[sizeof header->host - 1] = ledger->header.executable[sizeof header->executable - 1] = 0;
	ledger->header.command[sizeof header->command - 1] = ledger->header.service[sizeof header->service - 1] = 0;
	ledger->header.allocator[sizeof header->allocator - 1] = ledger->header.warning[sizeof header->warning - 1] = 0;
	for (int i = 0; i < CAIRN_LEDGER_HEAPS; i++)
		ledger->header.heaps[i][sizeof header->heaps[i] - 1] = 0;
	return true;
}

/* How many records have memory, as of now: a process may be adding some. */
static uint32_t provided(const struct cairn_ledger *ledger, uint32_t count, const _Atomic uint32_t *provided_count)
{
	if (!ledger->header.grows)
		return count;
	uint32_t now = atomic_load_explicit(provided_count, memory_order_acquire);
	return now < count ? now : count;
}

static uint32_t provided_in(const struct cairn_ledger *ledger, enum cairn_ledger_area_name name)
{
	const struct cairn_ledger_header *header = (const void *)ledger->memory.data;
	return provided(ledger, ledger->header.areas[name].count, &header->provided[name]);
}

static const char *record_at(const struct cairn_ledger *ledger, enum cairn_ledger_area_name name, uint32_t index)
{
	const struct cairn_ledger_area *area = &ledger->header.areas[name];
	return index < provided_in(ledger, name) ? ledger->memory.data + area->offset + (uint64_t)index * area->size : NULL;
}

/* Copies word by word, so that a sequence number or a key is never torn. */
static void copy_words(void *to, const void *from, size_t size)
{
	for (size_t i = 0; i < size / 8; i++)
		((uint64_t *)to)[i] = __atomic_load_n((const uint64_t *)from + i, __ATOMIC_RELAXED);
}

bool cairn_ledger_get_sample(const struct cairn_ledger *ledger, uint32_t index, struct cairn_ledger_sample *sample)
{
	const uint64_t *key = (const uint64_t *)(const void *)record_at(ledger, CAIRN_LEDGER_KEYS, index);
	const struct cairn_ledger_sample *record = (const void *)record_at(ledger, CAIRN_LEDGER_SAMPLES, index);
	if (!key || !record)
		return false;
	uint64_t before = __atomic_load_n(key, __ATOMIC_ACQUIRE);
	if (before == CAIRN_LEDGER_EMPTY || before == CAIRN_LEDGER_BUSY)
		return false;
	uint32_t sequence = atomic_load_explicit(&record->sequence, memory_order_acquire);
	copy_words(sample, record, sizeof *sample);
	atomic_thread_fence(memory_order_acquire);
	uint64_t after = __atomic_load_n(key, __ATOMIC_RELAXED);
	return sequence % 2 == 0 && atomic_load_explicit(&record->sequence, memory_order_relaxed) == sequence &&
	       (before | CAIRN_LEDGER_MOVING) == (after | CAIRN_LEDGER_MOVING) &&
	       sample->stack < cairn_ledger_count(ledger, CAIRN_LEDGER_STACKS) && sample->heap < CAIRN_LEDGER_HEAPS;
}

bool cairn_ledger_has_stack(const struct cairn_ledger *ledger, uint32_t index, uint64_t hash)
{
	const struct cairn_ledger_stack *record = (const void *)record_at(ledger, CAIRN_LEDGER_STACKS, index);
	atomic_thread_fence(memory_order_acquire);
	return record && atomic_load_explicit(&record->hash, memory_order_relaxed) == hash;
}

bool cairn_ledger_get_stack(const struct cairn_ledger *ledger, uint32_t index, struct cairn_ledger_stack *stack)
{
	const struct cairn_ledger_stack *record = (const void *)record_at(ledger, CAIRN_LEDGER_STACKS, index);
	if (!record || atomic_load_explicit(&record->hash, memory_order_acquire) < 2)
		return false;
	copy_words(stack, record, sizeof *stack);
	uint32_t frames = provided_in(ledger, CAIRN_LEDGER_FRAMES);
	return stack->hash >= 2 && stack->first <= frames && stack->depth <= frames - stack->first;
}

uint64_t cairn_ledger_peak_number(const struct cairn_ledger *ledger)
{
	const struct cairn_ledger_header *header = (const void *)ledger->memory.data;
	return atomic_load_explicit(&header->peak, memory_order_acquire);
}

/* Sums that are forged, or were read while changing, may be negative. */
static uint64_t positive(uint64_t value)
{
	return (int64_t)value > 0 ? value : 0;
}

bool cairn_ledger_get_peak(const struct cairn_ledger *ledger, uint32_t index, uint64_t number, struct cairn_ledger_peak *peak)
{
	struct cairn_ledger_stack stack;
	if (!cairn_ledger_get_stack(ledger, index, &stack))
		return false;
	if (stack.peak == number)
		*peak = (struct cairn_ledger_peak){positive(stack.peak_samples), positive(stack.peak_objects), positive(stack.peak_bytes)};
	else
		*peak = (struct cairn_ledger_peak){
			.samples = positive(stack.allocated_samples - stack.freed_samples - stack.thinned_samples),
			.objects = positive(stack.allocated_objects - stack.freed_objects - stack.thinned_objects),
			.bytes = positive(stack.allocated_bytes - stack.freed_bytes - stack.thinned_bytes),
		};
	peak->hash = stack.hash;
	return peak->samples && peak->objects;
}

int64_t cairn_ledger_time(const struct cairn_ledger *ledger, int64_t clock_ns)
{
	const struct cairn_ledger_header *header = &ledger->header;
	int64_t passed, time;
	if (header->wall_ns <= 0 || __builtin_sub_overflow(clock_ns, header->clock_ns, &passed) || passed < 0 ||
	    __builtin_add_overflow(header->wall_ns, passed, &time))
		return 0;
	return time;
}

uint32_t cairn_ledger_frames(const struct cairn_ledger *ledger)
{
	return provided_in(ledger, CAIRN_LEDGER_FRAMES);
}

uint64_t cairn_ledger_frame(const struct cairn_ledger *ledger, const struct cairn_ledger_stack *stack, uint32_t number)
{
	const uint64_t *frame = (const uint64_t *)(const void *)record_at(ledger, CAIRN_LEDGER_FRAMES, stack->first + number);
	return frame ? __atomic_load_n(frame, __ATOMIC_RELAXED) : 0;
}

bool cairn_ledger_get_module(const struct cairn_ledger *ledger, uint32_t index, struct cairn_ledger_module *module)
{
	const struct cairn_ledger_module *record = (const void *)record_at(ledger, CAIRN_LEDGER_MODULES, index);
	if (!record || atomic_load_explicit(&record->state, memory_order_acquire) < CAIRN_LEDGER_STATE_COMPLETE)
		return false;
	copy_words(module, record, sizeof *module);
	uint32_t text = provided_in(ledger, CAIRN_LEDGER_TEXT);
	return module->start < module->end && module->id_length <= sizeof module->build_id && module->path <= text &&
	       module->path_length <= text - module->path && module->path_length <= CAIRN_LEDGER_PATH;
}

struct cairn_bytes cairn_ledger_path(const struct cairn_ledger *ledger, const struct cairn_ledger_module *module)
{
	const char *start = record_at(ledger, CAIRN_LEDGER_TEXT, module->path);
	return (struct cairn_bytes){start ? start : "", start ? module->path_length : 0};
}

bool cairn_ledger_get_thread(const struct cairn_ledger *ledger, uint32_t index, struct cairn_ledger_thread *thread)
{
	const struct cairn_ledger_thread *record = (const void *)record_at(ledger, CAIRN_LEDGER_THREADS, index);
	if (!record || atomic_load_explicit(&record->state, memory_order_acquire) < CAIRN_LEDGER_STATE_COMPLETE)
		return false;
	copy_words(thread, record, sizeof *thread);
	return true;
}

bool cairn_ledger_get_mapping(const struct cairn_ledger *ledger, uint32_t index, struct cairn_ledger_mapping *mapping)
{
	const struct cairn_ledger_area *area = &ledger->header.mappings;
	const struct cairn_ledger_header *header = (const void *)ledger->memory.data;
	if (index >= provided(ledger, area->count, &header->mappings_provided))
		return false;
	const struct cairn_ledger_mapping *record = (const void *)(ledger->memory.data + area->offset + (uint64_t)index * area->size);
	uint64_t before = atomic_load_explicit(&record->start, memory_order_acquire);
	if (before <= CAIRN_LEDGER_BUSY)
		return false;
	copy_words(mapping, record, sizeof *mapping);
	atomic_thread_fence(memory_order_acquire);
	return atomic_load_explicit(&record->start, memory_order_relaxed) == before && mapping->start == before &&
	       mapping->stack < cairn_ledger_count(ledger, CAIRN_LEDGER_STACKS) && mapping->kind < CAIRN_LEDGER_MAPPING_KINDS;
}

bool cairn_ledger_get_row(const struct cairn_ledger *ledger, uint32_t index, struct cairn_ledger_row *row)
{
	const struct cairn_ledger_row *record = (const void *)record_at(ledger, CAIRN_LEDGER_HISTORY, index);
	int64_t before = record ? atomic_load_explicit(&record->time_ns, memory_order_acquire) : 0;
	if (before <= CAIRN_LEDGER_BUSY)
		return false;
	copy_words(row, record, sizeof *row);
	atomic_thread_fence(memory_order_acquire);
	return atomic_load_explicit(&record->time_ns, memory_order_relaxed) == before && row->time_ns == before;
}

void cairn_ledger_thread_name(const struct cairn_ledger_thread *thread, char out[17])
{
	uint64_t words[2] = {atomic_load_explicit(&thread->name[0], memory_order_relaxed),
			     atomic_load_explicit(&thread->name[1], memory_order_relaxed)};
	memcpy(out, words, 16);
	out[16] = 0;
}
