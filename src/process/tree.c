/* tree.c - parents from /proc/PID/stat.
 * SPDX-License-Identifier: Apache-2.0 */
#include "process/tree.h"

#include "base/pages.h"
#include "base/text.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

int cairn_tree_parent(int pid)
{
	char path[32], text[512];
	uint64_t parent = 0;
	snprintf(path, sizeof path, "/proc/%d/stat", pid);
	int descriptor = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t length = descriptor >= 0 ? read(descriptor, text, sizeof text) : 0;
	if (descriptor >= 0)
		close(descriptor);
	/* PID (NAME) STATE PARENT: a name may hold anything, so its end is the last bracket. */
	const char *end = length > 0 ? memrchr(text, ')', (size_t)length) : NULL;
	if (!end)
		return 0;
	struct cairn_bytes rest = cairn_bytes_skip((struct cairn_bytes){end, (size_t)(text + length - end)}, 4);
	return cairn_text_decimal(&rest, &parent) ? (int)parent : 0;
}

bool cairn_tree_has(int root, int pid)
{
	enum { depth_most = 1000 }; /* a process that gets another parent meanwhile could lead in a circle */
	for (int i = 0; i < depth_most && pid > 0; i++) {
		if (pid == root)
			return true;
		pid = cairn_tree_parent(pid);
	}
	return false;
}

struct pair {
	int pid, parent;
};

/* All processes, as pairs. */
static void read_pairs(struct cairn_buffer *out)
{
	_Alignas(struct dirent64) char entries[4096];
	int folder = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	for (long length; folder >= 0 && (length = syscall(SYS_getdents64, folder, entries, sizeof entries)) > 0;)
		for (long at = 0; at < length;) {
			const struct dirent64 *entry = (const struct dirent64 *)(const void *)(entries + at);
			struct cairn_bytes name = cairn_bytes_of(entry->d_name);
			uint64_t pid;
			if (cairn_text_decimal(&name, &pid) && name.length == 0) {
				struct pair pair = {(int)pid, cairn_tree_parent((int)pid)};
				cairn_buffer_append(out, &pair, sizeof pair);
			}
			at += entry->d_reclen;
		}
	if (folder >= 0)
		close(folder);
}

size_t cairn_tree_list(int root, int *pids, size_t most)
{
	struct cairn_buffer pairs = cairn_pages(64 << 20);
	size_t count = 0;
	read_pairs(&pairs);
	const struct pair *all = (const struct pair *)(const void *)pairs.data;
	size_t total = pairs.length / sizeof *all;
	for (size_t i = 0; i < total && most > 0 && count == 0; i++)
		if (all[i].pid == root)
			pids[count++] = root;
	for (size_t at = 0; at < count; at++)
		for (size_t i = 0; i < total && count < most; i++)
			if (all[i].parent == pids[at])
				pids[count++] = all[i].pid;
	cairn_buffer_free(&pairs);
	return count;
}
