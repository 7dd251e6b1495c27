/* code.h - a source file on this machine, found by the path the compiler knew it under, line by line.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_REPORT_CODE_H
#define CAIRN_REPORT_CODE_H

#include "base/file.h"

struct cairn_code {
	struct cairn_file file;
	char *path; /* where it was found */
	size_t *starts; /* of each line */
	size_t count, capacity;
};

/* Looks for PATH below each folder of SEARCH (separated by colons; NULL is the current one), first with all of its folders and
 * then with ever fewer, and last as it is. False when it is nowhere. */
bool cairn_code_open(struct cairn_code *code, const char *path, const char *search);
void cairn_code_close(struct cairn_code *code);

/* Line NUMBER, counted from 1, without its end; empty past the last. */
struct cairn_bytes cairn_code_line(const struct cairn_code *code, size_t number);

#endif
