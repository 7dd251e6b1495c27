/* condition.h - condition variables whose waits end at a time by the clock that nobody sets.
 *
 * By default POSIX measures such a wait by the wall clock: if that is set back, the wait is longer by as much.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_BASE_CONDITION_H
#define CAIRN_BASE_CONDITION_H

#include "base/time.h"

#include <pthread.h>
#include <stdbool.h>

static inline void cairn_condition_init(pthread_cond_t *condition)
{
	pthread_condattr_t attributes;
	pthread_condattr_init(&attributes);
	pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
	pthread_cond_init(condition, &attributes);
	pthread_condattr_destroy(&attributes);
}

/* Waits for CONDITION, which cairn_condition_init has made, until UNTIL_NS by CLOCK_MONOTONIC. Returns false when that time has come. Like
 * any wait, it may end without a signal. */
static inline bool cairn_condition_wait(pthread_cond_t *condition, pthread_mutex_t *mutex, int64_t until_ns)
{
	struct timespec until = {.tv_sec = (time_t)(until_ns / CAIRN_SECOND_NS), .tv_nsec = (long)(until_ns % CAIRN_SECOND_NS)};
	return pthread_cond_timedwait(condition, mutex, &until) == 0;
}

#endif
