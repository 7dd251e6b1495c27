/* time.h - times and spans as nanoseconds in an int64_t, which reach from 1970 to the year 2262.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_BASE_TIME_H
#define CAIRN_BASE_TIME_H

#include <stdint.h>
#include <time.h>

#define CAIRN_MILLISECOND_NS INT64_C(1000000)
#define CAIRN_SECOND_NS INT64_C(1000000000)
#define CAIRN_MINUTE_NS (60 * CAIRN_SECOND_NS)
#define CAIRN_HOUR_NS (60 * CAIRN_MINUTE_NS)
#define CAIRN_DAY_NS (24 * CAIRN_HOUR_NS)

static inline int64_t cairn_time_ns(const struct timespec *time)
{
	return (int64_t)time->tv_sec * CAIRN_SECOND_NS + time->tv_nsec;
}

#endif
