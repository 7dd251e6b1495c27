/* allocators.c - looking for families in each module of a process.
 * SPDX-License-Identifier: Apache-2.0 */
#include "live/inside/allocators.h"

#include "base/array.h"
#include "base/path.h"

#include <stdlib.h>

/* What the names of a stripped file would be found in. */
static const struct cairn_elf *find_names(struct cairn_allocators *allocators, const struct cairn_subject_module *module)
{
	static const struct cairn_find_options options = {.debuginfod = true};
	struct cairn_debug *debug = &allocators->debug[allocators->debug_count];
	allocators->finder.options = &options;
	cairn_find_debug(&allocators->finder, &(struct cairn_binary){.path = module->elf->path}, debug);
	bool same = debug->files.binary && debug->files.binary->file.bytes.length == module->elf->file.bytes.length;
	const struct cairn_elf *names = debug->files.debug ? debug->files.debug : debug->files.mini;
	if (!names || !same) {
		cairn_debug_close(debug);
		return NULL;
	}
	allocators->debug_count++;
	return names;
}

static bool is_stripped(const struct cairn_families *families)
{
	for (size_t i = 0; i < families->count; i++)
		if (families->items[i].count == 0)
			return true;
	return false;
}

/* Whether malloc, as a program calls it, may lead to MODULE: not where it is part of the program, whose own calls go there directly. */
static bool is_usual(const struct cairn_subject *subject, const struct cairn_subject_module *module)
{
	const struct cairn_subject_module *replacing = NULL;
	if (subject->nameless)
		return false;
	for (size_t i = 0; i < subject->count && !replacing; i++)
		if (subject->modules[i].kind == CAIRN_SUBJECT_ALLOCATOR && cairn_subject_symbol(&subject->modules[i], "malloc"))
			replacing = &subject->modules[i];
	if (cairn_subject_symbol(cairn_subject_find(subject, CAIRN_SUBJECT_PROGRAM), "malloc"))
		return false;
	return replacing ? module == replacing : module->kind == CAIRN_SUBJECT_LIBC;
}

static void add(struct cairn_allocators *allocators, const struct cairn_subject *subject, const struct cairn_subject_module *module,
		const struct cairn_elf *names, const struct cairn_family *family)
{
	bool exports = false;
	for (size_t i = 0; i < family->count; i++)
		exports |= family->functions[i].exported && strcmp(family->functions[i].name, "malloc") == 0;
	cairn_array_room(allocators->items, allocators->count, allocators->capacity);
	allocators->items[allocators->count++] =
		(struct cairn_allocator_found){module, names, family, exports && is_usual(subject, module)};
}

static int usual_first(const void *left, const void *right)
{
	const struct cairn_allocator_found *a = left, *b = right;
	if (a->usual != b->usual)
		return b->usual - a->usual;
	return a->module != b->module ? (a->module > b->module) - (a->module < b->module) : (a->family > b->family) - (a->family < b->family);
}

void cairn_allocators_find(struct cairn_allocators *allocators, const struct cairn_subject *subject)
{
	*allocators = (struct cairn_allocators){0};
	allocators->debug = cairn_array_zero(subject->count + 1, sizeof *allocators->debug);
	for (size_t i = 0; i < subject->count; i++) {
		const struct cairn_subject_module *module = &subject->modules[i];
		if (!module->elf || module->kind == CAIRN_SUBJECT_LOADER || module->kind == CAIRN_SUBJECT_AGENT)
			continue;
		struct cairn_families families = cairn_families_find(&allocators->arena, module->elf, NULL);
		const struct cairn_elf *names = is_stripped(&families) ? find_names(allocators, module) : NULL;
		if (names)
			families = cairn_families_find(&allocators->arena, module->elf, names);
		for (size_t k = 0; k < families.count; k++)
			add(allocators, subject, module, names, &families.items[k]);
	}
	qsort(allocators->items, allocators->count, sizeof *allocators->items, usual_first);
}

void cairn_allocators_free(struct cairn_allocators *allocators)
{
	for (size_t i = 0; i < allocators->debug_count; i++)
		cairn_debug_close(&allocators->debug[i]);
	free(allocators->debug);
	free(allocators->items);
	cairn_finder_free(&allocators->finder);
	cairn_arena_free(&allocators->arena);
	*allocators = (struct cairn_allocators){0};
}

const char *cairn_allocator_describe(struct cairn_arena *arena, const struct cairn_allocator_found *found)
{
	const char *prefix = found->family->prefix;
	return cairn_arena_format(arena, "%s%s%s%s%s in %s", found->usual && found->module->kind == CAIRN_SUBJECT_LIBC ? "libc's " : "",
				  cairn_family_name(found->family->kind), prefix[0] ? " (" : "", prefix, prefix[0] ? ")" : "",
				  found->module->path);
}
