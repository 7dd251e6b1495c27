/* peek.h - the start of a small file, in the caller's own memory: for /proc and /sys, without allocating.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_BASE_PEEK_H
#define CAIRN_BASE_PEEK_H

#include "base/bytes.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

/* Opens PATH for reading if it is a regular file, as those in /proc and /sys are, and never waits: a pipe of that name, which anybody may
 * have created, would block. -1 with errno. */
static inline int cairn_peek_open(const char *path)
{
	struct stat status;
	int descriptor = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	if (descriptor < 0 || (fstat(descriptor, &status) == 0 && S_ISREG(status.st_mode)))
		return descriptor;
	close(descriptor);
	errno = EINVAL;
	return -1;
}

/* The result of one read of PATH, in ROOM; empty if it cannot be read. */
static inline struct cairn_bytes cairn_peek(const char *path, char *room, size_t size)
{
	int descriptor = cairn_peek_open(path);
	ssize_t length = descriptor < 0 ? -1 : read(descriptor, room, size);
	if (descriptor >= 0)
		close(descriptor);
	return (struct cairn_bytes){room, length > 0 ? (size_t)length : 0};
}

/* The same for the open DESCRIPTOR, always from its beginning; empty for -1. */
static inline struct cairn_bytes cairn_peek_again(int descriptor, char *room, size_t size)
{
	ssize_t length = descriptor < 0 ? -1 : pread(descriptor, room, size, 0);
	return (struct cairn_bytes){room, length > 0 ? (size_t)length : 0};
}

#endif
