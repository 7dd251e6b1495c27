/* jemalloc.h - finds the jemalloc that serves this process, whatever its prefix.
 *
 * A candidate is a module with a function whose name ends in `mallctl`, exported or only in .symtab. It counts if it answers `version` as
 * jemalloc does and is really in use: either malloc() calls it here, or its names have a prefix, so that the program calls it by those
 * names (a Rust service with tikv-jemallocator).
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_AGENT_ENGINE_JEMALLOC_H
#define CAIRN_AGENT_ENGINE_JEMALLOC_H

#include "base/bytes.h"
#include "base/error.h"

typedef int cairn_mallctl(const char *name, void *old, size_t *old_size, void *new, size_t new_size);
typedef void cairn_stats_print(void (*write)(void *context, const char *text), void *context, const char *options);

struct cairn_jemalloc {
	cairn_mallctl *mallctl; /* NULL: there is none */
	cairn_stats_print *stats_print;
	bool is_malloc;     /* malloc() of this process is this jemalloc */
	bool exported;      /* found in the dynamic symbols; else in .symtab, or passed in */
	bool handed_over;   /* by the service, through cairn_start */
	char prefix[32];    /* of its names: "", "je_", "_rjem_", … */
	char module[256];   /* the file it is in */
	char version[64];
	size_t seen_allocated; /* when is_live was last called */
};

/* Searches all modules. Returns false with the reason if no jemalloc is in use; `module` and `version` then describe one that is loaded
 * but idle. */
bool cairn_jemalloc_find(struct cairn_jemalloc *jemalloc, struct cairn_error *error);

/* Uses the functions that a service passed in. STATS_PRINT may be NULL. */
bool cairn_jemalloc_take(struct cairn_jemalloc *jemalloc, cairn_mallctl *mallctl, cairn_stats_print *stats_print,
			 struct cairn_error *error);

/* Whether the program allocates from it: a jemalloc with a prefix is in use once this is true. Call it from one thread, and again after a
 * while. */
bool cairn_jemalloc_is_live(struct cairn_jemalloc *jemalloc);

/* Typed reads and writes; they return mallctl's errno number, 0 on success. After a failed read, *VALUE is 0. */
int cairn_jemalloc_get_bool(const struct cairn_jemalloc *jemalloc, const char *name, bool *value);
int cairn_jemalloc_get_size(const struct cairn_jemalloc *jemalloc, const char *name, size_t *value);
int cairn_jemalloc_get_text(const struct cairn_jemalloc *jemalloc, const char *name, const char **value);
int cairn_jemalloc_set_bool(const struct cairn_jemalloc *jemalloc, const char *name, bool value);

/* Updates stats.*. */
void cairn_jemalloc_refresh(const struct cairn_jemalloc *jemalloc);

/* Bytes allocated since the start, freed or not: requests of each size class times its size. The latest, which are still in thread
 * caches, are counted later. 0 if jemalloc was built without statistics. Takes a fraction of a millisecond. */
uint64_t cairn_jemalloc_total(const struct cairn_jemalloc *jemalloc);

/* The name of the environment variable this jemalloc reads: MALLOC_CONF, _RJEM_MALLOC_CONF, … */
void cairn_jemalloc_variable(const struct cairn_jemalloc *jemalloc, char *out, size_t size);

#endif
