/* file.c - mapping input, and output by temporary file and rename.
 * SPDX-License-Identifier: Apache-2.0 */
#include "base/file.h"

#include "base/buffer.h"
#include "base/descriptor.h"
#include "base/time.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* A pipe has no length; this bounds what one may pour into us. */
static const size_t largest_stream = (size_t)64 << 30;

static bool read_stream(struct cairn_file *file, int descriptor, const char *name, struct cairn_error *error)
{
	struct cairn_buffer buffer = cairn_buffer(largest_stream);
	bool good = cairn_buffer_read(&buffer, descriptor) || cairn_fail_errno(error, "%s", name);
	if (good && buffer.length == largest_stream)
		good = cairn_fail(error, "%s: more than %zu GiB of input", name, largest_stream >> 30);
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

static bool map_regular(struct cairn_file *file, int descriptor, size_t size, const char *path, struct cairn_error *error)
{
	void *data = mmap(NULL, size, PROT_READ, MAP_PRIVATE, descriptor, 0);
	if (data == MAP_FAILED)
		return cairn_fail_errno(error, "%s", path);
	file->bytes = (struct cairn_bytes){data, size};
	file->mapped = true;
	return true;
}

/* What is behind DESCRIPTOR; a pipe or a device only when STREAMS are allowed. */
static bool read_open(struct cairn_file *file, int descriptor, const char *path, bool streams, struct cairn_error *error)
{
	struct stat status;
	if (fstat(descriptor, &status) != 0)
		return cairn_fail_errno(error, "%s", path);
	if (S_ISDIR(status.st_mode))
		return cairn_fail(error, "%s: is a folder, not a file", path);
	if (!streams && !S_ISREG(status.st_mode))
		return cairn_fail(error, "%s: is a pipe, a socket or a device, not a file", path);
	file->modified_ns = cairn_time_ns(&status.st_mtim);
	if (S_ISREG(status.st_mode) && status.st_size > 0)
		return map_regular(file, descriptor, (size_t)status.st_size, path, error);
	return read_stream(file, descriptor, path, error);
}

static bool read_path(struct cairn_file *file, const char *path, bool streams, struct cairn_error *error)
{
	*file = (struct cairn_file){0};
	if (!*path)
		return cairn_file_unnamed(error);
	/* To open a pipe nobody writes to would wait. */
	int descriptor = open(path, O_RDONLY | O_CLOEXEC | (streams ? 0 : O_NONBLOCK));
	if (descriptor < 0)
		return cairn_fail_errno(error, "%s", path);
	bool good = read_open(file, descriptor, path, streams, error);
	close(descriptor);
	return good;
}

bool cairn_file_read(struct cairn_file *file, const char *path, struct cairn_error *error)
{
	*file = (struct cairn_file){0};
	if (strcmp(path, "-") == 0)
		return read_stream(file, STDIN_FILENO, "standard input", error);
	return read_path(file, path, true, error);
}

bool cairn_file_map(struct cairn_file *file, const char *path, struct cairn_error *error)
{
	return read_path(file, path, false, error);
}

void cairn_file_close(struct cairn_file *file)
{
	if (file->mapped)
		munmap((void *)(uintptr_t)file->bytes.data, file->bytes.length);
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
	char *temporary;  /* owned; NULL when written directly */
	int descriptor;
};

/* Follows PATH if it is a link, so that a rename replaces what it points to and not the link. */
static char *resolve(const char *path)
{
	char *real = realpath(path, NULL);
	return real ? real : strdup(path);
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

static bool open_temporary(struct output *output, const struct stat *old, struct cairn_error *error)
{
	char *real = resolve(output->path);
	size_t size = (real ? strlen(real) : 0) + sizeof ".XXXXXX";
	output->temporary = real ? malloc(size) : NULL;
	if (!output->temporary)
		cairn_out_of_memory(size);
	snprintf(output->temporary, size, "%s.XXXXXX", real);
	free(real);
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
	if (stat(path, &status) != 0)
		return open_temporary(output, NULL, error);
	if (S_ISREG(status.st_mode))
		return access(path, W_OK) == 0 ? open_temporary(output, &status, error) : cairn_fail_errno(error, "cannot write %s", path);
	if (S_ISDIR(status.st_mode))
		return cairn_fail(error, "cannot write %s: it is a folder", path);
	output->descriptor = open(path, O_WRONLY | O_CLOEXEC);
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
	char *real = resolve(output->path);
	bool good = real && rename(output->temporary, real) == 0;
	if (!good)
		cairn_fail_errno(error, "cannot write %s", output->path);
	free(real);
	if (good) {
		free(output->temporary);
		output->temporary = NULL;
	}
	return good;
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
