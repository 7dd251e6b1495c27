/* pages.h - memory from mmap, for code inside somebody else's process that must not use its malloc.
 *
 * Nothing here ends the program. Pages are not inherited across fork: a child starts without them, so nothing of the parent's work is
 * copied or kept there.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_BASE_PAGES_H
#define CAIRN_BASE_PAGES_H

#include "base/buffer.h"

/* SIZE zero bytes, or NULL. Free with cairn_pages_unmap and the same size. */
void *cairn_pages_map(size_t size);
void cairn_pages_unmap(void *memory, size_t size);

/* Reads one byte of each page, so that all of them are there. It is for pages that a file has: reading one cannot fail then. MAP_POPULATE
 * would do it in one call, which keeps every thread that maps or unmaps memory waiting until it is done: on a busy machine, where the call
 * is put aside again and again, for more than a tenth of a second. For the same reason cairn_pages_unmap gives much memory back in
 * pieces. */
void cairn_pages_touch(const void *memory, size_t size);

/* An empty buffer on separate pages, for at most MAXIMUM bytes. It is used and freed like any other buffer; without memory, appending
 * sets `failed`. */
struct cairn_buffer cairn_pages(size_t maximum);

/* Appends BYTES, or all that is in the file behind DESCRIPTOR, to a buffer from cairn_pages that nothing was removed from. Where they are
 * zeroes for whole pages, no memory is used: a file that is nearly all hole costs nearly none. Fails as cairn_buffer_read does. */
void cairn_pages_append(struct cairn_buffer *buffer, struct cairn_bytes bytes);
bool cairn_pages_read(struct cairn_buffer *buffer, int descriptor);

/* A buffer from cairn_pages with its pages charged to QUOTA (base/quota.h); when that is used up, it behaves as if there were no memory. */
struct cairn_buffer cairn_pages_of(struct cairn_quota *quota, size_t maximum);

#endif
