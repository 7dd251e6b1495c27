/* clock.h - the two clocks, in nanoseconds.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_PROCESS_CLOCK_H
#define CAIRN_PROCESS_CLOCK_H

#include "base/time.h"

static inline int64_t cairn_clock_read(clockid_t clock)
{
	struct timespec now;
	clock_gettime(clock, &now);
	return cairn_time_ns(&now);
}

/* Since 1970. */
static inline int64_t cairn_clock_wall_ns(void)
{
	return cairn_clock_read(CLOCK_REALTIME);
}

/* Never goes back. */
static inline int64_t cairn_clock_ns(void)
{
	return cairn_clock_read(CLOCK_MONOTONIC);
}

#endif
