/* image.h - the core's file, which is part of this program: what is to be in the memory of another process, and what lies where.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_LIVE_CORE_IMAGE_H
#define CAIRN_LIVE_CORE_IMAGE_H

#include "symbol/elf.h"

struct cairn_core_image {
	struct cairn_elf *elf;
	uint64_t code_size; /* whole pages, from its start on; the data are behind them */
	uint64_t size;      /* in memory, all of it */
	uint64_t build;     /* a hash of the file */
};

bool cairn_core_image_open(struct cairn_core_image *image, struct cairn_error *error);
void cairn_core_image_close(struct cairn_core_image *image);

/* Where the function or variable NAME lies, from the start of the core on; it must be there. SIZE, which may be NULL, becomes how large it is. */
uint64_t cairn_core_image_symbol(const struct cairn_core_image *image, const char *name, uint64_t *size);

/* What lies at OFFSET: the bytes of the Nth piece that is not zero. Returns false if there are no more. */
bool cairn_core_image_piece(const struct cairn_core_image *image, size_t n, uint64_t *offset, struct cairn_bytes *bytes);

#endif
