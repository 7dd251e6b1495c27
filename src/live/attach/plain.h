/* plain.h - whether a thread stands where a call may be made on it.
 *
 * The call allocates memory and loads a library. So the thread must not be inside the allocator, the loader or a signal handler at any
 * depth of its stack, which is unwound from outside; and where it waits in a system call, that must be one that can be begun again.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_LIVE_ATTACH_PLAIN_H
#define CAIRN_LIVE_ATTACH_PLAIN_H

#include "arch/machine.h"
#include "live/attach/subject.h"

/* Whether system call NUMBER only waits: interrupted, nothing of it was done, and it can be begun again with the same arguments. */
bool cairn_plain_waits(long number);

/* How well a thread suits that is in CALL, best first. It is known before the thread is stopped: one in a call that would not go on as if
 * nothing had happened is never touched. */
enum cairn_plain_rank {
	CAIRN_PLAIN_EXACT,    /* the kernel begins the call again, with what is left of its time */
	CAIRN_PLAIN_REPEATED, /* it has no time limit, and is begun again by us */
	CAIRN_PLAIN_RUNS,     /* in no call */
	CAIRN_PLAIN_TIMED,    /* its time begins anew */
	CAIRN_PLAIN_NEVER,
};
enum cairn_plain_rank cairn_plain_rank(const struct cairn_machine_call *call);

/* REGISTERS by their DWARF numbers. NUMBER is the system call that the thread waits in, -1 for none. Where the answer is no, *WHY says what
 * the thread is in. */
bool cairn_plain_check(const struct cairn_subject *subject, uint64_t pc, const uint64_t registers[CAIRN_REGISTERS], long number,
		       const char **why);

#endif
