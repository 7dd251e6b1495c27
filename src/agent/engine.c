/* engine.c - passing on to the engine in use.
 * SPDX-License-Identifier: Apache-2.0 */
#include "agent/engine.h"

#include <assert.h>

const struct cairn_engine *cairn_profiler_engine(const struct cairn_profiler *profiler)
{
	return profiler->engine ? profiler->engine : &cairn_engine_jemalloc;
}

bool cairn_profiler_is_jemalloc(const struct cairn_profiler *profiler)
{
	return cairn_profiler_engine(profiler) == &cairn_engine_jemalloc;
}

enum cairn_profiler_state cairn_profiler_state(struct cairn_profiler *profiler)
{
	return cairn_profiler_engine(profiler)->state(profiler);
}

const char *cairn_profiler_state_name(enum cairn_profiler_state state)
{
	static const char *const names[] = {"no jemalloc", "built without profiling", "not enabled", "inactive", "active"};
	static_assert(sizeof names / sizeof *names == CAIRN_PROFILER_ACTIVE + 1, "every state has a name");
	return names[state];
}

void cairn_profiler_explain(struct cairn_profiler *profiler, char *out, size_t size)
{
	cairn_profiler_engine(profiler)->explain(profiler, out, size);
}

bool cairn_profiler_activate(struct cairn_profiler *profiler, bool active, struct cairn_error *error)
{
	return cairn_profiler_engine(profiler)->activate(profiler, active, error);
}

bool cairn_profiler_gdump(struct cairn_profiler *profiler, bool active, struct cairn_error *error)
{
	return cairn_profiler_engine(profiler)->gdump(profiler, active, error);
}

bool cairn_profiler_gdump_is_active(struct cairn_profiler *profiler)
{
	return cairn_profiler_engine(profiler)->gdump_is_active(profiler);
}

bool cairn_profiler_reset(struct cairn_profiler *profiler, uint64_t period, struct cairn_error *error)
{
	return cairn_profiler_engine(profiler)->reset(profiler, period, error);
}

bool cairn_profiler_set_period(struct cairn_profiler *profiler, uint64_t period)
{
	return cairn_profiler_engine(profiler)->set_period(profiler, period);
}

uint64_t cairn_profiler_period(struct cairn_profiler *profiler)
{
	return cairn_profiler_engine(profiler)->period(profiler);
}

bool cairn_profiler_dump(struct cairn_profiler *profiler, const char *path, int descriptor, struct cairn_error *error)
{
	return cairn_profiler_engine(profiler)->dump(profiler, path, descriptor, error);
}
