/* split.h - split DWARF: the bulk of a unit in a .dwo file of its own, or in a .dwp package of many.
 *
 * The binary keeps a *skeleton* unit with the addresses, the line program and the name of the .dwo. The rest is found by
 * the 64-bit id that both carry, in the package when there is one, else in the file of that name (DWARF 5, 3.1.3 and
 * 7.3.5; the GNU extension to DWARF 4 differs in names of sections and attributes).
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_SYMBOL_SPLIT_H
#define CAIRN_SYMBOL_SPLIT_H

#include "symbol/unit.h"

struct cairn_split;

/* Where .dwo files are looked for: by DW_AT_comp_dir and DW_AT_dwo_name as they are, below `sysroot`, in and below each of `folders`,
 * and beside the binary. */
struct cairn_split_places {
	const char *sysroot; /* or NULL */
	const char *const *folders;
	size_t folder_count;
	const char *binary; /* its path */
};

/* PACKAGE may be NULL. All is borrowed. Free with cairn_split_free. */
struct cairn_split *cairn_split_new(struct cairn_elf *package, const struct cairn_split_places *places);
void cairn_split_free(struct cairn_split *split);

/* The split unit of SKELETON, its root read, or NULL with a sentence in ERROR. UNIT is filled and returned; it borrows
 * SKELETON, and files that live as long as SPLIT. Any thread may call it, with a cache of its own. */
const struct cairn_unit *cairn_split_unit(struct cairn_split *split, const struct cairn_unit *skeleton, struct cairn_unit *unit,
	struct cairn_abbrev_cache *cache, struct cairn_error *error);

/* The paths where a .dwo that fits was looked for in vain: what is found there later may have the names. A thousand at most, since
 * files come back together. Borrowed; not while another thread is at work. */
const char *const *cairn_split_sought(const struct cairn_split *split, size_t *count);

#endif
