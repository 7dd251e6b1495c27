/* profiler_state.c - the words.
 * SPDX-License-Identifier: Apache-2.0 */
#include "protocol/profiler_state.h"

#include <assert.h>
#include <string.h>

const char *cairn_profiler_state_name(enum cairn_profiler_state state)
{
	static const char *const names[] = {"unavailable", "built without profiling", "not enabled", "inactive", "active"};
	static_assert(sizeof names / sizeof *names == CAIRN_PROFILER_ACTIVE + 1, "every state has a name");
	return names[state];
}

bool cairn_profiler_state_is(const char *name, enum cairn_profiler_state state)
{
	return strcmp(name, cairn_profiler_state_name(state)) == 0;
}

bool cairn_profiler_state_is_enabled(const char *name)
{
	return cairn_profiler_state_is(name, CAIRN_PROFILER_INACTIVE) || cairn_profiler_state_is(name, CAIRN_PROFILER_ACTIVE);
}
