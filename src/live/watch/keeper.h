/* keeper.h - holding on to the ledger of a running process, so that its last moment can be written when it is gone.
 *
 * The ledger (dump/ledger.h) is a memfd of the process, or a file that it has open. The keeper opens it through /proc/PID/fd, which the
 * kernel allows the same user and root: nobody has to answer, and neither namespaces nor a busy agent are in the way. From then on the
 * descriptor is the keeper's own, and its memory outlives the process.
 *
 * A program that the process becomes by exec has a ledger of its own, or none. The keeper notices by a descriptor of the
 * process's memory map: the kernel shows nothing through it once that memory is gone.
 *
 * What is in the ledger is believed by nobody: it is copied when the process has ended, then read as any hostile file.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_LIVE_WATCH_KEEPER_H
#define CAIRN_LIVE_WATCH_KEEPER_H

#include "base/buffer.h"
#include "base/error.h"
#include "dump/ledger.h"
#include "live/watch/ending.h"
#include "process/life.h"
#include "process/memory.h"
#include "process/smaps.h"

struct cairn_keeper {
	int ledger;      /* -1 while there is none */
	int maps;        /* of the process as it was when the ledger was found; -1 with it */
	int64_t next_ns; /* when to look for one again */
	int64_t pause_ns;
	bool refused;    /* we may not look into the process */
	/* Its resident memory as the kernel last told: nobody can say once it is gone. */
	struct cairn_smaps smaps;
	uint64_t resident;   /* all of it, as it was then */
	int64_t measured_ns; /* when; 0 for never */
	int64_t cost_ns;     /* what that took, */
	int64_t credit_ns;   /* what the next may take by now, */
	int64_t looked_ns;   /* and since when that grows */
	/* Its course, where the agent does not write it into the ledger: a row for each of the last seconds, then for each of the last minutes.
	 * NULL before the first. */
	struct cairn_ledger_row *rows;
};

/* Nothing kept yet. */
struct cairn_keeper cairn_keeper(void);

/* At the monotonic time NOW, while process LIFE runs: finds its ledger if there is none yet. While one is kept, notes READING, its memory now,
 * and measures it: a second after the last time if what is resident has changed, later if it has not. All COUNT processes
 * that the caller keeps take at most 1/500 of the time together, but for the first measurement of each. */
void cairn_keeper_look(struct cairn_keeper *keeper, const struct cairn_life *life, const struct cairn_memory_reading *reading, size_t count,
		       int64_t now);

/* Whether the memory that the ledger is of is gone. If the process still runs after this returned true, it has become
 * another program: release the ledger with cairn_keeper_close. */
bool cairn_keeper_is_stale(const struct cairn_keeper *keeper);

/* Appends the dump of the last moment, with the memory of the process as it was last READ and measured. Fails where nothing was kept, or
 * what was kept is no ledger. */
bool cairn_keeper_write(const struct cairn_keeper *keeper, const struct cairn_ending *ending, const struct cairn_memory_reading *reading,
			struct cairn_buffer *out, struct cairn_error *error);

/* Lets go of it; a look may find another. */
void cairn_keeper_close(struct cairn_keeper *keeper);

#endif
