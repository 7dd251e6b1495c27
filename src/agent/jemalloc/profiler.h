/* profiler.h - control of jemalloc's heap profiler that cannot mislead.
 *
 * Older jemallocs accept commands they do not carry out, and answer every failure to dump with "Bad address". So opt.prof
 * is read before anything is written, and every refusal says which of the five states the process is in and which line
 * changes it.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_AGENT_JEMALLOC_PROFILER_H
#define CAIRN_AGENT_JEMALLOC_PROFILER_H

#include "agent/jemalloc/jemalloc.h"

#include <stdatomic.h>

enum cairn_profiler_state {
	CAIRN_PROFILER_NO_JEMALLOC,  /* no jemalloc, or not the one in use */
	CAIRN_PROFILER_NOT_BUILT,    /* jemalloc was built without profiling */
	CAIRN_PROFILER_NOT_ENABLED,  /* started without prof:true */
	CAIRN_PROFILER_INACTIVE,     /* enabled, not sampling */
	CAIRN_PROFILER_ACTIVE,
};

struct cairn_engine;

struct cairn_profiler {
	const struct cairn_engine *engine; /* in use; NULL is jemalloc's */
	struct cairn_jemalloc jemalloc;
	struct cairn_error missing;     /* why there is no jemalloc */
	_Atomic int64_t active_since;   /* nanoseconds since 1970; 0 while inactive */
	_Atomic int64_t reset_at;       /* when samples were last thrown away; 0 for never */
	_Atomic uint64_t before_bytes;  /* anonymous memory that the process had when sampling was switched on; 0 when not known */
};

/* The engine in use, and whether that is jemalloc's own profiler. */
const struct cairn_engine *cairn_profiler_engine(const struct cairn_profiler *profiler);
bool cairn_profiler_is_jemalloc(const struct cairn_profiler *profiler);

/* The state now. Keeps `active_since` right also when the service itself turns profiling on or off. */
enum cairn_profiler_state cairn_profiler_state(struct cairn_profiler *profiler);

/* "no jemalloc", "built without profiling", "not enabled", "inactive", "active". */
const char *cairn_profiler_state_name(enum cairn_profiler_state state);

/* One sentence on why profiling cannot be used, with the line that fixes it; an empty text when it can. */
void cairn_profiler_explain(struct cairn_profiler *profiler, char *out, size_t size);

/* Each fails with the state's explanation unless profiling is enabled. */
bool cairn_profiler_activate(struct cairn_profiler *profiler, bool active, struct cairn_error *error);
bool cairn_profiler_gdump(struct cairn_profiler *profiler, bool active, struct cairn_error *error);
bool cairn_profiler_gdump_is_active(struct cairn_profiler *profiler);

/* Throws all samples away; PERIOD is the new mean distance of samples in bytes (rounded down to a power of two), 0 keeps it. */
bool cairn_profiler_reset(struct cairn_profiler *profiler, uint64_t period, struct cairn_error *error);

/* Sets the period alone; what was sampled before stays where the engine can keep it. */
bool cairn_profiler_set_period(struct cairn_profiler *profiler, uint64_t period);

/* The sampling period in bytes, 0 when profiling is not enabled. */
uint64_t cairn_profiler_period(struct cairn_profiler *profiler);

/* Writes a dump to PATH, which must be openable for writing. */
bool cairn_profiler_dump(struct cairn_profiler *profiler, const char *path, struct cairn_error *error);

#endif
