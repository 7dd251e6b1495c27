/* borrow.h - one thread of another process, found, stopped, and let go again as if nothing had happened.
 *
 * Which threads may be borrowed at all is known before one is stopped: those that run, and those in system calls that can be begun again
 * (plain.h). Of a thread that was interrupted in such a call, cairn_machine_restart tells the registers with which it begins that again.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_LIVE_ATTACH_BORROW_H
#define CAIRN_LIVE_ATTACH_BORROW_H

#include "live/attach/plain.h"

/* A thread that may be borrowed, and what it was seen in. */
struct cairn_borrow_candidate {
	int tid;
	enum cairn_plain_rank rank;
	struct cairn_machine_call call;
};

enum cairn_borrow_outcome { CAIRN_BORROW_LEFT_ALONE, CAIRN_BORROW_SENT, CAIRN_BORROW_REFUSED };
typedef enum cairn_borrow_outcome cairn_borrow_try(void *context, const struct cairn_borrow_candidate *candidate);

struct cairn_borrow {
	int pid;
	bool filtered; /* threads with a seccomp filter, too */
	cairn_borrow_try *try_one;
	void *context;
	const char *where;      /* "no thread of process 1 was seen WHERE", for an error */
	const char *const *why; /* what the last thread was in that was left alone */
	bool hasty;             /* threads that run are given up as soon as those that wait */
};

/* Has `try_one` stop threads in turn, best first, until it has sent one somewhere, which is returned. 0, with the reason, if none was sent
 * within the time limit, or the process cannot be traced or has ended. */
int cairn_borrow_any(const struct cairn_borrow *borrow, struct cairn_error *error);

/* How many threads the process has, as far as they have not ended. */
size_t cairn_borrow_count(int pid, bool filtered);

/* Seizes thread TID and stops it. A thread can be let go only when it has stopped, so that this waits until it has, or is gone; only one that
 * hangs in the kernel is given up, and let go by our end. */
enum cairn_borrow_outcome cairn_borrow_stop(int tid);

/* Reads the registers of a stopped thread that was seen in CALL, as it is to go on with them. Returns the number of the system call that it
 * begins again, -1 for none, or -2 if the thread cannot be borrowed after all: a signal waits for it, it is in a system call that has done
 * something, or in the middle of what must not be interrupted unseen. REGISTERS become those that it stopped with, by their DWARF numbers, and
 * *PC where. */
long cairn_borrow_read(const struct cairn_subject *subject, const struct cairn_borrow_candidate *candidate, struct cairn_machine *resume,
		       uint64_t registers[CAIRN_REGISTERS], uint64_t *pc);

/* What the thread is in; false where that cannot be seen. */
bool cairn_borrow_read_call(int pid, int tid, struct cairn_machine_call *call);

/* Whether a signal waits to be delivered to the thread, which is stopped: what it interrupts is not ours to begin again. */
bool cairn_borrow_has_signal(int tid);

/* Whether the thread is out of the SIZE bytes of code at START. One that runs is stopped for a look. */
bool cairn_borrow_has_left(int pid, int tid, uint64_t start, size_t size);

#endif
