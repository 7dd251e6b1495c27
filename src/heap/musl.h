/* musl.h - the reader of musl's malloc (mallocng).
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_HEAP_MUSL_H
#define CAIRN_HEAP_MUSL_H

#include "heap/walk.h"

/* Reads all of it in the image into WALK. */
void cairn_musl_read(struct cairn_walk *walk);

#endif
