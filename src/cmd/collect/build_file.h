/* build_file.h - what a program, library or debug file of a build is good for.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_CMD_COLLECT_BUILD_FILE_H
#define CAIRN_CMD_COLLECT_BUILD_FILE_H

#include "base/error.h"

#include <stdint.h>

/* How much a file says about its code, from nothing to everything. */
enum cairn_build_detail { CAIRN_BUILD_CODE, CAIRN_BUILD_SYMBOLS, CAIRN_BUILD_DWARF };

struct cairn_build_file {
	char build_id[2 * 64 + 1]; /* lower-case hex */
	bool program; /* it has the code itself, so that it says where in the file each address is */
	enum cairn_build_detail detail;
	uint64_t size;
};

/* Reads PATH. Fails, with a sentence that begins with NAME, for what is no program, library or debug file, what has no build-id, and a
 * debug file with nothing in it. */
bool cairn_build_file_read(struct cairn_build_file *file, const char *path, const char *name, struct cairn_error *error);

#endif
