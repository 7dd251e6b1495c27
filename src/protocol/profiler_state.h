/* profiler_state.h - the states of a heap profiler, and the words for them in the agent's status.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_PROTOCOL_PROFILER_STATE_H
#define CAIRN_PROTOCOL_PROFILER_STATE_H

#include <stdbool.h>

enum cairn_profiler_state {
	CAIRN_PROFILER_UNAVAILABLE, /* the process cannot be profiled by its engine: the status says why */
	CAIRN_PROFILER_NOT_BUILT,   /* jemalloc was built without profiling */
	CAIRN_PROFILER_NOT_ENABLED, /* started without prof:true */
	CAIRN_PROFILER_INACTIVE,    /* enabled, not sampling */
	CAIRN_PROFILER_ACTIVE,
};

/* "unavailable", "built without profiling", "not enabled", "inactive", "active". */
const char *cairn_profiler_state_name(enum cairn_profiler_state state);

/* Whether NAME, which a status has, is that of STATE. */
bool cairn_profiler_state_is(const char *name, enum cairn_profiler_state state);

/* Whether it is that of a profiler that samples, or could. */
bool cairn_profiler_state_is_enabled(const char *name);

#endif
