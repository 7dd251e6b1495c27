/* smaps.h - the resident memory of a process by kind of mapping, as the kernel counts it in /proc/PID/smaps.
 *
 * Every mapping has one *kind*. jemalloc's mappings are not marked, but it maps memory without reserving swap (MAP_NORESERVE), which
 * hardly any other code does, and the kernel never merges such mappings with others: they are of the kind NORESERVE, except for the
 * arenas of glibc's malloc, which are recognized by their shape. Comparing their size with what jemalloc has mapped and retained shows
 * whether all of them are jemalloc's.
 *
 * Nothing here allocates from the heap: it runs inside a service, and in the command for a process without an agent.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_PROCESS_SMAPS_H
#define CAIRN_PROCESS_SMAPS_H

#include "base/bytes.h"

/* Larger than anything an allocator keeps in one piece, except large objects and memory that it has returned. */
enum { CAIRN_SMAPS_HOLE = 1 << 20 };

enum cairn_smaps_kind {
	CAIRN_SMAPS_NORESERVE,
	CAIRN_SMAPS_ANONYMOUS, /* any other private memory without a file */
	CAIRN_SMAPS_ARENA,     /* glibc's malloc, beyond the heap */
	CAIRN_SMAPS_HEAP,      /* grown by brk */
	CAIRN_SMAPS_STACK,     /* of the first thread, and what follows a guard page */
	CAIRN_SMAPS_DATA,      /* writable private mappings of programs and libraries, and the zeroed memory behind them */
	CAIRN_SMAPS_FILE,      /* other mappings of files: code, constants, any other file, with private copies of its pages */
	CAIRN_SMAPS_SHARED,    /* shared memory */
	CAIRN_SMAPS_KERNEL,    /* [vdso] and its like */
	CAIRN_SMAPS_LEDGER,    /* Cairn's own: the ledger of the sampler */
	CAIRN_SMAPS_MAPPED,    /* the parts of private mappings that the caller has named: what the service mapped itself */
	CAIRN_SMAPS_HINTED,    /* private memory from 2 to 30 TiB: mimalloc asks for it there, where the kernel puts nothing by itself */
	CAIRN_SMAPS_KINDS,
};

/* Bytes, of all mappings of a kind. The addresses that an arena has reserved beyond what it uses are not part of its size. */
struct cairn_smaps_sum {
	uint64_t size, rss, swap;
};

struct cairn_smaps {
	uint64_t rss, pss, swap, anonymous;
	uint64_t huge;     /* anonymous memory in transparent huge pages */
	uint64_t lazy;     /* returned with MADV_FREE, but still resident */
	uint64_t hugetlb;  /* in pages of hugetlbfs, which count nowhere else */
	uint64_t regions;  /* ranges of 1 GiB in which mappings of the kind NORESERVE lie */
	bool has_holes;    /* those mappings were examined page by page: */
	uint64_t holes;    /* the parts of them that are not resident, in runs of at least CAIRN_SMAPS_HOLE bytes */
	struct cairn_smaps_sum kinds[CAIRN_SMAPS_KINDS];
};

/* The calling process has its ledger from START on, or, with START 0, has none any more. A ledger in a memfd is recognized by its name,
 * from outside as well; one in a file may have any name. Any thread may call it. */
void cairn_smaps_set_ledger(uint64_t start);

/* Reads the mappings of process PID, 0 for the calling process. Returns false with errno if they cannot be read. */
bool cairn_smaps_read(struct cairn_smaps *smaps, int pid);

/* Like cairn_smaps_read, and looks for holes by reading one word for every page of the mappings of the kind NORESERVE. If those have more
 * than PAGES pages, it gives up, and `has_holes` is false. */
bool cairn_smaps_read_holes(struct cairn_smaps *smaps, int pid, uint64_t pages);

struct cairn_smaps_range {
	uint64_t start, end;
};

/* Like cairn_smaps_read_holes, but does not look for holes if PAGES is 0, and counts the parts of private mappings in RANGES, which are
 * sorted and do not overlap, as of the kind MAPPED. */
bool cairn_smaps_read_apart(struct cairn_smaps *smaps, int pid, uint64_t pages, const struct cairn_smaps_range *ranges, size_t count);

/* Like cairn_smaps_read, from TEXT, the content of a /proc/PID/smaps; only tests call it. */
void cairn_smaps_parse(struct cairn_smaps *smaps, struct cairn_bytes text);

/* Iterates over all numbers and their names in a trailer, such as "smaps.rss" and "smaps.size.noreserve"; returns false after the last.
 * INDEX counts from 0; NAME holds at least 40 bytes; *VALUE points into SMAPS. */
bool cairn_smaps_number(struct cairn_smaps *smaps, unsigned index, char *name, uint64_t **value);

#endif
