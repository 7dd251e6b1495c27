/* stage.h - the stages of the agent's life in one process, and the events that lead from one to the next.
 *
 * Threads of the host may start and stop the agent at once, a sampled allocation may start it on any of them, and any of them may fork
 * meanwhile. The stage is one word, and each event is one compare-and-swap that the table in stage.c allows or not: of several threads
 * with the same event, one gets true and does what the event stands for.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_AGENT_WORK_STAGE_H
#define CAIRN_AGENT_WORK_STAGE_H

#include <stdatomic.h>
#include <stdbool.h>

enum cairn_stage {
	CAIRN_STAGE_OFF,       /* not started yet, or stopped */
	CAIRN_STAGE_PREPARING, /* one thread reads the configuration and finds the allocator */
	CAIRN_STAGE_WAITING,   /* all that is known, and nothing of the agent runs */
	CAIRN_STAGE_ARMED,     /* the same, and profiling is active although it should not be, so that a sample starts the agent */
	CAIRN_STAGE_STARTING,  /* one thread starts the agent's own */
	CAIRN_STAGE_RUNNING,
	CAIRN_STAGES,
};

enum cairn_stage_event {
	CAIRN_STAGE_PREPARE, /* the host, its environment or `cairn attach` wants an agent */
	CAIRN_STAGE_WAIT,    /* it is prepared, or could not start now, and is to start later */
	CAIRN_STAGE_ARM,
	CAIRN_STAGE_START,   /* it is prepared, and is to start now */
	CAIRN_STAGE_WAKE,    /* somebody wants one that waits */
	CAIRN_STAGE_RUN,     /* its thread runs */
	CAIRN_STAGE_GIVE_UP,
	CAIRN_STAGE_STOP,
	CAIRN_STAGE_FORK,    /* in the child */
	CAIRN_STAGE_EVENTS,
};

/* Moves STAGE to where EVENT leads. Returns false, with STAGE as it was, if it leads nowhere from there. BEFORE, which may be NULL, receives
 * the stage before. */
bool cairn_stage_move(_Atomic enum cairn_stage *stage, enum cairn_stage_event event, enum cairn_stage *before);

/* Whether the agent waits, armed or not. */
static inline bool cairn_stage_waits(enum cairn_stage stage)
{
	return stage == CAIRN_STAGE_WAITING || stage == CAIRN_STAGE_ARMED;
}

/* Whether a thread is about to change it. */
static inline bool cairn_stage_changes(enum cairn_stage stage)
{
	return stage == CAIRN_STAGE_PREPARING || stage == CAIRN_STAGE_STARTING;
}

#endif
