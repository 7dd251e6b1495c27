/* placed.h - the core in another process: put there, found there, and visited.
 *
 * A thread of the process is borrowed (attach/borrow.h) and visits (arch/visit.h): it maps room, waits a moment until the core is written
 * there, enters it, makes the ledger's memory, and goes on. Where the thread was does not matter, since no code of the program runs on its
 * way, and it may go on without us.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_LIVE_CORE_PLACED_H
#define CAIRN_LIVE_CORE_PLACED_H

#include "live/attach/subject.h"
#include "live/core/image.h"
#include "protocol/core.h"

struct cairn_placed {
	const struct cairn_subject *subject; /* outlives this */
	struct cairn_core_image image;
	uint64_t base;   /* where the core lies; 0 for nowhere */
	uint64_t vdso, vdso_end;
	bool filtered;   /* threads with a seccomp filter may be borrowed: it allows what is needed */
	int64_t held_ns, stopped_ns; /* for how long a thread was held, and all of them were, at most */
};

/* Finds the core that the process has, if it has one. Fails where that is another build's. Close it in either case. */
bool cairn_placed_open(struct cairn_placed *placed, const struct cairn_subject *subject, struct cairn_error *error);
void cairn_placed_close(struct cairn_placed *placed);

/* Has a thread do what WANTED says (ledger_bytes, ledger, calls), in a core that is put there if there is none; WANTED becomes what the core
 * says then. TRACED is the first thread if we have stopped it before its program began: it is detached from, and stays in the core until
 * cairn_placed_release. 0: any thread is borrowed, and goes on. The way of the thread stays where it was until cairn_placed_tidy. */
bool cairn_placed_visit(struct cairn_placed *placed, struct cairn_core *wanted, int traced, struct cairn_error *error);
bool cairn_placed_release(struct cairn_placed *placed, struct cairn_error *error);

/* Removes what visits have left in the program's code, under a stop of all its threads; stops none if there is nothing. */
bool cairn_placed_tidy(struct cairn_placed *placed, struct cairn_error *error);

/* The address of the core's function or variable NAME. */
uint64_t cairn_placed_symbol(const struct cairn_placed *placed, const char *name);

/* The PID of the process as it knows it. */
int cairn_placed_process(const struct cairn_placed *placed);

/* What the core says of itself. */
bool cairn_placed_read(const struct cairn_placed *placed, struct cairn_core *core);

#endif
