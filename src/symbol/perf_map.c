/* perf_map.c - finds the map, and reads it in one pass.
 * SPDX-License-Identifier: Apache-2.0 */
#include "symbol/perf_map.h"

#include "base/array.h"
#include "base/file.h"
#include "base/text.h"
#include "base/time.h"
#include "symbol/live.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

/* A location without a name, and the line of the map that covers it. */
struct wanted {
	uint64_t address;
	uint32_t location;
	struct cairn_bytes name;
};

static int by_address(const void *a, const void *b)
{
	const struct wanted *x = a, *y = b;
	return (x->address > y->address) - (x->address < y->address);
}

static bool has_no_file(const struct cairn_profile *profile, const struct cairn_location *location)
{
	return location->mapping == CAIRN_NONE ||
	       !cairn_module_has_file(cairn_profile_string(profile, profile->modules[profile->mappings[location->mapping].module].path));
}

static struct wanted *list_wanted(const struct cairn_profile *profile, size_t *count)
{
	struct wanted *wanted = cairn_array_new(profile->location_count + 1, sizeof *wanted);
	*count = 0;
	for (size_t i = 0; i < profile->location_count; i++) {
		const struct cairn_location *location = &profile->locations[i];
		if (location->frame_count == 0 && location->address && has_no_file(profile, location))
			wanted[(*count)++] = (struct wanted){location->address, (uint32_t)i, {"", 0}};
	}
	qsort(wanted, *count, sizeof *wanted, by_address);
	return wanted;
}

/* The first address from AT on that has no name yet; COUNT if there is none. NEXT leads there, by fewer steps each time. */
static size_t next_nameless(size_t *next, size_t at)
{
	size_t found = at;
	while (next[found] != found)
		found = next[found];
	while (next[at] != found) {
		size_t following = next[at];
		next[at] = found;
		at = following;
	}
	return found;
}

static void take_line(struct cairn_bytes line, struct wanted *wanted, size_t count, size_t *next)
{
	uint64_t start, size;
	if (!cairn_text_hex(&line, &start) || !cairn_text_take(&line, " ") || !cairn_text_hex(&line, &size) ||
	    !cairn_text_take(&line, " ") || line.length == 0)
		return;
	size_t low = 0, high = count;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (wanted[middle].address < start)
			low = middle + 1;
		else
			high = middle;
	}
	for (low = next_nameless(next, low); low < count && wanted[low].address - start < size; low = next_nameless(next, low)) {
		wanted[low].name = line;
		next[low] = low + 1;
	}
}

/* Removes the last line of TEXT, which may be incomplete unless a line end is the last character. */
static struct cairn_bytes take_last_line(struct cairn_bytes *text)
{
	const char *end = text->length ? memrchr(text->data, '\n', text->length - 1) : NULL;
	size_t start = end ? (size_t)(end - text->data) + 1 : 0;
	struct cairn_bytes line = cairn_bytes_skip(*text, start);
	text->length = start;
	return line;
}

/* Reads lines from the last to the first, so that each address is named once, however many lines cover it. */
static void take_lines(struct cairn_bytes text, struct wanted *wanted, size_t count)
{
	size_t *next = cairn_array_new(count + 1, sizeof *next);
	for (size_t i = 0; i <= count; i++)
		next[i] = i;
	if (text.length > 0 && text.data[text.length - 1] != '\n')
		take_last_line(&text);
	while (text.length > 0 && next_nameless(next, 0) < count)
		take_line(cairn_text_trim(take_last_line(&text)), wanted, count, next);
	free(next);
}

void cairn_perf_map_name(struct cairn_profile *profile, struct cairn_bytes text)
{
	enum { name_most = 1000 };
	size_t count;
	struct wanted *wanted = list_wanted(profile, &count);
	take_lines(text, wanted, count);
	for (size_t i = 0; i < count; i++) {
		struct cairn_bytes name = wanted[i].name;
		if (name.length == 0)
			continue;
		name.length = name.length < name_most ? name.length : name_most;
		uint32_t string = cairn_strings_add(&profile->strings, name);
		uint32_t function = cairn_profile_add_function(profile, &(struct cairn_function){.name = string, .system_name = string});
		cairn_profile_set_frames(profile, wanted[i].location, &(struct cairn_frame){.function = function}, 1);
	}
	free(wanted);
}

/* The map must have been written by the user of the process or by root, and not before the process started: PIDs are reused. */
static bool is_trusted(const char *path, const struct cairn_profile *profile)
{
	struct stat file, process;
	char folder[48];
	if (lstat(path, &file) != 0 || !S_ISREG(file.st_mode) ||
	    (profile->facts.start_ns && ((int64_t)file.st_mtim.tv_sec + 1) * CAIRN_SECOND_NS < profile->facts.start_ns))
		return false;
	snprintf(folder, sizeof folder, "/proc/%llu", (unsigned long long)profile->facts.process_id);
	uid_t user = stat(folder, &process) == 0 ? process.st_uid : geteuid();
	return file.st_uid == user || file.st_uid == 0;
}

/* Runtimes append to the map, so its end is what is true. No real map comes near the limit. */
static struct cairn_bytes end_of(struct cairn_bytes text)
{
	enum { text_most = 256 << 20 };
	return cairn_bytes_skip(text, text.length > text_most ? text.length - text_most : 0);
}

void cairn_perf_map_apply(struct cairn_profile *profile, const struct cairn_find_options *options)
{
	struct cairn_arena arena = {0};
	struct cairn_file file;
	unsigned long long pid = profile->facts.process_id;
	bool any = false;
	for (size_t i = 0; i < profile->location_count && !any; i++)
		any = profile->locations[i].frame_count == 0 && profile->locations[i].address &&
		      has_no_file(profile, &profile->locations[i]);
	if (!any || !pid)
		return;
	const char *root = options->sysroot ? options->sysroot : options->process_root ? options->process_root : "";
	unsigned long long inner = options->process_root ? (unsigned long long)cairn_live_inner_pid((int)pid) : pid;
	const char *const places[] = {
		cairn_arena_format(&arena, "%s/tmp/perf-%llu.map", root, inner),
		cairn_arena_format(&arena, "/tmp/perf-%llu.map", pid),
	};
	for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
		if ((i > 0 && options->sysroot) || !is_trusted(places[i], profile) || !cairn_file_map(&file, places[i], NULL))
			continue;
		cairn_perf_map_name(profile, end_of(file.bytes));
		cairn_file_close(&file);
		break;
	}
	cairn_arena_free(&arena);
}
