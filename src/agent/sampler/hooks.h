/* hooks.h - the functions that replace the host's malloc and its relatives.
 *
 * Each counts and then calls the real function, with a jump if nothing is left to do afterwards: every pointer the host sees is its
 * allocator's own. Functions of the same signature share their code; other arguments are passed on unchanged.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_AGENT_SAMPLER_HOOKS_H
#define CAIRN_AGENT_SAMPLER_HOOKS_H

#include <stdbool.h>
#include <stddef.h>

typedef void cairn_hook_function(void);

struct cairn_hook_entry {
	const char *name;
	cairn_hook_function *hook;
	cairn_hook_function **real; /* the real function; NULL until it is known */
	bool unless_libc; /* libc's own version calls another of these, which counts it */
	bool of_loader;   /* not of the allocator */
	bool of_mappings; /* libc's; not where the allocator, which uses it too, is part of the program */
};

enum { CAIRN_HOOK_ENTRIES_MOST = 64 };
extern const struct cairn_hook_entry cairn_hook_entries[];
extern const size_t cairn_hook_entry_count;

/* Set when the host calls dlopen: there may be objects with unchanged relocations. The next call of dlsym changes them with this
 * function, or the one after it if this returns false. */
extern bool (*cairn_hook_loaded)(void);

#endif
