/* service.c - searches control groups and /proc.
 * SPDX-License-Identifier: Apache-2.0 */
#include "live/service.h"

#include "base/file.h"
#include "base/path.h"
#include "base/text.h"
#include "live/target.h"
#include "process/life.h"
#include "process/proc_list.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { most = 256, path_size = 512 };

struct candidates {
	struct cairn_life items[most];
	size_t count;
};

static void add(struct candidates *candidates, int pid)
{
	if (pid != getpid() && candidates->count < most && cairn_life_of(pid, &candidates->items[candidates->count]))
		candidates->count++;
}

static int by_start(const void *a, const void *b)
{
	return cairn_life_compare(a, b);
}

/* The processes in FOLDER's group and in those one level below: if a unit delegates, the service is in one of these. */
static bool add_group(struct candidates *candidates, const char *folder, int depth)
{
	char path[path_size];
	struct cairn_file file;
	snprintf(path, sizeof path, "%s/cgroup.procs", folder);
	if (!cairn_file_read(&file, path, NULL))
		return false;
	struct cairn_bytes rest = file.bytes, line;
	uint64_t pid;
	while (cairn_text_line(&rest, &line, NULL))
		if (cairn_text_decimal(&line, &pid) && pid < INT32_MAX)
			add(candidates, (int)pid);
	cairn_file_close(&file);
	DIR *entries = depth > 0 ? opendir(folder) : NULL;
	for (struct dirent *entry; entries && (entry = readdir(entries));)
		if (entry->d_type == DT_DIR && entry->d_name[0] != '.') {
			snprintf(path, sizeof path, "%.240s/%.255s", folder, entry->d_name);
			add_group(candidates, path, depth - 1);
		}
	if (entries)
		closedir(entries);
	return true;
}

/* The control group of a systemd unit, in any hierarchy. */
static bool add_unit(struct candidates *candidates, const char *name)
{
	static const char *const mounts[] = {"/sys/fs/cgroup", "/sys/fs/cgroup/systemd", "/sys/fs/cgroup/unified"};
	const char *suffix = strchr(name, '.') ? "" : ".service";
	bool found = false;
	for (size_t i = 0; !found && i < sizeof mounts / sizeof *mounts; i++) {
		char folder[path_size];
		snprintf(folder, sizeof folder, "%s/system.slice/%.200s%s", mounts[i], name, suffix);
		found = add_group(candidates, folder, 1);
	}
	return found;
}

/* Whether process PID runs a program of that name: as it was started, or the file it runs. The kernel's short name can be set by a thread
 * and is truncated to 15 letters, so it counts only if it is the whole NAME. */
static bool has_name(int pid, const char *name)
{
	char path[path_size], text[path_size];
	static const char *const files[] = {"cmdline", "comm"};
	for (int i = 0; i < 3; i++) {
		ssize_t length = 0;
		snprintf(path, sizeof path, "/proc/%d/%s", pid, i < 2 ? files[i] : "exe");
		if (i == 2) {
			length = readlink(path, text, sizeof text - 1);
		} else {
			FILE *file = fopen(path, "re");
			length = file ? (ssize_t)fread(text, 1, sizeof text - 1, file) : 0;
			if (file)
				fclose(file);
		}
		text[length > 0 ? length : 0] = 0;
		text[strcspn(text, i == 2 ? "" : "\n ")] = 0;
		if (strcmp(cairn_base_name(text), name) == 0)
			return true;
	}
	return false;
}

static void add_programs(struct candidates *candidates, const char *name)
{
	struct cairn_proc_list list;
	cairn_proc_list_processes(&list);
	for (int pid; (pid = cairn_proc_list_next(&list));)
		if (has_name(pid, name))
			add(candidates, pid);
}

int cairn_service_process(const char *name, bool any, struct cairn_error *problem)
{
	struct candidates candidates = {.count = 0};
	if (!add_unit(&candidates, name))
		add_programs(&candidates, name);
	if (candidates.count == 0) {
		cairn_fail(problem, "service %s is not running", name);
		return 0;
	}
	qsort(candidates.items, candidates.count, sizeof *candidates.items, by_start);
	int waiting = 0; /* the first with an agent that has not started, and no ledger */
	for (size_t i = 0; i < candidates.count; i++) {
		char pid[16];
		struct cairn_target target;
		snprintf(pid, sizeof pid, "%d", candidates.items[i].pid);
		if (cairn_target_find_ledger(&target, pid, NULL, i == 0 ? problem : NULL))
			return candidates.items[i].pid;
		if (target.loaded && !waiting)
			waiting = candidates.items[i].pid;
	}
	if (waiting || any)
		return waiting ? waiting : candidates.items[0].pid;
	cairn_fail_within(problem, "service %s: ", name);
	return 0;
}
