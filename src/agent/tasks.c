/* tasks.c - /proc/self/task.
 * SPDX-License-Identifier: Apache-2.0 */
#include "agent/tasks.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

/* getdents64's record; opendir would allocate. */
struct entry {
	uint64_t inode;
	int64_t offset;
	uint16_t length;
	uint8_t type;
	char name[];
};

bool cairn_tasks_visit(void (*see)(void *context, int tid), void *context)
{
	int folder = open("/proc/self/task", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (folder < 0)
		return false;
	_Alignas(struct entry) char room[8192];
	for (long length; (length = syscall(SYS_getdents64, folder, room, sizeof room)) > 0;) {
		for (long at = 0; at < length;) {
			const struct entry *entry = (const struct entry *)(const void *)(room + at);
			at += entry->length;
			int tid = atoi(entry->name);
			if (tid > 0)
				see(context, tid);
		}
	}
	close(folder);
	return true;
}

void cairn_task_name(int tid, char *out, size_t size)
{
	char path[64], name[32];
	snprintf(path, sizeof path, "/proc/self/task/%d/comm", tid);
	int descriptor = open(path, O_RDONLY | O_CLOEXEC);
	if (descriptor < 0)
		return;
	ssize_t length = read(descriptor, name, sizeof name - 1);
	close(descriptor);
	if (length <= 0)
		return;
	name[length] = 0;
	name[strcspn(name, "\n")] = 0;
	snprintf(out, size, "%.*s", (int)size - 1, name);
}
