/* maps.c - reads memory maps, and finds the mapping of every address.
 * SPDX-License-Identifier: Apache-2.0 */
#include "profile/maps.h"

#include "base/array.h"
#include "base/buffer.h"
#include "base/path.h"
#include "base/text.h"
#include "process/proc.h"

#include <limits.h>
#include <stdlib.h>

/* Memory without a file to which the kernel gives a name gets an empty path. */
static void forget_anonymous(struct cairn_proc_map *range)
{
	if (cairn_bytes_start_with(range->path, "//anon") || cairn_bytes_start_with(range->path, "/anon_hugepage") ||
	    cairn_bytes_start_with(range->path, "[anon"))
		range->path.length = 0;
}

static void set_path(struct cairn_proc_map *range, struct cairn_bytes path)
{
	range->path = cairn_text_trim(path);
	range->deleted = cairn_path_take_deleted(&range->path);
	forget_anonymous(range);
}

/* FreeBSD: start end resident private object access refs shadows flags copy need type path uid. */
static bool parse_freebsd(struct cairn_bytes line, struct cairn_proc_map *range)
{
	struct cairn_bytes word[13];
	size_t count = 0;
	while (count < 13 && line.length > 0)
		word[count++] = cairn_text_word(&line);
	if (count < 13 || word[5].length < 3 || !cairn_text_hex(&word[0], &range->start) || !cairn_text_hex(&word[1], &range->limit) ||
	    word[0].length > 0 || word[1].length > 0)
		return false;
	range->executable = word[5].data[2] == 'x';
	set_path(range, word[12]);
	return true;
}

/* gperftools and macOS: start-end: path, of executable images only. */
static bool parse_image(struct cairn_bytes line, struct cairn_proc_map *range)
{
	if (!cairn_text_hex(&line, &range->start) || !cairn_text_take(&line, "-") || !cairn_text_hex(&line, &range->limit) ||
	    range->limit <= range->start || !cairn_text_take(&line, ":"))
		return false;
	range->executable = true;
	set_path(range, line);
	return range->path.length > 0;
}

static bool parse_line(struct cairn_bytes line, struct cairn_proc_map *range)
{
	line = cairn_text_trim(line);
	if (cairn_proc_map_parse(line, range)) {
		forget_anonymous(range);
		return true;
	}
	*range = (struct cairn_proc_map){.path = {"", 0}};
	return parse_image(line, range) || (cairn_bytes_start_with(line, "0x") && parse_freebsd(line, range));
}

/* After "build=/home/me", paths in later lines may begin with $build. A value longer than any path is ignored, because every use copies
 * it; so is a definition once its uses have copied several times as much as the whole map. */
struct definition {
	struct cairn_bytes name, value;
	size_t room; /* how many more bytes may be copied */
};

static void note_definition(struct definition *definition, struct cairn_bytes line)
{
	line = cairn_text_trim(line);
	const char *equals = line.length ? memchr(line.data, '=', line.length) : NULL;
	if (equals && equals > line.data && line.length < PATH_MAX) {
		definition->name = (struct cairn_bytes){line.data, (size_t)(equals - line.data)};
		definition->value = cairn_bytes_skip(line, definition->name.length + 1);
	}
}

/* Replaces the name of DEFINITION at the start of a path with its value. */
static void expand(struct cairn_profile *profile, struct definition *definition, struct cairn_proc_map *range)
{
	struct cairn_bytes name = definition->name, tail = cairn_bytes_skip(range->path, 1 + name.length);
	if (name.length == 0 || range->path.length <= name.length || range->path.data[0] != '$' ||
	    memcmp(range->path.data + 1, name.data, name.length) != 0)
		return;
	if (definition->room < definition->value.length + tail.length) {
		cairn_profile_warn(profile, "the definitions in its memory map stand for too much; $%.*s stays as it is in some paths",
				   (int)(name.length < 40 ? name.length : 40), name.data);
		return;
	}
	definition->room -= definition->value.length + tail.length;
	struct cairn_buffer whole = cairn_buffer(SIZE_MAX);
	cairn_buffer_append(&whole, definition->value.data, definition->value.length);
	cairn_buffer_append(&whole, tail.data, tail.length);
	range->path = cairn_strings_bytes(&profile->strings, cairn_strings_add(&profile->strings, cairn_buffer_bytes(&whole)));
	cairn_buffer_free(&whole);
}

/* The kernel writes a newline in a path as \012. */
static uint32_t add_path(struct cairn_profile *profile, struct cairn_bytes path)
{
	if (!path.length || !memmem(path.data, path.length, "\\012", 4))
		return cairn_strings_add(&profile->strings, path);
	char *plain = cairn_array_new(path.length, 1);
	size_t length = 0;
	for (size_t i = 0; i < path.length; i++) {
		bool newline = path.length - i >= 4 && memcmp(path.data + i, "\\012", 4) == 0;
		plain[length++] = newline ? '\n' : path.data[i];
		i += newline ? 3 : 0;
	}
	uint32_t id = cairn_strings_add(&profile->strings, (struct cairn_bytes){plain, length});
	free(plain);
	return id;
}

static void add_range(struct cairn_profile *profile, const struct cairn_proc_map *range)
{
	uint32_t module = cairn_profile_add_module(profile, add_path(profile, range->path), 0);
	profile->modules[module].deleted |= range->deleted;
	cairn_profile_add_mapping(profile, &(struct cairn_mapping){
		.start = range->start, .limit = range->limit, .offset = range->offset, .module = module});
}

/* Code that was moved to huge pages has lost its file, but the lines before and after it still show the same file. */
static void adopt(struct cairn_proc_map *lost, const struct cairn_proc_map *before, const struct cairn_proc_map *after)
{
	if (lost->path.length > 0 || before->path.length == 0 || !cairn_bytes_equal(before->path, after->path))
		return;
	if (before->limit != lost->start || lost->limit != after->start ||
	    after->offset - before->offset != after->start - before->start)
		return;
	lost->path = before->path;
	lost->deleted = before->deleted;
	lost->offset = before->offset + (lost->start - before->start);
}

static void note_process(struct cairn_profile *profile, const struct cairn_proc_map *range)
{
	if (!profile->facts.process && range->executable && range->path.length > 0 && range->path.data[0] == '/' &&
	    !cairn_bytes_contain(range->path, ".so"))
		profile->facts.process = add_path(profile, range->path);
}

/* Whether LINE, the last non-empty line of a map, is incomplete. The kernel ends every line, but text may have lost its last line end on
 * the way: a name in brackets shows that nothing else is missing. Comments are not part of the map. */
static bool is_cut(struct cairn_bytes line, bool complete)
{
	struct cairn_proc_map range;
	uint64_t start;
	bool readable = parse_line(line, &range);
	line = cairn_text_trim(line);
	if (line.length == 0 || line.data[0] == '#')
		return false;
	if (!complete)
		return !readable || !cairn_bytes_end_with(range.path, "]");
	return !readable && cairn_text_hex(&line, &start) && cairn_bytes_start_with(line, "-");
}

bool cairn_maps_read(struct cairn_profile *profile, struct cairn_bytes text)
{
	/* A window of three lines: a line is kept once the next one is known. */
	struct cairn_proc_map before = {.path = {"", 0}}, current = before, after;
	struct definition definition = {.room = (1 << 20) + 8 * text.length};
	struct cairn_bytes line, last = {"", 0};
	bool more = true, complete = true;
	while (more) {
		more = cairn_text_line(&text, &line, &complete);
		if (more && line.length > 0)
			last = line;
		if (more && !parse_line(line, &after)) {
			note_definition(&definition, line);
			continue;
		}
		if (!more)
			after = (struct cairn_proc_map){.path = {"", 0}};
		expand(profile, &definition, &after);
		if (current.executable) {
			adopt(&current, &before, &after);
			add_range(profile, &current);
			note_process(profile, &current);
		}
		before = current;
		current = after;
	}
	return !is_cut(last, complete);
}

struct entry {
	uint64_t start;
	uint32_t mapping;
};

static int compare_entries(const void *a, const void *b)
{
	const struct entry *left = a, *right = b;
	if (left->start != right->start)
		return left->start < right->start ? -1 : 1;
	return left->mapping < right->mapping ? -1 : left->mapping > right->mapping;
}

/* The mapping that contains ADDRESS: of several, the one that starts last. CAIRN_NONE if there is none. */
static uint32_t find_mapping(const struct cairn_profile *profile, const struct entry *entries, uint64_t address)
{
	size_t low = 0, high = profile->mapping_count; /* entries below LOW start at or before the address */
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (entries[middle].start <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low > 0 && address < profile->mappings[entries[low - 1].mapping].limit ? entries[low - 1].mapping : CAIRN_NONE;
}

/* All mappings in the order of their addresses. The caller frees them. */
static struct entry *sort_mappings(const struct cairn_profile *profile)
{
	struct entry *entries = cairn_array_new(profile->mapping_count, sizeof *entries);
	for (size_t i = 0; i < profile->mapping_count; i++)
		entries[i] = (struct entry){profile->mappings[i].start, (uint32_t)i};
	qsort(entries, profile->mapping_count, sizeof *entries, compare_entries);
	return entries;
}

void cairn_maps_attach(struct cairn_profile *profile)
{
	if (profile->mapping_count == 0)
		return;
	struct entry *entries = sort_mappings(profile);
	for (size_t i = 0; i < profile->location_count; i++) {
		uint32_t mapping = find_mapping(profile, entries, profile->locations[i].address);
		if (mapping != CAIRN_NONE)
			profile->locations[i].mapping = mapping;
	}
	free(entries);
}

void cairn_maps_attach_rest(struct cairn_profile *profile, size_t first)
{
	if (profile->mapping_count == first)
		return;
	struct entry *entries = sort_mappings(profile);
	for (size_t i = 0; i < profile->location_count; i++) {
		struct cairn_location *location = &profile->locations[i];
		bool homeless = location->mapping == CAIRN_NONE && !location->frame_count;
		uint32_t mapping = homeless ? find_mapping(profile, entries, location->address) : CAIRN_NONE;
		if (mapping != CAIRN_NONE && mapping >= first)
			location->mapping = mapping;
	}
	free(entries);
}

void cairn_maps_apply(struct cairn_profile *profile, struct cairn_bytes text, const char *name)
{
	if (!cairn_maps_read(profile, text))
		cairn_profile_warn(profile,
				   "%s: its memory map ends in the middle of a line, as in a dump that was cut short; addresses in what is "
				   "missing cannot be named",
				   name);
	cairn_maps_attach(profile);
}
