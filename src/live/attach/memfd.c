/* memfd.c - a descriptor seen through /proc.
 * SPDX-License-Identifier: Apache-2.0 */
#include "live/attach/memfd.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

int cairn_memfd_open(int pid, int number, const char *name)
{
	char path[64], target[64], wanted[64];
	struct stat own, theirs;
	snprintf(path, sizeof path, "/proc/%d/fd/%d", pid, number);
	ssize_t length = readlink(path, target, sizeof target - 1);
	target[length > 0 ? length : 0] = 0;
	int wanted_length = snprintf(wanted, sizeof wanted, "/memfd:%s", name);
	if (strncmp(target, wanted, (size_t)wanted_length) != 0)
		return -1;
	int sample = memfd_create("cairn", MFD_CLOEXEC);
	int handle = open(path, O_PATH | O_CLOEXEC), opened = -1;
	bool same = sample >= 0 && handle >= 0 && fstat(sample, &own) == 0 && fstat(handle, &theirs) == 0 && own.st_dev == theirs.st_dev &&
		    S_ISREG(theirs.st_mode) && theirs.st_nlink == 0;
	snprintf(path, sizeof path, "/proc/self/fd/%d", handle);
	if (same)
		opened = open(path, O_RDWR | O_CLOEXEC);
	if (handle >= 0)
		close(handle);
	if (sample >= 0)
		close(sample);
	return opened;
}
