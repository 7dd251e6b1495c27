/* file.c - mapping input, and output by temporary file and rename.
 * SPDX-License-Identifier: Apache-2.0 */
#include "base/file.h"

#include "base/buffer.h"
#include "base/descriptor.h"
#include "base/guard.h"
#include "base/time.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

/* A pipe has no length; this bounds what one may pour into us. Nor have the files of /proc, and a process can make some of its own as long
 * as it likes: more than this, a map with the longest paths has not. */
static const size_t largest_stream = (size_t)64 << 30, largest_of_proc = (size_t)512 << 20;

static bool read_stream(struct cairn_file *file, int descriptor, size_t most, const char *name, struct cairn_error *error)
{
	struct cairn_buffer buffer = cairn_buffer(most);
	bool good = cairn_buffer_read(&buffer, descriptor) || cairn_fail_errno(error, "%s", name);
	file->owner = geteuid();
	if (good && buffer.length == most)
		good = cairn_fail(error, "%s: more than %zu MiB of input", name, most >> 20);
	if (good)
		file->bytes = cairn_buffer_bytes(&buffer);
	else
		cairn_buffer_free(&buffer);
	return good;
}

bool cairn_file_unnamed(struct cairn_error *error)
{
	return cairn_fail(error, "the file name is empty; is a shell variable not set?");
}

/* File systems whose files the kernel writes as they are read, or acts on. Their magic numbers are those of <linux/magic.h>, which lacks the
 * newer ones on older systems. */
static const uint32_t kernel_systems[] = {
	0x9fa0 /* proc */, 0x62656572 /* sysfs */, 0x64626720 /* debugfs */, 0x74726163 /* tracefs */, 0x27e0eb /* cgroup */,
	0x63677270 /* cgroup2 */, 0x73636673 /* securityfs */, 0xf97cff8c /* selinuxfs */, 0x43415d53 /* smackfs */,
	0x5a3c69f0 /* apparmorfs */, 0x62656570 /* configfs */, 0xcafe4a11 /* bpf */, 0x6165676c /* pstore */, 0xde5e81e4 /* efivarfs */,
	0x42494e4d /* binfmt_misc */, 0x7655821 /* resctrl */, 0x65735543 /* fusectl */, 0x1cd1 /* devpts */, 0x19800202 /* mqueue */,
	0x9fa2 /* usbfs */, 0x6e667364 /* nfsd */, 0x67596969 /* rpc_pipefs */, 0xabba1974 /* xenfs */, 0x6e736673 /* nsfs */,
};

static bool is_made_by_kernel(int descriptor)
{
	struct statfs status;
	if (fstatfs(descriptor, &status) != 0)
		return true;
	for (size_t i = 0; i < sizeof kernel_systems / sizeof *kernel_systems; i++)
		if ((uint32_t)status.f_type == kernel_systems[i])
			return true;
	return false;
}

static bool is_plain(int place, const char *path, struct stat *status, struct cairn_error *error)
{
	if (fstat(place, status) != 0)
		return cairn_fail_errno(error, "%s", path);
	errno = EINVAL;
	if (S_ISDIR(status->st_mode))
		return cairn_fail(error, "%s: is a folder, not a file", path);
	if (S_ISLNK(status->st_mode))
		return cairn_fail(error, "%s: is a link, not a file", path);
	if (!S_ISREG(status->st_mode))
		return cairn_fail(error, "%s: is a pipe, a socket or a device, not a file", path);
	return !is_made_by_kernel(place) || cairn_fail(error, "%s: is not on a disk; the kernel makes it up", path);
}

/* Without /proc, there is no way to what PLACE refers to but its path, where something else may be by now. */
static int open_again(int folder, const char *path, const struct stat *status)
{
	struct stat found;
	int descriptor = openat(folder, path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (descriptor < 0 || (fstat(descriptor, &found) == 0 && found.st_dev == status->st_dev && found.st_ino == status->st_ino))
		return descriptor;
	close(descriptor);
	errno = ESTALE;
	return -1;
}

static int open_plain(int folder, const char *path, int flags, struct stat *status, struct cairn_error *error)
{
	/* Such a descriptor refers to the file without opening it: the file cannot become another between the look and the opening. */
	int place = openat(folder, path, O_PATH | O_CLOEXEC | flags), descriptor = -1;
	if (place < 0)
		return cairn_fail_errno(error, "%s", path), -1;
	if (is_plain(place, path, status, error)) {
		descriptor = cairn_descriptor_reopen(place);
		if (descriptor < 0 && errno == ENOENT)
			descriptor = open_again(folder, path, status);
		if (descriptor < 0)
			cairn_fail_errno(error, "%s", path);
	}
	int code = errno;
	close(place);
	errno = code;
	return descriptor;
}

int cairn_file_open(const char *path, struct stat *status, struct cairn_error *error)
{
	if (!*path) {
		errno = ENOENT;
		return cairn_file_unnamed(error), -1;
	}
	return open_plain(AT_FDCWD, path, 0, status, error);
}

static bool map_regular(struct cairn_file *file, int descriptor, const struct stat *status, const char *path, struct cairn_error *error)
{
	file->modified_ns = cairn_time_ns(&status->st_mtim);
	file->inode = status->st_ino;
	file->owner = status->st_uid;
	if (status->st_size == 0) { /* nothing more is read: contents of an unknown size may have no end */
		file->bytes.data = calloc(1, 1);
		if (!file->bytes.data)
			cairn_out_of_memory(1);
		return true;
	}
	file->guard = cairn_guard_map(descriptor, (size_t)status->st_size);
	if (!file->guard)
		return cairn_fail_errno(error, "%s", path);
	file->bytes = cairn_guard_bytes(file->guard);
	return true;
}

static bool read_open(struct cairn_file *file, int descriptor, const char *path, struct cairn_error *error)
{
	struct stat status;
	if (fstat(descriptor, &status) != 0)
		return cairn_fail_errno(error, "%s", path);
	if (S_ISDIR(status.st_mode))
		return cairn_fail(error, "%s: is a folder, not a file", path);
	if (S_ISREG(status.st_mode) && status.st_size > 0)
		return map_regular(file, descriptor, &status, path, error);
	file->modified_ns = cairn_time_ns(&status.st_mtim);
	return read_stream(file, descriptor, S_ISREG(status.st_mode) ? largest_of_proc : largest_stream, path, error);
}

bool cairn_file_read(struct cairn_file *file, const char *path, struct cairn_error *error)
{
	*file = (struct cairn_file){0};
	if (strcmp(path, "-") == 0)
		return read_stream(file, STDIN_FILENO, largest_stream, "standard input", error);
	if (!*path)
		return cairn_file_unnamed(error);
	int descriptor = open(path, O_RDONLY | O_CLOEXEC);
	if (descriptor < 0)
		return cairn_fail_errno(error, "%s", path);
	bool good = read_open(file, descriptor, path, error);
	close(descriptor);
	return good;
}

static bool map_plain(struct cairn_file *file, int folder, const char *path, int flags, struct cairn_error *error)
{
	struct stat status;
	*file = (struct cairn_file){0};
	if (!*path)
		return cairn_file_unnamed(error);
	int descriptor = open_plain(folder, path, flags, &status, error);
	if (descriptor < 0)
		return false;
	bool good = map_regular(file, descriptor, &status, path, error);
	close(descriptor);
	return good;
}

bool cairn_file_map(struct cairn_file *file, const char *path, struct cairn_error *error)
{
	return map_plain(file, AT_FDCWD, path, 0, error);
}

bool cairn_file_map_at(struct cairn_file *file, int folder, const char *name, struct cairn_error *error)
{
	return map_plain(file, folder, name, O_NOFOLLOW, error);
}

bool cairn_file_is_cut(const struct cairn_file *file)
{
	return file->guard && cairn_guard_is_cut(file->guard);
}

bool cairn_file_is_intact(const struct cairn_file *file, const char *path)
{
	struct stat status;
	if (cairn_file_is_cut(file))
		return false;
	return stat(path, &status) != 0 || status.st_ino != file->inode ||
	       (cairn_time_ns(&status.st_mtim) == file->modified_ns && (size_t)status.st_size == file->bytes.length);
}

void cairn_file_close(struct cairn_file *file)
{
	if (file->guard)
		cairn_guard_unmap(file->guard);
	else
		free((void *)(uintptr_t)file->bytes.data);
	*file = (struct cairn_file){0};
}

void cairn_file_release(struct cairn_bytes part)
{
	uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE), start = (uintptr_t)part.data / page * page;
	uintptr_t end = ((uintptr_t)part.data + part.length) / page * page;
	if (end > start)
		madvise((void *)start, end - start, MADV_DONTNEED);
}

/* A file being written. */
struct output {
	const char *path; /* borrowed; NULL for standard output */
	char *target;     /* owned: PATH without links, so that what it leads to is replaced; NULL for a descriptor */
	char *temporary;  /* owned; NULL when written directly */
	int descriptor;
};

static bool all_may_write(const struct stat *folder)
{
	return (folder->st_mode & (S_ISVTX | S_IWOTH)) == (S_ISVTX | S_IWOTH);
}

/* Whether nobody but us, or the owner of FOLDER, has put ITEM into it, if it is one like /tmp: anybody could lead us from there to a file
 * that only we may write, or have us write what only we may read. */
static bool check_step(const char *folder, const char *item, const struct stat *status, struct cairn_error *error)
{
	struct stat around;
	if (S_ISDIR(status->st_mode) || status->st_uid == geteuid() || stat(folder, &around) != 0 || !all_may_write(&around) ||
	    status->st_uid == around.st_uid)
		return true;
	return cairn_fail(error, "%s is %s another user, in a folder where all may write", item,
			  S_ISLNK(status->st_mode) ? "a link of" : "a file of");
}

/* PATH with its first link replaced by what that says. NULL with a message if there is an item on the way that is not to be used; *DONE
 * without a link: then LAST is the status of what PATH leads to, as it was checked, with a mode of 0 if there is nothing. */
static char *follow_link(const char *path, bool *done, struct stat *last, struct cairn_error *error)
{
	char target[PATH_MAX], *next = NULL;
	bool good = true;
	*last = (struct stat){0};
	for (const char *at = path + strspn(path, "/"); good && !next && *at; at += strspn(at, "/")) {
		const char *end = at + strcspn(at, "/");
		char *item = strndup(path, (size_t)(end - path)), *folder = at == path ? strdup("./") : strndup(path, (size_t)(at - path));
		if (!item || !folder)
			cairn_out_of_memory(strlen(path));
		ssize_t length = -1;
		if (lstat(item, last) != 0) {
			*last = (struct stat){0};
			good = errno == ENOENT || cairn_fail_errno(error, "%s", item);
		} else if ((good = check_step(folder, item, last, error)) && S_ISLNK(last->st_mode)) {
			length = readlink(item, target, sizeof target);
			good = length >= 0 || cairn_fail_errno(error, "%s", item);
		}
		if (length >= 0 && asprintf(&next, "%s%.*s%s", target[0] == '/' ? "" : folder, (int)length, target, end) < 0)
			cairn_out_of_memory((size_t)length);
		free(item);
		free(folder);
		at = end;
		if (good && !next && !last->st_mode)
			break;
	}
	*done = good && !next;
	return good && !next ? strdup(path) : next;
}

/* Where PATH leads, and LAST as above. Nothing later follows a link again: what was checked is what is used, whatever is put there
 * meanwhile. */
static char *follow_way(const char *path, struct stat *last, struct cairn_error *error)
{
	enum { links_most = 40 }; /* as the kernel follows */
	char *way = strdup(path);
	bool done = false;
	for (int links = 0; way && !done; links++) {
		char *next = NULL;
		if (links > links_most)
			cairn_fail(error, "%s: too many links", path);
		else
			next = follow_link(way, &done, last, error);
		free(way);
		way = next;
	}
	return way;
}

/* A new file gets the mode that any program would give it; one that takes the place of OLD is as private as that, and its owner's. */
static void set_mode(int descriptor, const struct stat *old)
{
	mode_t mask = umask(0);
	umask(mask);
	bool given = old && fchown(descriptor, old->st_uid, old->st_gid) == 0;
	fchmod(descriptor, !old	   ? 0666 & ~mask
			   : given ? old->st_mode & 0777
				   : old->st_mode & 0707); /* another group than before gets nothing */
}

/* With OLD, what is at the target. */
static bool open_temporary(struct output *output, const struct stat *old, struct cairn_error *error)
{
	if (asprintf(&output->temporary, "%s.XXXXXX", output->target) < 0)
		cairn_out_of_memory(strlen(output->target));
	output->descriptor = mkostemp(output->temporary, O_CLOEXEC);
	if (output->descriptor < 0) {
		free(output->temporary);
		output->temporary = NULL;
		return cairn_fail_errno(error, "cannot write %s", output->path);
	}
	set_mode(output->descriptor, old);
	return true;
}

/* The descriptor of this process that PATH names, as /dev/stdout does; -1 for any other path. */
static int own_descriptor(const char *path)
{
	static const char *const folders[] = {"/dev/fd/", "/proc/self/fd/"};
	if (strcmp(path, "/dev/stdout") == 0)
		return STDOUT_FILENO;
	if (strcmp(path, "/dev/stderr") == 0)
		return STDERR_FILENO;
	for (size_t i = 0; i < sizeof folders / sizeof *folders; i++) {
		size_t length = strlen(folders[i]);
		char *end;
		if (strncmp(path, folders[i], length) != 0)
			continue;
		long number = strtol(path + length, &end, 10);
		return end != path + length && !*end && number >= 0 && number <= INT_MAX ? (int)number : -1;
	}
	return -1;
}

static bool output_open(struct output *output, const char *path, struct cairn_error *error)
{
	*output = (struct output){.path = path, .descriptor = -1};
	if (!path || strcmp(path, "-") == 0) {
		output->path = NULL;
		output->descriptor = STDOUT_FILENO;
		return true;
	}
	if (!*path)
		return cairn_file_unnamed(error);
	struct stat status;
	int own = own_descriptor(path);
	if (own >= 0) { /* it may lead to a file others write to as well: what is there stays, as it does for standard output */
		output->descriptor = fcntl(own, F_DUPFD_CLOEXEC, 3);
		return output->descriptor >= 0 || cairn_fail_errno(error, "cannot write %s", path);
	}
	output->target = follow_way(path, &status, error);
	if (!output->target)
		return cairn_fail_within(error, "cannot write %s: ", path);
	if (!status.st_mode) { /* a link that leads nowhere is replaced itself */
		free(output->target);
		output->target = strdup(path);
		return open_temporary(output, NULL, error);
	}
	if (S_ISREG(status.st_mode))
		return access(output->target, W_OK) == 0 ? open_temporary(output, &status, error)
							 : cairn_fail_errno(error, "cannot write %s", path);
	if (S_ISDIR(status.st_mode))
		return cairn_fail(error, "cannot write %s: it is a folder", path);
	output->descriptor = open(output->target, O_WRONLY | O_CLOEXEC | O_NOFOLLOW);
	return output->descriptor >= 0 || cairn_fail_errno(error, "cannot write %s", path);
}

static const char *output_name(const struct output *output)
{
	return output->path ? output->path : "standard output";
}

/* Whoever shares a terminal or a pipe with us may have set it not to wait: then we do. */
static bool is_worth_another_try(int descriptor)
{
	struct pollfd out = {.fd = descriptor, .events = POLLOUT};
	return errno == EAGAIN && (poll(&out, 1, -1) >= 0 || errno == EINTR);
}

static bool output_write(struct output *output, struct cairn_bytes bytes, struct cairn_error *error)
{
	while (!cairn_descriptor_write_all(output->descriptor, &bytes))
		if (!is_worth_another_try(output->descriptor))
			return cairn_fail_errno(error, "cannot write %s", output_name(output));
	return true;
}

/* Makes the file appear under its name. After a failure here or before, abandon is still to be called. */
static bool output_commit(struct output *output, struct cairn_error *error)
{
	if (!output->path)
		return true;
	int descriptor = output->descriptor;
	output->descriptor = -1;
	if (output->temporary && fsync(descriptor) != 0 && errno != EINVAL && errno != EROFS) {
		cairn_fail_errno(error, "cannot write %s", output->path);
		close(descriptor);
		return false;
	}
	if (close(descriptor) != 0)
		return cairn_fail_errno(error, "cannot write %s", output->path);
	if (!output->temporary)
		return true;
	if (rename(output->temporary, output->target) != 0)
		return cairn_fail_errno(error, "cannot write %s", output->path);
	free(output->temporary);
	output->temporary = NULL;
	return true;
}

/* Removes what was written; nothing after a successful commit. */
static void output_abandon(struct output *output)
{
	if (output->path && output->descriptor >= 0)
		close(output->descriptor);
	output->descriptor = -1;
	if (output->temporary) {
		unlink(output->temporary);
		free(output->temporary);
		output->temporary = NULL;
	}
	free(output->target);
	output->target = NULL;
}

bool cairn_file_write(const char *path, struct cairn_bytes bytes, struct cairn_error *error)
{
	struct output output;
	bool good = output_open(&output, path, error) && output_write(&output, bytes, error) &&
		    output_commit(&output, error);
	output_abandon(&output);
	return good;
}

bool cairn_folder_make(const char *path)
{
	char *copy = strdup(path);
	if (!copy)
		cairn_out_of_memory(strlen(path));
	for (char *slash = copy; *copy && (slash = strchr(slash + 1, '/'));) {
		*slash = '\0';
		mkdir(copy, 0700);
		*slash = '/';
	}
	mkdir(copy, 0700);
	free(copy);
	return access(path, W_OK | X_OK) == 0;
}
