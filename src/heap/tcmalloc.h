/* tcmalloc.h - the reader of tcmalloc, as gperftools has it.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_HEAP_TCMALLOC_H
#define CAIRN_HEAP_TCMALLOC_H

#include "heap/walk.h"

/* Reads all of it in the image into WALK. */
void cairn_tcmalloc_read(struct cairn_walk *walk);

#endif
