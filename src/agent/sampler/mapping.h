/* mapping.h - memory that the host maps itself, past its allocator: mmap, mremap, munmap, brk and sbrk, each exactly, with its stack.
 *
 * The hooks stand in for libc's functions in all objects but libc, the loader and the allocator, which need none of them by name, or whose
 * mappings are objects that are counted as such. Where the allocator is part of the program they are left alone: its mappings could not be
 * told from the service's.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_AGENT_SAMPLER_MAPPING_H
#define CAIRN_AGENT_SAMPLER_MAPPING_H

#include "agent/sampler/hooks.h"
#include "agent/sampler/record.h"

#include <sys/types.h>

/* Forgets all ranges: while the hooks were not in place, the host may have unmapped any of them. */
void cairn_mapping_clear(struct cairn_record *record);

/* For the table of hooks: each, and where it goes on to. */
void *cairn_mapping_mmap(void *address, size_t length, int protection, int flags, int descriptor, off_t offset);
int cairn_mapping_munmap(void *address, size_t length);
void *cairn_mapping_mremap(void *address, size_t old_length, size_t new_length, int flags, void *new_address);
int cairn_mapping_brk(void *address);
void *cairn_mapping_sbrk(intptr_t increment);

struct cairn_mapping_real {
	void *(*mmap)(void *address, size_t length, int protection, int flags, int descriptor, off_t offset);
	void *(*mmap64)(void *address, size_t length, int protection, int flags, int descriptor, off_t offset);
	int (*munmap)(void *address, size_t length);
	void *(*mremap)(void *address, size_t old_length, size_t new_length, int flags, ...);
	int (*brk)(void *address);
	void *(*sbrk)(intptr_t increment);
};
extern struct cairn_mapping_real cairn_mapping_real;

#endif
