/* own_dump.c - the ledger as a heap profile, with the memory map and what jemalloc knows of its slabs.
 * SPDX-License-Identifier: Apache-2.0 */
#include "agent/sampler/own_dump.h"

#include "agent/sampler/patch.h"
#include "agent/sampler/sample.h"
#include "dump/ledger_heap.h"
#include "process/clock.h"
#include "process/facts.h"
#include "process/resident.h"

static void add_maps(const struct cairn_ledger *ledger, struct cairn_buffer *out)
{
	cairn_buffer_text(out, "\nMAPPED_LIBRARIES:\n");
	size_t before = out->length;
	if (!cairn_facts_read("/proc/thread-self/maps", out) || out->length == before)
		cairn_ledger_write_maps(ledger, out);
}

/* At most 4 GiB of the service's own mappings are examined; more would add over ten milliseconds to a dump. */
enum { resident_pages_most = 1 << 20, slabs_most = 256 };

/* How full the slabs of live objects are (experimental.utilization, jemalloc 5.2 and later), for which jemalloc takes no lock. An object
 * may have been freed since it was listed: its address is still one that jemalloc has had and never forgets, and it describes the slab as
 * it is now. Any other address could crash it, so this is used only if its malloc is the one that the hooks are in front of. */
static bool find_slabs(const void *context, const uint64_t *addresses, size_t count, struct cairn_ledger_slab *slabs)
{
	static_assert(sizeof(struct cairn_ledger_slab) == 3 * sizeof(size_t) && sizeof *addresses == sizeof(void *), "as jemalloc has them");
	const struct cairn_jemalloc *jemalloc = context;
	size_t size = count * sizeof *slabs;
	uint64_t copies[slabs_most];
	if (count > slabs_most)
		return false;
	memcpy(copies, addresses, count * sizeof *copies);
	return jemalloc->mallctl("experimental.utilization.batch_query", slabs, &size, copies, count * sizeof *copies) == 0;
}

bool cairn_own_ledger_open(struct cairn_ledger *ledger, struct cairn_error *error)
{
	const struct cairn_record *record = &cairn_sampling.record;
	return cairn_ledger_open(ledger, (struct cairn_bytes){(const char *)record->header, record->bytes}, error);
}

bool cairn_own_dump_make(const struct cairn_jemalloc *jemalloc, struct cairn_buffer *out, struct cairn_error *error)
{
	struct cairn_ledger ledger;
	struct cairn_ledger_heap heap;
	if (!cairn_sample_is_ours()) { /* it was never on: an empty profile is the truth */
		cairn_buffer_text(out, "heap_v2/1\n  t*: 0: 0 [0: 0]\n\nMAPPED_LIBRARIES:\n");
		cairn_facts_read("/proc/thread-self/maps", out);
		cairn_buffer_text(out, CAIRN_LEDGER_SECTION);
		return true;
	}
	if (!cairn_own_ledger_open(&ledger, error))
		return false;
	struct cairn_resident resident;
	cairn_resident_open(&resident, 0, resident_pages_most);
	struct cairn_ledger_witness witness = {.resident = &resident, .context = jemalloc};
	if (jemalloc->mallctl && jemalloc->is_malloc && strcmp(jemalloc->module, cairn_patch_allocator()) == 0)
		witness.find_slabs = find_slabs;
	bool good = cairn_ledger_write_heap(&ledger, cairn_clock_ns(), &witness, out, &heap, error);
	cairn_resident_close(&resident);
	if (!good)
		return false;
	add_maps(&ledger, out);
	cairn_buffer_append(out, heap.sections.data, heap.sections.length);
	cairn_buffer_free(&heap.sections);
	return !out->failed || cairn_fail(error, "no memory for a dump");
}
