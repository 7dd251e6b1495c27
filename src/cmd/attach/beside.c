/* beside.c - starting a companion, and what it says.
 * SPDX-License-Identifier: Apache-2.0 */
#include "cmd/attach/beside.h"

#include "cmd/command.h"
#include "live/attach/check.h"
#include "live/core/companion.h"
#include "live/inside/agent.h"
#include "live/target.h"

#include <unistd.h>

static bool start(const struct cairn_attach_beside *attach, struct cairn_companion *companion, struct cairn_error *error)
{
	struct cairn_buffer config = cairn_buffer(1 << 16);
	cairn_buffer_format(&config, "%s%s%c", attach->config, attach->waits ? "" : ",enable_heap_profiling:true", 0);
	*companion = (struct cairn_companion){.pid = attach->pid, .config = config.data, .filtered = attach->filtered};
	int lock = cairn_agent_lock(attach->pid);
	bool done = cairn_companion_start(companion, error);
	if (lock >= 0)
		close(lock);
	cairn_buffer_free(&config);
	return done;
}

int cairn_attach_beside(const struct cairn_attach_beside *attach)
{
	struct cairn_companion companion;
	struct cairn_target target;
	struct cairn_error error;
	struct cairn_buffer status = {0};
	char counted[500] = "", warning[1000] = "";
	if (attach->impossible)
		cairn_fail(&error, "process %d can load no library, so that only Cairn's own engine profiles it, with an agent beside it", attach->pid);
	if (attach->impossible || !start(attach, &companion, &error) || !cairn_target_find(&target, attach->name, NULL, &error) ||
	    !cairn_target_ask(&target, "GET", "/cairn/status", &status, &error)) {
		cairn_buffer_free(&status);
		return cairn_say_failure(&error);
	}
	cairn_target_field(cairn_buffer_bytes(&status), "engine.inside", counted, sizeof counted);
	cairn_target_field(cairn_buffer_bytes(&status), "engine.warning", warning, sizeof warning);
	cairn_buffer_free(&status);
	if (warning[0])
		cairn_note("%s", warning);
	if (attach->quiet)
		return CAIRN_EXIT_DONE;
	if (counted[0])
		cairn_print(stdout, "%s: counts %s\n", attach->name, counted);
	cairn_print(stdout, "%s: attached%s, with an agent beside it (process %d)", attach->name, attach->waits ? "" : ", sampling with engine cairn",
		    companion.own_pid);
	if (companion.held_ms > 0)
		cairn_print(stdout, "; one thread was held for %.1f ms", companion.held_ms);
	if (companion.stopped_ms > 0)
		cairn_print(stdout, "%s all of them were stopped for %.1f ms", companion.held_ms > 0 ? "," : ";", companion.stopped_ms);
	cairn_print(stdout, "\n");
	return CAIRN_EXIT_DONE;
}

bool cairn_attach_undo(int pid)
{
	struct cairn_error error;
	return pid && cairn_attach_way_of(pid) == CAIRN_ATTACH_BY_CORE && cairn_companion_undo(pid, &error);
}
