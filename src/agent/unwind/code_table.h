/* code_table.h - loaded objects by address, asked by code that may not take a lock.
 *
 * A new table is written into the one of two buffers that is not published, then published. The buffer that a reader looks at is written
 * again only after the other was published, so a reader that sees the same number before and after has read a consistent table; in the rare
 * other case it finds nothing.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_AGENT_UNWIND_CODE_TABLE_H
#define CAIRN_AGENT_UNWIND_CODE_TABLE_H

#include "agent/unwind/code.h"

#include <stdatomic.h>

enum { CAIRN_CODE_TABLE_MOST = 1024 };

struct cairn_code_table {
	struct cairn_code_entry {
		_Atomic uintptr_t start, end, image_start, image_end, unwind_header;
		_Atomic uint16_t tag;
	} entries[2][CAIRN_CODE_TABLE_MOST]; /* sorted */
	atomic_uint counts[2];
	atomic_uint published; /* its lowest bit says which buffer holds */
};

/* The entry that ADDRESS is in. */
bool cairn_code_table_find(const struct cairn_code_table *table, uintptr_t address, struct cairn_code *code);

/* Adds CODE to the *COUNT entries of the buffer that is not published; nothing if that is full. */
void cairn_code_table_add(struct cairn_code_table *table, unsigned *count, const struct cairn_code *code);

/* Publishes that buffer. */
void cairn_code_table_publish(struct cairn_code_table *table, unsigned count);

#endif
