/* code.c - _dl_find_object, or a table of the loader's list.
 *
 * An object of the table may have been unloaded since: before its data is used, it is checked for being readable and compared with what is
 * known about it.
 * SPDX-License-Identifier: Apache-2.0 */
#include "agent/unwind/code.h"

#include "agent/unwind/code_table.h"
#include "agent/unwind/known.h"
#include "agent/unwind/object.h"

#include <dlfcn.h>
#include <link.h>
#include <sys/auxv.h>

static struct cairn_code_table table;
static struct {
	unsigned long long adds, subs;
	atomic_flag under_way;
	atomic_bool use_table;
} refreshing = {.under_way = ATOMIC_FLAG_INIT};

static bool find_in_table(uintptr_t address, struct cairn_code *code)
{
	return cairn_code_table_find(&table, address, code) && cairn_known_is_there(code->tag);
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
	return _dl_find_object && !atomic_load_explicit(&refreshing.use_table, memory_order_relaxed);
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
	atomic_store(&refreshing.use_table, use);
}

static int check_change(struct dl_phdr_info *info, size_t size, void *opaque)
{
	bool *changed = opaque;
	*changed = size < sizeof *info || refreshing.adds != info->dlpi_adds || refreshing.subs != info->dlpi_subs;
	refreshing.adds = info->dlpi_adds;
	refreshing.subs = info->dlpi_subs;
	return 1;
}

static int add_object(struct dl_phdr_info *info, size_t size, void *opaque)
{
	(void)size;
	unsigned *count = opaque;
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
	if (code.start >= code.end)
		return 0;
	code.image_start = code.start;
	code.image_end = code.end;
	code.tag = cairn_known_tag(
		&(struct cairn_place){code.start, code.end, code.unwind_header, info->dlpi_addr, info->dlpi_name ? info->dlpi_name : ""});
	cairn_code_table_add(&table, count, &code);
	return 0;
}

typedef bool visit_loader(int (*visit)(struct dl_phdr_info *info, size_t size, void *context), void *context);

static bool visit_patiently(int (*visit)(struct dl_phdr_info *info, size_t size, void *context), void *context)
{
	cairn_loader_visit(visit, context);
	return true;
}

static bool refresh(visit_loader *loader)
{
	bool changed = true;
	if (!loader(check_change, &changed))
		return false;
	if (!changed)
		return true;
	unsigned count = 0;
	if (!loader(add_object, &count)) {
		refreshing.adds = refreshing.subs = 0; /* once more the next time */
		return false;
	}
	cairn_code_table_publish(&table, count);
	return true;
}

void cairn_code_refresh(void)
{
	if (atomic_flag_test_and_set(&refreshing.under_way))
		return;
	cairn_known_retire();
	if (!cairn_code_is_live())
		refresh(visit_patiently);
	atomic_flag_clear(&refreshing.under_way);
}

bool cairn_code_try_refresh(void)
{
	if (cairn_code_is_live())
		return true;
	if (atomic_flag_test_and_set(&refreshing.under_way))
		return false;
	bool done = refresh(cairn_loader_try_visit);
	atomic_flag_clear(&refreshing.under_way);
	return done;
}

void cairn_code_forget(void)
{
	refreshing.adds = refreshing.subs = 0;
	atomic_flag_clear(&refreshing.under_way);
}
