/* identity.h - the identity of a file, from its first kilobytes: build-id and segments.
 *
 * This is enough to distinguish two builds and to turn a file offset into a link-time address, at the price of one read. A run with a
 * warm cache reads nothing else of a binary.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_SYMBOL_IDENTITY_H
#define CAIRN_SYMBOL_IDENTITY_H

#include "base/arena.h"
#include "symbol/elf.h"

struct cairn_identity {
	char build_id[2 * 64 + 1]; /* lower-case hex; empty when there is none */
	uint64_t size, inode;
	int64_t modified_ns;
	uint16_t machine; /* EM_X86_64, … of <elf.h> */
	uint16_t type;    /* ET_EXEC if it is always loaded where it was linked */
	struct cairn_elf_segment *segments; /* of type PT_LOAD, in ARENA */
	size_t segment_count;
};

/* Reads the identity of PATH. Fails with a message if it is missing, unreadable or not an ELF file. */
bool cairn_identity_read(struct cairn_identity *identity, struct cairn_arena *arena, const char *path, struct cairn_error *error);

/* The link-time address of the byte at OFFSET of the file; false when no segment loads it. */
bool cairn_identity_address(const struct cairn_identity *identity, uint64_t offset, uint64_t *address);

/* The same for a separate debug file, whose headers no longer say where code is in the binary: right if only one segment is executable
 * and the mapping of the binary, from its offset START on, was the beginning of that segment. */
bool cairn_identity_address_from_start(const struct cairn_identity *identity, uint64_t start, uint64_t offset, uint64_t *address);

/* Finds the build-id among NOTES, an ELF note segment or section. TEXT holds at least 129 bytes. */
bool cairn_build_id_find(struct cairn_layout layout, struct cairn_bytes notes, char *text);

/* Whether TEXT can be a build-id: an even number of lower-case hexadecimal digits, at least two bytes of them. */
bool cairn_build_id_valid(const char *text);

#endif
