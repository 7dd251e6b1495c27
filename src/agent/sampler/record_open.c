/* record_open.c - a new ledger: its memory, its areas, its header.
 * SPDX-License-Identifier: Apache-2.0 */
#include "agent/sampler/record_parts.h"
#include "base/descriptor.h"
#include "base/file_limit.h"
#include "base/pages.h"
#include "process/clock.h"
#include "process/facts.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

enum { first_samples = 512, first_stacks = 128, generation_times = 4 };

static uint32_t power_within(uint64_t count)
{
	return count ? (uint32_t)1 << (63 - __builtin_clzll(count)) : 0;
}

/* Shares SIZE bytes out: the holds of stacks are at the end, and the rest goes to the frames, of which a stack needs some forty. */
static void lay_out(struct cairn_ledger_area areas[CAIRN_LEDGER_AREAS], struct cairn_ledger_area *mappings, uint64_t size)
{
	areas[CAIRN_LEDGER_TEXT] = (struct cairn_ledger_area){.size = 1, .count = (uint32_t)(size / 64)};
	areas[CAIRN_LEDGER_MODULES] =
		(struct cairn_ledger_area){.size = sizeof(struct cairn_ledger_module), .count = (uint32_t)(size >> 14)};
	areas[CAIRN_LEDGER_THREADS] =
		(struct cairn_ledger_area){.size = sizeof(struct cairn_ledger_thread), .count = (uint32_t)(size >> 12)};
	areas[CAIRN_LEDGER_HISTORY] = (struct cairn_ledger_area){.size = sizeof(struct cairn_ledger_row), .count = (uint32_t)(size >> 11)};
	uint64_t left = size * 7 / 8;
	uint32_t samples = power_within(left / 3 / (sizeof(struct cairn_ledger_sample) + 8));
	uint32_t stacks = power_within(left / 3 / sizeof(struct cairn_ledger_stack));
	areas[CAIRN_LEDGER_KEYS] = (struct cairn_ledger_area){.size = 8, .count = samples};
	areas[CAIRN_LEDGER_SAMPLES] = (struct cairn_ledger_area){.size = sizeof(struct cairn_ledger_sample), .count = samples};
	areas[CAIRN_LEDGER_STACKS] = (struct cairn_ledger_area){.size = sizeof(struct cairn_ledger_stack), .count = stacks};
	uint64_t offset = CAIRN_LEDGER_HEADER;
	for (int i = 0; i < CAIRN_LEDGER_AREAS; i++) {
		if (i == CAIRN_LEDGER_FRAMES)
			continue;
		areas[i].offset = offset;
		offset += ((uint64_t)areas[i].size * areas[i].count + 63) & ~UINT64_C(63);
	}
	*mappings = (struct cairn_ledger_area){offset, sizeof(struct cairn_ledger_mapping), (uint32_t)(size >> 12)};
	offset += ((uint64_t)mappings->size * mappings->count + 63) & ~UINT64_C(63);
	uint64_t holds = stacks * sizeof(uint32_t);
	areas[CAIRN_LEDGER_FRAMES] =
		(struct cairn_ledger_area){.offset = offset, .size = 8, .count = (uint32_t)((size - holds - offset) / 8)};
}

/* Each generation makes the table four times as large. */
static void lay_out_table(struct cairn_record_table *table, uint32_t slots, uint32_t first, uint32_t bucket)
{
	table->bucket = bucket;
	for (uint32_t end = first; table->bounds[table->generations] < slots; end *= generation_times)
		table->bounds[++table->generations] = end < slots ? end : slots;
}

/* A memfd of that length, but without pages (record_grow.c), that nobody can make smaller. It has its descriptor and its addresses from the
 * start: a service may not be able to get any later, or may have given up the right to. */
static void *map_named(size_t bytes, int *descriptor)
{
	int made = cairn_descriptor_adopt(memfd_create("cairn-ledger", MFD_CLOEXEC | MFD_ALLOW_SEALING));
	*descriptor = -1;
	if (made < 0)
		return NULL;
	if (ftruncate(made, (off_t)bytes) == 0 && fcntl(made, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) == 0) {
		void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, made, 0);
		if (memory != MAP_FAILED) {
			*descriptor = made;
			return memory;
		}
	}
	cairn_descriptor_close(made);
	return NULL;
}

/* The same without a file. A kernel that gives no pages on demand (before 5.14) has to give all of them here: otherwise
 * a page that cannot be allocated later would crash the host. */
static void *map_unnamed(size_t bytes)
{
	void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (memory == MAP_FAILED)
		return NULL;
	if (!cairn_record_provide(&(struct cairn_record){.page = (size_t)sysconf(_SC_PAGESIZE), .descriptor = -1}, memory, 1)) {
		munmap(memory, bytes);
		memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
	}
	return memory == MAP_FAILED ? NULL : memory;
}

static void describe_process(struct cairn_ledger_header *header)
{
	struct cairn_facts facts;
	cairn_facts_get(&facts);
	header->pid = facts.pid;
	header->boot = facts.life.boot;
	header->ticks = facts.life.ticks;
	header->start_ns = facts.start_ns;
	header->clock_ns = cairn_clock_ns();
	header->wall_ns = cairn_clock_wall_ns();
	snprintf(header->host, sizeof header->host, "%s", facts.host);
	snprintf(header->executable, sizeof header->executable, "%s", facts.executable);
	snprintf(header->command, sizeof header->command, "%s", facts.command);
}

/* Where all of it has memory, all of it is used from the start. */
static void open_whole(struct cairn_record *record)
{
	struct cairn_ledger_header *header = record->header;
	record->whole = true;
	while (cairn_record_grow_samples(record) || cairn_record_grow_stacks(record))
		;
	for (int i = 0; i < CAIRN_LEDGER_AREAS; i++)
		atomic_store(&header->provided[i], header->areas[i].count);
	atomic_store(&header->mappings_provided, header->mappings.count);
}

static bool discard(struct cairn_record *record, void *memory)
{
	cairn_pages_unmap(memory, record->bytes);
	cairn_descriptor_close(record->descriptor);
	return false;
}

/* Where all lies in MEMORY, by the areas alone: where another process may write there meanwhile, what that writes is not believed. */
static void place(struct cairn_record *record, char *memory, const struct cairn_ledger_area areas[CAIRN_LEDGER_AREAS])
{
	record->header = (struct cairn_ledger_header *)(void *)memory;
	record->page = (size_t)sysconf(_SC_PAGESIZE);
	record->keys = (_Atomic uint64_t *)(void *)(memory + areas[CAIRN_LEDGER_KEYS].offset);
	record->samples = (struct cairn_ledger_sample *)(void *)(memory + areas[CAIRN_LEDGER_SAMPLES].offset);
	record->stacks = (struct cairn_ledger_stack *)(void *)(memory + areas[CAIRN_LEDGER_STACKS].offset);
	record->frames = (uint64_t *)(void *)(memory + areas[CAIRN_LEDGER_FRAMES].offset);
	record->modules = (struct cairn_ledger_module *)(void *)(memory + areas[CAIRN_LEDGER_MODULES].offset);
	record->threads = (struct cairn_ledger_thread *)(void *)(memory + areas[CAIRN_LEDGER_THREADS].offset);
	record->text = memory + areas[CAIRN_LEDGER_TEXT].offset;
	record->rows = (struct cairn_ledger_row *)(void *)(memory + areas[CAIRN_LEDGER_HISTORY].offset);
	record->holds = (_Atomic uint32_t *)(void *)(memory + record->bytes) - areas[CAIRN_LEDGER_STACKS].count;
	record->row_count = areas[CAIRN_LEDGER_HISTORY].count;
	record->module_count = areas[CAIRN_LEDGER_MODULES].count;
	record->text_length = areas[CAIRN_LEDGER_TEXT].count;
	record->sample_mask = areas[CAIRN_LEDGER_SAMPLES].count - 1;
	record->stack_mask = areas[CAIRN_LEDGER_STACKS].count - 1;
	lay_out_table(&record->sample_table, areas[CAIRN_LEDGER_SAMPLES].count, first_samples, CAIRN_RECORD_KEYS);
	lay_out_table(&record->stack_table, areas[CAIRN_LEDGER_STACKS].count, first_stacks, CAIRN_RECORD_STACKS);
}

/* Makes MEMORY a ledger. WHOLE says that it has all of its pages. */
static bool set_up(struct cairn_record *record, char *memory, bool whole, struct cairn_error *error)
{
	struct cairn_ledger_area areas[CAIRN_LEDGER_AREAS], mappings;
	lay_out(areas, &mappings, record->bytes);
	place(record, memory, areas);
	/* A child has its own, or none: it must not write into ours. */
	if (madvise(memory, record->bytes, MADV_DONTFORK) != 0)
		return cairn_fail_errno(error, "the ledger cannot be kept from forked children");
	if (!whole && !cairn_record_provide(record, memory, CAIRN_LEDGER_HEADER))
		return cairn_fail(error, "no memory for the first page of a ledger");
	struct cairn_ledger_header *header = record->header;
	memcpy(header->areas, areas, sizeof areas);
	header->mappings = mappings;
	header->bytes = record->bytes;
	header->grows = 1;
	atomic_store(&header->provided[CAIRN_LEDGER_HISTORY], areas[CAIRN_LEDGER_HISTORY].count); /* rings, which have holes anywhere */
	if (whole)
		open_whole(record);
	describe_process(header);
	atomic_store(&header->peak, CAIRN_LEDGER_FIRST_PEAK);
	header->magic = CAIRN_LEDGER_MAGIC;
	header->version = CAIRN_LEDGER_VERSION;
	atomic_store_explicit(&header->ready, 1, memory_order_release);
	return true;
}

static bool is_enough(struct cairn_record *record, size_t bytes, struct cairn_error *error)
{
	bytes &= ~(size_t)4095;
	*record = (struct cairn_record){.bytes = bytes, .descriptor = -1};
	return bytes >= CAIRN_RECORD_LEAST || cairn_fail(error, "a ledger has at least %d bytes", CAIRN_RECORD_LEAST);
}

bool cairn_record_open(struct cairn_record *record, size_t bytes, struct cairn_error *error)
{
	if (!is_enough(record, bytes, error))
		return false;
	struct cairn_file_limit limit;
	cairn_file_limit_enter(&limit);
	char *memory = map_named(record->bytes, &record->descriptor);
	cairn_file_limit_leave(&limit, !memory);
	if (!memory)
		memory = map_unnamed(record->bytes);
	if (!memory)
		return cairn_fail_errno(error, "no memory for a ledger of %zu bytes", bytes);
	return set_up(record, memory, false, error) || discard(record, memory);
}

/* A kernel that gives no pages on demand (before 5.14) gives all of them here: the process may not have the descriptor any more when it
 * needs them. */
bool cairn_record_open_at(struct cairn_record *record, void *memory, size_t bytes, int descriptor, struct cairn_error *error)
{
	if (!is_enough(record, bytes, error))
		return false;
	record->descriptor = descriptor;
	record->page = (size_t)sysconf(_SC_PAGESIZE);
	bool whole = madvise(memory, record->page, MADV_POPULATE_WRITE) != 0 && errno == EINVAL;
	if (whole && fallocate(descriptor, 0, 0, (off_t)record->bytes) != 0)
		return cairn_fail_errno(error, "no memory for a ledger of %zu bytes", bytes);
	return set_up(record, memory, whole, error);
}

bool cairn_record_view(struct cairn_record *record, void *memory, size_t bytes, int descriptor, struct cairn_error *error)
{
	struct cairn_ledger_area areas[CAIRN_LEDGER_AREAS], mappings;
	if (!is_enough(record, bytes, error))
		return false;
	record->descriptor = descriptor;
	lay_out(areas, &mappings, record->bytes);
	place(record, memory, areas);
	return true;
}

static void *shift(const volatile void *at, uintptr_t distance)
{
	return (void *)((uintptr_t)at + distance);
}

struct cairn_record cairn_record_elsewhere(const struct cairn_record *record, uintptr_t distance)
{
	struct cairn_record moved = *record;
	moved.header = shift(record->header, distance);
	moved.keys = shift(record->keys, distance);
	moved.samples = shift(record->samples, distance);
	moved.stacks = shift(record->stacks, distance);
	moved.frames = shift(record->frames, distance);
	moved.modules = shift(record->modules, distance);
	moved.threads = shift(record->threads, distance);
	moved.text = shift(record->text, distance);
	moved.rows = shift(record->rows, distance);
	moved.holds = shift(record->holds, distance);
	moved.descriptor = -1;
	return moved;
}

bool cairn_record_open_file(struct cairn_record *record, size_t bytes, const struct cairn_record_file *file, struct cairn_error *error)
{
	if (!is_enough(record, bytes, error))
		return false;
	struct cairn_file_limit limit;
	cairn_file_limit_enter(&limit);
	char *memory = cairn_record_map_file(file, record->bytes, &record->descriptor, error);
	cairn_file_limit_leave(&limit, true); /* the dump of what an earlier process left may have */
	return memory && (set_up(record, memory, true, error) || discard(record, memory));
}

void cairn_record_close(struct cairn_record *record)
{
	cairn_pages_unmap(record->header, record->bytes);
	cairn_descriptor_close(record->descriptor);
	*record = (struct cairn_record){.descriptor = -1};
}
