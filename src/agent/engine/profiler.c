/* profiler.c - passes calls on to the engine in use.
 * SPDX-License-Identifier: Apache-2.0 */
#include "agent/engine/profiler.h"

#include "process/proc.h"

const struct cairn_engine *cairn_profiler_engine(const struct cairn_profiler *profiler)
{
	return profiler->engine;
}

bool cairn_profiler_is_jemalloc(const struct cairn_profiler *profiler)
{
	return profiler->engine->kind == CAIRN_ENGINE_JEMALLOC;
}

void cairn_engine_count(const struct cairn_engine_tally *tally, struct cairn_engine_counts *counts)
{
	*counts = (struct cairn_engine_counts){0};
	for (int i = 0; i < CAIRN_UNWIND_ENDS; i++) {
		counts->ends[i] = atomic_load(&tally->ends[i]);
		counts->stacks += counts->ends[i];
	}
	uint64_t measured = atomic_load(&tally->measured);
	if (measured > 0) {
		counts->frames_per_stack = (double)atomic_load(&tally->measured_frames) / (double)measured;
		counts->ns_per_stack = (double)atomic_load(&tally->measured_ns) / (double)measured;
	}
}

enum cairn_profiler_state cairn_profiler_state(struct cairn_profiler *profiler)
{
	return profiler->engine->state(profiler);
}

void cairn_profiler_explain(struct cairn_profiler *profiler, char *out, size_t size)
{
	profiler->engine->explain(profiler, out, size);
}

void cairn_profiler_note_before(struct cairn_profiler *profiler)
{
	struct cairn_proc_statm statm;
	cairn_proc_statm_read(0, &statm);
	atomic_store(&profiler->before_bytes, statm.anonymous);
}

bool cairn_profiler_activate(struct cairn_profiler *profiler, bool active, struct cairn_error *error)
{
	if (active && !atomic_load(&profiler->active_since))
		cairn_profiler_note_before(profiler);
	return profiler->engine->activate(profiler, active, error);
}

bool cairn_profiler_gdump(struct cairn_profiler *profiler, bool active, struct cairn_error *error)
{
	return profiler->engine->gdump(profiler, active, error);
}

bool cairn_profiler_gdump_is_active(struct cairn_profiler *profiler)
{
	return profiler->engine->gdump_is_active(profiler);
}

bool cairn_profiler_reset(struct cairn_profiler *profiler, uint64_t period, struct cairn_error *error)
{
	return profiler->engine->reset(profiler, period, error);
}

bool cairn_profiler_set_period(struct cairn_profiler *profiler, uint64_t period)
{
	return profiler->engine->set_period(profiler, period);
}

uint64_t cairn_profiler_period(struct cairn_profiler *profiler)
{
	return profiler->engine->period(profiler);
}

bool cairn_profiler_dump(struct cairn_profiler *profiler, const char *path, int descriptor, struct cairn_error *error)
{
	return profiler->engine->dump(profiler, path, descriptor, error);
}

__attribute__((visibility("default"))) void cairn_stack_is_truncated(void)
{
}
