/* program.h - facts about the command that `cairn run` starts: its path, whether it can be profiled, which jemalloc it has.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_LIVE_PROGRAM_H
#define CAIRN_LIVE_PROGRAM_H

#include "base/error.h"

#include <stdbool.h>

enum { CAIRN_PROGRAM_PATH = 4096 };

struct cairn_program {
	enum { CAIRN_JEMALLOC_UNKNOWN, CAIRN_JEMALLOC_NONE, CAIRN_JEMALLOC_LOADED, CAIRN_JEMALLOC_INSIDE } jemalloc;
	bool is_hidden; /* that jemalloc has no symbols: the agent does not find it, and Cairn's own engine does not see its memory */
	bool is_unable; /* it was built without profiling */
	char variable[64]; /* the environment variable that it reads; "" if unknown */
	bool is_static; /* no loader: nothing can be preloaded, and jemalloc's own unwinder aborts when it profiles */
	bool is_script; /* what holds for the interpreter need not hold for the programs that it starts */
	bool is_musl;   /* another C library than the agent's; unknown for a static program */
};

/* NAME as the shell would find it; returns false if there is no such program. OUT holds CAIRN_PROGRAM_PATH bytes. */
bool cairn_program_find(const char *name, char *out);

/* The library FILE, beside the command or in a library folder; returns false if it is not found. OUT holds CAIRN_PROGRAM_PATH bytes. */
bool cairn_program_library(const char *file, char *out);

/* Examines the program at PATH, or the interpreter of a script. Runs nothing but the loader, which lists libraries. */
struct cairn_program cairn_program_study(const char *path);

/* Options that become settings of an agent, each NULL if not given. */
struct cairn_program_settings {
	const char *token, *listen, *budget;
};

/* Whether an agent would take them. In the service it would ignore what it cannot use, and only its status would say so. */
bool cairn_program_settings_are_good(const struct cairn_program_settings *settings, struct cairn_error *error);

#endif
