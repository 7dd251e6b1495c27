/* plain.h - whether a thread stands where a call may be made on it.
 *
 * The call allocates memory and loads a library. So the thread must not be inside the allocator, the loader or a signal handler at any
 * depth of its stack, which is unwound from outside; and where it waits in a system call, that must be one that can be begun again.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_CMD_ATTACH_PLAIN_H
#define CAIRN_CMD_ATTACH_PLAIN_H

#include "cmd/attach/subject.h"

/* Whether system call NUMBER only waits: interrupted, nothing of it was done, and it can be begun again with the same arguments. */
bool cairn_plain_waits(long number);

/* REGISTERS by their DWARF numbers, with the pc last. NUMBER is the system call that the thread waits in, -1 for none. Where the answer is
 * no, *WHY says what the thread is in. */
bool cairn_plain_check(const struct cairn_subject *subject, const uint64_t registers[CAIRN_REGISTERS], long number, const char **why);

#endif
