/* symbolized_write.h - a profile with its names, in the form of `jeprof --raw`: it needs no program to be read again.
 *
 * The addresses of callers stand there less one, as jeprof looks them up; those of leaves as they are in the profile.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_PROFILE_SYMBOLIZED_WRITE_H
#define CAIRN_PROFILE_SYMBOLIZED_WRITE_H

#include "base/buffer.h"
#include "profile/profile.h"

/* Appends the names of PROFILE, of PROGRAM (NULL when not known), and then ORIGINAL, the text or data PROFILE was read from. Where
 * that is empty the profile is written anew, as a flat heap profile that needs no un-sampling; only a heap or growth profile
 * with addresses can be. */
bool cairn_symbolized_write(const struct cairn_profile *profile, const char *program, struct cairn_bytes original, struct cairn_buffer *out,
			    struct cairn_error *error);

#endif
