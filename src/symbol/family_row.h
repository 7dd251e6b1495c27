/* family_row.h - the functions of all families: their names, and what they do with their arguments.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_SYMBOL_FAMILY_ROW_H
#define CAIRN_SYMBOL_FAMILY_ROW_H

#include "symbol/family.h"

/* Where a name is from. C names belong to whatever allocator has their prefix; jemalloc's own decide which prefixes are jemalloc's. */
enum cairn_family_group {
	CAIRN_GROUP_C,
	CAIRN_GROUP_JEMALLOC,
	CAIRN_GROUP_TCMALLOC,
	CAIRN_GROUP_MIMALLOC, /* its names are those behind mi_ */
	CAIRN_GROUP_RPMALLOC,
	CAIRN_GROUP_SNMALLOC,
	CAIRN_GROUP_TBB,
	CAIRN_GROUP_DLMALLOC,
	CAIRN_GROUP_OPERATORS,
	CAIRN_GROUP_RUST,
	CAIRN_GROUP_OTHER, /* the allocator's, but not counted */
};

struct cairn_family_row {
	const char *name;
	enum cairn_family_group group;
	struct cairn_signature signature;
};

/* The row of NAME, LENGTH bytes long, in a group from FIRST to LAST; NULL for none. */
const struct cairn_family_row *cairn_family_row(const char *name, size_t length, enum cairn_family_group first, enum cairn_family_group last);

#endif
