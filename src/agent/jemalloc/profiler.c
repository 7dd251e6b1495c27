/* profiler.c - controls prof.* through mallctl.
 * SPDX-License-Identifier: Apache-2.0 */
#include "agent/jemalloc/profiler.h"

#include "agent/jemalloc/hook.h"
#include "process/clock.h"

#include <errno.h>
#include <stdio.h>

static enum cairn_profiler_state get_state(struct cairn_profiler *profiler)
{
	struct cairn_jemalloc *jemalloc = &profiler->jemalloc;
	if (!jemalloc->mallctl)
		return CAIRN_PROFILER_UNAVAILABLE;
	bool built, enabled, active;
	cairn_jemalloc_get_bool(jemalloc, "config.prof", &built);
	if (!built)
		return CAIRN_PROFILER_NOT_BUILT;
	cairn_jemalloc_get_bool(jemalloc, "opt.prof", &enabled);
	if (!enabled)
		return CAIRN_PROFILER_NOT_ENABLED;
	cairn_jemalloc_get_bool(jemalloc, "prof.active", &active);
	if (!cairn_profiler_is_jemalloc(profiler)) /* `active_since` is that of the engine in use */
		return active ? CAIRN_PROFILER_ACTIVE : CAIRN_PROFILER_INACTIVE;
	int64_t since = atomic_load(&profiler->active_since);
	if (active && since == 0)
		atomic_compare_exchange_strong(&profiler->active_since, &since, cairn_clock_wall_ns());
	else if (!active)
		atomic_store(&profiler->active_since, 0);
	return active ? CAIRN_PROFILER_ACTIVE : CAIRN_PROFILER_INACTIVE;
}

static void explain(struct cairn_profiler *profiler, char *out, size_t size)
{
	char variable[64];
	cairn_jemalloc_variable(&profiler->jemalloc, variable, sizeof variable);
	switch (get_state(profiler)) {
	case CAIRN_PROFILER_UNAVAILABLE:
		snprintf(out, size,
			 "%s; start the service with LD_PRELOAD=libjemalloc.so.2 MALLOC_CONF=prof:true, or link it with jemalloc",
			 profiler->missing.text[0] ? profiler->missing.text : "no jemalloc in this process");
		break;
	case CAIRN_PROFILER_NOT_BUILT:
		snprintf(out, size, "jemalloc %s in %s was built without profiling; build it with ./configure --enable-prof",
			 profiler->jemalloc.version, profiler->jemalloc.module);
		break;
	case CAIRN_PROFILER_NOT_ENABLED:
		snprintf(out, size, "jemalloc was started without prof:true; start the service with %s=prof:true", variable);
		break;
	default:
		out[0] = 0;
	}
}

/* Fails with the explanation unless profiling can be controlled. */
static bool require(struct cairn_profiler *profiler, struct cairn_error *error)
{
	if (get_state(profiler) >= CAIRN_PROFILER_INACTIVE)
		return true;
	struct cairn_error explained;
	explain(profiler, explained.text, sizeof explained.text);
	return cairn_fail(error, "%s", explained.text);
}

static bool command(struct cairn_profiler *profiler, const char *name, int code, struct cairn_error *error)
{
	if (code == 0)
		return true;
	errno = code;
	return cairn_fail_errno(error, "jemalloc %s refused %s", profiler->jemalloc.version, name);
}

static bool activate(struct cairn_profiler *profiler, bool active, struct cairn_error *error)
{
	if (!require(profiler, error))
		return false;
	int code = cairn_jemalloc_set_bool(&profiler->jemalloc, "prof.active", active);
	if (!command(profiler, active ? "to activate profiling" : "to deactivate profiling", code, error))
		return false;
	get_state(profiler);
	return true;
}

static bool gdump(struct cairn_profiler *profiler, bool active, struct cairn_error *error)
{
	return require(profiler, error) &&
	       command(profiler, "prof.gdump", cairn_jemalloc_set_bool(&profiler->jemalloc, "prof.gdump", active), error);
}

static bool gdump_is_active(struct cairn_profiler *profiler)
{
	bool active = false;
	if (get_state(profiler) >= CAIRN_PROFILER_INACTIVE)
		cairn_jemalloc_get_bool(&profiler->jemalloc, "prof.gdump", &active);
	return active;
}

uint64_t cairn_profiler_jemalloc_interval(struct cairn_profiler *profiler)
{
	struct cairn_jemalloc *jemalloc = &profiler->jemalloc;
	ssize_t interval = -1;
	size_t size = sizeof interval;
	const char *prefix = "";
	bool writes = get_state(profiler) >= CAIRN_PROFILER_INACTIVE &&
		      jemalloc->mallctl("opt.lg_prof_interval", &interval, &size, NULL, 0) == 0 && interval >= 0 && interval < 64 &&
		      cairn_jemalloc_get_text(jemalloc, "opt.prof_prefix", &prefix) == 0 && prefix[0];
	return writes ? (uint64_t)1 << interval : 0;
}

static bool reset(struct cairn_profiler *profiler, uint64_t period, struct cairn_error *error)
{
	if (!require(profiler, error))
		return false;
	size_t shift = period ? 63 - (size_t)__builtin_clzll(period) : 0;
	int code = profiler->jemalloc.mallctl("prof.reset", NULL, NULL, period ? &shift : NULL, period ? sizeof shift : 0);
	if (!command(profiler, "prof.reset", code, error))
		return false;
	atomic_store(&profiler->reset_at, cairn_clock_wall_ns());
	return true;
}

static uint64_t period_of(struct cairn_profiler *profiler)
{
	size_t shift;
	if (get_state(profiler) < CAIRN_PROFILER_INACTIVE ||
	    cairn_jemalloc_get_size(&profiler->jemalloc, "prof.lg_sample", &shift) != 0 || shift > 63)
		return 0;
	return (uint64_t)1 << shift;
}

static bool dump(struct cairn_profiler *profiler, const char *path, int descriptor, struct cairn_error *error)
{
	(void)descriptor;
	return require(profiler, error) &&
	       command(profiler, "to write a dump", profiler->jemalloc.mallctl("prof.dump", NULL, NULL, &path, sizeof path), error);
}

static uint64_t allocated(struct cairn_profiler *profiler)
{
	return cairn_jemalloc_total(&profiler->jemalloc);
}

/* jemalloc can change its period only by discarding its samples. */
static bool set_period(struct cairn_profiler *profiler, uint64_t period)
{
	return reset(profiler, period, NULL);
}

const struct cairn_engine cairn_engine_jemalloc = {
	.kind = CAIRN_ENGINE_JEMALLOC,
	.state = get_state,
	.explain = explain,
	.activate = activate,
	.gdump = gdump,
	.gdump_is_active = gdump_is_active,
	.reset = reset,
	.set_period = set_period,
	.period = period_of,
	.dumps_by_name = true,
	.dump = dump,
	.allocated = allocated,
	.notify = cairn_hook_notify,
	.count = cairn_hook_count,
};
