/* source_file.h - a source file on this machine, found by the path that the compiler recorded, line by line.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_REPORT_SOURCE_FILE_H
#define CAIRN_REPORT_SOURCE_FILE_H

#include "base/file.h"
#include "profile/profile.h"

struct cairn_source_file {
	struct cairn_file file;
	char *path; /* where it was found */
	size_t *starts; /* of each line */
	size_t count, capacity;
	bool withheld; /* not opened, because the search is foreign */
};

/* Where to look for source files. */
struct cairn_source_search {
	const char *folders; /* separated by colons; NULL is the current folder */
	bool confined; /* only below `folders`, nowhere if that is NULL: whoever chose the paths may not see other files of this machine */
	bool foreign; /* outside of `folders`, only files that everybody may read: another user may have chosen the paths */
};

/* The search in FOLDERS for the files that PROFILE names. It is foreign if the profile is, or one of its programs and libraries belongs to
 * another user than its reader and root: their debug information names any file, and a listing is made to be shown to others. */
struct cairn_source_search cairn_source_search(const struct cairn_profile *profile, const char *folders);

/* Searches for PATH below each folder, first with all its folders, then with fewer and fewer, and, unless confined, finally as it is. An
 * end of the path with `..` in it is not searched for below a folder. Returns false if it is not found, is no regular file of a size
 * that source code has, or is withheld. */
bool cairn_source_file_open(struct cairn_source_file *code, const char *path, const struct cairn_source_search *search);
void cairn_source_file_close(struct cairn_source_file *code);

/* Line NUMBER, counted from 1, without its line end; empty after the last. */
struct cairn_bytes cairn_source_file_line(const struct cairn_source_file *code, size_t number);

#endif
