/* ledger_read.h - reads a ledger (ledger.h), live or left behind, and trusts nothing in it.
 *
 * The ledger may change while it is read, and may be a forged file. So a record is first copied and then checked; torn records are left
 * out; no count, offset or index is used before it has been checked against the size of the memory. Nothing here allocates: the agent reads
 * its own ledger with the same functions.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_DUMP_LEDGER_READ_H
#define CAIRN_DUMP_LEDGER_READ_H

#include "base/bytes.h"
#include "base/error.h"
#include "dump/ledger.h"

struct cairn_ledger {
	struct cairn_bytes memory;         /* borrowed */
	struct cairn_ledger_header header; /* copied when it was opened */
};

/* Whether BYTES begin like a ledger. */
bool cairn_ledger_is(struct cairn_bytes bytes);

/* Fails if BYTES are not a ledger, or one with areas that do not fit. BYTES must outlive LEDGER. */
bool cairn_ledger_open(struct cairn_ledger *ledger, struct cairn_bytes bytes, struct cairn_error *error);

/* How many frames have memory. All complete stacks together have no more, except for stacks that are given up while they are read. */
uint32_t cairn_ledger_frames(const struct cairn_ledger *ledger);

/* The number of records that AREA has room for, used or not, with memory or without. */
static inline uint32_t cairn_ledger_count(const struct cairn_ledger *ledger, enum cairn_ledger_area_name area)
{
	return ledger->header.areas[area].count;
}

/* Copies a complete record. Returns false if there is none at INDEX. A stack may be given up while it is read: it is the one that was
 * copied if its hash is the same after the last of its frames was read (cairn_ledger_has_stack), and it is that of a sample or mapping if
 * it matches (cairn_ledger_is_stack_of). */
bool cairn_ledger_get_sample(const struct cairn_ledger *ledger, uint32_t index, struct cairn_ledger_sample *sample);
bool cairn_ledger_get_stack(const struct cairn_ledger *ledger, uint32_t index, struct cairn_ledger_stack *stack);
bool cairn_ledger_has_stack(const struct cairn_ledger *ledger, uint32_t index, uint64_t hash);
static inline bool cairn_ledger_is_stack_of(uint64_t hash, uint32_t stack_check)
{
	return stack_check == 0 || stack_check == (uint32_t)hash;
}
bool cairn_ledger_get_module(const struct cairn_ledger *ledger, uint32_t index, struct cairn_ledger_module *module);
bool cairn_ledger_get_mapping(const struct cairn_ledger *ledger, uint32_t index, struct cairn_ledger_mapping *mapping);
bool cairn_ledger_get_row(const struct cairn_ledger *ledger, uint32_t index, struct cairn_ledger_row *row);
bool cairn_ledger_get_thread(const struct cairn_ledger *ledger, uint32_t index, struct cairn_ledger_thread *thread);

/* What was live from one stack at the peak. */
struct cairn_ledger_peak {
	uint64_t samples, objects, bytes; /* objects in units of 1 / CAIRN_LEDGER_OBJECT */
	uint64_t hash;                    /* of the stack */
};

/* The number of the latest peak. Results of cairn_ledger_get_peak belong to that peak if the number is still the same afterwards. */
uint64_t cairn_ledger_peak_number(const struct cairn_ledger *ledger);

/* Returns false if there is no complete stack at INDEX, or if nothing of it was live at peak NUMBER. */
bool cairn_ledger_get_peak(const struct cairn_ledger *ledger, uint32_t index, uint64_t number, struct cairn_ledger_peak *peak);

/* Converts CLOCK_NS of the ledger's clock to the time since 1970, by the wall clock at the time the ledger was made; 0 if the header has no
 * such time. */
int64_t cairn_ledger_time(const struct cairn_ledger *ledger, int64_t clock_ns);

/* One return address of STACK, innermost first; NUMBER must be less than its depth. */
uint64_t cairn_ledger_frame(const struct cairn_ledger *ledger, const struct cairn_ledger_stack *stack, uint32_t number);

/* The path of MODULE, borrowed from the ledger. */
struct cairn_bytes cairn_ledger_path(const struct cairn_ledger *ledger, const struct cairn_ledger_module *module);

/* The name of a thread, terminated. */
void cairn_ledger_thread_name(const struct cairn_ledger_thread *thread, char out[17]);

#endif
