/* file.h - whole files in, and files out that are complete or not there.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_BASE_FILE_H
#define CAIRN_BASE_FILE_H

#include "base/bytes.h"
#include "base/error.h"

/* The contents of a file: mapped when it is a regular file, read into memory when it is a pipe or lives in /proc. */
struct cairn_file {
	struct cairn_bytes bytes;
	int64_t modified_ns; /* since 1970; 0 for what has no such time */
	bool mapped;
};

/* Fails with a sentence about a name that is empty. */
bool cairn_file_unnamed(struct cairn_error *error);

/* The contents of PATH, or of standard input for "-". Directories and unreadable files fail with a sentence. A file
 * that shrinks while mapped is the one case that no check can catch; dumps are written once. */
bool cairn_file_read(struct cairn_file *file, const char *path, struct cairn_error *error);

/* The same for a path that came out of a file anybody could have written: only a regular file is read, and "-" is a name like any
 * other. A pipe would make us wait, and a device never end. */
bool cairn_file_map(struct cairn_file *file, const char *path, struct cairn_error *error);

void cairn_file_close(struct cairn_file *file);

/* Lets PART of a mapped file leave memory. It stays readable: what is read again comes back from the file. */
void cairn_file_release(struct cairn_bytes part);

/* Makes PATH hold BYTES, or an error says why not. A regular file appears whole or not at all: it is written under a temporary name beside
 * PATH and renamed. Anything else that exists already (a pipe, /dev/null, a terminal) is written directly, and so is a descriptor of this
 * process (/dev/stderr, /dev/fd/3), whatever it leads to; NULL or "-" is standard output. */
bool cairn_file_write(const char *path, struct cairn_bytes bytes, struct cairn_error *error);

/* Makes the folder PATH, with its parents, for the owner only. True when it is there and can be written to. */
bool cairn_folder_make(const char *path);

#endif
