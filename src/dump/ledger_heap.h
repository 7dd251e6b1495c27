/* ledger_heap.h - a ledger as a dump: the text of heap_v2 that stock jeprof reads, and sections with what that cannot say.
 *
 * The agent writes its snapshots so, and whoever holds the ledger of a process that is gone writes its last one. doc/ledger.md describes
 * the sections.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_DUMP_LEDGER_HEAP_H
#define CAIRN_DUMP_LEDGER_HEAP_H

#include "base/buffer.h"
#include "dump/ledger_read.h"
#include "dump/trailer_write.h"
#include "process/resident.h"

/* The line that begins the section of samples. */
#define CAIRN_LEDGER_SECTION "# cairn section samples 1\n"

struct cairn_ledger_heap {
	uint64_t samples;     /* live */
	uint64_t bytes;       /* live, estimated */
	struct cairn_buffer sections; /* to be written behind the memory map; the caller frees it */
};

/* The slab that a small object lies in: how many of its REGIONS are FREE, and its size. As jemalloc answers. */
struct cairn_ledger_slab {
	uint64_t free, regions, bytes;
};

/* What only the living process can tell; all zeroes where it is gone. */
struct cairn_ledger_witness {
	struct cairn_resident *resident; /* how much of a mapping is resident */
	/* Fills the slabs of COUNT objects of malloc's; some may have been freed meanwhile. False if the allocator does not tell. */
	bool (*find_slabs)(const void *context, const uint64_t *addresses, size_t count, struct cairn_ledger_slab *slabs);
	const void *context;
};

/* Appends the dump up to its stacks, without memory map. Ages are as of NOW_NS by the ledger's clock. Uses pages of its own, no malloc.
 * False where there is no memory. */
bool cairn_ledger_write_heap(const struct cairn_ledger *ledger, int64_t now_ns, const struct cairn_ledger_witness *witness,
			     struct cairn_buffer *out, struct cairn_ledger_heap *heap, struct cairn_error *error);

/* The executable range of module NUMBER, borrowed from MODULE and LEDGER. False for one that is not there, or only half. */
bool cairn_ledger_range(const struct cairn_ledger *ledger, uint32_t number, struct cairn_ledger_module *module,
			struct cairn_trailer_range *range);

/* Appends a memory map as /proc/PID/maps has it, from the modules of the ledger. */
void cairn_ledger_write_maps(const struct cairn_ledger *ledger, struct cairn_buffer *out);

/* Appends the lines of the trailer that tell how the sampler fared. */
void cairn_ledger_write_counts(const struct cairn_ledger *ledger, struct cairn_buffer *out);

#endif
