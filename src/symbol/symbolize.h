/* symbolize.h - gives the locations of a profile their names.
 *
 * Locations are grouped by module; for each module the binary is found, what the cache knows is taken from there, and the
 * rest is looked up in one batch. Locations that have frames already are left alone; those that cannot be named keep none,
 * and the report says which modules they are in and why.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_SYMBOL_SYMBOLIZE_H
#define CAIRN_SYMBOL_SYMBOLIZE_H

#include "base/buffer.h"
#include "symbol/find.h"

struct cairn_symbolize_options {
	struct cairn_find_options find;
	bool no_cache;
	uint64_t memory; /* how much naming may take (budget.h); 0 for the default */
	/* Called from a thread of its own while naming takes longer than half a second, ten times a second, and a last time
	 * with DONE equal to TOTAL. They count addresses; WHAT is the path of a module that is being read. May be NULL. */
	void (*progress)(void *context, size_t done, size_t total, const char *what);
	void *progress_context;
};

/* One module that has locations without names before the call. */
struct cairn_symbolize_module {
	uint32_t module;     /* CAIRN_NONE for locations in no module at all */
	size_t locations;    /* that had no name */
	size_t unnamed;      /* that still have none */
	double unnamed_weight; /* sum of the default value over samples with such a location above the program's start; filled by weigh */
	const char *reason;  /* why: the end of a sentence that begins with the module's name; NULL when all have names */
};

struct cairn_symbolize_report {
	struct cairn_arena arena;
	struct cairn_symbolize_module *modules;
	size_t module_count;
	size_t locations, unnamed;
	size_t from_cache; /* locations the cache knew */
	const char *cache_problem; /* why nothing was kept; NULL when all is well. Worth a word only when asked to be talkative */
};

/* Names what can be named, and gives modules the build-id of their file. What is doubtful becomes a warning of the profile. REPORT is filled for the caller to free.
 * It cannot fail: at worst nothing has a name. */
void cairn_symbolize(struct cairn_profile *profile, const struct cairn_symbolize_options *options, struct cairn_symbolize_report *report);

/* Fills unnamed_weight, and sorts the modules by it, largest first. */
void cairn_symbolize_weigh(const struct cairn_profile *profile, struct cairn_symbolize_report *report);

/* One line for each module with unnamed locations: "libfoo.so: no debug file for build-id …, 12.0 % of bytes". Left out are
 * modules with less than SHARE (0 to 1) of the total, and allocators, whose frames nobody asks for. */
void cairn_symbolize_explain(const struct cairn_profile *profile, const struct cairn_symbolize_report *report, double share,
			     struct cairn_buffer *out);

void cairn_symbolize_report_free(struct cairn_symbolize_report *report);

#endif
