/* ledger_read.h - reading a ledger (ledger.h), alive or left behind, as if it had been written by an enemy.
 *
 * The ledger may change while it is read, and may be a file that somebody made up. So a record is copied first and then judged; what is
 * torn is left out; no count, offset or index in it is believed before it was compared with the size of the memory. Nothing allocates:
 * the agent reads its own ledger by these same functions.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_DUMP_LEDGER_READ_H
#define CAIRN_DUMP_LEDGER_READ_H

#include "base/bytes.h"
#include "base/error.h"
#include "dump/ledger.h"

struct cairn_ledger {
	struct cairn_bytes memory;         /* borrowed */
	struct cairn_ledger_header header; /* as of when it was opened */
};

/* Whether BYTES begin like a ledger. */
bool cairn_ledger_is(struct cairn_bytes bytes);

/* Fails where BYTES are no ledger, or one whose areas do not fit together. BYTES must outlive LEDGER. */
bool cairn_ledger_open(struct cairn_ledger *ledger, struct cairn_bytes bytes, struct cairn_error *error);

/* How many records AREA has, used or not. */
static inline uint32_t cairn_ledger_count(const struct cairn_ledger *ledger, enum cairn_ledger_area_name area)
{
	return ledger->header.areas[area].count;
}

/* Copies of whole records; false where INDEX has none. */
bool cairn_ledger_get_sample(const struct cairn_ledger *ledger, uint32_t index, struct cairn_ledger_sample *sample);
bool cairn_ledger_get_stack(const struct cairn_ledger *ledger, uint32_t index, struct cairn_ledger_stack *stack);
bool cairn_ledger_get_module(const struct cairn_ledger *ledger, uint32_t index, struct cairn_ledger_module *module);
bool cairn_ledger_get_mapping(const struct cairn_ledger *ledger, uint32_t index, struct cairn_ledger_mapping *mapping);
bool cairn_ledger_get_row(const struct cairn_ledger *ledger, uint32_t index, struct cairn_ledger_row *row);
bool cairn_ledger_get_thread(const struct cairn_ledger *ledger, uint32_t index, struct cairn_ledger_thread *thread);

/* What lived of one stack at the highest point. */
struct cairn_ledger_peak {
	uint64_t samples, objects, bytes; /* objects in parts of CAIRN_LEDGER_OBJECT */
};

/* The number of the highest point by now; what cairn_ledger_get_peak says is of that point if it still has this number afterwards. */
uint64_t cairn_ledger_peak_number(const struct cairn_ledger *ledger);

/* False where INDEX has no whole stack, or nothing of it lived at the highest point NUMBER. */
bool cairn_ledger_get_peak(const struct cairn_ledger *ledger, uint32_t index, uint64_t number, struct cairn_ledger_peak *peak);

/* The time since 1970 of the moment CLOCK_NS of the ledger's clock, by the clock as it was when the ledger was made; 0 where the header
 * has no such time. */
int64_t cairn_ledger_time(const struct cairn_ledger *ledger, int64_t clock_ns);

/* One return address of STACK, innermost first; NUMBER must be less than its depth. */
uint64_t cairn_ledger_frame(const struct cairn_ledger *ledger, const struct cairn_ledger_stack *stack, uint32_t number);

/* The path of MODULE, borrowed from the ledger. */
struct cairn_bytes cairn_ledger_path(const struct cairn_ledger *ledger, const struct cairn_ledger_module *module);

/* The name of a thread, terminated. */
void cairn_ledger_thread_name(const struct cairn_ledger_thread *thread, char out[17]);

#endif
