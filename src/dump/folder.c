/* folder.c - writes, opens and removes dump files, and keeps the folder within its limits.
 * SPDX-License-Identifier: Apache-2.0 */
#include "dump/folder.h"

#include "base/descriptor.h"
#include "base/pages.h"
#include "base/path.h"
#include "base/text.h"
#include "dump/trailer_write.h"
#include "process/clock.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { tries_maximum = 100, index_maximum = 32 << 20, trailer_maximum = 4096 };

static const char temporary_start[] = ".cairn-tmp-";

bool cairn_folder_set(struct cairn_folder *folder, const char *path, const struct cairn_folder_limits *limits, struct cairn_error *error)
{
	*folder = (struct cairn_folder){.limits = *limits};
	size_t length = strlen(path);
	if (length == 0 || length >= sizeof folder->path)
		return cairn_fail(error, "the path of a dump folder must have 1 to %zu bytes, not %zu", sizeof folder->path - 1, length);
	memcpy(folder->path, path, length + 1);
	return true;
}

static int open_folder(const char *path)
{
	return cairn_descriptor_adopt(open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC));
}

/* Opens the folder for reading: it must exist. */
static int open_existing(const struct cairn_folder *folder, struct cairn_error *error)
{
	int descriptor = open_folder(folder->path);
	if (descriptor < 0)
		cairn_fail_errno(error, "cannot read the dump folder %s", folder->path);
	return descriptor;
}

/* FOLDER as an absolute path: a client that asks a service over HTTP does not know what "." is for the service. */
static const char *whole_path(const char *folder, char *out, size_t size)
{
	ssize_t length = folder[0] == '/' ? -1 : readlink("/proc/self/cwd", out, size - 1);
	if (length <= 0)
		return folder;
	snprintf(out + length, size - (size_t)length, "%s%s", strcmp(folder, ".") == 0 ? "" : "/", strcmp(folder, ".") == 0 ? "" : folder);
	return out;
}

/* Reports a problem with the folder rather than with the file. errno is unchanged. */
static bool fail_to_create(const char *folder, const char *name, struct cairn_error *error)
{
	int code = errno;
	struct stat status;
	char whole[256];
	folder = whole_path(folder, whole, sizeof whole);
	if (code == ENOENT || code == ENOTDIR)
		cairn_fail(error, "the folder %s does not exist, so %s cannot be written", folder, name);
	else if (code == EACCES || code == EROFS || code == EPERM)
		cairn_fail(error, "the folder %s is not writable for this process (%s), so %s cannot be written", folder,
			   code == EROFS ? "read-only file system" : stat(folder, &status) == 0 ? "no permission" : "not reachable", name);
	else if (code == ENOSPC || code == EDQUOT)
		cairn_fail(error, "no space left in %s for %s", folder, name);
	else
		cairn_fail_errno(error, "cannot write %s in %s", name, folder);
	errno = code;
	return false;
}

/* Creates a file under a temporary name, locked until its descriptor is closed. Another process may have removed it as a leftover before
 * it was locked; then another one is made. */
static int create_temporary(int folder, char *temporary, size_t size)
{
	static atomic_uint number;
	for (int i = 0; i < tries_maximum; i++) {
		struct stat status;
		snprintf(temporary, size, "%s%d-%u.tmp", temporary_start, getpid(), atomic_fetch_add(&number, 1));
		int descriptor =
			cairn_descriptor_adopt(openat(folder, temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
		if (descriptor < 0 && errno == EEXIST)
			continue;
		if (descriptor < 0)
			return -1;
		bool locked = flock(descriptor, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK;
		if (locked && fstat(descriptor, &status) == 0 && status.st_nlink > 0)
			return descriptor;
		cairn_descriptor_close(descriptor);
	}
	errno = EAGAIN;
	return -1;
}

/* Gives the finished file its name, unless a file of that name exists. */
static bool publish(int folder, const char *temporary, const char *name)
{
	if (syscall(SYS_renameat2, folder, temporary, folder, name, 1 /* RENAME_NOREPLACE */) == 0)
		return true;
	if (errno != EINVAL && errno != ENOSYS && errno != EPERM) /* EPERM comes from a seccomp filter that does not know the call */
		return false;
	if (linkat(folder, temporary, folder, name, 0) == 0) {
		unlinkat(folder, temporary, 0);
		return true;
	}
	if (errno == EEXIST)
		return false;
	/* No links either, as on a mounted bucket: an empty file reserves the name and is replaced by a rename. */
	int held = openat(folder, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (held < 0)
		return false;
	close(held);
	if (renameat(folder, temporary, folder, name) == 0)
		return true;
	int code = errno;
	unlinkat(folder, name, 0);
	errno = code;
	return false;
}

/* When a file is flushed to disk: before it gets its name, afterwards, or, if it replaces another, not at all. */
enum manner { SAFE, URGENT, REPLACING };

/* Writes the PARTS, up to the first without data, as the file NAME; replaces another only if REPLACING. */
static bool put(int folder, const char *name, const struct cairn_bytes *parts, enum manner manner, unsigned mode)
{
	char temporary[48];
	struct stat status;
	if (manner != REPLACING && fstatat(folder, name, &status, AT_SYMLINK_NOFOLLOW) == 0) {
		errno = EEXIST;
		return false;
	}
	int descriptor = create_temporary(folder, temporary, sizeof temporary);
	if (descriptor < 0)
		return false;
	bool good = true;
	for (; good && parts->data; parts++)
		good = cairn_descriptor_write_all(descriptor, &(struct cairn_bytes){parts->data, parts->length});
	if (good && mode)
		good = fchmod(descriptor, mode) == 0; /* whatever the umask is */
	good = good && (manner != SAFE || fsync(descriptor) == 0 || errno == EINVAL);
	good = good && (manner == REPLACING ? renameat(folder, temporary, folder, name) == 0 : publish(folder, temporary, name));
	int code = errno;
	if (!good)
		unlinkat(folder, temporary, 0);
	if (good && manner == URGENT)
		fsync(descriptor);
	if (good && manner != REPLACING)
		fsync(folder);
	cairn_descriptor_close(descriptor);
	errno = code;
	return good;
}

bool cairn_folder_of(const char *path, char *out, size_t size)
{
	size_t folder = cairn_path_folder(path), length = folder > 1 ? folder - 1 : 1;
	out[0] = 0;
	if (length >= size) {
		errno = ENAMETOOLONG;
		return false;
	}
	memcpy(out, folder ? path : ".", length);
	out[length] = 0;
	return true;
}

bool cairn_folder_write_file(const char *path, struct cairn_bytes bytes, struct cairn_error *error)
{
	char folder[4096];
	int descriptor = cairn_folder_of(path, folder, sizeof folder) ? open_folder(folder) : -1;
	bool good = descriptor >= 0 && put(descriptor, path + cairn_path_folder(path), (struct cairn_bytes[]){bytes, {0}}, SAFE, 0);
	if (!good)
		fail_to_create(folder, path, error);
	int code = errno;
	cairn_descriptor_close(descriptor);
	errno = code;
	return good;
}

/* Whether NAME is still the open file, and has not been replaced. */
static bool is_named(int folder, const char *name, int file)
{
	struct stat opened, named;
	return fstat(file, &opened) == 0 && fstatat(folder, name, &named, AT_SYMLINK_NOFOLLOW) == 0 && opened.st_dev == named.st_dev &&
	       opened.st_ino == named.st_ino;
}

/* Whether create_temporary may have given the name. */
static bool is_temporary(const char *name)
{
	struct cairn_bytes rest = cairn_bytes_of(name);
	uint64_t number;
	return cairn_text_take(&rest, temporary_start) && cairn_text_decimal(&rest, &number) && cairn_text_take(&rest, "-") &&
	       cairn_text_decimal(&rest, &number) && cairn_bytes_equal(rest, cairn_bytes_of(".tmp"));
}

/* Removes NAME only if it is a heap dump, whatever else is known about it. Returns false with errno; EINVAL if it is not a dump. */
static bool remove_dump(int folder, const char *name, bool only_ours)
{
	int file = cairn_descriptor_adopt(openat(folder, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
	if (file < 0)
		return false;
	struct stat status;
	errno = EINVAL;
	bool gone = cairn_dump_is_heap(file) && fstat(file, &status) == 0 && (!only_ours || status.st_uid == geteuid()) &&
		    is_named(folder, name, file) && unlinkat(folder, name, 0) == 0;
	int code = errno;
	cairn_descriptor_close(file);
	errno = code;
	return gone;
}

static void remove_leftover(void *context, const char *name)
{
	int folder = *(int *)context;
	if (!is_temporary(name))
		return;
	/* Opened for writing, because NFS locks only such descriptors. */
	int descriptor = cairn_descriptor_adopt(openat(folder, name, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
	struct stat status;
	if (descriptor >= 0 && fstat(descriptor, &status) == 0 && S_ISREG(status.st_mode) && status.st_uid == geteuid() &&
	    flock(descriptor, LOCK_EX | LOCK_NB) == 0 && is_named(folder, name, descriptor))
		unlinkat(folder, name, 0);
	cairn_descriptor_close(descriptor);
}

static void write_index(int folder, const struct cairn_listing *listing)
{
	struct cairn_buffer text = cairn_pages(index_maximum);
	for (size_t i = 0; i < listing->count + listing->damaged; i++)
		cairn_dump_write_line(&listing->dumps[i], &text);
	if (!text.failed)
		put(folder, CAIRN_INDEX_NAME, (struct cairn_bytes[]){cairn_buffer_bytes(&text), {0}}, REPLACING, 0);
	cairn_buffer_free(&text);
}

/* Removes the marked dumps and updates the index. Returns their number. */
static size_t remove_dropped(int descriptor, struct cairn_listing *listing, bool only_ours)
{
	size_t removed = 0;
	for (size_t i = 0; i < listing->count + listing->damaged; i++) {
		struct cairn_dump *dump = &listing->dumps[i];
		if (!(dump->marks & CAIRN_DUMP_DROP))
			continue;
		bool gone = remove_dump(descriptor, dump->name, only_ours);
		removed += gone;
		if (!gone && errno != ENOENT && errno != EINVAL)
			dump->marks &= ~(unsigned)CAIRN_DUMP_DROP;
	}
	cairn_listing_forget_dropped(listing);
	if (listing->changed && listing->trusted)
		write_index(descriptor, listing);
	return removed;
}

/* Thins the folder and frees SPARE bytes more. */
static bool thin(int descriptor, const struct cairn_folder *folder, uint64_t spare, size_t *removed, struct cairn_error *error)
{
	struct cairn_listing listing;
	bool good = cairn_listing_read(&listing, descriptor, error);
	if (good) {
		cairn_listing_plan(&listing, &folder->limits, cairn_clock_wall_ns(), spare);
		cairn_listing_visit(descriptor, remove_leftover, &descriptor);
		size_t gone = remove_dropped(descriptor, &listing, false);
		if (removed)
			*removed = gone;
	}
	cairn_listing_free(&listing);
	return good;
}

static bool has_limits(const struct cairn_folder *folder)
{
	return folder->limits.count || folder->limits.bytes || folder->limits.age_seconds;
}

/* How many bytes of free space would be missing if SIZE more were written to the disk. */
static uint64_t lacking(int descriptor, const struct cairn_folder *folder, uint64_t size, uint64_t *available, uint64_t *floor)
{
	struct statvfs disk;
	*available = *floor = 0;
	if (fstatvfs(descriptor, &disk) != 0 || disk.f_blocks == 0)
		return 0;
	*available = (uint64_t)disk.f_bavail * disk.f_frsize;
	*floor = folder->limits.free_bytes;
	if (*floor == CAIRN_FREE_DEFAULT) {
		uint64_t share = (uint64_t)disk.f_blocks * disk.f_frsize / 20;
		*floor = share < (uint64_t)1 << 30 ? share : (uint64_t)1 << 30;
	}
	return size + *floor > *available ? size + *floor - *available : 0;
}

bool cairn_folder_thin(const struct cairn_folder *folder, size_t *removed, struct cairn_error *error)
{
	if (removed)
		*removed = 0;
	int descriptor = open_existing(folder, error);
	uint64_t available, floor, spare = descriptor >= 0 && has_limits(folder) ? lacking(descriptor, folder, 0, &available, &floor) : 0;
	bool good = descriptor >= 0 && thin(descriptor, folder, spare, removed, error);
	cairn_descriptor_close(descriptor);
	return good;
}

static bool make_room(int descriptor, const struct cairn_folder *folder, const char *name, uint64_t size, struct cairn_error *error)
{
	uint64_t available, floor, short_of = lacking(descriptor, folder, size, &available, &floor);
	if (short_of && has_limits(folder)) {
		thin(descriptor, folder, short_of, NULL, error);
		short_of = lacking(descriptor, folder, size, &available, &floor);
	}
	if (!short_of)
		return true;
	char needed[24], free[24], stays[24];
	cairn_fail(error, "no space left in %s for %s: it needs %s, %s are free, and keep_free reserves %s", folder->path, name,
		   cairn_text_human((double)size, needed), cairn_text_human((double)available, free),
		   cairn_text_human((double)floor, stays));
	errno = ENOSPC;
	return false;
}

/* The end of DUMP's trailer with FACTS added; a complete trailer for a dump that has none. */
static void complete_trailer(struct cairn_buffer *out, bool trailer, const struct cairn_folder_facts *facts)
{
	char life[CAIRN_LIFE_TEXT];
	if (!trailer) {
		cairn_trailer_write_first(out);
		cairn_trailer_write_time(out, "time", facts->time_ns ? facts->time_ns : cairn_clock_wall_ns());
		if (facts->process.pid) {
			cairn_trailer_write_number(out, "pid", (uint64_t)facts->process.pid);
			cairn_trailer_write_text(out, "process", cairn_life_text(&facts->process, life));
		}
	}
	if (facts->memory)
		cairn_trailer_write_number(out, "memory", facts->memory);
	if (facts->reason)
		cairn_trailer_write_text(out, "reason", facts->reason);
	cairn_trailer_write_last(out);
}

/* Opens the folder for writing; creates it if it is missing. */
static int open_or_make(const struct cairn_folder *folder, const char *name, struct cairn_error *error)
{
	int descriptor = open_folder(folder->path);
	if (descriptor < 0 && errno == ENOENT && !folder->must_exist && (mkdir(folder->path, 0700) == 0 || errno == EEXIST))
		descriptor = open_folder(folder->path);
	if (descriptor < 0)
		fail_to_create(folder->path, name, error);
	return descriptor;
}

bool cairn_folder_write(const struct cairn_folder *folder, const char *name, struct cairn_bytes dump,
			const struct cairn_folder_facts *facts, struct cairn_error *error)
{
	bool trailer = cairn_trailer_take_last(&dump);
	if (!cairn_dump_is_name(name)) {
		errno = EINVAL;
		return cairn_fail(error, "'%.100s' is not a valid name for a dump", name);
	}
	int descriptor = open_or_make(folder, name, error);
	if (descriptor < 0)
		return false;
	struct cairn_buffer tail = cairn_pages(trailer_maximum);
	complete_trailer(&tail, trailer, facts);
	const char *line = dump.length == 0 || dump.data[dump.length - 1] == '\n' ? "" : "\n";
	struct cairn_bytes parts[] = {dump, cairn_bytes_of(line), cairn_buffer_bytes(&tail), {0}};
	struct cairn_error ignored;
	bool good = !tail.failed || cairn_fail(error, "no memory for the end of %s", name);
	good = good && make_room(descriptor, folder, name, dump.length + tail.length, error);
	if (good) {
		good = put(descriptor, name, parts, facts->urgent ? URGENT : SAFE, folder->mode) ||
		       fail_to_create(folder->path, name, error);
		int code = errno;
		if (good)
			thin(descriptor, folder, 0, NULL, &ignored);
		errno = code;
	}
	int code = errno;
	cairn_buffer_free(&tail);
	cairn_descriptor_close(descriptor);
	errno = code;
	return good;
}

bool cairn_folder_list(const struct cairn_folder *folder, struct cairn_listing *listing, struct cairn_error *error)
{
	*listing = (struct cairn_listing){0};
	int descriptor = open_existing(folder, error);
	bool good = descriptor >= 0 && cairn_listing_read(listing, descriptor, error);
	cairn_descriptor_close(descriptor);
	return good;
}

struct visit {
	void (*see)(void *context, const char *name);
	void *context;
};

static void see_plain(void *context, const char *name)
{
	const struct visit *visit = context;
	if (cairn_dump_is_name(name))
		visit->see(visit->context, name);
}

bool cairn_folder_visit(const struct cairn_folder *folder, void (*see)(void *context, const char *name), void *context,
			struct cairn_error *error)
{
	int descriptor = open_existing(folder, error);
	if (descriptor < 0)
		return false;
	cairn_listing_visit(descriptor, see_plain, &(struct visit){see, context});
	cairn_descriptor_close(descriptor);
	return true;
}

int cairn_folder_open_file(const struct cairn_folder *folder, const char *name, struct cairn_error *error)
{
	if (!cairn_dump_is_name(name)) {
		cairn_fail(error, "'%.100s' is not the name of a file in the dump folder", name);
		return -1;
	}
	int descriptor = open_existing(folder, error);
	if (descriptor < 0)
		return -1;
	int file = cairn_descriptor_adopt(openat(descriptor, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
	if (file < 0)
		cairn_fail_errno(error, "cannot open the dump %.200s", name);
	struct stat place, status;
	bool strange = file >= 0 && fstat(descriptor, &place) == 0 && (place.st_mode & S_IWOTH) && fstat(file, &status) == 0 &&
		       status.st_uid != geteuid();
	cairn_descriptor_close(descriptor);
	if (strange) {
		cairn_descriptor_close(file);
		cairn_fail(error, "%.200s belongs to another user, and everybody can write to this folder", name);
		errno = EPERM;
		return -1;
	}
	if (file >= 0 && !cairn_dump_is_heap(file)) { /* the service may keep other files in the folder */
		cairn_descriptor_close(file);
		cairn_fail(error, "%.200s is not a dump", name);
		errno = EINVAL;
		return -1;
	}
	return file;
}

bool cairn_folder_remove(const struct cairn_folder *folder, const char *name, struct cairn_error *error)
{
	int file = cairn_folder_open_file(folder, name, error), descriptor = file < 0 ? -1 : open_existing(folder, error);
	cairn_descriptor_close(file);
	if (descriptor < 0)
		return false;
	struct cairn_error ignored;
	bool good = remove_dump(descriptor, name, false) || cairn_fail_errno(error, "cannot remove the dump %.200s", name);
	int code = errno;
	if (good)
		thin(descriptor, folder, 0, NULL, &ignored);
	cairn_descriptor_close(descriptor);
	errno = code;
	return good;
}

size_t cairn_folder_remove_own(const struct cairn_folder *folder, const struct cairn_life *process, const char *reason,
			       bool (*matches)(const char *name))
{
	struct cairn_error ignored;
	struct cairn_listing listing = {0};
	int descriptor = open_existing(folder, &ignored);
	size_t removed = 0;
	if (descriptor >= 0 && cairn_listing_read(&listing, descriptor, &ignored)) {
		for (size_t i = 0; i < listing.count; i++) {
			struct cairn_dump *dump = &listing.dumps[i];
			if (cairn_life_equal(&dump->process, process) && strcmp(dump->reason, reason) == 0 && matches(dump->name))
				dump->marks |= CAIRN_DUMP_DROP;
		}
		removed = remove_dropped(descriptor, &listing, true);
	}
	cairn_listing_free(&listing);
	cairn_descriptor_close(descriptor);
	return removed;
}
