/* fit.h - whether a file can be the one that was mapped, if there is no build-id.
 *
 * jemalloc's own dumps have a memory map, but no build-ids. The kernel and the loader map the code of a file from the page where its
 * segment begins to the page where it ends, so the offset and length of a mapping show how much code the file had. Another build seldom
 * has the same amount.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_SYMBOL_FIT_H
#define CAIRN_SYMBOL_FIT_H

#include "profile/profile.h"
#include "symbol/identity.h"

enum cairn_fit {
	CAIRN_FIT_UNKNOWN, /* nothing to compare: no code in the file, no offsets or complete pages in the map */
	CAIRN_FIT_GOOD,
	CAIRN_FIT_DOUBT, /* less was mapped than the file has; the program may have remapped parts itself */
	CAIRN_FIT_BAD,   /* something was mapped that the file does not have: it is another file */
};

/* How many addresses of MODULE, by its index in PROFILE, are beyond the code of IDENTITY, in its last page: small programs all have one
 * page of code, but fill it differently. 0 if cairn_fit gives CAIRN_FIT_UNKNOWN. */
size_t cairn_fit_outside(const struct cairn_profile *profile, uint32_t module, const struct cairn_identity *identity);

/* Compares the mappings of MODULE with the code of IDENTITY. If they do not match, WHY, of SIZE bytes, describes the difference. */
enum cairn_fit cairn_fit(const struct cairn_profile *profile, uint32_t module, const struct cairn_identity *identity, char *why,
	size_t size);

#endif
