/* dump.h - the facts about one dump file, and the line that stores them in a folder's index.
 *
 * Everything known about a dump is in the dump: Cairn's own have a trailer (doc/trailer.md), those that jemalloc writes by itself have
 * the process in their name. The index only saves reading the files again; an entry counts as long as the file's size and modification
 * time are unchanged.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_DUMP_DUMP_H
#define CAIRN_DUMP_DUMP_H

#include "base/buffer.h"
#include "process/life.h"

enum cairn_dump_marks {
	CAIRN_DUMP_FIRST = 1, /* the first of its process */
	CAIRN_DUMP_HIGHEST = 2,
	CAIRN_DUMP_NEWEST = 4,
	CAIRN_DUMP_ALIVE = 8,  /* the process is running */
	CAIRN_DUMP_KEPT = 16,  /* thinning keeps it */
	CAIRN_DUMP_DROP = 32,  /* thinning removes it */
	CAIRN_DUMP_SEEN = 64,  /* the file exists */
	CAIRN_DUMP_OOM = 128,  /* the last dump of its process; afterwards the OOM killer killed a process of its group */
	CAIRN_DUMP_DAMAGED = 256, /* truncated: its writer, or the machine, stopped while writing it */
};

struct cairn_dump {
	char name[256];
	char reason[96];          /* why it was written, beginning with the trigger's word; "" if unknown */
	struct cairn_life process;
	int64_t time_ns;          /* when it was taken, since 1970, by the current clock if possible */
	int64_t uptime_ns;        /* the same on the monotonic clock, since the machine's start; 0 if unknown */
	uint64_t memory;          /* anonymous memory of the process then, in bytes; 0 when unknown */
	uint64_t sampled;         /* bytes of the sampled objects in the dump */
	uint64_t group;           /* a hash of the control group's folder; 0 when unknown */
	uint64_t kills;           /* OOM kills that the group had seen by then */
	uint64_t size;            /* of the file */
	int64_t modified_ns;      /* the file's time of change */
	unsigned marks;
};

/* The reason of a dump made from the ledger of a process that had ended: its state at the last moment. */
#define CAIRN_DUMP_LAST "last"

/* Whether DUMP is such a dump. */
bool cairn_dump_is_last_moment(const struct cairn_dump *dump);

/* How the process of such a dump ended, in words, which cairn_end_parse understands. Borrowed from DUMP. */
struct cairn_bytes cairn_dump_ending(const struct cairn_dump *dump);

/* Whether NAME is a plain file name: no slash, no control character, not hidden, not too long. */
bool cairn_dump_is_name(const char *name);

/* Whether the open file is a regular file that begins like a heap dump. */
bool cairn_dump_is_heap(int descriptor);

/* Reads the open file into DUMP, whose name, size and modification time are filled in. Returns false if the file is not a heap dump or not
 * complete (yet): without its end, or written by jemalloc and changed less than a second before NOW_NS. A file without its end that has not
 * changed for ten minutes will never be complete: returns true, with the mark CAIRN_DUMP_DAMAGED. */
bool cairn_dump_scan(int descriptor, int64_t now_ns, struct cairn_dump *dump);

/* Finds the control group of a dump whose `group` is not 0. */
bool cairn_dump_find_group(int descriptor, char *out, size_t size);

/* Writes one line of the index: tab-separated, with a checksum in front. */
void cairn_dump_write_line(const struct cairn_dump *dump, struct cairn_buffer *out);

/* Returns false if the line is damaged. */
bool cairn_dump_read_line(struct cairn_bytes line, struct cairn_dump *dump);

#endif
