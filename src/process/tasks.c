/* tasks.c - /proc/self/task.
 * SPDX-License-Identifier: Apache-2.0 */
#include "process/tasks.h"

#include "base/peek.h"
#include "base/text.h"

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
	int descriptor = cairn_peek_open(path);
	if (descriptor < 0)
		return;
	ssize_t length = read(descriptor, name, sizeof name - 1);
	close(descriptor);
	if (length <= 0)
		return;
	name[length] = 0;
	name[strcspn(name, "\n")] = 0;
	for (char *at = name; *at; at++) /* a thread may give itself any name, and this one ends up in lines of text */
		if ((unsigned char)*at < ' ' || *at == 127)
			*at = '?';
	snprintf(out, size, "%.*s", (int)size - 1, name);
}

static bool blocks(int tid, int signal)
{
	static const char key[] = "SigBlk:\t";
	char path[64], room[4096];
	uint64_t mask = 0;
	snprintf(path, sizeof path, "/proc/self/task/%d/status", tid);
	struct cairn_bytes text = cairn_peek(path, room, sizeof room);
	const char *at = text.length ? memmem(text.data, text.length, key, sizeof key - 1) : NULL;
	if (!at)
		return false;
	text = cairn_bytes_skip(text, (size_t)(at - text.data) + sizeof key - 1);
	return cairn_text_hex(&text, &mask) && (mask >> (signal - 1) & 1);
}

static bool waits_for_signals(int tid)
{
	char path[64], room[32];
	uint64_t number;
	snprintf(path, sizeof path, "/proc/self/task/%d/syscall", tid);
	struct cairn_bytes text = cairn_peek(path, room, sizeof room);
	return cairn_text_decimal(&text, &number) && number == SYS_rt_sigtimedwait;
}

/* Asked twice, since between two questions it may have begun to wait, or ended. One that has just been woken and not run yet is not known:
 * the kernel shows no call of a thread that runs. */
bool cairn_task_reserves(int tid, int signal)
{
	return blocks(tid, signal) || waits_for_signals(tid) || blocks(tid, signal);
}
