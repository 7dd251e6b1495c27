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
void cairn_file_close(struct cairn_file *file);

/* Lets PART of a mapped file leave memory. It stays readable: what is read again comes back from the file. */
void cairn_file_release(struct cairn_bytes part);

/* Output that appears whole or not at all. A regular file is written under a temporary name beside PATH and renamed by
 * commit; anything else that exists already (a pipe, /dev/null, a terminal) is written directly; NULL or "-" is
 * standard output. */
struct cairn_output {
	const char *path; /* borrowed; NULL for standard output */
	char *temporary;  /* owned; NULL when written directly */
	int descriptor;
};

bool cairn_output_open(struct cairn_output *output, const char *path, struct cairn_error *error);
bool cairn_output_write(struct cairn_output *output, struct cairn_bytes bytes, struct cairn_error *error);
/* Makes the file appear under its name. After a failure here or in write, abandon is still the caller's to call. */
bool cairn_output_commit(struct cairn_output *output, struct cairn_error *error);
/* Removes what was written; nothing after a successful commit. Call it on every path out. */
void cairn_output_abandon(struct cairn_output *output);

/* The three together: PATH holds BYTES, or an error says why not. */
bool cairn_file_write(const char *path, struct cairn_bytes bytes, struct cairn_error *error);

#endif
