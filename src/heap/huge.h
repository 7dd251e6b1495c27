/* huge.h - what transparent huge pages cost: memory that they made resident and that nobody has written to.
 *
 * The kernel gives a huge page as a whole, filled with zeroes. So of a part that is still all zeroes, hardly anything would be resident
 * without huge pages. Some huge pages are read, chosen evenly, and stand for the others; nothing of them is kept but whether a page is
 * zero. SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_HEAP_HUGE_H
#define CAIRN_HEAP_HUGE_H

#include "heap/image.h"

struct cairn_huge {
	uint64_t bytes;    /* in huge pages, as far as the kernel tells (Linux 6.7) */
	double zero;       /* the part that is all zeroes */
	double zero_error; /* standard deviation of that */
};

/* After a walk of the heaps in IMAGE: a page with several small objects of zeroes was written to. */
void cairn_huge_measure(struct cairn_huge *huge, struct cairn_image *image);

#endif
