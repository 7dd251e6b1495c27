/* frames.c - a table of all functions, sorted by address, as the Linux Standard Base (10.6.2) has it.
 * SPDX-License-Identifier: Apache-2.0 */
#include "live/core/frames.h"

#include "base/array.h"
#include "live/inside/block.h"

#include <stddef.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>

struct entry {
	uint64_t start, address; /* of the code, and of its FDE */
};

struct entries {
	struct entry *items;
	size_t count, capacity;
	uint64_t section; /* where .eh_frame is */
};

enum { header_size = 12, entry_size = 8 };

static int by_start(const void *left, const void *right)
{
	const struct entry *a = left, *b = right;
	return (a->start > b->start) - (a->start < b->start);
}

/* All of them in order; free `items`. */
static struct entries read_entries(const struct cairn_subject_module *module)
{
	struct entries entries = {0};
	const struct cairn_elf_section *section = module->elf ? cairn_elf_section(module->elf, ".eh_frame") : NULL;
	if (!section || module->unwind_header || section->bytes.length == 0)
		return entries;
	struct cairn_bytes file = module->elf->file.bytes;
	size_t begin = (size_t)(section->bytes.data - file.data), end = begin + section->bytes.length;
	struct cairn_image image = {file, module->bias + section->address - begin};
	entries.section = module->bias + section->address;
	for (size_t at = begin, next; at < end; at = next) {
		struct cairn_fde fde;
		bool is_entry = cairn_eh_frame_parse(&image, at, &fde, &next);
		if (is_entry && fde.length) {
			cairn_array_room(entries.items, entries.count, entries.capacity);
			entries.items[entries.count++] = (struct entry){fde.start, image.address + at};
		}
		if (next <= at)
			break;
	}
	if (entries.count)
		qsort(entries.items, entries.count, sizeof *entries.items, by_start);
	return entries;
}

size_t cairn_core_frames_size(const struct cairn_subject_module *module)
{
	struct entries entries = read_entries(module);
	free(entries.items);
	return entries.count ? header_size + entries.count * entry_size : 0;
}

static void put(struct cairn_buffer *out, uint64_t value)
{
	uint32_t word = (uint32_t)value;
	cairn_buffer_append(out, (const char *)&word, sizeof word);
}

static bool reaches(uint64_t from, uint64_t to)
{
	int64_t distance = (int64_t)(to - from);
	return distance == (int32_t)distance;
}

/* As it is at ADDRESS. */
static bool make(struct cairn_buffer *out, const struct cairn_subject_module *module, uint64_t address)
{
	static const char encodings[] = {1, 0x1b, 0x03, 0x3b}; /* the version; relative to here, a number, relative to the header: 4 bytes each */
	struct entries entries = read_entries(module);
	bool good = entries.count > 0;
	cairn_buffer_append(out, encodings, sizeof encodings);
	put(out, entries.section - (address + sizeof encodings));
	put(out, entries.count);
	for (size_t i = 0; i < entries.count && good; i++) {
		good = reaches(address, entries.items[i].start) && reaches(address, entries.items[i].address);
		put(out, entries.items[i].start - address);
		put(out, entries.items[i].address - address);
	}
	free(entries.items);
	return good && !out->failed;
}

static bool has_frames(const struct cairn_core *core, uint64_t module)
{
	for (int i = 0; i < CAIRN_CORE_FRAMES; i++)
		if (core->frames[i].module == module)
			return true;
	return false;
}

void cairn_core_frames_ask(const struct cairn_placed *placed, struct cairn_core *core, size_t modules[CAIRN_CORE_CALLS])
{
	const struct cairn_subject *subject = placed->subject;
	core->call_count = 0;
	for (size_t i = 0; i < subject->count && core->call_count < CAIRN_CORE_CALLS; i++) {
		const struct cairn_subject_module *module = &subject->modules[i];
		size_t size = has_frames(core, module->start) ? 0 : cairn_core_frames_size(module);
		uint64_t place = 0;
		for (size_t n = 0; size && !place && n < CAIRN_BLOCK_PLACES; n++)
			place = cairn_block_place(subject, module, size, n);
		if (!place)
			continue;
		modules[core->call_count] = i;
		core->calls[core->call_count++] = (struct cairn_core_call){
			.number = SYS_mmap,
			.arguments = {place, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, UINT64_MAX, 0}};
	}
}

static bool fill(const struct cairn_placed *placed, struct cairn_core *core, const struct cairn_subject_module *module, uint64_t address)
{
	struct cairn_buffer table = cairn_buffer(SIZE_MAX);
	bool good = make(&table, module, address) && cairn_subject_write(placed->subject, address, table.data, table.length);
	for (int i = 0; i < CAIRN_CORE_FRAMES && good; i++)
		if (!core->frames[i].module) {
			core->frames[i].module = module->start;
			core->frames[i].header = address;
			break;
		}
	cairn_buffer_free(&table);
	return good;
}

bool cairn_core_frames_fill(const struct cairn_placed *placed, struct cairn_core *core, const size_t modules[CAIRN_CORE_CALLS])
{
	for (size_t i = 0; i < core->call_count && i < CAIRN_CORE_CALLS; i++)
		if ((uint64_t)core->calls[i].result == core->calls[i].arguments[0])
			fill(placed, core, &placed->subject->modules[modules[i]], core->calls[i].arguments[0]);
	return cairn_subject_write(placed->subject, placed->base + placed->image.code_size + offsetof(struct cairn_core, frames), core->frames,
				   sizeof core->frames);
}
