/* file.h - reads whole files, and writes files that appear complete or not at all.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_BASE_FILE_H
#define CAIRN_BASE_FILE_H

#include "base/bytes.h"
#include "base/error.h"

struct cairn_guard;
struct stat;

/* The contents of a file: mapped if it is a regular file, read into memory if it is a pipe or in /proc. */
struct cairn_file {
	struct cairn_bytes bytes;
	int64_t modified_ns; /* since 1970; 0 for what has no such time */
	uint64_t inode;
	uint32_t owner; /* the user; ourselves for what has no inode */
	struct cairn_guard *guard; /* of what is mapped; NULL for what is in memory */
};

/* Fails with a message about an empty name. */
bool cairn_file_unnamed(struct cairn_error *error);

/* The contents of PATH, or of standard input for "-". Fails with a message for directories and unreadable files. What a file loses while it
 * is mapped is read as zeroes. */
bool cairn_file_read(struct cairn_file *file, const char *path, struct cairn_error *error);

/* The same for a path from an untrusted file: "-" has no special meaning, and only what cairn_file_open opens is read. */
bool cairn_file_map(struct cairn_file *file, const char *path, struct cairn_error *error);

/* The same for NAME in the open folder FOLDER, where a link is not followed. */
bool cairn_file_map_at(struct cairn_file *file, int folder, const char *name, struct cairn_error *error);

void cairn_file_close(struct cairn_file *file);

/* Whether FILE was cut short while it was read, so that some of its bytes were read as zeroes. */
bool cairn_file_is_cut(const struct cairn_file *file);

/* Whether the bytes of FILE, which was mapped from PATH, are as they were then: false once it was cut short or written to. A file that
 * another one took the place of is still whole. */
bool cairn_file_is_intact(const struct cairn_file *file, const char *path);

/* Opens the regular file at PATH for reading, and fills STATUS; -1 with a message and errno if that is none. Nothing else is opened, even
 * for a moment, because PATH may come from an untrusted file: a pipe would make us wait, to open a device may already act on it, and what
 * the kernel writes as it is read (in /proc and the like) may have no end. */
int cairn_file_open(const char *path, struct stat *status, struct cairn_error *error);

/* Lets PART of a mapped file leave memory. It stays readable: the kernel reads it from the file again. */
void cairn_file_release(struct cairn_bytes part);

/* Writes BYTES to PATH, or fails with a message. A regular file appears complete or not at all: it is written under a temporary name
 * beside PATH and renamed. Anything else that already exists (a pipe, /dev/null, a terminal) is written directly, as is a descriptor of
 * this process (/dev/stderr, /dev/fd/3); NULL or "-" is standard output. A link is followed, but not one that another user put into a
 * folder like /tmp, and no file of another user is replaced there: as the kernel has it for programs that open PATH, whatever its
 * settings (fs.protected_symlinks, fs.protected_regular). */
bool cairn_file_write(const char *path, struct cairn_bytes bytes, struct cairn_error *error);

/* Creates the folder PATH, with its parents, for the owner only. Returns true if it exists and is writable. */
bool cairn_folder_make(const char *path);

#endif
