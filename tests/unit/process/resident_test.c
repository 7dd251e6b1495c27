/* resident_test.c - what is resident of a range, by each of the ways to know it.
 * SPDX-License-Identifier: Apache-2.0 */
#include "process/resident.h"

#include "base/descriptor.h"
#include "tap.h"

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { page = 4096, pages = 1000, most = 1 << 20 };

static void check(struct cairn_resident *resident, char *memory, const char *way)
{
	uint64_t bytes = 0, start = (uintptr_t)memory;
	ok(cairn_resident_range(resident, start, pages * page, &bytes), "%s: a range is known", way);
	is_int(bytes, 300 * page, "what was touched is there");
	ok(cairn_resident_range(resident, start + 500 * page, 100 * page, &bytes) && bytes == 100 * page, "a part of it");
	ok(cairn_resident_range(resident, start + 10, 10, &bytes) && bytes == page, "a part of a page is the page");
	ok(cairn_resident_range(resident, start, 0, &bytes) && bytes == 0, "of nothing, nothing");
	ok(!cairn_resident_range(resident, UINT64_MAX - 10, 100, &bytes), "past the last address nothing is known");
	resident->pages_left = 50;
	ok(!cairn_resident_range(resident, start, pages * page, &bytes), "and nothing once enough pages were looked at");
	cairn_resident_close(resident);
	cairn_resident_close(resident);
}

int main(void)
{
	struct cairn_resident resident;
	char *memory = mmap(NULL, pages * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	madvise(memory, pages * page, MADV_NOHUGEPAGE);
	memset(memory, 1, 100 * page);
	memset(memory + 500 * page, 1, 200 * page);
	cairn_resident_open(&resident, 0, most);
	if (resident.can_scan)
		check(&resident, memory, "PAGEMAP_SCAN");
	else
		tap_skip("PAGEMAP_SCAN", "this kernel has none");
	cairn_resident_close(&resident);
	cairn_resident_open(&resident, (int)getpid(), most);
	resident.can_scan = false;
	check(&resident, memory, "pagemap, by number");
	cairn_resident_open(&resident, 0, most);
	resident.can_scan = false;
	cairn_descriptor_close(resident.pagemap);
	resident.pagemap = -1;
	check(&resident, memory, "mincore");
	cairn_resident_open(&resident, 999999999, most);
	uint64_t bytes;
	ok(!cairn_resident_range(&resident, (uintptr_t)memory, page, &bytes), "a process that is not there");
	cairn_resident_close(&resident);
	return tap_done();
}
