/* dumps.c - writing, listing and opening dump files.
 * SPDX-License-Identifier: Apache-2.0 */
#include "agent/dumps.h"

#include "agent/clock.h"
#include "base/descriptor.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { tries_maximum = 100000 };

static void prefix_of(struct cairn_agent *agent, char *out, size_t size)
{
	const char *prefix = "";
	if (agent->profiler.jemalloc.mallctl)
		cairn_jemalloc_get_text(&agent->profiler.jemalloc, "opt.prof_prefix", &prefix);
	snprintf(out, size, "%s", prefix);
}

/* The folder of PATH, "." when it names none. */
static void folder_of(const char *path, char *out, size_t size)
{
	const char *slash = strrchr(path, '/');
	snprintf(out, size, "%.*s", slash ? slash == path ? 1 : (int)(slash - path) : 1, slash ? path : ".");
}

void cairn_dumps_folder(struct cairn_agent *agent, char *out, size_t size)
{
	char prefix[512];
	prefix_of(agent, prefix, sizeof prefix);
	if (agent->config.dumps[0])
		snprintf(out, size, "%s", agent->config.dumps);
	else
		folder_of(prefix, out, size);
}

/* Says what is wrong with PATH's folder rather than with PATH. */
static bool fail_to_create(const char *path, struct cairn_error *error)
{
	int code = errno;
	char folder[512];
	struct stat status;
	folder_of(path, folder, sizeof folder);
	if (code == ENOENT || code == ENOTDIR)
		cairn_fail(error, "the folder %s does not exist, so %s cannot be written", folder, path);
	else if (code == EACCES || code == EROFS || code == EPERM)
		cairn_fail(error, "the folder %s is not writable for this process (%s), so %s cannot be written", folder,
			   code == EROFS ? "read-only file system" : stat(folder, &status) == 0 ? "no permission" : "not reachable", path);
	else if (code == ENOSPC || code == EDQUOT)
		cairn_fail(error, "no space left in %s for %s", folder, path);
	else {
		errno = code;
		cairn_fail_errno(error, "cannot write %s", path);
	}
	errno = code;
	return false;
}

static bool write_all(int descriptor, struct cairn_bytes bytes)
{
	while (bytes.length > 0) {
		ssize_t part = write(descriptor, bytes.data, bytes.length);
		if (part < 0 && errno == EINTR)
			continue;
		if (part <= 0)
			return false;
		bytes = cairn_bytes_skip(bytes, (size_t)part);
	}
	return fsync(descriptor) == 0 || errno == EINVAL;
}

/* Gives the finished file its name unless something has that name already. */
static bool publish(const char *temporary, const char *path)
{
	if (syscall(SYS_renameat2, AT_FDCWD, temporary, AT_FDCWD, path, 1 /* RENAME_NOREPLACE */) == 0)
		return true;
	if (errno != EINVAL && errno != ENOSYS)
		return false;
	return link(temporary, path) == 0 && unlink(temporary) == 0;
}

bool cairn_dumps_write(struct cairn_agent *agent, const struct cairn_snapshot *snapshot, const char *path, struct cairn_error *error)
{
	char temporary[600];
	struct stat status;
	if (lstat(path, &status) == 0) {
		errno = EEXIST;
		return fail_to_create(path, error);
	}
	snprintf(temporary, sizeof temporary, "%s.%d-%u.tmp", path, getpid(), atomic_fetch_add(&agent->dump_number, 1));
	int descriptor = cairn_descriptor_adopt(open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
	if (descriptor < 0)
		return fail_to_create(path, error);
	bool good = write_all(descriptor, snapshot->text);
	int code = errno;
	cairn_descriptor_close(descriptor);
	if (good) {
		good = publish(temporary, path);
		code = errno;
	}
	if (good) {
		atomic_fetch_add(&agent->counters.dumps, 1);
		return true;
	}
	unlink(temporary);
	errno = code;
	return fail_to_create(path, error);
}

bool cairn_dumps_write_numbered(struct cairn_agent *agent, const struct cairn_snapshot *snapshot, char *path, size_t size,
				struct cairn_error *error)
{
	char prefix[512];
	prefix_of(agent, prefix, sizeof prefix);
	if (!prefix[0])
		return cairn_fail(error, "prof_prefix is empty, so jemalloc dumps have no name; set it in MALLOC_CONF");
	for (unsigned number = 0; number < tries_maximum; number++) {
		int length = snprintf(path, size, "%s.%d.%u.m%u.heap", prefix, getpid(), number, number);
		if (length < 0 || (size_t)length >= size)
			return cairn_fail(error, "prof_prefix is too long for a file name");
		if (cairn_dumps_write(agent, snapshot, path, error))
			return true;
		if (errno != EEXIST)
			return false;
	}
	return false;
}

bool cairn_dumps_write_dated(struct cairn_agent *agent, const struct cairn_snapshot *snapshot, const char *kind, char *path,
			     size_t size, struct cairn_error *error)
{
	char folder[300];
	struct tm date;
	time_t local = (time_t)(cairn_clock_wall_ns() / 1000000000) + agent->utc_offset;
	gmtime_r(&local, &date);
	cairn_dumps_folder(agent, folder, sizeof folder);
	if (mkdir(folder, 0700) != 0 && errno != EEXIST && errno != EROFS && errno != ENOENT)
		return cairn_fail_errno(error, "cannot make the folder %s", folder);
	for (unsigned number = 1; number < tries_maximum; number++) {
		char again[16] = "";
		if (number > 1)
			snprintf(again, sizeof again, "-%u", number);
		snprintf(path, size, "%s/%04d-%02d-%02d-%02d-%02d-%02d%s.%s.heap", folder, date.tm_year + 1900, date.tm_mon + 1, date.tm_mday,
			 date.tm_hour, date.tm_min, date.tm_sec, again, kind);
		if (cairn_dumps_write(agent, snapshot, path, error))
			return true;
		if (errno != EEXIST)
			return false;
	}
	return false;
}

bool cairn_dumps_is_name(const char *name)
{
	return name[0] && name[0] != '.' && !strchr(name, '/');
}

static int open_folder(struct cairn_agent *agent, struct cairn_error *error)
{
	char folder[300];
	cairn_dumps_folder(agent, folder, sizeof folder);
	int descriptor = cairn_descriptor_adopt(open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC));
	if (descriptor < 0)
		cairn_fail_errno(error, "the dump folder %s cannot be read", folder);
	return descriptor;
}

/* getdents64 by hand: opendir would allocate from the host. */
bool cairn_dumps_list(struct cairn_agent *agent, void (*see)(void *context, const char *name), void *context, struct cairn_error *error)
{
	int folder = open_folder(agent, error);
	if (folder < 0)
		return false;
	_Alignas(struct dirent64) char entries[4096];
	for (;;) {
		long length = syscall(SYS_getdents64, folder, entries, sizeof entries);
		if (length <= 0)
			break;
		for (long at = 0; at < length;) {
			const struct dirent64 *entry = (const struct dirent64 *)(const void *)(entries + at);
			if (cairn_dumps_is_name(entry->d_name))
				see(context, entry->d_name);
			at += entry->d_reclen;
		}
	}
	cairn_descriptor_close(folder);
	return true;
}

int cairn_dumps_open(struct cairn_agent *agent, const char *name, struct cairn_error *error)
{
	if (!cairn_dumps_is_name(name)) {
		cairn_fail(error, "'%.100s' is not the name of a file in the dump folder", name);
		return -1;
	}
	int folder = open_folder(agent, error);
	if (folder < 0)
		return -1;
	int descriptor = cairn_descriptor_adopt(openat(folder, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
	struct stat status;
	if (descriptor < 0)
		cairn_fail_errno(error, "cannot open the dump %.200s", name);
	cairn_descriptor_close(folder);
	if (descriptor >= 0 && (fstat(descriptor, &status) != 0 || !S_ISREG(status.st_mode))) {
		cairn_descriptor_close(descriptor);
		cairn_fail(error, "%.200s is not a dump", name);
		return -1;
	}
	return descriptor;
}
