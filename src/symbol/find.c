/* find.c - finds the binary of a module: tries candidates, best first, and checks the build-id of each.
 * SPDX-License-Identifier: Apache-2.0 */
#include "symbol/find.h"

#include "base/path.h"
#include "profile/maps.h"
#include "symbol/debuginfod.h"
#include "symbol/fit.h"
#include "symbol/live.h"
#include "symbol/ranges.h"
#include "symbol/search.h"

#include <elf.h>
#include <errno.h>
#include <stdlib.h>

/* A file that the user named with --binary. */
struct cairn_named_file {
	const char *path;
	struct cairn_identity identity;
	const char *problem; /* NULL if IDENTITY is filled */
};

/* The state of one search. */
struct search {
	struct cairn_finder *finder;
	const struct cairn_profile *profile;
	const struct cairn_module *module;
	const char *path;   /* of the module */
	const char *wanted; /* the module's build-id; empty if the profile has none */
	struct cairn_binary *binary;
};

void cairn_finder_free(struct cairn_finder *finder)
{
	cairn_arena_free(&finder->arena);
	*finder = (struct cairn_finder){0};
}

bool cairn_module_has_file(const char *path)
{
	static const char *const pseudo[] = {"//anon", "/memfd:", "/SYSV", "/anon_hugepage", "/i915",
					     "linux-vdso.so." /* as the loader calls [vdso] */};
	if (path[0] == '\0' || path[0] == '[' || cairn_path_is_special(path))
		return false;
	for (size_t i = 0; i < sizeof pseudo / sizeof *pseudo; i++)
		if (strncmp(path, pseudo[i], strlen(pseudo[i])) == 0)
			return false;
	/* The kernel lists no path in such a form. A sender could lead to a file that is open here with it. */
	return !strstr(path, "//") && !strstr(path, "/./") && !strstr(path, "../");
}

/* Reads the identity of a file that may have been loaded: not of an object file. */
static bool read_identity(struct cairn_finder *finder, const char *path, struct cairn_identity *identity, struct cairn_error *error)
{
	if (!cairn_identity_read(identity, &finder->arena, path, error))
		return false;
	return identity->type != ET_REL ||
	       cairn_fail(error, "%s: an object file; its code has addresses only in the program or library it is linked into", path);
}

static void read_named_files(struct cairn_finder *finder)
{
	const struct cairn_find_options *options = finder->options;
	if (finder->binaries || !options->binary_count)
		return;
	finder->binaries = cairn_arena_zero(&finder->arena, options->binary_count, sizeof *finder->binaries);
	for (size_t i = 0; i < options->binary_count; i++) {
		struct cairn_error error;
		finder->binaries[i].path = options->binaries[i];
		if (!read_identity(finder, options->binaries[i], &finder->binaries[i].identity, &error))
			finder->binaries[i].problem = cairn_arena_text(&finder->arena, cairn_bytes_of(error.text));
	}
}

static bool is_debug_file(const struct cairn_identity *identity)
{
	for (size_t i = 0; i < identity->segment_count; i++)
		if (identity->segments[i].executable && identity->segments[i].file_size > 0)
			return false;
	return true;
}

static bool take(struct search *search, const char *path, const struct cairn_identity *identity)
{
	search->binary->path = cairn_arena_text(&search->finder->arena, cairn_bytes_of(path));
	search->binary->identity = *identity;
	search->binary->is_debug_file = is_debug_file(identity);
	search->binary->reason = NULL;
	return true;
}

static bool refuse(struct search *search, const char *path, const char *found)
{
	search->binary->reason = cairn_arena_format(&search->finder->arena, "%s is another build: its build-id is %s, the profile's is %s",
						    path, *found ? found : "missing", search->wanted);
	return false;
}

/* Compares the mappings with PATH, if there is no build-id. Returns false if PATH cannot be the file that was mapped. The kernel's own link
 * to the mapped file needs no check. */
static bool fits(struct search *search, const char *path, const struct cairn_identity *identity)
{
	struct cairn_arena *arena = &search->finder->arena;
	char why[200];
	if (strncmp(path, "/proc/", 6) == 0)
		return true;
	switch (cairn_fit(search->profile, (uint32_t)(search->module - search->profile->modules), identity, why, sizeof why)) {
	case CAIRN_FIT_BAD:
		search->binary->reason = cairn_arena_format(arena, "%s is another build: %s", path, why);
		search->binary->warning = search->binary->reason;
		return false;
	case CAIRN_FIT_DOUBT:
		search->binary->warning = cairn_arena_format(arena, "%s may be another build, with wrong names: %s", path, why);
		return true;
	case CAIRN_FIT_GOOD:
		search->binary->fits = true;
		return true;
	case CAIRN_FIT_UNKNOWN:
		break;
	}
	return true;
}

/* Takes PATH if it exists and is the wanted build. */
static bool try_path(struct search *search, const char *path)
{
	struct cairn_identity identity;
	struct cairn_error error;
	errno = 0;
	if (!read_identity(search->finder, path, &identity, &error)) {
		if (errno != ENOENT && errno != ENOTDIR && !search->binary->reason)
			search->binary->reason = cairn_arena_text(&search->finder->arena, cairn_bytes_of(error.text));
		return false;
	}
	if (*search->wanted && strcmp(identity.build_id, search->wanted) != 0)
		return refuse(search, path, identity.build_id);
	return (*search->wanted || fits(search, path, &identity)) && take(search, path, &identity);
}

/* The program is the first module that has a file, unless that is a shared library. */
static bool is_program(const struct search *search)
{
	const struct cairn_profile *profile = search->profile;
	for (size_t i = 0; i < profile->module_count; i++)
		if (cairn_module_has_file(cairn_profile_string(profile, profile->modules[i].path)))
			return &profile->modules[i] == search->module && !strstr(cairn_base_name(search->path), ".so");
	return false;
}

static bool named_for_another(const struct search *search, const char *name)
{
	const struct cairn_profile *profile = search->profile;
	for (size_t i = 0; i < profile->module_count; i++)
		if (strcmp(cairn_base_name(cairn_profile_string(profile, profile->modules[i].path)), name) == 0)
			return &profile->modules[i] != search->module;
	return false;
}

static bool holds_all(struct search *search, const struct cairn_named_file *file)
{
	size_t outside = cairn_fit_outside(search->profile, (uint32_t)(search->module - search->profile->modules), &file->identity);
	if (outside)
		search->binary->warning = search->binary->reason = cairn_arena_format(&search->finder->arena,
			"%s is another build: %zu addresses of the profile lie beyond the end of its code", file->path, outside);
	return !outside;
}

/* A file that the user named is used for the module with its build-id, whatever its path. If the profile has no build-ids, it is used for
 * the module with its name, or for the program if no module has that name. */
static bool try_named(struct search *search)
{
	read_named_files(search->finder);
	for (size_t i = 0; i < search->finder->options->binary_count; i++) {
		const struct cairn_named_file *file = &search->finder->binaries[i];
		const char *name = cairn_base_name(file->path);
		bool same_name = strcmp(name, cairn_base_name(search->path)) == 0;
		bool meant = same_name || (is_program(search) && !named_for_another(search, name));
		if (file->problem) {
			if (meant)
				search->binary->reason = file->problem;
		} else if (*search->wanted) {
			if (strcmp(file->identity.build_id, search->wanted) == 0)
				return take(search, file->path, &file->identity);
			if (meant)
				refuse(search, file->path, file->identity.build_id);
		} else if (meant && fits(search, file->path, &file->identity) && holds_all(search, file)) {
			return take(search, file->path, &file->identity);
		}
	}
	return false;
}

/* Tries folders that the user named: a file with the right name is taken even if the profile cannot confirm it. */
static bool try_folders(struct search *search)
{
	const struct cairn_find_options *options = search->finder->options;
	struct cairn_arena *arena = &search->finder->arena;
	if (options->sysroot && try_path(search, cairn_arena_format(arena, "%s/%s", options->sysroot, search->path)))
		return true;
	for (size_t i = 0; i < options->symbols_count; i++)
		if (try_path(search, cairn_arena_format(arena, "%s/%s", options->symbols[i], cairn_base_name(search->path))) ||
		    try_path(search, cairn_arena_format(arena, "%s/%s", options->symbols[i], search->path)))
			return true;
	return false;
}

/* While the process is still running, tries the file that it mapped, even if it was deleted or is in another mount namespace. */
static bool try_process(struct search *search)
{
	const char *paths[CAIRN_LIVE_PATHS];
	if (search->finder->options->sysroot)
		return false;
	size_t count = cairn_live_paths(&search->finder->arena, search->profile, search->module, paths);
	for (size_t i = 0; i < count; i++)
		if (try_path(search, paths[i]))
			return true;
	return false;
}

static bool try_own_path(struct search *search)
{
	if (*search->wanted)
		return try_path(search, search->path);
	if (search->finder->options->sysroot)
		return false; /* the path belongs to another machine */
	if (cairn_live_root(&search->finder->arena, search->profile)) {
		if (!search->binary->reason)
			search->binary->reason =
				"the process has a root of its own, where it cannot be read, and no build-id tells that the file of that "
				"path here is the same";
		return false;
	}
	if (search->module->deleted) {
		search->binary->reason = "it was deleted or replaced while it ran, and the profile has no build-id to recognize it by";
		return false;
	}
	if (!try_path(search, search->path))
		return false;
	if (search->profile->facts.time_ns && search->binary->identity.modified_ns > search->profile->facts.time_ns)
		search->binary->warning = cairn_arena_format(&search->finder->arena,
			"%s is newer than the profile; if it was rebuilt since, its names are wrong", search->path);
	return true;
}

static bool try_debuginfod(struct search *search)
{
	struct cairn_error error;
	for (int executable = 0; executable <= 1; executable++) {
		const char *path = cairn_debuginfod_fetch(&search->finder->arena, search->wanted, executable, &error);
		if (path && try_path(search, path))
			return true;
	}
	if (!search->binary->reason)
		search->binary->reason =
			cairn_arena_format(&search->finder->arena, "no file for build-id %s (%s)", search->wanted, error.text);
	return false;
}

/* The last resort, if only the build-id is left: a debug file describes the code as well as the binary did. */
static bool try_build_id(struct search *search)
{
	struct cairn_finder *finder = search->finder;
	if (!cairn_build_id_valid(search->wanted))
		return false;
	const char *path;
	for (size_t i = 0; (path = cairn_search_build_id(&finder->arena, finder->options, search->wanted, i)); i++)
		if (try_path(search, path))
			return true;
	return finder->options->debuginfod && try_debuginfod(search);
}

void cairn_find_binary(struct cairn_finder *finder, const struct cairn_profile *profile, const struct cairn_module *module,
		       struct cairn_binary *binary)
{
	*binary = (struct cairn_binary){0};
	struct search search = {finder, profile, module, cairn_profile_string(profile, module->path),
				cairn_profile_string(profile, module->build_id), binary};
	if (!cairn_module_has_file(search.path)) { /* that can be searched for; the user may know it */
		if (!*search.wanted || !try_named(&search))
			binary->reason = "it has no file";
		return;
	}
	if (try_named(&search) || try_folders(&search) || try_process(&search) || try_own_path(&search) || try_build_id(&search))
		return;
	if (!binary->reason)
		binary->reason = *search.wanted
					 ? cairn_arena_format(&finder->arena,
							      "the file is gone, and there is no debug file for build-id %s", search.wanted)
					 : "the file is gone";
}

void cairn_modules_identify(struct cairn_profile *profile, const struct cairn_find_options *options)
{
	struct cairn_finder finder = {.options = options};
	for (size_t i = 0; i < profile->module_count; i++) {
		struct cairn_module *module = &profile->modules[i];
		struct cairn_binary binary;
		if (module->build_id)
			continue;
		cairn_find_binary(&finder, profile, module, &binary);
		if (binary.warning)
			cairn_profile_warn(profile, "%s", binary.warning);
		if (binary.path && *binary.identity.build_id)
			module->build_id = cairn_profile_text(profile, binary.identity.build_id);
	}
	cairn_finder_free(&finder);
}

static int by_value(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
	return (x > y) - (x < y);
}

/* The addresses that have neither a mapping nor a name, ascending, in ARENA. */
static uint64_t *list_homeless(const struct cairn_profile *profile, struct cairn_arena *arena, size_t *count)
{
	uint64_t *addresses = NULL;
	*count = 0;
	for (size_t i = 0; i < profile->location_count; i++) {
		const struct cairn_location *location = &profile->locations[i];
		if (location->mapping != CAIRN_NONE || location->frame_count || !location->address)
			continue;
		if (!addresses)
			addresses = cairn_arena_alloc(arena, (profile->location_count - i) * sizeof *addresses);
		addresses[(*count)++] = location->address;
	}
	if (*count)
		qsort(addresses, *count, sizeof *addresses, by_value);
	return addresses;
}

static uint32_t add_named_module(struct cairn_profile *profile, const struct cairn_named_file *file)
{
	char *real = realpath(file->path, NULL); /* as other modules have it */
	uint32_t path = cairn_profile_text(profile, real ? real : file->path);
	free(real);
	return cairn_profile_add_module(profile, path, cairn_profile_text(profile, file->identity.build_id));
}

/* Maps the code of FILE where it was linked, as far as one of ADDRESSES is in it. */
static void map_segments(struct cairn_profile *profile, const struct cairn_named_file *file, const uint64_t *addresses, size_t count)
{
	enum { segments_most = 16 }; /* linkers make one or two with code; each becomes a mapping */
	const struct cairn_identity *identity = &file->identity;
	size_t found;
	for (size_t k = 0, mapped = 0; k < identity->segment_count && mapped < segments_most; k++) {
		const struct cairn_elf_segment *segment = &identity->segments[k];
		struct cairn_range range = {segment->address, segment->address + segment->file_size};
		cairn_addresses_within(addresses, count, range, &found);
		if (!segment->executable || found == 0)
			continue;
		mapped++;
		cairn_profile_add_mapping(profile, &(struct cairn_mapping){.start = range.low,
									   .limit = range.high,
									   .offset = segment->offset,
									   .module = add_named_module(profile, file)});
	}
}

void cairn_modules_map(struct cairn_profile *profile, const struct cairn_find_options *options, bool as_linked)
{
	struct cairn_finder finder = {.options = options};
	size_t first = profile->mapping_count, count;
	const uint64_t *addresses = list_homeless(profile, &finder.arena, &count);
	if (count > 0 || as_linked)
		read_named_files(&finder);
	for (size_t i = 0; finder.binaries && i < options->binary_count; i++) {
		const struct cairn_named_file *file = &finder.binaries[i];
		if (file->problem && as_linked)
			cairn_profile_warn(profile, "%s", file->problem);
		if (!file->problem && (file->identity.type == ET_EXEC || as_linked))
			map_segments(profile, file, addresses, count);
	}
	cairn_maps_attach_rest(profile, first);
	cairn_finder_free(&finder);
}
