/* engine.h - the interface that every heap profiling engine has.
 *
 * Engine one is jemalloc's own profiler (jemalloc/profiler.c), if the host was started with it; engine two is Cairn's sampler
 * (sampler/sampler.c), for any allocator. Routes, rules and the C API use the functions cairn_profiler_* of jemalloc/profiler.h, which
 * pass on to the engine in use.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_AGENT_ENGINE_H
#define CAIRN_AGENT_ENGINE_H

#include "agent/jemalloc/profiler.h"
#include "agent/unwind/unwind.h"
#include "base/buffer.h"
#include "dump/engine_kind.h"
#include "process/smaps.h"

/* What taking stacks has cost so far. */
struct cairn_engine_counts {
	bool installed; /* Cairn's unwinder takes them */
	uint64_t stacks;
	uint64_t ends[CAIRN_UNWIND_ENDS];
	double frames_per_stack; /* mean over those that were measured, one in 64 */
	double ns_per_stack;     /* mean over the same; for Cairn's sampler, all that a sample costs */
};

/* What an engine counts for that, on the threads that allocate. */
struct cairn_engine_tally {
	_Atomic uint64_t ends[CAIRN_UNWIND_ENDS];
	_Atomic uint64_t measured, measured_frames, measured_ns;
};

/* Sets COUNTS from TALLY; `installed` is the engine's to set. */
void cairn_engine_count(const struct cairn_engine_tally *tally, struct cairn_engine_counts *counts);

struct cairn_engine {
	enum cairn_engine_kind kind;
	enum cairn_profiler_state (*state)(struct cairn_profiler *profiler);
	void (*explain)(struct cairn_profiler *profiler, char *out, size_t size);
	bool (*activate)(struct cairn_profiler *profiler, bool active, struct cairn_error *error);
	bool (*gdump)(struct cairn_profiler *profiler, bool active, struct cairn_error *error);
	bool (*gdump_is_active)(struct cairn_profiler *profiler);
	bool (*reset)(struct cairn_profiler *profiler, uint64_t period, struct cairn_error *error);
	bool (*set_period)(struct cairn_profiler *profiler, uint64_t period); /* for the budget: in the way that loses least */
	uint64_t (*period)(struct cairn_profiler *profiler);
	bool dumps_by_name; /* its `dump` opens the path, and does not write to the descriptor */
	bool (*dump)(struct cairn_profiler *profiler, const char *path, int descriptor, struct cairn_error *error);
	uint64_t (*allocated)(struct cairn_profiler *profiler); /* bytes in all, freed or not */
	uint64_t (*live_samples)(struct cairn_profiler *profiler); /* number of live samples; NULL if only a dump shows it */
	void (*write_trailer)(struct cairn_profiler *profiler, struct cairn_buffer *out); /* its own lines; may be NULL */
	/* Ranges of private memory that the service mapped itself, sorted: *COUNT of them, owned by the caller (cairn_pages_unmap with
	 * *SIZE); NULL for none. May be NULL. */
	struct cairn_smaps_range *(*list_mapped)(size_t *count, size_t *size);
	void (*write_statistics)(struct cairn_buffer *out); /* the allocator's, which may make host threads wait; may be NULL */
	/* Calls FUNCTION with each sample, on the thread that allocates; NULL ends it. Returns false if the engine cannot do that. */
	bool (*notify)(void (*function)(void));
	void (*count)(struct cairn_engine_counts *counts);
};

extern const struct cairn_engine cairn_engine_jemalloc;

#endif
