/* flat_write.h - writes a heap or growth profile as gperftools' text, bare or preceded by its names (`--- symbol`), for tools that read
 * those.
 *
 * The values are already estimates, so the text says that nothing was sampled. Both forms fail with a message for a profile of another
 * kind, and the bare form also if there are no addresses.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_PROFILE_FLAT_WRITE_H
#define CAIRN_PROFILE_FLAT_WRITE_H

#include "base/buffer.h"
#include "profile/profile.h"

/* Writes one line for each stack, then the memory map. */
bool cairn_flat_write(const struct cairn_profile *profile, struct cairn_buffer *out, struct cairn_error *error);

/* The same after a section that names each address, so that it can be read anywhere without the program. Names without an address get
 * one; so does the second of two that have the same. */
bool cairn_symbolized_write(const struct cairn_profile *profile, struct cairn_buffer *out, struct cairn_error *error);

/* Writes only that section; the caller appends the profile that PROFILE was read from. If PROGRAM is NULL, the profile names the
 * program. */
void cairn_symbolized_names(const struct cairn_profile *profile, const char *program, struct cairn_buffer *out);

#endif
