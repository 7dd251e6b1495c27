/* split.h - split DWARF: the main part of a unit in a separate .dwo file, or in a .dwp package of many.
 *
 * The binary keeps a *skeleton* unit with the addresses, the line program and the name of the .dwo. The rest is found by the 64-bit ID
 * that both parts contain, in the package if there is one, else in the file of that name (DWARF 5, 3.1.3 and 7.3.5; the GNU extension to
 * DWARF 4 uses other names for sections and attributes).
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_SYMBOL_SPLIT_H
#define CAIRN_SYMBOL_SPLIT_H

#include "symbol/unit.h"

struct cairn_split;

/* Where to search for .dwo files: DW_AT_comp_dir and DW_AT_dwo_name as they are, below `sysroot`, in and below each of `folders`, and
 * beside the binary. */
struct cairn_split_places {
	const char *sysroot; /* or NULL */
	const char *const *folders;
	size_t folder_count;
	const char *binary; /* its path */
};

/* PACKAGE may be NULL. Borrows everything. Free with cairn_split_free. */
struct cairn_split *cairn_split_new(struct cairn_elf *package, const struct cairn_split_places *places);
void cairn_split_free(struct cairn_split *split);

/* The split unit of SKELETON with its root read, or NULL with a message in ERROR. Fills and returns UNIT, which borrows SKELETON and
 * files that live as long as SPLIT. Any thread may call it with its own cache. */
const struct cairn_unit *cairn_split_unit(struct cairn_split *split, const struct cairn_unit *skeleton, struct cairn_unit *unit,
	struct cairn_abbrev_cache *cache, struct cairn_error *error);

/* The paths where a matching .dwo was not found: a file that appears there later may have the names. At most a thousand, because files
 * come back together. Borrowed; do not call it while another thread is working. */
const char *const *cairn_split_sought(const struct cairn_split *split, size_t *count);

/* The path of a .dwo that was written to after it was opened; NULL if there is none. Do not call it while another thread is working. */
const char *cairn_split_changed(const struct cairn_split *split);

#endif
