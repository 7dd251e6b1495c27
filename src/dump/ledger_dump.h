/* ledger_dump.h - a ledger that its process has left behind, as a whole dump: stacks, memory map, sections and trailer.
 *
 * The process can no longer be asked, so everything comes from the ledger, which may be anybody's bytes: what is wrong in it makes a dump
 * with less in it or an error, never more than CAIRN_LEDGER_DUMP_MOST bytes.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_DUMP_LEDGER_DUMP_H
#define CAIRN_DUMP_LEDGER_DUMP_H

#include "base/buffer.h"
#include "dump/ledger_read.h"
#include "process/life.h"
#include "process/memory.h"
#include "process/smaps.h"

enum {
	CAIRN_LEDGER_BYTES_MOST = 1 << 30, /* as large as the agent ever makes one */
	CAIRN_LEDGER_DUMP_MOST = 1 << 30,
};

enum cairn_ledger_end_kind { CAIRN_LEDGER_END_UNKNOWN, CAIRN_LEDGER_END_CODE, CAIRN_LEDGER_END_SIGNAL };

/* What is known of the last moment besides the ledger. All of it may be left out. */
struct cairn_ledger_end {
	int64_t clock_ns;    /* the moment by the ledger's clock; 0 for that of the newest sample */
	int64_t time_ns;     /* the same since 1970; 0 to derive it from the header */
	int64_t uptime_ns;   /* and since the machine's start; 0 to leave it out */
	const char *how;     /* it ended, in words; NULL for nothing */
	enum cairn_ledger_end_kind kind;
	int number;          /* the exit code or signal */
	bool out_of_memory;  /* the OOM killer is inferred */
	const struct cairn_smaps *smaps; /* its memory as the kernel told shortly before; NULL when unknown */
	int64_t smaps_before_ns;         /* how long before */
	const struct cairn_memory_reading *reading; /* and its limits; NULL when unknown */
};

/* The process that LEDGER says it is of. */
struct cairn_life cairn_ledger_life(const struct cairn_ledger *ledger);

/* The latest time of birth in LEDGER by its clock, at least that of its header: until then, at least, its process ran. */
int64_t cairn_ledger_newest(const struct cairn_ledger *ledger);

/* Appends the dump to OUT, which should have the maximum above. Uses pages of its own, no malloc. */
bool cairn_ledger_write_dump(const struct cairn_ledger *ledger, const struct cairn_ledger_end *end, struct cairn_buffer *out,
			     struct cairn_error *error);

#endif
