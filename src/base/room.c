/* room.c - counting memory, and making unnamed files.
 * SPDX-License-Identifier: Apache-2.0 */
#include "base/room.h"

#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

enum { longest_path = 4096 };

static atomic_size_t limit = SIZE_MAX;
static atomic_size_t used;
static char folders[CAIRN_ROOM_FOLDERS][longest_path];

void cairn_room_set(size_t memory, const char *const *paths, size_t count)
{
	limit = memory;
	memset(folders, 0, sizeof folders);
	for (size_t i = 0, kept = 0; i < count && kept < CAIRN_ROOM_FOLDERS; i++)
		if (paths[i][0] == '/' && strlen(paths[i]) < longest_path - sizeof "/.cairn.XXXXXX")
			strcpy(folders[kept++], paths[i]);
}

/* Whether files in the folder behind DESCRIPTOR are on a disk, and twice SIZE bytes are free there. */
static bool has_space(int descriptor, size_t size)
{
	static const uint32_t in_memory[] = {0x01021994 /* tmpfs */, 0x858458f6 /* ramfs */, 0x958458f6 /* hugetlbfs */};
	struct statfs status;
	if (fstatfs(descriptor, &status) != 0)
		return false;
	for (size_t i = 0; i < sizeof in_memory / sizeof *in_memory; i++)
		if ((uint32_t)status.f_type == in_memory[i])
			return false;
	return status.f_bsize > 0 && status.f_bavail / 2 >= size / (uint64_t)status.f_bsize + 1;
}

int cairn_room_unnamed(const char *folder)
{
	int descriptor = open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC | O_EXCL, 0600);
	if (descriptor >= 0 || (errno != EOPNOTSUPP && errno != EISDIR))
		return descriptor;
	char path[longest_path];
	snprintf(path, sizeof path, "%s/.cairn.XXXXXX", folder);
	descriptor = mkostemp(path, O_CLOEXEC);
	if (descriptor >= 0)
		unlink(path);
	return descriptor;
}

/* Some file systems cannot allocate ahead. There, what cannot be written is an error of the write; a hole reads as zeroes. */
static bool allocate(int descriptor, size_t size)
{
	int result;
	do
		result = fallocate(descriptor, 0, 0, (off_t)size);
	while (result != 0 && errno == EINTR);
	return result == 0 || (errno == EOPNOTSUPP && ftruncate(descriptor, (off_t)size) == 0);
}

static int open_file(size_t size)
{
	for (size_t i = 0; size <= INT64_MAX && i < CAIRN_ROOM_FOLDERS && folders[i][0]; i++) {
		int descriptor = cairn_room_unnamed(folders[i]);
		if (descriptor < 0 && errno == ENOENT && cairn_folder_make(folders[i]))
			descriptor = cairn_room_unnamed(folders[i]);
		if (descriptor >= 0 && has_space(descriptor, size) && allocate(descriptor, size))
			return descriptor;
		if (descriptor >= 0)
			close(descriptor);
	}
	return -1;
}

bool cairn_room_take(size_t size, int *descriptor)
{
	size_t before = atomic_load(&used), most = atomic_load(&limit);
	*descriptor = -1;
	do
		if (before > most || size > most - before)
			return (*descriptor = open_file(size)) >= 0;
	while (!atomic_compare_exchange_weak(&used, &before, before + size));
	return true;
}

void cairn_room_give(size_t size)
{
	atomic_fetch_sub(&used, size);
}

size_t cairn_room_left(void)
{
	size_t taken = atomic_load(&used), most = atomic_load(&limit);
	return taken < most ? most - taken : 0;
}
