/* profiler.h - the heap profiler of this process: one of two engines behind one interface.
 *
 * Engine one is jemalloc's own profiler (jemalloc/profiler.c), if the host was started with it; engine two is Cairn's sampler
 * (sampler/sampler.c), for any allocator. Routes, rules and the C API use cairn_profiler_*, which pass on to the engine in use.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_AGENT_ENGINE_PROFILER_H
#define CAIRN_AGENT_ENGINE_PROFILER_H

#include "agent/engine/jemalloc.h"
#include "agent/unwind/unwind.h"
#include "base/buffer.h"
#include "dump/engine_kind.h"
#include "process/smaps.h"
#include "protocol/profiler_state.h"

#include <stdatomic.h>

struct cairn_profiler;
struct cairn_sampler_status;

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
	/* Of Cairn's own, here or in another process; NULL for jemalloc's. */
	void (*look)(void); /* to be called about every second */
	uint64_t (*highest)(void); /* the highest number of live bytes so far, estimated from samples */
	void (*get_status)(struct cairn_sampler_status *status); /* sampler/sampler.h */
	/* Says in one sentence what of the service's memory is not seen, and the fix; false, with OUT empty, if all of it is. */
	bool (*warn)(struct cairn_profiler *profiler, char *out, size_t size);
	void (*write_modules)(struct cairn_buffer *out, bool as_maps); /* of a process that is not this one; NULL for this one */
};

struct cairn_profiler {
	const struct cairn_engine *engine; /* in use */
	struct cairn_jemalloc jemalloc; /* of the process, whichever engine is in use */
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
/* Sampling begins: sets `before_bytes`. */
void cairn_profiler_note_before(struct cairn_profiler *profiler);
bool cairn_profiler_gdump(struct cairn_profiler *profiler, bool active, struct cairn_error *error);
bool cairn_profiler_gdump_is_active(struct cairn_profiler *profiler);

/* Discards all samples; PERIOD is the new mean distance of samples in bytes (rounded down to a power of two), 0 keeps it. */
bool cairn_profiler_reset(struct cairn_profiler *profiler, uint64_t period, struct cairn_error *error);

/* Sets only the period; earlier samples are kept if the engine can. */
bool cairn_profiler_set_period(struct cairn_profiler *profiler, uint64_t period);

/* The sampling period in bytes; 0 if profiling is not enabled. */
uint64_t cairn_profiler_period(struct cairn_profiler *profiler);

/* Writes a dump to DESCRIPTOR, which is open for writing; an engine that dumps by name opens PATH instead, which is the same file. */
bool cairn_profiler_dump(struct cairn_profiler *profiler, const char *path, int descriptor, struct cairn_error *error);

/* The outermost frame of a stack that was truncated at the depth limit; symbolizers show its name. */
void cairn_stack_is_truncated(void);

#endif
