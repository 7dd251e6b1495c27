/* live.c - reads /proc/PID/maps, map_files and root.
 * SPDX-License-Identifier: Apache-2.0 */
#include "symbol/live.h"

#include "base/file.h"
#include "base/text.h"
#include "process/life.h"
#include "process/proc.h"
#include "process/proc_list.h"
#include "profile/maps.h"

#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

/* Finds the line with exactly the range of MAPPING. */
static bool find_line(struct cairn_bytes maps, const struct cairn_mapping *mapping, struct cairn_proc_map *found)
{
	struct cairn_bytes line;
	while (cairn_text_line(&maps, &line, NULL)) {
		struct cairn_bytes number = line;
		uint64_t start;
		if (cairn_text_hex(&number, &start) && start == mapping->start && cairn_proc_map_parse(line, found))
			return found->limit == mapping->limit;
	}
	return false;
}

/* Whether PATH, as seen from here, is OWN as the process sees it: the root of the process may be one of our folders. */
static bool is_same_path(struct cairn_bytes path, const char *own)
{
	return own[0] == '/' && cairn_bytes_end_with(path, own);
}

/* A thread of the kernel, or a process that is ending, has none. */
static bool read_maps(uint64_t pid, struct cairn_file *maps)
{
	char path[48];
	snprintf(path, sizeof path, "/proc/%llu/maps", (unsigned long long)pid);
	if (pid == 0 || !cairn_file_read(maps, path, NULL))
		return false;
	if (maps->bytes.length > 0)
		return true;
	cairn_file_close(maps);
	return false;
}

size_t cairn_live_paths(struct cairn_arena *arena, const struct cairn_profile *profile, const struct cairn_module *module,
			const char *paths[CAIRN_LIVE_PATHS])
{
	struct cairn_file maps;
	const char *own = cairn_profile_string(profile, module->path);
	unsigned long long pid = profile->facts.process_id;
	size_t count = 0;
	if (!read_maps(pid, &maps))
		return 0;
	for (size_t i = 0; i < profile->mapping_count && count == 0; i++) {
		const struct cairn_mapping *mapping = &profile->mappings[i];
		struct cairn_proc_map mapped;
		struct stat status;
		if (&profile->modules[mapping->module] != module || !find_line(maps.bytes, mapping, &mapped) ||
		    (!module->build_id && !is_same_path(mapped.path, own)))
			continue;
		const char *link = cairn_arena_format(arena, "/proc/%llu/map_files/%llx-%llx", pid, (unsigned long long)mapping->start,
						      (unsigned long long)mapping->limit);
		const char *rooted = cairn_arena_format(arena, "/proc/%llu/root%s", pid, own);
		if (access(link, R_OK) == 0)
			paths[count++] = link;
		if (stat(rooted, &status) == 0 && status.st_ino == mapped.inode)
			paths[count++] = rooted;
	}
	cairn_file_close(&maps);
	return count;
}

static bool has_mapping(struct cairn_bytes maps, const struct cairn_profile *profile)
{
	struct cairn_proc_map mapped;
	for (size_t i = 0; i < profile->mapping_count; i++) {
		const char *own = cairn_profile_string(profile, profile->modules[profile->mappings[i].module].path);
		if (own[0] == '/' && find_line(maps, &profile->mappings[i], &mapped) && is_same_path(mapped.path, own))
			return true;
	}
	return false;
}

const char *cairn_live_root(struct cairn_arena *arena, const struct cairn_profile *profile)
{
	struct stat ours, theirs;
	struct cairn_file maps;
	const char *root = cairn_arena_format(arena, "/proc/%llu/root", (unsigned long long)profile->facts.process_id);
	if (!profile->facts.process_id || stat("/", &ours) != 0 || stat(cairn_arena_format(arena, "%s/.", root), &theirs) != 0 ||
	    (ours.st_dev == theirs.st_dev && ours.st_ino == theirs.st_ino) || !read_maps(profile->facts.process_id, &maps))
		return NULL;
	bool same = has_mapping(maps.bytes, profile);
	cairn_file_close(&maps);
	return same ? root : NULL;
}

int cairn_live_inner_pid(int pid)
{
	char path[CAIRN_PROC_PATH];
	int inner = cairn_proc_inner_number(cairn_proc_path(path, pid, "status"));
	return inner ? inner : pid;
}

/* In a container, a process has another PID, but the same start time. */
bool cairn_live_runs(const struct cairn_life *life)
{
	struct cairn_life other;
	struct cairn_proc_list list;
	bool runs = false;
	if (!life->ticks || life->boot != cairn_life_boot())
		return false;
	cairn_proc_list_processes(&list);
	for (int pid; !runs && (pid = cairn_proc_list_next(&list));)
		runs = cairn_life_of(pid, &other) && other.ticks == life->ticks && cairn_live_inner_pid(pid) == life->pid &&
		       !cairn_life_has_ended(pid);
	cairn_proc_list_close(&list);
	return runs;
}

bool cairn_live_is_over(const struct cairn_profile *profile)
{
	struct cairn_life life;
	const char *text = cairn_profile_string(profile, profile->facts.life);
	bool known = text[0] && cairn_life_parse(cairn_bytes_of(text), &life) && life.ticks && life.boot == cairn_life_boot();
	return known && access("/proc/self", F_OK) == 0 && !cairn_live_runs(&life);
}
