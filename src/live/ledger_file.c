/* ledger_file.c - finds the ledger among a process's descriptors.
 * SPDX-License-Identifier: Apache-2.0 */
#include "live/ledger_file.h"

#include "base/file.h"
#include "dump/ledger_dump.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char memfd_link[] = "/memfd:cairn-ledger";

/* Whether DESCRIPTOR is the ledger of process LIFE, whose number may be another in its own namespace. CLOCK_NS is when it was made. */
static bool is_ledger_of(int descriptor, const struct cairn_life *life, int64_t *clock_ns)
{
	struct cairn_ledger_header header;
	struct stat status;
	if (fstat(descriptor, &status) != 0 || !S_ISREG(status.st_mode) || status.st_size < CAIRN_LEDGER_HEADER ||
	    status.st_size > CAIRN_LEDGER_BYTES_MOST || pread(descriptor, &header, sizeof header, 0) != sizeof header)
		return false;
	*clock_ns = header.clock_ns;
	return header.magic == CAIRN_LEDGER_MAGIC && header.ready && !header.stopped &&
	       (header.ticks == 0 || (header.ticks == life->ticks && header.boot == life->boot));
}

/* Whether the descriptor NAME of FOLDER, which is LINK, may be a ledger: a memfd of its name, or a file of a size that one can have. No
 * device and no pipe is ever opened. */
static bool may_be_ledger(int folder, const char *name, const char *link, ssize_t length)
{
	struct stat status;
	if (length >= (ssize_t)sizeof memfd_link - 1 && memcmp(link, memfd_link, sizeof memfd_link - 1) == 0)
		return true;
	bool memfd = length >= 7 && memcmp(link, "/memfd:", 7) == 0;
	return length > 0 && link[0] == '/' && !memfd && fstatat(folder, name, &status, 0) == 0 && S_ISREG(status.st_mode) &&
	       status.st_size >= CAIRN_LEDGER_HEADER && status.st_size % 4096 == 0;
}

int cairn_ledger_file(const struct cairn_life *life, bool *refused)
{
	char path[64], link[64], place[sizeof path + sizeof((struct dirent *)NULL)->d_name];
	int found = -1;
	int64_t newest = INT64_MIN;
	snprintf(path, sizeof path, "/proc/%d/fd", life->pid);
	DIR *folder = opendir(path);
	*refused = !folder && (errno == EACCES || errno == EPERM);
	for (const struct dirent *entry; folder && (entry = readdir(folder));) {
		ssize_t length = readlinkat(dirfd(folder), entry->d_name, link, sizeof link);
		if (!may_be_ledger(dirfd(folder), entry->d_name, link, length))
			continue;
		struct stat status;
		int64_t made = INT64_MIN;
		snprintf(place, sizeof place, "%s/%s", path, entry->d_name);
		int descriptor = cairn_file_open(place, &status, NULL); /* the process may have put a device there meanwhile */
		if (descriptor >= 0 && is_ledger_of(descriptor, life, &made) && (found < 0 || made > newest)) {
			int before = found;
			found = descriptor;
			descriptor = before;
			newest = made;
		}
		if (descriptor >= 0)
			close(descriptor);
	}
	if (folder)
		closedir(folder);
	return found;
}
