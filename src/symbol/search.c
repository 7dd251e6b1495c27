/* search.c - the debug folders that GDB and the distributions agreed on, below each root in turn.
 * SPDX-License-Identifier: Apache-2.0 */
#include "symbol/search.h"

#include "base/path.h"

#include <stdlib.h>

static const char debug_root[] = "/usr/lib/debug";

/* Counts NUMBER down at every candidate, through all lists; true at the wanted one. */
static bool is_next(size_t *number)
{
	return (*number)-- == 0;
}

const char *cairn_search_build_id(struct cairn_arena *arena, const struct cairn_find_options *options, const char *build_id, size_t number)
{
	const char *rest = build_id + 2;
	for (size_t i = 0; i < options->symbols_count; i++) {
		const char *folder = options->symbols[i];
		if (is_next(&number))
			return cairn_arena_format(arena, "%s/.build-id/%.2s/%s.debug", folder, build_id, rest);
		if (is_next(&number))
			return cairn_arena_format(arena, "%s/%.2s/%s.debug", folder, build_id, rest);
		if (is_next(&number))
			return cairn_arena_format(arena, "%s/.build-id/%.2s/%s", folder, build_id, rest);
	}
	if (options->sysroot && is_next(&number))
		return cairn_arena_format(arena, "%s%s/.build-id/%.2s/%s.debug", options->sysroot, debug_root, build_id, rest);
	if (options->process_root && is_next(&number))
		return cairn_arena_format(arena, "%s%s/.build-id/%.2s/%s.debug", options->process_root, debug_root, build_id, rest);
	if (is_next(&number))
		return cairn_arena_format(arena, "%s/.build-id/%.2s/%s.debug", debug_root, build_id, rest);
	return NULL;
}

/* The folder of PATH with links resolved, because debug folders mirror the real path. Ends in a slash. */
static const char *real_folder(struct cairn_arena *arena, const char *path)
{
	char *real = realpath(path, NULL);
	const char *whole = real ? real : path, *base = cairn_base_name(whole);
	const char *folder = base == whole ? "./" : cairn_arena_text(arena, (struct cairn_bytes){whole, (size_t)(base - whole)});
	free(real);
	return folder;
}

/* FOLDER as the profiled machine knew it, if it is below the sysroot. */
static const char *within_sysroot(struct cairn_arena *arena, const struct cairn_find_options *options, const char *folder)
{
	const char *root = real_folder(arena, cairn_arena_format(arena, "%s/.", options->sysroot));
	size_t length = strlen(root);
	return strncmp(folder, root, length) == 0 ? folder + length - 1 : folder;
}

const char *cairn_search_link(struct cairn_arena *arena, const struct cairn_find_options *options, const char *binary, const char *name,
			      size_t number)
{
	const char *folder = real_folder(arena, binary);
	for (size_t i = 0; i < options->symbols_count; i++)
		if (is_next(&number))
			return cairn_arena_format(arena, "%s/%s", options->symbols[i], name);
	if (is_next(&number))
		return cairn_arena_format(arena, "%s%s", folder, name);
	if (is_next(&number))
		return cairn_arena_format(arena, "%s.debug/%s", folder, name);
	if (options->sysroot && is_next(&number))
		return cairn_arena_format(arena, "%s%s%s%s", options->sysroot, debug_root, within_sysroot(arena, options, folder), name);
	if (is_next(&number))
		return cairn_arena_format(arena, "%s%s%s", debug_root, folder, name);
	return NULL;
}

const char *cairn_search_alt(struct cairn_arena *arena, const struct cairn_find_options *options, const char *owner, const char *name,
			     size_t number)
{
	if (name[0] != '/' && is_next(&number))
		return cairn_arena_format(arena, "%s%s", real_folder(arena, owner), name);
	if (options->sysroot && is_next(&number))
		return cairn_arena_format(arena, "%s/%s", options->sysroot, name);
	if (name[0] == '/' && is_next(&number))
		return name;
	for (size_t i = 0; i < options->symbols_count; i++) {
		if (is_next(&number))
			return cairn_arena_format(arena, "%s/.dwz/%s", options->symbols[i], cairn_base_name(name));
		if (is_next(&number))
			return cairn_arena_format(arena, "%s/%s", options->symbols[i], cairn_base_name(name));
	}
	if (is_next(&number))
		return cairn_arena_format(arena, "%s/.dwz/%s", debug_root, cairn_base_name(name));
	return NULL;
}
