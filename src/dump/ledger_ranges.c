/* ledger_ranges.c - turns the records of mappings into sorted ranges.
 * SPDX-License-Identifier: Apache-2.0 */
#include "dump/ledger_ranges.h"

#include "base/pages.h"
#include "base/sort.h"
#include "dump/ledger_dump.h"

#include <unistd.h>

static int compare(const void *a, const void *b)
{
	const struct cairn_smaps_range *one = a, *other = b;
	return one->start < other->start ? -1 : one->start > other->start;
}

static void add(struct cairn_smaps_range *ranges, size_t *count, const struct cairn_ledger_mapping *mapping)
{
	uint64_t start = atomic_load_explicit(&mapping->start, memory_order_relaxed);
	if (start > CAIRN_LEDGER_BUSY && mapping->kind != CAIRN_LEDGER_MAPPING_SHARED && mapping->kind != CAIRN_LEDGER_MAPPING_FILE &&
	    start + mapping->length > start)
		ranges[(*count)++] = (struct cairn_smaps_range){start, start + mapping->length};
}

/* Removes overlaps: these come from a record that is being changed, or from a forged ledger. */
static void arrange(struct cairn_smaps_range *ranges, size_t count)
{
	uint64_t end = 0;
	cairn_sort(ranges, count, sizeof *ranges, compare);
	for (size_t i = 0; i < count; i++) {
		ranges[i].start = ranges[i].start > end ? ranges[i].start : end;
		ranges[i].end = ranges[i].end > ranges[i].start ? ranges[i].end : ranges[i].start;
		end = ranges[i].end;
	}
}

struct cairn_smaps_range *cairn_ledger_ranges(const struct cairn_ledger *ledger, size_t *count, size_t *size)
{
	struct cairn_ledger_mapping mapping;
	uint32_t most = ledger->header.mappings.count;
	*count = 0;
	*size = ((size_t)most + 1) * sizeof(struct cairn_smaps_range);
	struct cairn_smaps_range *ranges = cairn_pages_map(*size);
	for (uint32_t i = 0; ranges && i < most; i++)
		if (cairn_ledger_get_mapping(ledger, i, &mapping))
			add(ranges, count, &mapping);
	if (ranges)
		arrange(ranges, *count);
	return ranges;
}

struct cairn_smaps_range *cairn_ledger_ranges_of(int descriptor, size_t *count, size_t *size)
{
	enum { records = 256 };
	struct cairn_ledger_header header;
	struct cairn_ledger_mapping batch[records];
	*count = *size = 0;
	if (pread(descriptor, &header, sizeof header, 0) != sizeof header || header.magic != CAIRN_LEDGER_MAGIC ||
	    header.mappings.size != sizeof *batch || header.mappings.count > CAIRN_LEDGER_BYTES_MOST / sizeof *batch ||
	    header.mappings.offset > CAIRN_LEDGER_BYTES_MOST)
		return NULL;
	uint64_t used = atomic_load_explicit(&header.mappings_used, memory_order_relaxed);
	size_t most = used < header.mappings.count ? (size_t)used : header.mappings.count;
	*size = (most + 1) * sizeof(struct cairn_smaps_range);
	struct cairn_smaps_range *ranges = cairn_pages_map(*size);
	for (size_t i = 0; ranges && i < most; i += records) {
		size_t wanted = most - i < records ? most - i : records;
		ssize_t got = pread(descriptor, batch, wanted * sizeof *batch, (off_t)(header.mappings.offset + i * sizeof *batch));
		for (size_t k = 0; got > 0 && k < (size_t)got / sizeof *batch; k++)
			add(ranges, count, &batch[k]);
	}
	if (ranges)
		arrange(ranges, *count);
	return ranges;
}
