/* inject.h - a function call on a thread of another process, which goes on afterwards as if nothing had happened.
 *
 * A short piece of code is written behind the end of some library's code, where nothing is. One thread is stopped, found to be in a plain
 * state (plain.h), sent there, and let go at once: the piece saves all registers, takes memory for a stack, makes the call with signals
 * blocked, restores everything including errno, and jumps back. From the moment the thread is sent there it needs nobody: if the command is
 * killed, the call is made all the same and the thread returns to where it was. Where it waited in a system call it begins that again,
 * with what is left of the time if the kernel keeps account of it.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_CMD_ATTACH_INJECT_H
#define CAIRN_CMD_ATTACH_INJECT_H

#include "cmd/attach/subject.h"

struct cairn_injection {
	uint64_t function;
	uint64_t arguments[3];
	char text[256];         /* a string that one of the arguments points to; "" for none */
	unsigned text_argument; /* which of them */
	uint64_t describe; /* a function that is called for the reason where the result is 0, such as dlerror; 0 for none */
	uint64_t result;
	char description[256];
	int64_t held_ns; /* for how long the thread was held */
	int thread;      /* which it was */
};

/* Makes the call. False, with the process as it was, where no thread was in a plain state within the time limit, or tracing is refused;
 * and where the call does not return in time, which the message says. */
bool cairn_inject(const struct cairn_subject *subject, struct cairn_injection *injection, struct cairn_error *error);

#endif
