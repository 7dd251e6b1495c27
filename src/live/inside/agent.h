/* agent.h - counting the allocators inside a process that has an agent.
 *
 * The agent maps the blocks; the command stops the process and changes its words, which takes the permission to trace it. How blocks come to
 * the agent is a *door*: its socket, or, under `cairn run`, a connection on which a thread of it waits (protocol/inside_ask.h).
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_LIVE_INSIDE_AGENT_H
#define CAIRN_LIVE_INSIDE_AGENT_H

#include "live/inside/plan.h"
#include "live/target.h"

struct cairn_agent_count {
	struct cairn_subject subject;
	struct cairn_plan plan; /* what was found, and what is counted */
	size_t threads;         /* that were stopped; 0 if nothing had to be changed */
	int64_t stopped_ns;
};

struct cairn_agent_door {
	bool (*map)(void *context, uint64_t address, struct cairn_bytes block, struct cairn_error *error);
	void (*tell)(void *context);
	void *context;
};

/* That of a running agent. TARGET outlives it. */
struct cairn_agent_door cairn_agent_door_of(const struct cairn_target *target);

/* Has all allocators of process PID counted. False where nothing could be changed, with the reason. Free COUNT in either case. */
bool cairn_agent_count_begin(struct cairn_agent_count *count, int pid, const struct cairn_agent_door *door, struct cairn_error *error);
void cairn_agent_count_free(struct cairn_agent_count *count);

/* Only looks at what there is to count. False where the process cannot be read. Free COUNT in either case. */
bool cairn_agent_look(struct cairn_agent_count *count, int pid);

/* Ends that, before the agent does. Does nothing where nothing is counted. */
bool cairn_agent_count_end(int pid, const struct cairn_agent_door *door, struct cairn_error *error);

/* The same for a process that waits at CONNECTION, because it begins or has loaded something, and tells it that all is done. Of what is not
 * counted SAY gets a sentence. */
enum cairn_agent_start { CAIRN_AGENT_START_NOTHING, CAIRN_AGENT_START_COUNTED, CAIRN_AGENT_START_FAILED };
enum cairn_agent_start cairn_agent_count_at_start(int pid, int connection, void (*say)(const char *text));

/* Calls SAY with a sentence for each allocator that PLAN has not counted; PROBLEM says why none is, or is "". */
void cairn_agent_say_unseen(struct cairn_plan *plan, const char *problem, void (*say)(const char *text));

/* Holds other commands off that attach to, or detach from, processes of the same program, for some seconds at most. Returns a descriptor to
 * close, or -1. */
int cairn_agent_lock(int pid);

#endif
