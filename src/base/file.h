/* file.h - reads whole files, and writes files that appear complete or not at all.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_BASE_FILE_H
#define CAIRN_BASE_FILE_H

#include "base/bytes.h"
#include "base/error.h"

/* The contents of a file: mapped if it is a regular file, read into memory if it is a pipe or in /proc. */
struct cairn_file {
	struct cairn_bytes bytes;
	int64_t modified_ns; /* since 1970; 0 for what has no such time */
	bool mapped;
};

/* Fails with a message about an empty name. */
bool cairn_file_unnamed(struct cairn_error *error);

/* The contents of PATH, or of standard input for "-". Fails with a message for directories and unreadable files. No check can detect a
 * file that shrinks while it is mapped; dumps are written once. */
bool cairn_file_read(struct cairn_file *file, const char *path, struct cairn_error *error);

/* The same for a path from an untrusted file: only a regular file is read, and "-" has no special meaning. A pipe would make us wait, and
 * a device might never end. */
bool cairn_file_map(struct cairn_file *file, const char *path, struct cairn_error *error);

void cairn_file_close(struct cairn_file *file);

/* Lets PART of a mapped file leave memory. It stays readable: the kernel reads it from the file again. */
void cairn_file_release(struct cairn_bytes part);

/* Writes BYTES to PATH, or fails with a message. A regular file appears complete or not at all: it is written under a temporary name
 * beside PATH and renamed. Anything else that already exists (a pipe, /dev/null, a terminal) is written directly, as is a descriptor of
 * this process (/dev/stderr, /dev/fd/3); NULL or "-" is standard output. */
bool cairn_file_write(const char *path, struct cairn_bytes bytes, struct cairn_error *error);

/* Creates the folder PATH, with its parents, for the owner only. Returns true if it exists and is writable. */
bool cairn_folder_make(const char *path);

#endif
