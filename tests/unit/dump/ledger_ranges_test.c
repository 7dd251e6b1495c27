/* ledger_ranges_test.c - the ranges that a service mapped itself, from the descriptor of its ledger, or of anything else.
 * SPDX-License-Identifier: Apache-2.0 */
#include "dump/ledger_ranges.h"

#include "base/pages.h"
#include "dump/ledger_dump.h"
#include "tap.h"

#include <sys/mman.h>
#include <unistd.h>

static int made(const struct cairn_ledger_header *header, const struct cairn_ledger_mapping *mappings, size_t count)
{
	int descriptor = memfd_create("ledger", MFD_CLOEXEC);
	if (pwrite(descriptor, header, sizeof *header, 0) != sizeof *header ||
	    (count && pwrite(descriptor, mappings, count * sizeof *mappings, (off_t)header->mappings.offset) < 0))
		perror("pwrite");
	return descriptor;
}

static struct cairn_ledger_header header_of(uint32_t count)
{
	struct cairn_ledger_header header = {.magic = CAIRN_LEDGER_MAGIC, .version = CAIRN_LEDGER_VERSION};
	header.mappings = (struct cairn_ledger_area){1 << 16, sizeof(struct cairn_ledger_mapping), count};
	atomic_store(&header.mappings_used, count);
	return header;
}

static void test_ranges(void)
{
	enum { count = 600 };
	static struct cairn_ledger_mapping mappings[count];
	for (uint64_t i = 0; i < count;
	     i++) { /* from the last to the first, with gaps; every tenth is of a file, every hundredth is empty */
		atomic_store(&mappings[i].start, i % 100 == 99 ? CAIRN_LEDGER_EMPTY : (1000 - i) * 0x10000);
		mappings[i].length = 0x8000;
		mappings[i].kind = i % 10 == 0 ? CAIRN_LEDGER_MAPPING_FILE : CAIRN_LEDGER_MAPPING_ANONYMOUS;
	}
	struct cairn_ledger_header header = header_of(count);
	int descriptor = made(&header, mappings, count);
	size_t got, size;
	struct cairn_smaps_range *ranges = cairn_ledger_ranges_of(descriptor, &got, &size);
	is_int(got, count - count / 10 - count / 100, "private memory, but for what is not written");
	bool sorted = ranges != NULL;
	for (size_t i = 1; sorted && i < got; i++)
		sorted = ranges[i].start >= ranges[i - 1].end && ranges[i].end == ranges[i].start + 0x8000;
	ok(sorted, "in the order of their addresses");
	cairn_pages_unmap(ranges, size);
	mappings[1].length = UINT64_MAX;
	mappings[2].length = 0x100000;
	close(descriptor);
	descriptor = made(&header, mappings, count);
	ranges = cairn_ledger_ranges_of(descriptor, &got, &size);
	sorted = ranges != NULL;
	for (size_t i = 0; sorted && i < got; i++)
		sorted = ranges[i].end >= ranges[i].start && (i == 0 || ranges[i].start >= ranges[i - 1].end);
	ok(sorted, "some that overlap do so no more");
	cairn_pages_unmap(ranges, size);
	close(descriptor);
}

static void test_hostile(void)
{
	size_t count, size;
	struct cairn_ledger_header bad[4] = {header_of(10), header_of(10), header_of(10), header_of(UINT32_MAX)};
	bad[0].magic = 1;
	bad[1].mappings.size = 1;
	bad[2].mappings.offset = UINT64_MAX - 100;
	for (int i = 0; i < 4; i++) {
		int descriptor = made(&bad[i], NULL, 0);
		ok(!cairn_ledger_ranges_of(descriptor, &count, &size) && count == 0, "a header that is wrong in its member %d has none", i);
		close(descriptor);
	}
	struct cairn_ledger_header cut = header_of(1000);
	int descriptor = made(&cut, NULL, 0);
	struct cairn_smaps_range *ranges = cairn_ledger_ranges_of(descriptor, &count, &size);
	is_int(count, 0, "a ledger that is cut short has none");
	cairn_pages_unmap(ranges, size);
	close(descriptor);
	ok(!cairn_ledger_ranges_of(-1, &count, &size) && count == 0, "no descriptor, no ranges");
}

int main(void)
{
	test_ranges();
	test_hostile();
	return tap_done();
}
