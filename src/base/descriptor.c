/* descriptor.c - the table of a guest's descriptors.
 * SPDX-License-Identifier: Apache-2.0 */
#include "base/descriptor.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

enum { most = 256 };

/* In static memory, because a forked child must be able to read it. */
static struct {
	atomic_int number; /* plus one: zero is a free slot; `claimed` while the rest is being written */
	dev_t device;
	ino_t inode;
} slots[most];

enum { claimed = -1 };

static bool keep(int descriptor)
{
	struct stat status;
	if (fstat(descriptor, &status) != 0)
		return false;
	for (int i = 0; i < most; i++) {
		int empty = 0;
		if (!atomic_compare_exchange_strong(&slots[i].number, &empty, claimed))
			continue;
		slots[i].device = status.st_dev;
		slots[i].inode = status.st_ino;
		atomic_store(&slots[i].number, descriptor + 1);
		return true;
	}
	errno = EMFILE;
	return false;
}

int cairn_descriptor_adopt(int descriptor)
{
	if (descriptor < 0)
		return -1;
	static const int high[] = {700, 200, 50, 10}; /* as high as the limit on descriptors allows */
	int moved = -1;
	for (size_t i = 0; moved < 0 && i < sizeof high / sizeof *high; i++)
		moved = fcntl(descriptor, F_DUPFD_CLOEXEC, high[i]);
	if (moved >= 0)
		close(descriptor);
	else
		moved = descriptor;
	if (keep(moved))
		return moved;
	int code = errno;
	close(moved);
	errno = code;
	return -1;
}

/* Eventfds and epoll instances all share one inode: they differ from all else, but not from each other. */
static bool stands_for(int slot, int descriptor)
{
	struct stat status;
	return fstat(descriptor, &status) == 0 && status.st_dev == slots[slot].device && status.st_ino == slots[slot].inode;
}

static int find(int descriptor)
{
	for (int i = 0; i < most && descriptor >= 0; i++)
		if (atomic_load(&slots[i].number) == descriptor + 1)
			return i;
	return -1;
}

bool cairn_descriptor_is_ours(int descriptor)
{
	int slot = find(descriptor);
	return slot >= 0 && stands_for(slot, descriptor);
}

void cairn_descriptor_close(int descriptor)
{
	int slot = find(descriptor);
	if (slot < 0)
		return;
	bool ours = stands_for(slot, descriptor);
	atomic_store(&slots[slot].number, 0);
	if (ours)
		close(descriptor);
}

int cairn_descriptor_reopen(int descriptor)
{
	char path[64];
	struct stat file, named;
	snprintf(path, sizeof path, "/proc/thread-self/fd/%d", descriptor); /* /proc/self has none once the first thread has ended */
	int again = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	if (again < 0 || (fstat(descriptor, &file) == 0 && fstat(again, &named) == 0 && file.st_dev == named.st_dev &&
			  file.st_ino == named.st_ino))
		return again;
	close(again); /* under another root, /proc may be anything */
	return -1;
}

void cairn_descriptors_abandon(void)
{
	for (int i = 0; i < most; i++) {
		int number = atomic_load(&slots[i].number);
		if (number > 0 && stands_for(i, number - 1))
			close(number - 1);
		atomic_store(&slots[i].number, 0);
	}
}

int cairn_descriptors_count(void)
{
	int count = 0;
	for (int i = 0; i < most; i++)
		count += atomic_load(&slots[i].number) != 0;
	return count;
}

bool cairn_descriptor_write_all(int descriptor, struct cairn_bytes *rest)
{
	while (rest->length > 0) {
		ssize_t part = write(descriptor, rest->data, rest->length);
		if (part < 0 && errno == EINTR)
			continue;
		if (part == 0)
			errno = EIO; /* never of a file or a pipe, and then without an end */
		if (part <= 0)
			return false;
		*rest = cairn_bytes_skip(*rest, (size_t)part);
	}
	return true;
}
