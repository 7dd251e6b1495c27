/* hooks.h - the functions that stand in for the host's malloc and its relatives.
 *
 * Each does its count and goes on to the real function, by a jump where nothing is left to do after it: every pointer the host sees is
 * its allocator's own. Functions of one shape share their code; the rest of their arguments is passed on untouched.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_AGENT_SAMPLER_HOOKS_H
#define CAIRN_AGENT_SAMPLER_HOOKS_H

#include <stdbool.h>
#include <stddef.h>

typedef void cairn_hook_function(void);

struct cairn_hook_entry {
	const char *name;
	cairn_hook_function *hook;
	cairn_hook_function **real; /* where the hook goes on to; NULL until it is known */
	bool unless_libc; /* libc's own calls another of these, which sees it */
	bool of_loader;   /* not of the allocator */
	bool of_mappings; /* libc's; not where the allocator, which uses it too, is part of the program */
};

extern const struct cairn_hook_entry cairn_hook_entries[];
extern const size_t cairn_hook_entry_count;

/* Set by the host's calls of dlopen: there may be objects whose relocations are still as they were. The first call of dlsym after that
 * has them changed, by this function. */
extern void (*cairn_hook_loaded)(void);

#endif
