/* ledger_dump.h - writes a ledger as a complete dump: stacks, memory map, sections and trailer.
 *
 * If its process no longer exists, everything comes from the ledger, which may contain anything: errors in it lead to a dump with less in
 * it, or to an error message, and never to more than CAIRN_LEDGER_DUMP_MOST bytes.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_DUMP_LEDGER_DUMP_H
#define CAIRN_DUMP_LEDGER_DUMP_H

#include "base/buffer.h"
#include "dump/end.h"
#include "dump/ledger_heap.h"
#include "process/life.h"
#include "process/memory.h"
#include "process/smaps.h"

enum {
	CAIRN_LEDGER_BYTES_MOST = 1 << 30, /* the largest ledger that the agent makes */
	CAIRN_LEDGER_DUMP_MOST = 1 << 30,
};

/* Facts about the moment of the dump, usually the last, that are not in the ledger. All of them are optional. */
struct cairn_ledger_end {
	bool lives;          /* the process goes on */
	struct cairn_bytes maps; /* its memory map, as the kernel wrote it; empty for that of the ledger */
	struct cairn_ledger_witness witness;
	int64_t clock_ns;    /* the moment by the ledger's clock; 0 for that of the newest sample */
	int64_t time_ns;     /* the same since 1970; 0 to derive it from the header */
	int64_t uptime_ns;   /* the same since the machine's start; 0 to leave it out */
	const char *how;     /* how it ended, in words; NULL for nothing */
	struct cairn_end end; /* the same as a type; not written without HOW */
	const struct cairn_smaps *smaps; /* its memory as the kernel reported it shortly before; NULL when unknown */
	int64_t smaps_before_ns;         /* how long before */
	const struct cairn_memory_reading *reading; /* its limits; NULL when unknown */
	const struct cairn_ledger_row *rows;        /* its course, in any order, for the time before the ledger's own; time_ns is 0 for none */
	size_t row_count;
	const struct cairn_memory *memory;          /* from which they were read; NULL where they were read earlier */
};

/* Appends the dump to OUT, which should have the maximum above. Maps its own pages instead of calling malloc. */
bool cairn_ledger_write_dump(const struct cairn_ledger *ledger, const struct cairn_ledger_end *end, struct cairn_buffer *out,
			     struct cairn_error *error);

#endif
