/* fit.h - whether a file can be the one that was mapped, where no build-id tells.
 *
 * jemalloc's own dumps have no build-ids, but a memory map. The kernel and the loader map the code of a file from the page its segment
 * begins in to the page it ends in, so the offset and length of a mapping say how much code the file had. Another build seldom has as
 * much.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_SYMBOL_FIT_H
#define CAIRN_SYMBOL_FIT_H

#include "profile/profile.h"
#include "symbol/identity.h"

enum cairn_fit {
	CAIRN_FIT_UNKNOWN, /* nothing can be compared: no code in the file, no offsets or whole pages in the map */
	CAIRN_FIT_GOOD,
	CAIRN_FIT_DOUBT, /* less was mapped than the file has; parts may have been mapped anew by the program itself */
	CAIRN_FIT_BAD,   /* something was mapped that the file does not have: it is another */
};

/* How many addresses of MODULE, by its index in PROFILE, lie behind the code of IDENTITY, in its last page: small programs all have one
 * page, but not as much in it. 0 where cairn_fit is not known. */
size_t cairn_fit_outside(const struct cairn_profile *profile, uint32_t module, const struct cairn_identity *identity);

/* Compares the mappings of MODULE with the code of IDENTITY. Where it is not good, WHY, of SIZE bytes, says in what they differ. */
enum cairn_fit cairn_fit(const struct cairn_profile *profile, uint32_t module, const struct cairn_identity *identity, char *why,
	size_t size);

#endif
