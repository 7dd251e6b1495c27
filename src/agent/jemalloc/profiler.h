/* profiler.h - controls jemalloc's heap profiler without misleading results.
 *
 * Older jemallocs accept commands that they do not carry out, and answer every failed dump with "Bad address". So opt.prof is read before
 * anything is written, and every refusal says which of the five states the process is in and which setting changes it.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_AGENT_JEMALLOC_PROFILER_H
#define CAIRN_AGENT_JEMALLOC_PROFILER_H

#include "agent/jemalloc/jemalloc.h"
#include "protocol/profiler_state.h"

#include <stdatomic.h>

struct cairn_engine;

struct cairn_profiler {
	const struct cairn_engine *engine; /* in use; NULL for jemalloc's */
	struct cairn_jemalloc jemalloc;
	struct cairn_error missing;     /* why there is no jemalloc */
	_Atomic int64_t active_since;   /* nanoseconds since 1970; 0 while inactive */
	_Atomic int64_t reset_at;       /* when samples were last discarded; 0 for never */
	_Atomic uint64_t before_bytes;  /* anonymous memory that the process had when sampling was switched on; 0 when not known */
};

/* The engine in use, and whether that is jemalloc's own profiler. */
const struct cairn_engine *cairn_profiler_engine(const struct cairn_profiler *profiler);
bool cairn_profiler_is_jemalloc(const struct cairn_profiler *profiler);

/* The current state. Also keeps `active_since` right if the service itself turns profiling on or off. */
enum cairn_profiler_state cairn_profiler_state(struct cairn_profiler *profiler);

/* One sentence that says why profiling cannot be used and how to fix it; empty if it can. */
void cairn_profiler_explain(struct cairn_profiler *profiler, char *out, size_t size);

/* Each fails with the state's explanation unless profiling is enabled. */
bool cairn_profiler_activate(struct cairn_profiler *profiler, bool active, struct cairn_error *error);
bool cairn_profiler_gdump(struct cairn_profiler *profiler, bool active, struct cairn_error *error);
bool cairn_profiler_gdump_is_active(struct cairn_profiler *profiler);

/* The number of bytes after whose allocation jemalloc itself writes a dump each time (lg_prof_interval); 0 if it writes none. */
uint64_t cairn_profiler_jemalloc_interval(struct cairn_profiler *profiler);

/* Discards all samples; PERIOD is the new mean distance of samples in bytes (rounded down to a power of two), 0 keeps it. */
bool cairn_profiler_reset(struct cairn_profiler *profiler, uint64_t period, struct cairn_error *error);

/* Sets only the period; earlier samples are kept if the engine can. */
bool cairn_profiler_set_period(struct cairn_profiler *profiler, uint64_t period);

/* The sampling period in bytes; 0 if profiling is not enabled. */
uint64_t cairn_profiler_period(struct cairn_profiler *profiler);

/* Writes a dump to DESCRIPTOR, which is open for writing; an engine that dumps by name opens PATH instead, which is the same file. */
bool cairn_profiler_dump(struct cairn_profiler *profiler, const char *path, int descriptor, struct cairn_error *error);

#endif
