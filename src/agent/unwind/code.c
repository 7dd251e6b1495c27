/* code.c - _dl_find_object, or a table of the loader's list.
 *
 * A new table is written into the one of two buffers that is not published, then published. The buffer that a reader looks at is written
 * again only after the other was published, so a reader that sees the same number before and after has read a consistent table; in the rare
 * other case it finds nothing. An object of the table may have been unloaded since: before its data is used, it is checked for being
 * readable and compared with what is known about it.
 * SPDX-License-Identifier: Apache-2.0 */
#include "agent/unwind/code.h"

#include "agent/unwind/known.h"
#include "agent/unwind/object.h"

#include <dlfcn.h>
#include <link.h>
#include <stdatomic.h>
#include <sys/auxv.h>

enum { table_most = 1024 };

struct table_entry {
	_Atomic uintptr_t start, end, unwind_header;
	_Atomic uint16_t tag;
};

static struct {
	struct table_entry entries[2][table_most];
	atomic_uint counts[2];
	atomic_uint published; /* its lowest bit says which buffer holds */
	unsigned long long adds, subs;
	atomic_flag refreshing;
	atomic_bool use;
} table = {.refreshing = ATOMIC_FLAG_INIT};

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
	code->image_start = code->start;
	code->image_end = code->end;
	code->tag = atomic_load_explicit(&entries[low - 1].tag, memory_order_relaxed);
	atomic_thread_fence(memory_order_acquire);
	return atomic_load_explicit(&table.published, memory_order_relaxed) == sequence && address < code->end &&
	       cairn_known_is_there(code->tag);
}

#if defined(DLFO_EH_SEGMENT_TYPE)
extern __typeof__(_dl_find_object) _dl_find_object __attribute__((weak));

/* For a program with gaps between its segments, the loader describes only one segment: the program's own headers describe all of them. */
static void find_image(struct cairn_code *code)
{
	uintptr_t headers = getauxval(AT_PHDR), bias = 0, low = UINTPTR_MAX, high = 0;
	size_t count = getauxval(AT_PHNUM);
	const ElfW(Phdr) *header = (const ElfW(Phdr) *)headers;
	for (size_t i = 0; headers && i < count; i++)
		if (header[i].p_type == PT_PHDR)
			bias = headers - header[i].p_vaddr;
	for (size_t i = 0; headers && i < count; i++) {
		if (header[i].p_type != PT_LOAD)
			continue;
		uintptr_t start = bias + header[i].p_vaddr;
		low = start < low ? start : low;
		high = start + header[i].p_memsz > high ? start + header[i].p_memsz : high;
	}
	if (low <= code->start && high >= code->end && code->unwind_header - low < high - low) {
		code->image_start = low & ~(uintptr_t)4095;
		code->image_end = high;
	}
}

static bool find_by_loader(uintptr_t address, struct cairn_code *code)
{
	struct dl_find_object found;
	if (_dl_find_object((void *)address, &found) != 0)
		return false;
	code->start = (uintptr_t)found.dlfo_map_start;
	code->end = (uintptr_t)found.dlfo_map_end;
	code->unwind_header = (uintptr_t)found.dlfo_eh_frame;
	code->image_start = code->start;
	code->image_end = code->end;
	if (code->unwind_header && code->unwind_header - code->start >= code->end - code->start)
		find_image(code);
	code->tag =
		cairn_known_tag(&(struct cairn_place){code->image_start, code->image_end, code->unwind_header, found.dlfo_link_map->l_addr,
						      found.dlfo_link_map->l_name ? found.dlfo_link_map->l_name : ""});
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
	code.start &= ~(uintptr_t)4095; /* as the loader maps it */
	if (code.start >= code.end || *count == table_most)
		return 0;
	unsigned place = (*count)++; /* kept sorted: the list is short and nearly in order */
	for (; place > 0 && entries[place - 1].start > code.start; place--) {
		entries[place].start = entries[place - 1].start;
		entries[place].end = entries[place - 1].end;
		entries[place].unwind_header = entries[place - 1].unwind_header;
		entries[place].tag = entries[place - 1].tag;
	}
	entries[place].start = code.start;
	entries[place].end = code.end;
	entries[place].unwind_header = code.unwind_header;
	entries[place].tag = cairn_known_tag(&(struct cairn_place){code.start, code.end, code.unwind_header, info->dlpi_addr,
								   info->dlpi_name ? info->dlpi_name : ""});
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
	cairn_known_retire();
	if (!cairn_code_is_live())
		refresh();
	atomic_flag_clear(&table.refreshing);
}

void cairn_code_forget(void)
{
	table.adds = table.subs = 0;
	atomic_flag_clear(&table.refreshing);
}
