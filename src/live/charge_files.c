/* charge_files.c - page cache by file, and tmpfs by mount: of the files that processes have open or mapped, and of what is mounted for
 * them.
 *
 * The kernel says how much of a file is cached (cachestat, Linux 6.5), not for which group: a file that another group read first is charged
 * to that. SPDX-License-Identifier: Apache-2.0 */
#include "base/array.h"
#include "base/buffer.h"
#include "base/entries.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/peek.h"
#include "base/text.h"
#include "live/charge.h"
#include "process/proc.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

/* struct cachestat and its range of linux/mman.h, which older headers lack. */
struct cached {
	uint64_t cached, dirty, writeback, evicted, recently_evicted;
};
struct cached_range {
	uint64_t offset, length;
};
enum { cachestat_call = 451, files_most = 16384, processes_most = 512 };

struct files {
	struct cairn_charge *charge;
	struct cairn_map seen; /* by device and inode */
	size_t count;
	int pid;
};

static bool is_new(struct files *files, uint64_t device, uint64_t inode)
{
	uint64_t key = device * 0x9e3779b97f4a7c15u ^ inode;
	uint32_t *place = cairn_map_at(&files->seen, key);
	bool new = *place == CAIRN_NONE && files->count < files_most;
	files->count += new;
	*place = 0;
	return new;
}

/* Adds the open file DESCRIPTOR, which has NAME. */
static void add_file(struct files *files, int descriptor, const struct stat *status, const char *name)
{
	struct statfs system;
	struct cached cached = {0};
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
	if (!is_new(files, status->st_dev, status->st_ino) || fstatfs(descriptor, &system) != 0)
		return;
	if (system.f_type == TMPFS_MAGIC || system.f_type == RAMFS_MAGIC) {
		/* What has a name is in a mount, and counted there. */
		if (status->st_nlink == 0)
			cairn_charge_add(files->charge, CAIRN_CHARGE_TMPFS, name, 0, (uint64_t)status->st_blocks * 512);
		return;
	}
	if (syscall(cachestat_call, descriptor, &(struct cached_range){0, 0}, &cached, 0) != 0)
		return;
	files->charge->knows_files = true;
	cairn_charge_add(files->charge, CAIRN_CHARGE_CACHE, name, 0, cached.cached * page);
}

/* The files that a process has open. */
static void add_open(struct files *files)
{
	char folder[CAIRN_PROC_PATH], path[CAIRN_PROC_PATH + 300], name[4096];
	int open_folder = open(cairn_proc_path(folder, files->pid, "fd"), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct cairn_entries *entries = cairn_array_new(1, sizeof *entries);
	const struct dirent64 *entry;
	for (cairn_entries_start(entries, open_folder); files->count < files_most && (entry = cairn_entries_next(entries));) {
		struct stat status;
		snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
		ssize_t length = readlink(path, name, sizeof name - 1);
		if (entry->d_name[0] == '.' || length <= 0 || stat(path, &status) != 0 || !S_ISREG(status.st_mode))
			continue;
		name[length] = 0;
		int descriptor = cairn_file_open(path, &status, NULL);
		if (descriptor < 0)
			continue;
		add_file(files, descriptor, &status, name);
		close(descriptor);
	}
	free(entries);
	if (open_folder >= 0)
		close(open_folder);
}

/* The files that it has mapped. */
static void add_mapped(struct files *files)
{
	char path[CAIRN_PROC_PATH];
	struct cairn_buffer maps = cairn_buffer(16 << 20);
	struct cairn_bytes rest, line;
	struct cairn_proc_map map;
	int descriptor = open(cairn_proc_path(path, files->pid, "maps"), O_RDONLY | O_CLOEXEC);
	if (descriptor >= 0) {
		cairn_buffer_read(&maps, descriptor);
		close(descriptor);
	}
	for (rest = cairn_buffer_bytes(&maps); files->count < files_most && cairn_text_line(&rest, &line, NULL);) {
		char full[4200];
		struct stat status;
		if (!cairn_proc_map_parse(line, &map) || map.path.length == 0 || map.path.data[0] != '/' || map.deleted ||
		    map.path.length > 4096)
			continue;
		snprintf(full, sizeof full, "/proc/%d/root%.*s", files->pid, (int)map.path.length, map.path.data);
		if (stat(full, &status) != 0 || !S_ISREG(status.st_mode) || (descriptor = cairn_file_open(full, &status, NULL)) < 0)
			continue;
		full[0] = 0;
		snprintf(full, sizeof full, "%.*s", (int)map.path.length, map.path.data);
		add_file(files, descriptor, &status, full);
		close(descriptor);
	}
	cairn_buffer_free(&maps);
}

/* What is mounted with a tmpfs for it: fields of mountinfo are separated by blanks; the type is the one behind " - ". */
static void add_mounts(struct files *files)
{
	char path[CAIRN_PROC_PATH];
	struct cairn_buffer mounts = cairn_buffer(4 << 20);
	struct cairn_bytes rest, line;
	int descriptor = open(cairn_proc_path(path, files->pid, "mountinfo"), O_RDONLY | O_CLOEXEC);
	if (descriptor >= 0) {
		cairn_buffer_read(&mounts, descriptor);
		close(descriptor);
	}
	for (rest = cairn_buffer_bytes(&mounts); cairn_text_line(&rest, &line, NULL);) {
		char full[4200];
		struct statvfs system;
		struct stat status;
		const char *type = line.length ? memmem(line.data, line.length, " - ", 3) : NULL;
		struct cairn_bytes behind = cairn_bytes_skip(line, type ? (size_t)(type - line.data) + 3 : line.length);
		if (!cairn_text_take(&behind, "tmpfs "))
			continue;
		for (int i = 0; i < 4; i++)
			cairn_text_word(&line);
		struct cairn_bytes mount = cairn_text_word(&line);
		snprintf(full, sizeof full, "/proc/%d/root%.*s", files->pid, mount.length < 4000 ? (int)mount.length : 0, mount.data);
		if (stat(full, &status) != 0 || statvfs(full, &system) != 0 || !is_new(files, status.st_dev, 0))
			continue;
		snprintf(full, sizeof full, "%.*s", mount.length < 4000 ? (int)mount.length : 0, mount.data);
		cairn_charge_add(files->charge, CAIRN_CHARGE_TMPFS, full, 0,
				 (uint64_t)(system.f_blocks - system.f_bfree) * system.f_frsize);
	}
	cairn_buffer_free(&mounts);
}

void cairn_charge_files(struct cairn_charge *charge, const int *pids, size_t count)
{
	struct files files = {.charge = charge};
	for (size_t i = 0; i < count && i < processes_most; i++) {
		files.pid = pids[i];
		add_mounts(&files);
		add_open(&files);
		add_mapped(&files);
	}
	cairn_map_free(&files.seen);
}
