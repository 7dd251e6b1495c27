/* scratch.c - memfds and their replacements.
 * SPDX-License-Identifier: Apache-2.0 */
#include "agent/engine/scratch.h"

#include "base/descriptor.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

static bool open_memory(struct cairn_scratch *scratch, bool by_name)
{
	scratch->descriptor = cairn_descriptor_adopt(memfd_create("cairn-snapshot", MFD_CLOEXEC));
	if (scratch->descriptor < 0)
		return false;
	if (!by_name)
		return true;
	snprintf(scratch->path, sizeof scratch->path, "/proc/thread-self/fd/%d", scratch->descriptor);
	int again = open(scratch->path, O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	struct stat ours, named;
	bool same = again >= 0 && fstat(scratch->descriptor, &ours) == 0 && fstat(again, &named) == 0 && ours.st_dev == named.st_dev &&
		    ours.st_ino == named.st_ino; /* under another root, /proc may be anything */
	if (again >= 0)
		close(again);
	if (!same)
		cairn_descriptor_close(scratch->descriptor);
	return same;
}

/* Whether nobody else can replace a folder that is made in FOLDER: FOLDER is sticky, or only this user and root can write to it. */
static bool is_safe(const char *folder)
{
	struct stat status;
	if (stat(folder, &status) != 0 || !S_ISDIR(status.st_mode) || (status.st_uid != geteuid() && status.st_uid != 0))
		return false;
	return (status.st_mode & S_ISVTX) || (status.st_mode & (S_IWGRP | S_IWOTH)) == 0;
}

static bool open_in(struct cairn_scratch *scratch, const char *folder)
{
	uint64_t random = 0;
	if (getrandom(&random, sizeof random, GRND_NONBLOCK) != sizeof random)
		random = (uintptr_t)&random ^ (uint64_t)getpid() << 32;
	snprintf(scratch->directory, sizeof scratch->directory, "%s/.cairn-%016llx", folder, (unsigned long long)random);
	if (mkdir(scratch->directory, 0700) != 0) /* fails if anything is there already, even a link */
		return false;
	snprintf(scratch->path, sizeof scratch->path, "%s/dump", scratch->directory);
	scratch->descriptor = cairn_descriptor_adopt(open(scratch->path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
	if (scratch->descriptor >= 0)
		return true;
	int code = errno;
	rmdir(scratch->directory);
	errno = code;
	return false;
}

bool cairn_scratch_open(struct cairn_scratch *scratch, const char *folder, bool by_name, struct cairn_error *error)
{
	*scratch = (struct cairn_scratch){.descriptor = -1};
	if (open_memory(scratch, by_name))
		return true;
	if (errno == EMFILE || errno == ENFILE)
		return cairn_fail_errno(error, "no descriptor left for a snapshot (RLIMIT_NOFILE)");
	const char *const folders[] = {folder, "/dev/shm", "/tmp", "/var/tmp", "."};
	for (size_t i = 0; i < sizeof folders / sizeof *folders; i++)
		if (folders[i][0] && is_safe(folders[i]) && open_in(scratch, folders[i]))
			return true;
	return cairn_fail_errno(error, "a snapshot by jemalloc needs /proc or a folder to write in, and there is neither: mount /proc or a "
				       "writable /tmp, or start the service with CAIRN_CONF=engine:cairn, which needs none");
}

void cairn_scratch_unname(struct cairn_scratch *scratch)
{
	if (!scratch->directory[0])
		return;
	unlink(scratch->path);
	rmdir(scratch->directory);
	scratch->directory[0] = 0;
}

void cairn_scratch_close(struct cairn_scratch *scratch)
{
	cairn_scratch_unname(scratch);
	cairn_descriptor_close(scratch->descriptor);
	scratch->descriptor = -1;
}
