/* resident.c - reading /proc/PID/pagemap, by PAGEMAP_SCAN where the kernel has it, or asking with mincore.
 * SPDX-License-Identifier: Apache-2.0 */
#include "process/resident.h"

#include "base/descriptor.h"
#include "process/proc.h"

#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

enum { page_size = 4096 };

/* struct pm_scan_arg, struct page_region and PAGEMAP_SCAN of linux/fs.h, which older headers lack. */
struct scan {
	uint64_t size, flags, start, end, walk_end, vec, vec_len, max_pages, category_inverted, category_mask, category_anyof_mask,
		return_mask;
};
struct region {
	uint64_t start, end, categories;
};
static const unsigned long scan_request = _IOWR('f', 16, struct scan);
enum { is_present = 1 << 3, is_zero_page = 1 << 5 };

static bool scan(struct cairn_resident *resident, uint64_t start, uint64_t end, uint64_t *bytes)
{
	enum { regions_most = 256 };
	while (start < end && resident->pages_left > 0) {
		struct region regions[regions_most];
		struct scan request = {
			.size = sizeof request, .start = start, .end = end, .vec = (uintptr_t)regions, .vec_len = regions_most,
			.max_pages = resident->pages_left,
			.category_inverted = is_zero_page, .category_mask = is_present | is_zero_page, .return_mask = is_present,
		};
		int count = ioctl(resident->pagemap, scan_request, &request);
		if (count < 0 || request.walk_end <= start)
			return false;
		for (int i = 0; i < count && i < regions_most; i++) {
			uint64_t part = regions[i].end - regions[i].start;
			*bytes += part;
			resident->pages_left -= part / page_size < resident->pages_left ? part / page_size : resident->pages_left;
		}
		start = request.walk_end;
	}
	return start >= end;
}

static bool read_words(struct cairn_resident *resident, uint64_t start, uint64_t end, uint64_t *bytes)
{
	enum { words_most = 1024 };
	static const uint64_t present = (uint64_t)1 << 63;
	while (start < end) {
		uint64_t words[words_most], pages = (end - start) / page_size;
		size_t wanted = pages < words_most ? (size_t)pages : words_most;
		ssize_t got = pread(resident->pagemap, words, wanted * sizeof *words, (off_t)(start / page_size * sizeof *words));
		if (got < (ssize_t)sizeof *words)
			return false;
		size_t count = (size_t)got / sizeof *words;
		for (size_t i = 0; i < count; i++)
			*bytes += words[i] & present ? page_size : 0;
		start += count * page_size;
		resident->pages_left -= count;
	}
	return true;
}

/* Of the calling process. Private memory without a file is there if it is in the page table. */
static bool ask_core(struct cairn_resident *resident, uint64_t start, uint64_t end, uint64_t *bytes)
{
	enum { pages_most = 8192 };
	while (start < end) {
		unsigned char there[pages_most];
		uint64_t pages = (end - start) / page_size < pages_most ? (end - start) / page_size : pages_most;
		if (mincore((void *)(uintptr_t)start, (size_t)pages * page_size, there) != 0)
			return false;
		for (uint64_t i = 0; i < pages; i++)
			*bytes += there[i] & 1 ? page_size : 0;
		start += pages * page_size;
		resident->pages_left -= pages;
	}
	return true;
}

void cairn_resident_open(struct cairn_resident *resident, int pid, uint64_t pages)
{
	char path[CAIRN_PROC_PATH];
	bool known = sysconf(_SC_PAGESIZE) == page_size;
	int pagemap = known ? cairn_descriptor_adopt(open(cairn_proc_path(path, pid, "pagemap"), O_RDONLY | O_CLOEXEC)) : -1;
	*resident = (struct cairn_resident){.pagemap = pagemap, .is_own = known && !pid && cairn_proc_own() == getpid(), .pages_left = pages};
	struct scan nothing = {.size = sizeof nothing, .category_mask = is_present, .return_mask = is_present};
	resident->can_scan = resident->pagemap >= 0 && ioctl(resident->pagemap, scan_request, &nothing) == 0;
}

void cairn_resident_close(struct cairn_resident *resident)
{
	cairn_descriptor_close(resident->pagemap);
	resident->pagemap = -1;
}

bool cairn_resident_range(struct cairn_resident *resident, uint64_t start, uint64_t length, uint64_t *bytes)
{
	uint64_t first = start / page_size * page_size, end = (start + length + page_size - 1) / page_size * page_size;
	*bytes = 0;
	if ((resident->pagemap < 0 && !resident->is_own) || start + length < start || end < first)
		return false;
	if (!resident->can_scan && (end - first) / page_size > resident->pages_left)
		return false; /* at once: it would leave nothing for other ranges */
	return resident->can_scan      ? scan(resident, first, end, bytes)
	       : resident->pagemap >= 0 ? read_words(resident, first, end, bytes)
					: ask_core(resident, first, end, bytes);
}
