/* mapping.c - the hooks, and the table of ranges.
 *
 * A record is claimed by its start, as samples are by their key: whoever changes a range has claimed it before. Two threads that unmap
 * parts of one range at once meet there, and the second looks again a few times, which takes less than the call itself.
 * SPDX-License-Identifier: Apache-2.0 */
#include "agent/sampler/mapping.h"

#include "agent/sampler/sample.h"

#include <stdarg.h>
#include <sys/mman.h>
#include <unistd.h>

struct cairn_mapping_real cairn_mapping_real;

static struct cairn_ledger_mapping *records_of(const struct cairn_record *record)
{
	return (struct cairn_ledger_mapping *)(void *)((char *)record->header + record->header->mappings.offset);
}

static void raise_used(struct cairn_ledger_header *header, uint64_t used)
{
	uint64_t before = atomic_load_explicit(&header->mappings_used, memory_order_relaxed);
	while (before < used &&
	       !atomic_compare_exchange_weak_explicit(&header->mappings_used, &before, used, memory_order_relaxed, memory_order_relaxed))
		;
}

/* Whether there is a record at INDEX, with memory. */
static bool has_record(struct cairn_record *record, uint32_t index)
{
	_Atomic uint32_t *provided = &record->header->mappings_provided;
	return index < atomic_load_explicit(provided, memory_order_acquire) ||
	       (cairn_record_grow_mappings(record) && index < atomic_load_explicit(provided, memory_order_acquire));
}

/* Adds one range to the ledger, whose stack the caller holds. */
static void add(struct cairn_record *record, const struct cairn_ledger_mapping *mapping)
{
	struct cairn_ledger_header *header = record->header;
	struct cairn_ledger_mapping *records = records_of(record);
	for (uint32_t i = 0; has_record(record, i); i++) {
		uint64_t free_start = CAIRN_LEDGER_EMPTY;
		if (atomic_load_explicit(&records[i].start, memory_order_relaxed) != CAIRN_LEDGER_EMPTY ||
		    !atomic_compare_exchange_strong(&records[i].start, &free_start, CAIRN_LEDGER_BUSY))
			continue;
		raise_used(header, i + 1);
		records[i].length = mapping->length;
		records[i].birth_ns = mapping->birth_ns;
		__atomic_store_n(&records[i].stack, mapping->stack, __ATOMIC_RELAXED);
		records[i].stack_check = mapping->stack_check;
		records[i].thread = mapping->thread;
		records[i].kind = mapping->kind;
		atomic_store_explicit(&records[i].start, mapping->start, memory_order_release);
		return;
	}
	atomic_fetch_add_explicit(&header->mappings_lost, 1, memory_order_relaxed);
	atomic_fetch_add_explicit(&header->mappings_lost_bytes, mapping->length, memory_order_relaxed);
}

/* Adds one that is new, and releases its stack. */
static void add_held(struct cairn_record *record, struct cairn_ledger_mapping *mapping)
{
	/* The unknown stack may have no memory, nor any before it. */
	mapping->stack_check = mapping->stack ? cairn_record_stack_check(record, mapping->stack) : 0;
	add(record, mapping);
	cairn_record_release_stack(record, mapping->stack);
}

/* Takes what of RECORD lies from START to END out of it; the part behind it becomes a record of its own. */
static void cut(struct cairn_record *record, struct cairn_ledger_mapping *to, uint64_t start, uint64_t end)
{
	enum { tries = 1000 };
	for (int i = 0; i < tries; i++) {
		uint64_t first = atomic_load_explicit(&to->start, memory_order_acquire), length = to->length;
		if (first == CAIRN_LEDGER_BUSY)
			continue;
		if (first == CAIRN_LEDGER_EMPTY || first >= end || first + length <= start)
			return;
		if (!atomic_compare_exchange_strong(&to->start, &first, CAIRN_LEDGER_BUSY))
			continue;
		struct cairn_ledger_mapping rest = {
			.length = to->length, .birth_ns = to->birth_ns, .stack = to->stack, .thread = to->thread, .kind = to->kind,
			.stack_check = to->stack_check};
		uint64_t last = first + rest.length;
		cairn_record_hold_stack(record, rest.stack); /* as long as it is in no record */
		to->length = start > first ? start - first : 0;
		atomic_store_explicit(&to->start, start > first ? first : CAIRN_LEDGER_EMPTY, memory_order_release);
		if (last > end) {
			rest.start = end;
			rest.length = last - end;
			add(record, &rest);
		}
		cairn_record_release_stack(record, rest.stack);
		return;
	}
}

/* Takes a range out of the ledger, which may be a part of others. */
static void remove_range(struct cairn_record *record, uint64_t start, uint64_t length)
{
	struct cairn_ledger_mapping *records = records_of(record);
	uint64_t used = atomic_load_explicit(&record->header->mappings_used, memory_order_relaxed);
	for (uint64_t i = 0; i < used; i++) {
		uint64_t first = atomic_load_explicit(&records[i].start, memory_order_relaxed);
		if (first == CAIRN_LEDGER_BUSY ||
		    (first != CAIRN_LEDGER_EMPTY && first < start + length && start < first + records[i].length))
			cut(record, &records[i], start, start + length);
	}
}

void cairn_mapping_clear(struct cairn_record *record)
{
	struct cairn_ledger_mapping *records = records_of(record);
	for (uint64_t i = 0, used = atomic_load(&record->header->mappings_used); i < used; i++) {
		uint64_t start = atomic_load_explicit(&records[i].start, memory_order_relaxed);
		if (start > CAIRN_LEDGER_BUSY)
			atomic_compare_exchange_strong(&records[i].start, &start, CAIRN_LEDGER_EMPTY);
	}
}

static uint64_t whole_pages(uint64_t length)
{
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
	return (length + page - 1) & ~(page - 1);
}

static bool is_on(void)
{
	return !cairn_local()->quiet && cairn_sample_is_ours();
}

static enum cairn_ledger_mapping_kind kind_of(int protection, int flags)
{
	if (!(flags & MAP_ANONYMOUS))
		return CAIRN_LEDGER_MAPPING_FILE;
	return protection == PROT_NONE ? CAIRN_LEDGER_MAPPING_RESERVED :
	       flags & MAP_PRIVATE ? CAIRN_LEDGER_MAPPING_ANONYMOUS : CAIRN_LEDGER_MAPPING_SHARED;
}

/* Records the range, with the stack of the call of FUNCTION. */
CAIRN_SAMPLER_CODE static void record_range(uint64_t start, uint64_t length, enum cairn_ledger_mapping_kind kind, uintptr_t function)
{
	struct cairn_record *record = &cairn_sampling.record;
	struct cairn_ledger_mapping mapping = {.length = whole_pages(length), .kind = kind};
	atomic_store_explicit(&mapping.start, start, memory_order_relaxed);
	remove_range(record, start, mapping.length);
	if (!atomic_load_explicit(&cairn_sampling.active, memory_order_relaxed))
		return;
	if (cairn_sample_place(function, &mapping.stack, &mapping.thread, &mapping.birth_ns))
		add_held(record, &mapping);
}

CAIRN_SAMPLER_CODE void *cairn_mapping_mmap(void *address, size_t length, int protection, int flags, int descriptor, off_t offset)
{
	void *made = cairn_mapping_real.mmap(address, length, protection, flags, descriptor, offset);
	if (made != MAP_FAILED && is_on())
		record_range((uintptr_t)made, length, kind_of(protection, flags), (uintptr_t)cairn_mapping_real.mmap);
	return made;
}

CAIRN_SAMPLER_CODE int cairn_mapping_munmap(void *address, size_t length)
{
	/* Before the call: once it is unmapped another thread may have the address. */
	if (length && (uintptr_t)address % (uintptr_t)sysconf(_SC_PAGESIZE) == 0 && is_on())
		remove_range(&cairn_sampling.record, (uintptr_t)address, whole_pages(length));
	return cairn_mapping_real.munmap(address, length);
}

/* The kind of what is at ADDRESS; anonymous where that is not known. */
static enum cairn_ledger_mapping_kind find_kind(uint64_t address)
{
	const struct cairn_record *record = &cairn_sampling.record;
	const struct cairn_ledger_mapping *records = records_of(record);
	for (uint64_t i = 0, used = atomic_load(&record->header->mappings_used); i < used; i++) {
		uint64_t start = atomic_load_explicit(&records[i].start, memory_order_relaxed);
		if (start > CAIRN_LEDGER_BUSY && address >= start && address - start < records[i].length)
			return (enum cairn_ledger_mapping_kind)records[i].kind;
	}
	return CAIRN_LEDGER_MAPPING_ANONYMOUS;
}

CAIRN_SAMPLER_CODE void *cairn_mapping_mremap(void *address, size_t old_length, size_t new_length, int flags, void *new_address)
{
	bool on = is_on();
	enum cairn_ledger_mapping_kind kind = on ? find_kind((uintptr_t)address) : CAIRN_LEDGER_MAPPING_ANONYMOUS;
	void *made = cairn_mapping_real.mremap(address, old_length, new_length, flags, new_address);
	if (made == MAP_FAILED || !on)
		return made;
	/* Another thread may have been given the old address by now. That it has is unlikely, and what it mapped is then missing. */
	if (made != address || new_length < old_length)
		remove_range(&cairn_sampling.record, (uintptr_t)address, whole_pages(old_length));
	record_range((uintptr_t)made, new_length, kind, (uintptr_t)cairn_mapping_real.mremap);
	return made;
}

/* The break has moved, by who is not the allocator. */
CAIRN_SAMPLER_CODE static void record_break(uint64_t before, uint64_t after, uintptr_t function)
{
	struct cairn_record *record = &cairn_sampling.record;
	if (after < before)
		remove_range(record, after, before - after);
	if (after <= before || !atomic_load_explicit(&cairn_sampling.active, memory_order_relaxed))
		return;
	struct cairn_ledger_mapping mapping = {.length = after - before, .kind = CAIRN_LEDGER_MAPPING_BREAK};
	atomic_store_explicit(&mapping.start, before, memory_order_relaxed);
	if (cairn_sample_place(function, &mapping.stack, &mapping.thread, &mapping.birth_ns))
		add_held(record, &mapping);
}

CAIRN_SAMPLER_CODE int cairn_mapping_brk(void *address)
{
	uint64_t before = cairn_mapping_real.sbrk ? (uintptr_t)cairn_mapping_real.sbrk(0) : 0;
	int code = cairn_mapping_real.brk(address);
	if (code == 0 && before && is_on())
		record_break(before, (uintptr_t)address, (uintptr_t)cairn_mapping_real.brk);
	return code;
}

CAIRN_SAMPLER_CODE void *cairn_mapping_sbrk(intptr_t increment)
{
	void *before = cairn_mapping_real.sbrk(increment);
	if (before != (void *)-1 && increment && is_on())
		record_break((uintptr_t)before, (uint64_t)((uintptr_t)before + (uintptr_t)increment), (uintptr_t)cairn_mapping_real.sbrk);
	return before;
}
