/* library.h - our libcairn, and where a process that has loaded the same has its symbols.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_LIVE_ATTACH_LIBRARY_H
#define CAIRN_LIVE_ATTACH_LIBRARY_H

#include "live/attach/subject.h"
#include "live/program.h"

struct cairn_library {
	char path[CAIRN_PROGRAM_PATH];
	struct cairn_file file;
};

/* Maps the library that is beside the command, or installed. Close it in either case. */
bool cairn_library_open(struct cairn_library *library, struct cairn_error *error);
void cairn_library_close(struct cairn_library *library);

/* The address of NAME in the process's agent; 0 if it has none, or another version's. A memfd has no file any more: ours has the same symbols
 * if it begins with the same headers and build-id. */
uint64_t cairn_library_symbol(const struct cairn_library *library, const struct cairn_subject *subject, const char *name);

#endif
