/* program.h - what the command that `cairn run` starts is: where it lies, whether it can be profiled, which jemalloc it has.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_CMD_RUN_PROGRAM_H
#define CAIRN_CMD_RUN_PROGRAM_H

#include <stdbool.h>

enum { CAIRN_PROGRAM_PATH = 4096 };

struct cairn_program {
	enum { CAIRN_JEMALLOC_UNKNOWN, CAIRN_JEMALLOC_NONE, CAIRN_JEMALLOC_LOADED, CAIRN_JEMALLOC_INSIDE } jemalloc;
	bool is_static; /* no loader, so that nothing can be preloaded, and jemalloc's own unwinder aborts once it profiles */
	bool is_script; /* what holds of the interpreter need not hold of the programs that it starts */
	bool is_musl;   /* another C library than the agent's; of a static one that cannot be told */
};

/* NAME as the shell would find it; false when there is no such program. OUT holds CAIRN_PROGRAM_PATH bytes. */
bool cairn_program_find(const char *name, char *out);

/* The library FILE, beside the command or where libraries are; false when it is nowhere. OUT holds CAIRN_PROGRAM_PATH bytes. */
bool cairn_program_library(const char *file, char *out);

/* What the program at PATH is. Of a script, its interpreter is looked at. Nothing is run but the loader, which lists libraries. */
struct cairn_program cairn_program_study(const char *path);

#endif
