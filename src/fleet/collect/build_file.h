/* build_file.h - what a program, library or debug file of a build contains.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_FLEET_COLLECT_BUILD_FILE_H
#define CAIRN_FLEET_COLLECT_BUILD_FILE_H

#include "base/error.h"

#include <stdint.h>

/* How much a file says about the code, in increasing order: nothing, function names, everything. */
enum cairn_build_detail { CAIRN_BUILD_CODE, CAIRN_BUILD_SYMBOLS, CAIRN_BUILD_DWARF };

struct cairn_build_file {
	char build_id[2 * 64 + 1]; /* lower-case hex */
	bool program; /* contains the code itself, and so says where in the file each address is */
	enum cairn_build_detail detail;
	uint64_t size;
};

/* Reads PATH. Fails, with a message that begins with NAME, if it is not a program, library or debug file, has no build-id, or is a debug
 * file without content. */
bool cairn_build_file_read(struct cairn_build_file *file, const char *path, const char *name, struct cairn_error *error);

#endif
