/* pages.h - memory by mmap, for code that lives inside somebody else's process and must not touch its malloc.
 *
 * Nothing here ends the program. Pages are not inherited across fork: a child starts without them, so nothing of the
 * parent's work is copied or kept alive there.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_BASE_PAGES_H
#define CAIRN_BASE_PAGES_H

#include "base/buffer.h"

/* SIZE bytes of zeroes, or NULL. Given back by cairn_pages_unmap with the same size. */
void *cairn_pages_map(size_t size);
void cairn_pages_unmap(void *memory, size_t size);

/* An empty buffer on pages of its own, at most MAXIMUM bytes. Used and freed like any other buffer; where there is no
 * memory appending sets `failed`. */
struct cairn_buffer cairn_pages(size_t maximum);

/* The same, whose pages are taken from QUOTA as well (base/quota.h); where that has no more, it is as if there were no memory. */
struct cairn_buffer cairn_pages_of(struct cairn_quota *quota, size_t maximum);

#endif
