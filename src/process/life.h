/* life.h - which process it was, and whether it still runs.
 *
 * A process's number is used again, so a life is the number, the clock tick since boot at which the process began (field 22
 * of /proc/PID/stat, which no change of the clock moves), and the boot it began in. As text: PID.TICKS.BOOT, the last in
 * hexadecimal. Zeroes stand for what is not known.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_PROCESS_LIFE_H
#define CAIRN_PROCESS_LIFE_H

#include "base/bytes.h"

struct cairn_life {
	int pid;
	uint32_t boot; /* the first digits of /proc/sys/kernel/random/boot_id */
	uint64_t ticks;
};

enum { CAIRN_LIFE_TEXT = 48 }; /* room for one as text */

/* The life that PID has now; false, with only the number filled in, where there is no such process or no /proc. */
bool cairn_life_of(int pid, struct cairn_life *life);

/* Whether that very process still runs. One that cannot be seen from here, in another container or on another machine,
 * counts as gone. */
bool cairn_life_goes_on(const struct cairn_life *life);

/* When it began, since 1970 by the clock as it is now; 0 when unknown. */
int64_t cairn_life_start_ns(const struct cairn_life *life);

/* Which boot it is now, as in a life; 0 when unknown. */
uint32_t cairn_life_boot(void);

bool cairn_life_equal(const struct cairn_life *a, const struct cairn_life *b);

/* Negative, zero or positive: by boot, then by start, then by number. */
int cairn_life_compare(const struct cairn_life *a, const struct cairn_life *b);

char *cairn_life_text(const struct cairn_life *life, char out[CAIRN_LIFE_TEXT]);
bool cairn_life_parse(struct cairn_bytes text, struct cairn_life *life);

#endif
