/* source_file.h - a source file on this machine, found by the path that the compiler recorded, line by line.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_REPORT_SOURCE_FILE_H
#define CAIRN_REPORT_SOURCE_FILE_H

#include "base/file.h"

struct cairn_source_file {
	struct cairn_file file;
	char *path; /* where it was found */
	size_t *starts; /* of each line */
	size_t count, capacity;
};

/* Searches for PATH below each folder of SEARCH (separated by colons; NULL is the current folder), first with all its folders, then with
 * fewer and fewer, and finally as it is. Returns false if it is not found. */
bool cairn_source_file_open(struct cairn_source_file *code, const char *path, const char *search);
void cairn_source_file_close(struct cairn_source_file *code);

/* Line NUMBER, counted from 1, without its line end; empty after the last. */
struct cairn_bytes cairn_source_file_line(const struct cairn_source_file *code, size_t number);

#endif
