/* record_open.c - a new ledger: its memory, its areas, its header.
 * SPDX-License-Identifier: Apache-2.0 */
#include "agent/sampler/record.h"
#include "base/descriptor.h"
#include "base/file_limit.h"
#include "base/pages.h"
#include "process/clock.h"
#include "process/facts.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

static uint32_t power_within(uint64_t count)
{
	return count ? (uint32_t)1 << (63 - __builtin_clzll(count)) : 0;
}

/* Shares SIZE bytes out. The rest goes to the frames, of which a stack needs some forty. */
static void lay_out(struct cairn_ledger_header *header, uint64_t size)
{
	struct cairn_ledger_area *areas = header->areas;
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
	header->mappings = (struct cairn_ledger_area){offset, sizeof(struct cairn_ledger_mapping), (uint32_t)(size >> 12)};
	offset += ((uint64_t)header->mappings.size * header->mappings.count + 63) & ~UINT64_C(63);
	areas[CAIRN_LEDGER_FRAMES] = (struct cairn_ledger_area){.offset = offset, .size = 8, .count = (uint32_t)((size - offset) / 8)};
	header->bytes = size;
}

/* A memfd that has all its pages and cannot be made smaller: no store into it raises SIGBUS. The pages enter the process's page table when
 * they are first used: entering all of them here would cost every short program more than the rest of its start, and would hold up a thread
 * that maps memory meanwhile. */
static void *map_named(size_t bytes, int *descriptor)
{
	int made = cairn_descriptor_adopt(memfd_create("cairn-ledger", MFD_CLOEXEC | MFD_ALLOW_SEALING));
	*descriptor = -1;
	if (made < 0)
		return NULL;
	if (ftruncate(made, (off_t)bytes) == 0 && posix_fallocate(made, 0, (off_t)bytes) == 0 &&
	    fcntl(made, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) == 0) {
		void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, made, 0);
		if (memory != MAP_FAILED) {
			*descriptor = made;
			return memory;
		}
	}
	cairn_descriptor_close(made);
	return NULL;
}

/* Populated by the kernel: these pages are nowhere yet, and one that cannot be had must not be a fault of ours. */
static void *map_unnamed(size_t bytes)
{
	void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
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

/* Makes MEMORY a ledger. */
static bool set_up(struct cairn_record *record, char *memory, struct cairn_error *error)
{
	size_t bytes = record->bytes;
	/* A child has its own, or none: it must not write into ours. */
	if (madvise(memory, bytes, MADV_DONTFORK) != 0) {
		cairn_pages_unmap(memory, bytes);
		cairn_descriptor_close(record->descriptor);
		return cairn_fail_errno(error, "the ledger cannot be kept from forked children");
	}
	struct cairn_ledger_header *header = record->header = (struct cairn_ledger_header *)(void *)memory;
	lay_out(header, bytes);
	const struct cairn_ledger_area *areas = header->areas;
	record->keys = (_Atomic uint64_t *)(void *)(memory + areas[CAIRN_LEDGER_KEYS].offset);
	record->samples = (struct cairn_ledger_sample *)(void *)(memory + areas[CAIRN_LEDGER_SAMPLES].offset);
	record->stacks = (struct cairn_ledger_stack *)(void *)(memory + areas[CAIRN_LEDGER_STACKS].offset);
	record->frames = (uint64_t *)(void *)(memory + areas[CAIRN_LEDGER_FRAMES].offset);
	record->modules = (struct cairn_ledger_module *)(void *)(memory + areas[CAIRN_LEDGER_MODULES].offset);
	record->threads = (struct cairn_ledger_thread *)(void *)(memory + areas[CAIRN_LEDGER_THREADS].offset);
	record->text = memory + areas[CAIRN_LEDGER_TEXT].offset;
	record->sample_mask = areas[CAIRN_LEDGER_SAMPLES].count - 1;
	record->stack_mask = areas[CAIRN_LEDGER_STACKS].count - 1;
	describe_process(header);
	atomic_store(&header->peak, CAIRN_LEDGER_FIRST_PEAK);
	header->magic = CAIRN_LEDGER_MAGIC;
	header->version = CAIRN_LEDGER_VERSION;
	atomic_store(&record->stacks[0].hash, 2); /* the unknown stack, of no frames */
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
	return set_up(record, memory, error);
}

bool cairn_record_open_file(struct cairn_record *record, size_t bytes, const struct cairn_record_file *file, struct cairn_error *error)
{
	if (!is_enough(record, bytes, error))
		return false;
	struct cairn_file_limit limit;
	cairn_file_limit_enter(&limit);
	char *memory = cairn_record_map_file(file, record->bytes, &record->descriptor, error);
	cairn_file_limit_leave(&limit, true); /* the dump of what an earlier process left may have */
	return memory && set_up(record, memory, error);
}

void cairn_record_close(struct cairn_record *record)
{
	cairn_pages_unmap(record->header, record->bytes);
	cairn_descriptor_close(record->descriptor);
	*record = (struct cairn_record){.descriptor = -1};
}
