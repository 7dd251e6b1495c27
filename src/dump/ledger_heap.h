/* ledger_heap.h - writes a ledger as a dump: heap_v2 text that stock jeprof can read, and sections for everything else.
 *
 * The agent writes its snapshots this way, and so does any program that holds the ledger of a process that has ended. doc/ledger.md
 * describes the sections.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_DUMP_LEDGER_HEAP_H
#define CAIRN_DUMP_LEDGER_HEAP_H

#include "base/buffer.h"
#include "dump/ledger_read.h"
#include "dump/trailer_write.h"
#include "process/resident.h"

/* The first line of the section with the samples. */
#define CAIRN_LEDGER_SECTION "# cairn section samples 1\n"

struct cairn_ledger_heap {
	uint64_t samples;     /* live */
	uint64_t overlapping; /* stacks that were left out: together they have more frames than the ledger */
	struct cairn_buffer sections; /* to be written after the memory map; the caller frees it */
};

/* The slab that contains a small object, as reported by jemalloc: the number of its regions, how many of them are free, and its size. */
struct cairn_ledger_slab {
	uint64_t free, regions, bytes;
};

/* Facts that only the running process can provide; all zeroes if it has ended. */
struct cairn_ledger_witness {
	struct cairn_resident *resident; /* how much of a mapping is resident */
	/* Fills the slabs of COUNT objects of malloc; some may have been freed meanwhile. Returns false if the allocator cannot tell. */
	bool (*find_slabs)(const void *context, const uint64_t *addresses, size_t count, struct cairn_ledger_slab *slabs);
	/* Or, if a walk of the heap has found it: what the object of malloc at ADDRESS, with USABLE bytes, keeps from being given back. Returns
	 * false if that is not known. */
	bool (*find_share)(const void *context, uint64_t address, uint64_t usable, double *bytes);
	const void *context;
};

/* Appends the dump up to the end of its stacks, without the memory map. Ages are as of NOW_NS by the ledger's clock. Maps its own pages
 * instead of calling malloc. Returns false if there is not enough memory. */
bool cairn_ledger_write_heap(const struct cairn_ledger *ledger, int64_t now_ns, const struct cairn_ledger_witness *witness,
			     struct cairn_buffer *out, struct cairn_ledger_heap *heap, struct cairn_error *error);

/* The executable range of module NUMBER, borrowed from MODULE and LEDGER. Returns false if the module is missing or incomplete. */
bool cairn_ledger_range(const struct cairn_ledger *ledger, uint32_t number, struct cairn_ledger_module *module,
			struct cairn_trailer_range *range);

/* Appends a memory map in the format of /proc/PID/maps, from the modules of the ledger. */
void cairn_ledger_write_maps(const struct cairn_ledger *ledger, struct cairn_buffer *out);

/* Appends the trailer lines with the sampler's own counts. */
void cairn_ledger_write_counts(const struct cairn_ledger *ledger, struct cairn_buffer *out);

#endif
