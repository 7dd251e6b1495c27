/* stage.c - the table of transitions.
 * SPDX-License-Identifier: Apache-2.0 */
#include "agent/work/stage.h"

#include <stddef.h>

/* One more than the stage that an event leads to; 0 where it leads nowhere. */
#define TO(stage) (CAIRN_STAGE_##stage + 1)

static const unsigned char transitions[CAIRN_STAGE_EVENTS][CAIRN_STAGES] = {
	[CAIRN_STAGE_PREPARE] = {[CAIRN_STAGE_OFF] = TO(PREPARING)},
	[CAIRN_STAGE_WAIT] = {[CAIRN_STAGE_PREPARING] = TO(WAITING), [CAIRN_STAGE_STARTING] = TO(WAITING)},
	[CAIRN_STAGE_ARM] = {[CAIRN_STAGE_WAITING] = TO(ARMED)},
	[CAIRN_STAGE_START] = {[CAIRN_STAGE_PREPARING] = TO(STARTING)},
	[CAIRN_STAGE_WAKE] = {[CAIRN_STAGE_WAITING] = TO(STARTING), [CAIRN_STAGE_ARMED] = TO(STARTING)},
	[CAIRN_STAGE_RUN] = {[CAIRN_STAGE_STARTING] = TO(RUNNING)},
	[CAIRN_STAGE_GIVE_UP] = {[CAIRN_STAGE_PREPARING] = TO(OFF), [CAIRN_STAGE_STARTING] = TO(OFF)},
	[CAIRN_STAGE_STOP] = {[CAIRN_STAGE_WAITING] = TO(OFF), [CAIRN_STAGE_ARMED] = TO(OFF), [CAIRN_STAGE_RUNNING] = TO(OFF)},
	/* What was prepared in the parent is prepared in the child; what was half prepared stays so for ever. */
	[CAIRN_STAGE_FORK] = {[CAIRN_STAGE_OFF] = TO(OFF), [CAIRN_STAGE_PREPARING] = TO(OFF), [CAIRN_STAGE_WAITING] = TO(WAITING),
			      [CAIRN_STAGE_ARMED] = TO(ARMED), [CAIRN_STAGE_STARTING] = TO(WAITING),
			      [CAIRN_STAGE_RUNNING] = TO(WAITING)},
};

bool cairn_stage_move(_Atomic enum cairn_stage *stage, enum cairn_stage_event event, enum cairn_stage *before)
{
	enum cairn_stage from = atomic_load(stage);
	unsigned char to;
	do {
		to = transitions[event][from];
		if (before)
			*before = from;
	} while (to != 0 && !atomic_compare_exchange_weak(stage, &from, (enum cairn_stage)(to - 1)));
	return to != 0;
}
