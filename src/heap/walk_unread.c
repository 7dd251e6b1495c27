/* walk_unread.c - allocators that are there and could not be read: an unknown version, or one built in a way that hides its records.
 *
 * They are looked for only where much memory is in no heap that was read, by the names of their functions or their messages
 * (symbol/family.h), in the program itself and in libraries named after an allocator. SPDX-License-Identifier: Apache-2.0 */
#include "heap/walk_unread.h"

#include "heap/version.h"
#include "symbol/family.h"

#include <stdio.h>

static const uint64_t much = 16 << 20;

static const struct {
	enum cairn_family_kind family;
	enum cairn_walk_kind kind;
	const char *library; /* a part of its name */
	bool (*version)(struct cairn_image *image, const struct cairn_image_module *module, char *version, size_t size);
} allocators[] = {
	{CAIRN_FAMILY_JEMALLOC, CAIRN_WALK_JEMALLOC, "jemalloc", cairn_version_of_jemalloc},
	{CAIRN_FAMILY_MIMALLOC, CAIRN_WALK_MIMALLOC, "mimalloc", cairn_version_of_mimalloc},
	{CAIRN_FAMILY_TCMALLOC, CAIRN_WALK_TCMALLOC, "tcmalloc", cairn_version_of_gperftools},
};
enum { allocators_known = sizeof allocators / sizeof *allocators };

/* Resident memory where a heap may be, and that no reader has claimed. */
static uint64_t unclaimed(const struct cairn_walk *walk)
{
	uint64_t bytes = 0;
	for (size_t i = 0; i < walk->image->region_count; i++) {
		const struct cairn_image_region *region = &walk->image->regions[i];
		if (region->kind == CAIRN_IMAGE_ANONYMOUS || region->kind == CAIRN_IMAGE_BREAK || region->is_tail)
			bytes += cairn_image_resident(walk->image, region->start, region->end, false);
	}
	return bytes > walk->sum.resident ? bytes - walk->sum.resident : 0;
}

static bool was_read(const struct cairn_walk *walk, enum cairn_walk_kind kind)
{
	for (size_t i = 0; i < walk->heap_count; i++)
		if (walk->heaps[i].kind == kind && walk->heaps[i].is_read)
			return true;
	return false;
}

static const char *why_not_found(const struct cairn_walk *walk, const char *limit)
{
	return limit[0] ? limit : walk->image->has_untried ? "the program has too many pointers among its variables to try them all" : "";
}

static void look_into(struct cairn_walk *walk, const struct cairn_image_module *module, bool is_program, const char *limit)
{
	struct cairn_file file;
	struct cairn_arena arena = {0};
	const char *name = strrchr(module->path, '/') ? strrchr(module->path, '/') + 1 : module->path;
	bool named = is_program;
	for (size_t i = 0; i < allocators_known && !named; i++)
		named = strstr(name, allocators[i].library);
	if (!named || !walk->image->source.open_module || !walk->image->source.open_module(walk->image->source.context, module, &file))
		return;
	struct cairn_elf *elf = cairn_elf_open_bytes(file.bytes, module->path, NULL);
	struct cairn_families families = elf ? cairn_families_find(&arena, elf, NULL) : (struct cairn_families){0};
	for (size_t i = 0; i < allocators_known; i++)
		for (size_t k = 0; k < families.count; k++) {
			struct cairn_walk_heap heap = {.kind = allocators[i].kind, .module = module->path};
			if (families.items[k].kind != allocators[i].family || was_read(walk, heap.kind))
				continue;
			allocators[i].version(walk->image, module, heap.version, sizeof heap.version);
			if (heap.kind == CAIRN_WALK_JEMALLOC)
				cairn_variable_of_jemalloc(walk->image, module, heap.variable, sizeof heap.variable);
			if (limit[0] || (is_program && walk->image->has_untried))
				snprintf(heap.problem, sizeof heap.problem, "%s%sin %.60s was not found, as %s", heap.version,
					 heap.version[0] ? " " : "", name, why_not_found(walk, limit));
			else if (heap.kind == CAIRN_WALK_TCMALLOC && !heap.version[0]) {
				snprintf(heap.version, sizeof heap.version, "by Google");
				snprintf(heap.problem, sizeof heap.problem,
					 "Google's tcmalloc in %.60s cannot be read: it has neither versions nor a fixed layout", name);
			} else
				snprintf(heap.problem, sizeof heap.problem,
					 "%s%sin %.60s cannot be read: its version, or how it was built, is unknown (known: %s)",
					 heap.version, heap.version[0] ? " " : "", name, cairn_walk_versions(heap.kind));
			cairn_walk_add_heap(walk, &heap);
			break;
		}
	cairn_elf_close(elf);
	cairn_file_close(&file);
	cairn_arena_free(&arena);
}

void cairn_walk_find_unread(struct cairn_walk *walk, const char *limit)
{
	uint64_t left = unclaimed(walk);
	size_t known = walk->heap_count;
	if (left < much || left < walk->sum.resident / 4)
		return;
	bool is_program = true; /* the first that has both; Cairn and others may have put code before it */
	for (size_t i = 0; i < walk->image->module_count && walk->image->exhausted != CAIRN_IMAGE_TIME; i++) {
		const struct cairn_image_module *module = &walk->image->modules[i];
		if (!module->code || !module->has_data)
			continue;
		look_into(walk, module, is_program, limit);
		is_program = false;
	}
	if (walk->heap_count == known && (limit[0] || walk->image->has_untried))
		snprintf(walk->problem, sizeof walk->problem, "a heap may not have been found, as %s",
			 why_not_found(walk, limit));
}
