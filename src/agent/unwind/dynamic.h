/* dynamic.h - the dynamic section of a loaded object: its symbols by name and its relocations, read in place.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_AGENT_UNWIND_DYNAMIC_H
#define CAIRN_AGENT_UNWIND_DYNAMIC_H

#include "agent/unwind/object.h"

struct cairn_dynamic {
	uintptr_t bias;
	const ElfW(Sym) *symbols;
	const char *names;
	const uint32_t *gnu_hash, *sysv_hash;
	struct cairn_relocations {
		const ElfW(Rela) *entries;
		size_t count;
	} data, plt;
};

/* Returns false if MODULE has none. Borrowed like MODULE. */
bool cairn_dynamic_open(struct cairn_dynamic *dynamic, const struct cairn_object *module);

/* The address of the function NAME in this object; 0 if it is not defined here or is chosen at run time (IFUNC). */
uintptr_t cairn_dynamic_find(const struct cairn_dynamic *dynamic, const char *name);

#endif
