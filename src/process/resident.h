/* resident.h - how much of a range of addresses of a process is resident, page by page.
 *
 * The kernel has it in /proc/PID/pagemap. A process that has changed its user may not open its own; it asks with mincore.
 *
 * smaps counts whole mappings of the kernel's, which may join what two callers mapped side by side; this counts any range. Nothing here
 * allocates.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_PROCESS_RESIDENT_H
#define CAIRN_PROCESS_RESIDENT_H

#include <stdbool.h>
#include <stdint.h>

struct cairn_resident {
	int pagemap;         /* -1 if it cannot be read */
	bool is_own;         /* the calling process */
	bool can_scan;       /* the kernel skips what is not there (PAGEMAP_SCAN, Linux 6.7) */
	uint64_t pages_left; /* that may still be looked at, so that a process with terabytes of addresses is not looked through */
};

/* Of process PID, 0 for the calling process: at most PAGES pages in all ranges together. Close it in any case. */
void cairn_resident_open(struct cairn_resident *resident, int pid, uint64_t pages);
void cairn_resident_close(struct cairn_resident *resident);

/* The resident bytes of the LENGTH bytes from START on. False if that is not known. */
bool cairn_resident_range(struct cairn_resident *resident, uint64_t start, uint64_t length, uint64_t *bytes);

#endif
