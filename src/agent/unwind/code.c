/* code.c - _dl_find_object, or a table of the loader's list.
 *
 * The table is written into the one of two buffers that is not published, then published. The buffer a reader looks at
 * is written again only after another was published, so a reader that sees the same number before and after read a whole
 * one; the rare other finds nothing. An object of the table may have been unloaded since: before anything of it is believed its
 * header is read through the kernel's eyes and compared.
 * SPDX-License-Identifier: Apache-2.0 */
#include "agent/unwind/code.h"

#include "agent/unwind/object.h"
#include "agent/unwind/stack.h"

#include <dlfcn.h>
#include <link.h>
#include <stdatomic.h>

enum { table_most = 1024 };

struct table_entry {
	_Atomic uintptr_t start, end, unwind_header;
	_Atomic uint64_t mark; /* see mark_of */
};

static struct {
	struct table_entry entries[2][table_most];
	atomic_uint counts[2];
	atomic_uint published; /* its lowest bit says which buffer holds */
	unsigned long long adds, subs;
	atomic_flag refreshing;
	atomic_bool use;
} table = {.refreshing = ATOMIC_FLAG_INIT};

/* The header's first words tell one object from another: where its frames are, how many, and the first of them. */
static uint64_t mark_of(uintptr_t unwind_header)
{
	uint64_t words[2] = {0, 0};
	if (unwind_header)
		memcpy(words, (const void *)unwind_header, sizeof words);
	return words[0] ^ words[1] * 3;
}

static uint16_t make_tag(uintptr_t start, uintptr_t unwind_header, uint64_t mark)
{
	return (uint16_t)((start ^ unwind_header ^ mark) * 0x9e3779b97f4a7c15u >> 48);
}

static bool is_still_there(const struct cairn_code *code, uint64_t mark)
{
	uintptr_t header = code->unwind_header;
	return !header || (cairn_stack_is_readable(header) && cairn_stack_is_readable(header + 8) && mark_of(header) == mark);
}

static bool find_in_table(uintptr_t address, struct cairn_code *code)
{
	unsigned sequence = atomic_load_explicit(&table.published, memory_order_acquire);
	const struct table_entry *entries = table.entries[sequence & 1];
	unsigned low = 0, high = atomic_load_explicit(&table.counts[sequence & 1], memory_order_relaxed);
	while (low < high) {
		unsigned middle = (low + high) / 2;
		if (atomic_load_explicit(&entries[middle].start, memory_order_relaxed) <= address)
			low = middle + 1;
		else
			high = middle;
	}
	if (low == 0)
		return false;
	code->start = atomic_load_explicit(&entries[low - 1].start, memory_order_relaxed);
	code->end = atomic_load_explicit(&entries[low - 1].end, memory_order_relaxed);
	code->unwind_header = atomic_load_explicit(&entries[low - 1].unwind_header, memory_order_relaxed);
	uint64_t mark = atomic_load_explicit(&entries[low - 1].mark, memory_order_relaxed);
	atomic_thread_fence(memory_order_acquire);
	if (atomic_load_explicit(&table.published, memory_order_relaxed) != sequence || address >= code->end || !is_still_there(code, mark))
		return false;
	code->tag = make_tag(code->start, code->unwind_header, mark);
	return true;
}

#if defined(DLFO_EH_SEGMENT_TYPE)
extern __typeof__(_dl_find_object) _dl_find_object __attribute__((weak));

static bool find_by_loader(uintptr_t address, struct cairn_code *code)
{
	struct dl_find_object found;
	if (_dl_find_object((void *)address, &found) != 0)
		return false;
	code->start = (uintptr_t)found.dlfo_map_start;
	code->end = (uintptr_t)found.dlfo_map_end;
	code->unwind_header = (uintptr_t)found.dlfo_eh_frame;
	code->tag = make_tag(code->start ^ (uintptr_t)found.dlfo_link_map, code->unwind_header, mark_of(code->unwind_header));
	return true;
}

bool cairn_code_is_live(void)
{
	return _dl_find_object && !atomic_load_explicit(&table.use, memory_order_relaxed);
}
#else
static bool find_by_loader(uintptr_t address, struct cairn_code *code)
{
	return find_in_table(address, code);
}

bool cairn_code_is_live(void)
{
	return false;
}
#endif

bool cairn_code_find(uintptr_t address, struct cairn_code *code)
{
	return cairn_code_is_live() ? find_by_loader(address, code) : find_in_table(address, code);
}

void cairn_code_use_table(bool use)
{
	atomic_store(&table.use, use);
}

static int check_change(struct dl_phdr_info *info, size_t size, void *opaque)
{
	bool *changed = opaque;
	*changed = size < sizeof *info || table.adds != info->dlpi_adds || table.subs != info->dlpi_subs;
	table.adds = info->dlpi_adds;
	table.subs = info->dlpi_subs;
	return 1;
}

static int add_object(struct dl_phdr_info *info, size_t size, void *opaque)
{
	(void)size;
	unsigned *count = opaque;
	struct table_entry *entries = table.entries[~atomic_load(&table.published) & 1];
	struct cairn_code code = {.start = UINTPTR_MAX};
	for (unsigned i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *header = &info->dlpi_phdr[i];
		uintptr_t start = info->dlpi_addr + header->p_vaddr;
		if (header->p_type == PT_LOAD) {
			code.start = start < code.start ? start : code.start;
			code.end = start + header->p_memsz > code.end ? start + header->p_memsz : code.end;
		} else if (header->p_type == PT_GNU_EH_FRAME) {
			code.unwind_header = start;
		}
	}
	if (code.start >= code.end || *count == table_most)
		return 0;
	unsigned place = (*count)++; /* kept sorted: the list is short and nearly in order */
	for (; place > 0 && entries[place - 1].start > code.start; place--) {
		entries[place].start = entries[place - 1].start;
		entries[place].end = entries[place - 1].end;
		entries[place].unwind_header = entries[place - 1].unwind_header;
		entries[place].mark = entries[place - 1].mark;
	}
	entries[place].start = code.start;
	entries[place].end = code.end;
	entries[place].unwind_header = code.unwind_header;
	entries[place].mark = mark_of(code.unwind_header);
	return 0;
}

static void refresh(void)
{
	bool changed = true;
	cairn_loader_visit(check_change, &changed);
	if (!changed)
		return;
	unsigned count = 0, spare = ~atomic_load(&table.published) & 1;
	cairn_loader_visit(add_object, &count);
	atomic_store_explicit(&table.counts[spare], count, memory_order_relaxed);
	atomic_fetch_add_explicit(&table.published, 1, memory_order_release);
}

void cairn_code_refresh(void)
{
	if (atomic_flag_test_and_set(&table.refreshing))
		return;
	refresh();
	atomic_flag_clear(&table.refreshing);
}

void cairn_code_forget(void)
{
	table.adds = table.subs = 0;
	atomic_flag_clear(&table.refreshing);
}
