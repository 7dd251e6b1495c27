/* symbolize.h - names the locations of a profile.
 *
 * Locations are grouped by module; those that no mapping covers may be in a program that the user named (cairn_modules_map). For each
 * module, the binary is found, known answers are taken from the cache, and the rest is looked up in one batch. If the binary is gone, the
 * cache may still know some. Locations that already have frames keep them, and only mangled names are demangled; those that cannot be
 * named keep none, and the report says which modules they are in and why.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_SYMBOL_SYMBOLIZE_H
#define CAIRN_SYMBOL_SYMBOLIZE_H

#include "base/buffer.h"
#include "symbol/find.h"

struct cairn_symbolize_options {
	struct cairn_find_options find;
	bool no_cache;
	const char *cache_folder; /* where names are kept instead of the user's folder; NULL for that */
	uint64_t memory; /* memory limit for symbolizing (budget.h); 0 for the default */
	/* Called from a separate thread, ten times a second, once symbolizing takes longer than half a second, and a last time with DONE
	 * equal to TOTAL. They count addresses; WHAT is the path of a module that is being read. May be NULL. */
	void (*progress)(void *context, size_t done, size_t total, const char *what);
	void *progress_context;
};

/* One module that had unnamed locations before the call. */
struct cairn_symbolize_module {
	uint32_t module;     /* CAIRN_NONE for locations in no module at all */
	size_t locations;    /* that had no name */
	size_t unnamed;      /* that still have none */
	double unnamed_weight; /* sum of the values of samples with such a location above the program's start; see cairn_symbolize_weigh */
	const char *reason;  /* the reason, which continues a sentence that begins with the module's name; NULL if all have names */
};

struct cairn_symbolize_report {
	struct cairn_arena arena;
	struct cairn_symbolize_module *modules;
	size_t module_count;
	size_t locations, unnamed;
	size_t from_cache; /* locations the cache knew */
	const char *cache_problem; /* why nothing was stored; NULL if there was no problem */
	/* Filled by cairn_symbolize_weigh. */
	double weight;  /* the sum of the absolute values: a difference may add up to nothing */
	uint32_t value; /* which value was weighed */
};

/* The part of a profile that a report shows. */
struct cairn_symbolize_scope {
	const uint32_t *samples; /* their numbers; NULL for the first SAMPLE_COUNT */
	size_t sample_count;
	uint32_t value;
};

/* Names the locations that it can, and gives each module the build-id of its file. Doubts become warnings of the profile. The caller
 * frees REPORT. It cannot fail: in the worst case no location gets a name. */
void cairn_symbolize(struct cairn_profile *profile, const struct cairn_symbolize_options *options, struct cairn_symbolize_report *report);

/* Fills unnamed_weight from the samples in SCOPE (NULL: all samples, by the default value), and sorts the modules by it, largest first.
 * It can be called again with another scope. */
void cairn_symbolize_weigh(const struct cairn_profile *profile, const struct cairn_symbolize_scope *scope,
			   struct cairn_symbolize_report *report);

/* Writes one line for each module with unnamed locations: "libfoo.so: no debug file for build-id …: 1 of 6 frames without a name, in 12.0 % of bytes". Leaves out modules
 * with less than SHARE (0 to 1) of the weight, and allocators, whose own frames are not shown. */
void cairn_symbolize_explain(const struct cairn_profile *profile, const struct cairn_symbolize_report *report, double share,
			     struct cairn_buffer *out);

void cairn_symbolize_report_free(struct cairn_symbolize_report *report);

#endif
