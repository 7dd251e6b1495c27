/* life.h - the identity of a process, and whether it still runs.
 *
 * PIDs are reused, so a life consists of the PID, the start time in clock ticks since boot (field 22 of /proc/PID/stat, which setting the
 * clock does not change), and the boot. As text it is PID.TICKS.BOOT, the last part in hexadecimal. Zeroes stand for unknown parts.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_PROCESS_LIFE_H
#define CAIRN_PROCESS_LIFE_H

#include "base/bytes.h"

struct cairn_life {
	int pid;
	uint32_t boot; /* the first digits of /proc/sys/kernel/random/boot_id */
	uint64_t ticks;
};

enum { CAIRN_LIFE_TEXT = 48 }; /* size of its text */

/* The life of the process that has PID now. Returns false, with only the PID filled in, if there is no such process or no /proc. */
bool cairn_life_of(int pid, struct cairn_life *life);

/* Whether exactly this process still runs. A process that cannot be seen from here, in another container or on another machine, counts as
 * ended. */
bool cairn_life_goes_on(const struct cairn_life *life);

/* Whether the process that has PID has ended, or there is none. */
bool cairn_life_has_ended(int pid);

/* Its start time since 1970, according to the current clock; 0 if unknown. */
int64_t cairn_life_start_ns(const struct cairn_life *life);

/* The current boot, as in a life; 0 if unknown. */
uint32_t cairn_life_boot(void);

bool cairn_life_equal(const struct cairn_life *a, const struct cairn_life *b);

/* Compares by boot, then start time, then PID; returns a negative number, zero or a positive number. */
int cairn_life_compare(const struct cairn_life *a, const struct cairn_life *b);

char *cairn_life_text(const struct cairn_life *life, char out[CAIRN_LIFE_TEXT]);
bool cairn_life_parse(struct cairn_bytes text, struct cairn_life *life);

#endif
