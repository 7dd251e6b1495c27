/* debug.c - opens and checks the files that describe a binary, and records them for the cache.
 * SPDX-License-Identifier: Apache-2.0 */
#include "base/array.h"
#include "base/path.h"
#include "base/time.h"
#include "base/unpack.h"
#include "symbol/debuginfod.h"
#include "symbol/search.h"

#include <libdeflate.h>
#include <stdlib.h>
#include <sys/stat.h>

struct cairn_probe cairn_probe_now(const char *path)
{
	struct stat status;
	if (stat(path, &status) != 0)
		return (struct cairn_probe){.path = path};
	return (struct cairn_probe){path, (uint64_t)status.st_size, status.st_ino,
				    cairn_time_ns(&status.st_mtim)};
}

/* Records that PATH was examined. Returns false if nothing is there. */
static bool look(struct cairn_debug *debug, const char *path)
{
	cairn_array_room(debug->probes, debug->probe_count, debug->probe_capacity);
	debug->probes[debug->probe_count] = cairn_probe_now(path);
	return debug->probes[debug->probe_count++].inode != 0;
}

static struct cairn_elf *open_build(const char *path, const char *build_id)
{
	struct cairn_elf *elf = cairn_elf_open(path, NULL);
	if (elf && strcmp(elf->build_id, build_id) == 0)
		return elf;
	if (elf)
		cairn_elf_close(elf);
	return NULL;
}

/* Keeps ELF as the debug file if it has DWARF or a symbol table. */
static bool take_debug(struct cairn_debug *debug, struct cairn_elf *elf, const char *path)
{
	if (!elf)
		return false;
	if (!cairn_elf_has_dwarf(elf) && !cairn_elf_has_symtab(elf)) {
		cairn_elf_close(elf);
		return false;
	}
	debug->files.debug = elf;
	debug->debug_path = path;
	return true;
}

static bool find_by_build_id(struct cairn_finder *finder, struct cairn_debug *debug, const char *build_id)
{
	const char *path;
	if (!cairn_build_id_valid(build_id))
		return false;
	for (size_t i = 0; (path = cairn_search_build_id(&finder->arena, finder->options, build_id, i)); i++)
		if (look(debug, path) && take_debug(debug, open_build(path, build_id), path))
			return true;
	return false;
}

/* What is longer than the limit, which takes seconds to read, is no debug file without a build-id. */
static bool has_checksum(struct cairn_bytes bytes, uint32_t checksum)
{
	const size_t bytes_most = (size_t)8 << 30;
	return bytes.length <= bytes_most && libdeflate_crc32(0, bytes.data, bytes.length) == checksum;
}

/* Opens a file that was found only by its name. It must have the binary's build-id or, if either has none, the checksum in the link. */
static struct cairn_elf *open_linked(const char *path, const struct cairn_elf *binary, uint32_t checksum)
{
	struct cairn_elf *elf = cairn_elf_open(path, NULL);
	if (!elf)
		return NULL;
	bool right = *elf->build_id && *binary->build_id
			     ? strcmp(elf->build_id, binary->build_id) == 0
			     : has_checksum(elf->file.bytes, checksum);
	if (right)
		return elf;
	cairn_elf_close(elf);
	return NULL;
}

static bool find_by_link(struct cairn_finder *finder, struct cairn_debug *debug, const struct cairn_binary *binary)
{
	const char *name, *path;
	uint32_t checksum;
	if (!cairn_elf_debuglink(debug->files.binary, &name, &checksum) || strchr(name, '/') || !*name)
		return false;
	for (size_t i = 0; (path = cairn_search_link(&finder->arena, finder->options, binary->path, name, i)); i++)
		if (look(debug, path) && take_debug(debug, open_linked(path, debug->files.binary, checksum), path))
			return true;
	return false;
}

static bool find_by_server(struct cairn_finder *finder, struct cairn_debug *debug, const char *build_id)
{
	if (!finder->options->debuginfod || !cairn_build_id_valid(build_id))
		return false;
	const char *path = cairn_debuginfod_fetch(&finder->arena, build_id, false, NULL);
	return path && take_debug(debug, open_build(path, build_id), path);
}

static struct cairn_elf *open_alt(const char *path, const char *build_id)
{
	struct cairn_elf *elf = cairn_elf_open(path, NULL);
	if (!elf || cairn_elf_is_alt(elf, build_id))
		return elf;
	cairn_elf_close(elf);
	return NULL;
}

/* Finds dwz's shared file. OWNER, at PATH, is the file that contains the DWARF. */
static void find_alt(struct cairn_finder *finder, struct cairn_debug *debug, const struct cairn_elf *owner, const char *owner_path)
{
	char build_id[2 * 64 + 1];
	const char *name, *path;
	if (!cairn_elf_altlink(owner, &name, build_id) || !*name)
		return;
	for (size_t i = 0; !debug->files.alt && (path = cairn_search_alt(&finder->arena, finder->options, owner_path, name, i)); i++)
		if (!(path == name && cairn_path_is_special(name)) && look(debug, path))
			debug->files.alt = open_alt(path, build_id);
	if (!debug->files.alt && cairn_build_id_valid(build_id))
		for (size_t i = 0; !debug->files.alt && (path = cairn_search_build_id(&finder->arena, finder->options, build_id, i)); i++)
			if (look(debug, path))
				debug->files.alt = open_alt(path, build_id);
	if (!debug->files.alt && finder->options->debuginfod && cairn_build_id_valid(build_id) &&
	    (path = cairn_debuginfod_fetch(&finder->arena, build_id, false, NULL)))
		debug->files.alt = open_alt(path, build_id);
	if (debug->files.alt)
		return;
	debug->note = cairn_arena_format(&finder->arena, "%s, which holds shared debug information, is missing", name);
	debug->damaged = true;
}

static void try_package(struct cairn_debug *debug, const char *path)
{
	if (!debug->files.package && look(debug, path))
		debug->files.package = cairn_elf_open(path, NULL);
}

/* Tries BINARY.dwp, DEBUGFILE.dwp (with and without the ending .debug), and BINARY.dwp in the folders that the user named. */
static void find_package(struct cairn_finder *finder, struct cairn_debug *debug, const struct cairn_binary *binary)
{
	const struct cairn_find_options *options = finder->options;
	struct cairn_arena *arena = &finder->arena;
	try_package(debug, cairn_arena_format(arena, "%s.dwp", binary->path));
	if (debug->debug_path) {
		size_t length = strlen(debug->debug_path);
		try_package(debug, cairn_arena_format(arena, "%s.dwp", debug->debug_path));
		if (length > 6 && strcmp(debug->debug_path + length - 6, ".debug") == 0)
			try_package(debug, cairn_arena_format(arena, "%.*s.dwp", (int)(length - 6), debug->debug_path));
	}
	for (size_t i = 0; i < options->symbols_count; i++)
		try_package(debug, cairn_arena_format(arena, "%s/%s.dwp", options->symbols[i], cairn_base_name(binary->path)));
}

static void find_mini(struct cairn_debug *debug, const char *path)
{
	struct cairn_bytes packed = cairn_elf_debugdata(debug->files.binary);
	size_t length;
	bool cut;
	if (packed.length && cairn_unpack(packed, &debug->mini_bytes, &length, &cut, NULL))
		debug->files.mini = cairn_elf_open_bytes((struct cairn_bytes){debug->mini_bytes, length}, path, NULL);
}

/* The note to the user if there is no DWARF: what was searched for, and where the names come from instead. */
static const char *explain(struct cairn_finder *finder, const struct cairn_debug *debug)
{
	const struct cairn_elf *binary = debug->files.binary;
	bool symtab = cairn_elf_has_symtab(binary) || debug->files.debug;
	const char *names = symtab		? "function names only"
			    : debug->files.mini ? "a mini symbol table only"
						: "stripped, dynamic symbols only";
	if (*binary->build_id)
		return cairn_arena_format(&finder->arena, "no debug file for build-id %s (%s)", binary->build_id, names);
	return cairn_arena_format(&finder->arena, "no debug file, and no build-id to find one by (%s)", names);
}

void cairn_find_debug(struct cairn_finder *finder, const struct cairn_binary *binary, struct cairn_debug *debug)
{
	struct cairn_error error;
	*debug = (struct cairn_debug){.files = {.sysroot = finder->options->sysroot, .folders = finder->options->symbols,
					       .folder_count = finder->options->symbols_count}};
	look(debug, binary->path);
	struct cairn_elf *elf = debug->files.binary = cairn_elf_open(binary->path, &error);
	if (!elf) {
		debug->note = cairn_arena_text(&finder->arena, cairn_bytes_of(error.text));
		return;
	}
	const struct cairn_identity *found = &binary->identity; /* nothing, if the caller has not looked for it */
	if (found->inode && (elf->file.inode != found->inode || elf->file.bytes.length != found->size ||
			     elf->file.modified_ns != found->modified_ns)) {
		debug->note = cairn_arena_format(&finder->arena, "%s was replaced while it was read", binary->path);
		cairn_elf_close(elf);
		debug->files.binary = NULL;
		return;
	}
	const struct cairn_elf *owner = elf;
	const char *owner_path = binary->path;
	if (!cairn_elf_has_dwarf(elf)) {
		if (find_by_build_id(finder, debug, elf->build_id) || find_by_link(finder, debug, binary) ||
		    find_by_server(finder, debug, elf->build_id)) {
			owner = debug->files.debug;
			owner_path = debug->debug_path;
		}
		if (!cairn_elf_has_symtab(elf) && !debug->files.debug)
			find_mini(debug, binary->path);
	}
	if (!cairn_elf_has_dwarf(owner)) {
		debug->note = explain(finder, debug);
	} else {
		find_alt(finder, debug, owner, owner_path);
		find_package(finder, debug, binary);
	}
}

void cairn_debug_close(struct cairn_debug *debug)
{
	struct cairn_elf *files[] = {debug->files.binary, debug->files.debug, debug->files.alt, debug->files.package, debug->files.mini};
	for (size_t i = 0; i < sizeof files / sizeof *files; i++)
		if (files[i])
			cairn_elf_close(files[i]);
	free(debug->mini_bytes);
	free(debug->probes);
	*debug = (struct cairn_debug){0};
}
