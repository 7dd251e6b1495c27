/* flat_write.h - a heap profile as gperftools' text, bare or with its names in front (`--- symbol`), for the tools that read those.
 *
 * Values are estimates already, so the text says that nothing was sampled. Both fail, with a sentence, for a profile that is
 * not of memory, and the bare form also where there are no addresses.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_PROFILE_FLAT_WRITE_H
#define CAIRN_PROFILE_FLAT_WRITE_H

#include "base/buffer.h"
#include "profile/profile.h"

/* One line a stack, then the memory map. */
bool cairn_flat_write(const struct cairn_profile *profile, struct cairn_buffer *out, struct cairn_error *error);

/* The same after a section that names each address: readable anywhere, without the program. Names without an address get one. */
bool cairn_symbolized_write(const struct cairn_profile *profile, struct cairn_buffer *out, struct cairn_error *error);

/* That section alone, for what PROFILE was read from to follow. PROGRAM is NULL for what the profile calls it. */
void cairn_symbolized_names(const struct cairn_profile *profile, const char *program, struct cairn_buffer *out);

#endif
