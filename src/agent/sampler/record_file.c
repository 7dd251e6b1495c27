/* record_file.c - a ledger in a file, which is there when the process is not any more.
 *
 * The new ledger is made beside the file and takes its name when all of it is allocated, so that a disk that is full leaves what was
 * there as it is. Its owner holds a lock on it: a second process of the same configuration does without.
 * SPDX-License-Identifier: Apache-2.0 */
#include "agent/sampler/record.h"
#include "base/descriptor.h"
#include "base/pages.h"
#include "dump/ledger_dump.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

enum { path_most = 400 };

/* Where a store into allocated pages may need new space, or the space is another machine's: no promise can be made there. */
static bool is_unsuitable(int descriptor)
{
	static const unsigned long types[] = {0x9123683e /* btrfs */, 0x2fc12fc1 /* zfs */, 0xca451a4e /* bcachefs */, 0x3434 /* nilfs */,
					      0xf2f52010 /* f2fs */, 0x6969 /* nfs */, 0x65735546 /* fuse */, 0xff534d42 /* cifs */,
					      0xfe534d42 /* smb */, 0x01021997 /* 9p */};
	struct statfs system;
	if (fstatfs(descriptor, &system) != 0)
		return true;
	for (size_t i = 0; i < sizeof types / sizeof *types; i++)
		if (((unsigned long)system.f_type & 0xffffffff) == types[i])
			return true;
	return false;
}

/* The file by its name, locked; -1 with the reason. */
static int open_locked(const char *path, struct cairn_error *error)
{
	struct stat held, named;
	int descriptor = cairn_descriptor_adopt(open(path, O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0600));
	if (descriptor < 0) {
		cairn_fail_errno(error, "the ledger %s cannot be opened", path);
		return -1;
	}
	if (fstat(descriptor, &held) != 0 || !S_ISREG(held.st_mode) || held.st_uid != geteuid())
		cairn_fail(error, "%s is no file of this user's, so no ledger is kept there", path);
	else if (flock(descriptor, LOCK_EX | LOCK_NB) != 0 || lstat(path, &named) != 0 || named.st_ino != held.st_ino ||
		 named.st_dev != held.st_dev)
		cairn_fail(error, "the ledger %s is another process's", path);
	else if (is_unsuitable(descriptor))
		cairn_fail(error, "the file system of %s cannot promise space for a ledger", path);
	else
		return descriptor;
	cairn_descriptor_close(descriptor);
	return -1;
}

/* Hands what is in the file to SAVE; an empty file, or a ledger that never had a sample, is nothing to save. */
static bool save_previous(int descriptor, const char *path, const struct cairn_record_file *file, struct cairn_error *error)
{
	struct stat status;
	struct cairn_ledger ledger;
	if (fstat(descriptor, &status) != 0)
		return cairn_fail_errno(error, "the ledger %s cannot be read", path);
	if (status.st_size == 0)
		return true;
	if (status.st_size > CAIRN_LEDGER_BYTES_MOST)
		return cairn_fail(error, "%s is not a ledger, and is left as it is", path);
	struct cairn_buffer copy = cairn_pages(CAIRN_LEDGER_BYTES_MOST);
	bool good = cairn_pages_read(&copy, descriptor) || cairn_fail_errno(error, "the ledger %s cannot be read", path);
	if (good && !cairn_ledger_open(&ledger, cairn_buffer_bytes(&copy), error))
		good = cairn_fail_within(error, "%s is left as it is: ", path);
	good = good && (ledger.header.taken == 0 || file->save(file->context, &ledger, error));
	cairn_buffer_free(&copy);
	return good;
}

/* A new file of BYTES, all allocated, locked and mapped, that has the name PATH. */
static void *make(const char *path, size_t bytes, int *descriptor, struct cairn_error *error)
{
	char fresh[path_most + 8];
	snprintf(fresh, sizeof fresh, "%s.new", path);
	unlink(fresh);
	int made = cairn_descriptor_adopt(open(fresh, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
	void *memory = MAP_FAILED;
	if (made >= 0 && flock(made, LOCK_EX | LOCK_NB) == 0 && fallocate(made, 0, 0, (off_t)bytes) == 0)
		memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, made, 0);
	if (memory != MAP_FAILED)
		cairn_pages_touch(memory, bytes);
	if (memory != MAP_FAILED && rename(fresh, path) == 0) {
		*descriptor = made;
		return memory;
	}
	cairn_fail_errno(error, "no ledger of %zu bytes can be made at %s", bytes, path);
	if (memory != MAP_FAILED)
		cairn_pages_unmap(memory, bytes);
	if (made >= 0)
		unlink(fresh);
	cairn_descriptor_close(made);
	return NULL;
}

void *cairn_record_map_file(const struct cairn_record_file *file, size_t bytes, int *descriptor, struct cairn_error *error)
{
	void *memory = NULL;
	*descriptor = -1;
	if (strlen(file->path) >= path_most) {
		cairn_fail(error, "the path of the ledger is too long");
		return NULL;
	}
	int locked = open_locked(file->path, error);
	if (locked >= 0 && save_previous(locked, file->path, file, error)) {
		memory = make(file->path, bytes, descriptor, error);
		if (!memory && ftruncate(locked, 0) == 0) /* what was there is saved: where both do not fit, it makes room */
			memory = make(file->path, bytes, descriptor, error);
	}
	cairn_descriptor_close(locked);
	return memory;
}
