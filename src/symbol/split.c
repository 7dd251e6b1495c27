/* split.c - finds .dwo files, and reads the package index of .dwp files (DWARF 5, 7.3.5.3).
 * SPDX-License-Identifier: Apache-2.0 */
#include "symbol/split.h"

#include "base/array.h"
#include "base/path.h"
#include "symbol/budget.h"

#include <pthread.h>
#include <stdlib.h>

/* One opened .dwo, or one unit's part of the package. */
struct part {
	struct cairn_dwarf dwarf;
	struct cairn_elf *elf; /* owned; NULL for a part of the package */
	uint64_t id;
	bool fits;     /* it contains the unit with that id */
	uint64_t unit; /* where the unit starts */
	bool missed; /* already recorded as missing or not matching */
};

/* More units than any program has; each means a file to search for. */
enum { most_parts = 1 << 18 };
enum { most_sought = 1000, most_units = 1 << 24 };

struct cairn_split {
	struct cairn_elf *package;
	struct cairn_split_places places;
	pthread_mutex_t lock;
	struct cairn_map index; /* from id to part */
	struct part **parts;
	size_t count, capacity;
	uint64_t units_left; /* how many may still be read: in a hostile file, every unit could search for itself among all others */
	struct cairn_arena arena; /* of the paths below */
	const char *sought[most_sought];
	size_t sought_count;
};

struct cairn_split *cairn_split_new(struct cairn_elf *package, const struct cairn_split_places *places)
{
	struct cairn_split *split = calloc(1, sizeof *split);
	if (!split)
		cairn_out_of_memory(sizeof *split);
	split->package = package;
	split->places = *places;
	split->units_left = most_units;
	pthread_mutex_init(&split->lock, NULL);
	return split;
}

void cairn_split_free(struct cairn_split *split)
{
	for (size_t i = 0; i < split->count; i++) {
		cairn_elf_close(split->parts[i]->elf);
		free(split->parts[i]);
	}
	free(split->parts);
	cairn_map_free(&split->index);
	cairn_arena_free(&split->arena);
	pthread_mutex_destroy(&split->lock);
	free(split);
}

/* Section identifiers of the index. The same number means different sections in version 2 (GNU) and version 5. */
static int section_of(uint32_t version, uint32_t identifier)
{
	static const int8_t gnu[] = {-1, CAIRN_DWARF_INFO, -1, CAIRN_DWARF_ABBREV, CAIRN_DWARF_LINE, -1, CAIRN_DWARF_STR_OFFSETS, -1, -1};
	static const int8_t standard[] = {
		-1, CAIRN_DWARF_INFO, -1, CAIRN_DWARF_ABBREV, CAIRN_DWARF_LINE, -1, CAIRN_DWARF_STR_OFFSETS, -1, CAIRN_DWARF_RNGLISTS};
	if (identifier >= sizeof gnu)
		return -1;
	return version == 5 ? standard[identifier] : gnu[identifier];
}

struct package_index {
	struct cairn_bytes bytes;
	struct cairn_layout layout;
	uint32_t version, columns, units, slots;
};

static uint64_t read_at(const struct package_index *index, uint64_t offset, unsigned size)
{
	struct cairn_cursor in = cairn_layout_cursor(index->layout, index->bytes);
	cairn_cursor_seek(&in, offset);
	return cairn_cursor_sized(&in, size);
}

static bool open_index(struct package_index *index, const struct cairn_elf *package)
{
	*index = (struct package_index){.bytes = cairn_elf_named(package, ".debug_cu_index"), .layout = package->layout};
	struct cairn_cursor in = cairn_layout_cursor(index->layout, index->bytes);
	index->version = cairn_cursor_u32(&in);
	if (index->layout.big_endian && index->version == 5 << 16) /* in version 5, two bytes of the field are padding, which is zero */
		index->version = 5;
	index->columns = cairn_cursor_u32(&in);
	index->units = cairn_cursor_u32(&in);
	index->slots = cairn_cursor_u32(&in);
	uint64_t tables = (uint64_t)index->slots * 12 + ((uint64_t)index->units * 2 + 1) * index->columns * 4;
	return !in.failed && (index->version == 2 || index->version == 5) && index->columns <= 8 && index->slots &&
	       (index->slots & (index->slots - 1)) == 0 && tables <= cairn_cursor_left(&in);
}

/* The row of ID, counted from 1; 0 if it is not there. */
static uint32_t find_row(const struct package_index *index, uint64_t id)
{
	uint64_t mask = index->slots - 1, slot = id & mask, step = ((id >> 32) & mask) | 1;
	for (uint32_t tried = 0; tried < index->slots; tried++) {
		uint64_t signature = read_at(index, 16 + slot * 8, 8);
		uint32_t row = (uint32_t)read_at(index, 16 + (uint64_t)index->slots * 8 + slot * 4, 4);
		if (row == 0)
			return 0;
		if (signature == id)
			return row <= index->units ? row : 0;
		slot = (slot + step) & mask;
	}
	return 0;
}

/* Narrows the sections of PART to the contributions of its row. */
static bool narrow(struct part *part, const struct package_index *index, uint32_t row)
{
	uint64_t titles = 16 + (uint64_t)index->slots * 12;
	uint64_t row_bytes = (uint64_t)index->columns * 4;
	uint64_t offsets = titles + row * row_bytes;
	uint64_t sizes = offsets + index->units * row_bytes;
	for (uint32_t column = 0; column < index->columns; column++) {
		int section = section_of(index->version, (uint32_t)read_at(index, titles + column * 4, 4));
		if (section < 0)
			continue;
		struct cairn_bytes *bytes = &part->dwarf.sections[section];
		uint64_t offset = read_at(index, offsets + column * 4, 4), size = read_at(index, sizes + column * 4, 4);
		if (offset > bytes->length || size > bytes->length - offset)
			return false;
		*bytes = (struct cairn_bytes){bytes->data + offset, (size_t)size};
	}
	return true;
}

static void await_all(struct cairn_dwarf *dwarf)
{
	for (int i = 0; i < CAIRN_DWARF_SECTIONS; i++)
		if (dwarf->inflates[i])
			cairn_symbol_budget_apply();
	for (int i = 0; i < CAIRN_DWARF_SECTIONS; i++)
		cairn_dwarf_await(dwarf, i, 0, dwarf->sections[i].length);
	memset(dwarf->inflates, 0, sizeof dwarf->inflates);
}

static bool open_from_package(struct cairn_split *split, struct part *part)
{
	struct package_index index;
	if (!split->package || !open_index(&index, split->package))
		return false;
	uint32_t row = find_row(&index, part->id);
	if (!row)
		return false;
	cairn_dwarf_open(&part->dwarf, split->package, true);
	await_all(&part->dwarf);
	return narrow(part, &index, row);
}

/* The folder of the binary, ending in a slash; empty for the current folder. */
static const char *binary_folder(const struct cairn_split *split, struct cairn_arena *arena)
{
	const char *binary = split->places.binary ? split->places.binary : "";
	return cairn_arena_text(arena, (struct cairn_bytes){binary, cairn_path_folder(binary)});
}

/* Paths, in the order in which they are tried. One into /proc, /sys or /dev is left out. */
struct candidates {
	struct cairn_arena *arena;
	const char **paths;
	size_t count;
};

static void add_candidate(struct candidates *candidates, const char *folder, const char *joint, const char *path)
{
	const char *whole = cairn_arena_format(candidates->arena, "%s%s%s", folder, joint, path);
	if (whole[0] != '/' || *folder || !cairn_path_is_special(whole))
		candidates->paths[candidates->count++] = whole;
}

/* Adds NAME in FOLDER and, if NAME has folders of its own, its last part in FOLDER: files are copied with their folders or without. */
static void add_copies(struct candidates *candidates, const char *folder, const char *joint, const char *name)
{
	size_t folders = cairn_path_folder(name);
	if (name[0] != '/')
		add_candidate(candidates, folder, joint, name);
	if (folders)
		add_candidate(candidates, folder, joint, name + folders);
}

/* The paths at which the file of SKELETON may be. */
static struct candidates list_candidates(const struct cairn_split *split, const struct cairn_unit *skeleton, struct cairn_arena *arena)
{
	const struct cairn_split_places *places = &split->places;
	const char *name = skeleton->dwo_name;
	bool is_whole = name[0] == '/' || !skeleton->directory;
	const char *path = is_whole ? name : cairn_arena_format(arena, "%s/%s", skeleton->directory, name);
	struct candidates candidates = {arena, cairn_arena_alloc(arena, (4 + 3 * places->folder_count) * sizeof *candidates.paths), 0};
	add_candidate(&candidates, "", "", path);
	if (places->sysroot)
		add_candidate(&candidates, places->sysroot, "/", path);
	for (size_t i = 0; i < places->folder_count; i++) {
		add_copies(&candidates, places->folders[i], "/", name);
		if (path[0] == '/')
			add_candidate(&candidates, places->folders[i], "", path);
	}
	add_copies(&candidates, binary_folder(split, arena), "", name);
	return candidates;
}

/* Finds the unit of SKELETON in PART. */
static bool find_unit(struct cairn_split *split, struct part *part, const struct cairn_unit *skeleton)
{
	struct cairn_abbrev_cache cache = {0};
	struct cairn_unit unit;
	uint64_t next = 0;
	part->fits = false;
	do {
		part->unit = next;
		bool good = cairn_unit_read(&unit, &part->dwarf, part->unit, &next);
		unit.skeleton = skeleton;
		part->fits = good && cairn_unit_has_code(&unit) && cairn_unit_read_root(&unit, &cache) && unit.has_dwo_id &&
			     unit.dwo_id == skeleton->dwo_id;
	} while (next && !part->fits && split->units_left && split->units_left--);
	cairn_abbrev_cache_free(&cache);
	return part->fits;
}

/* Opens the first candidate that matches. The build folder may contain a newer build, while the files of this one are beside the binary; so
 * a file that does not match is kept only if no other does. */
static void open_file(struct cairn_split *split, struct part *part, const struct cairn_unit *skeleton)
{
	struct cairn_arena arena = {0};
	struct candidates candidates = list_candidates(split, skeleton, &arena);
	for (size_t i = 0; i < candidates.count && !part->fits && split->units_left; i++) {
		struct cairn_elf *elf = cairn_elf_open(candidates.paths[i], NULL);
		if (!elf)
			continue;
		cairn_elf_close(part->elf);
		part->elf = elf;
		cairn_dwarf_open(&part->dwarf, elf, true);
		await_all(&part->dwarf);
		find_unit(split, part, skeleton);
	}
	cairn_arena_free(&arena);
}

/* Records where PART, which is missing or does not match, was searched for. */
static void miss(struct cairn_split *split, struct part *part, const struct cairn_unit *skeleton)
{
	pthread_mutex_lock(&split->lock);
	if (!part->missed && split->sought_count < most_sought) {
		struct candidates candidates = list_candidates(split, skeleton, &split->arena);
		for (size_t i = 0; i < candidates.count && split->sought_count < most_sought; i++)
			split->sought[split->sought_count++] = candidates.paths[i];
	}
	part->missed = true;
	pthread_mutex_unlock(&split->lock);
}

const char *const *cairn_split_sought(const struct cairn_split *split, size_t *count)
{
	*count = split->sought_count;
	return split->sought;
}

const char *cairn_split_changed(const struct cairn_split *split)
{
	for (size_t i = 0; i < split->count; i++) {
		const struct cairn_elf *elf = split->parts[i]->elf;
		if (elf && !cairn_file_is_intact(&elf->file, elf->path))
			return elf->path;
	}
	return NULL;
}

static struct part *open_part(struct cairn_split *split, const struct cairn_unit *skeleton)
{
	struct part *part = calloc(1, sizeof *part);
	if (!part)
		cairn_out_of_memory(sizeof *part);
	part->id = skeleton->dwo_id;
	if (open_from_package(split, part)) {
		find_unit(split, part, skeleton);
	} else {
		part->dwarf = (struct cairn_dwarf){0};
		open_file(split, part, skeleton);
	}
	part->dwarf.zero_is_code = skeleton->dwarf->zero_is_code;
	part->dwarf.number = 2 + (uint32_t)split->count;
	return part;
}

/* The part with the skeleton's id, opened on first use. An id without a file is remembered too. NULL if there are too many parts. */
static struct part *find_part(struct cairn_split *split, const struct cairn_unit *skeleton)
{
	pthread_mutex_lock(&split->lock);
	uint32_t known = cairn_map_get(&split->index, skeleton->dwo_id);
	struct part *part = known == CAIRN_NONE ? NULL : split->parts[known];
	if (!part && split->count < most_parts) {
		part = open_part(split, skeleton);
		*cairn_map_at(&split->index, skeleton->dwo_id) = (uint32_t)split->count;
		cairn_array_room(split->parts, split->count, split->capacity);
		split->parts[split->count++] = part;
	}
	pthread_mutex_unlock(&split->lock);
	return part;
}

const struct cairn_unit *cairn_split_unit(struct cairn_split *split, const struct cairn_unit *skeleton, struct cairn_unit *unit,
	struct cairn_abbrev_cache *cache, struct cairn_error *error)
{
	struct part *part = find_part(split, skeleton);
	if (!part || !part->dwarf.elf) {
		if (part)
			miss(split, part, skeleton);
		cairn_fail(error, "%s: not found; functions of that unit have no names", skeleton->dwo_name);
		return NULL;
	}
	uint64_t next;
	if (part->fits && cairn_unit_read(unit, &part->dwarf, part->unit, &next)) {
		unit->skeleton = skeleton;
		if (cairn_unit_read_root(unit, cache))
			return unit;
	}
	miss(split, part, skeleton);
	cairn_fail(error, "%s: made for another build of this program; functions of that unit have no names", skeleton->dwo_name);
	return NULL;
}
