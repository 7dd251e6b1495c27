/* inject.h - a function call in another process, which goes on as if nothing had happened.
 *
 * A short piece of code (machine.h) is written behind the end of some module's code, where nothing is. One thread is stopped, found to
 * be in a plain state (plain.h), sent there, and let go at once. In a process with several threads it only starts a new thread, which
 * makes the call: should the call have to wait, for the loader's lock for example, no thread of the program waits with it. In a process
 * with one thread that thread makes the call itself, since nobody else can hold a lock, and the program may fork at any time.
 *
 * From the moment the thread is sent there it needs nobody: if the command is killed, the call is made all the same and the thread
 * returns to where it was. Where it waited in a system call it begins that again, with what is left of the time if the kernel keeps
 * account of it.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_LIVE_ATTACH_INJECT_H
#define CAIRN_LIVE_ATTACH_INJECT_H

#include "live/attach/subject.h"

struct cairn_injection {
	uint64_t function;
	uint64_t arguments[3];
	char text[256];         /* a string that one of the arguments points to; "" for none */
	unsigned text_argument; /* which of them */
	uint64_t describe; /* a function that is called for the reason where the result is 0, such as dlerror; 0 for none */
	uint64_t result;
	char description[256];
	bool hasty;      /* threads that run are given up as soon as those that wait */
	bool filtered;   /* threads with a seccomp filter may be borrowed: it allows what is needed */
	int64_t held_ns; /* for how long the thread was held */
	bool waits;      /* the call has begun and did not return in time: it will be made */
};

/* Makes the call. False, with the process as it was, where no thread was in a plain state within the time limit, tracing is refused, or a
 * thread that was sent did not come back in time and was put back to where it was; and where the call itself waits. */
bool cairn_inject(const struct cairn_subject *subject, struct cairn_injection *injection, struct cairn_error *error);

/* Waits until a call that an earlier command has begun is over; false where that takes too long. */
bool cairn_inject_await_turn(const struct cairn_subject *subject, struct cairn_error *error);

#endif
