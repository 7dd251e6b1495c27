/* names.h - what the collector and its naming process (namer.h) send each other.
 *
 * A *question* is the addresses of a profile that have no names yet, with its modules and mappings, and the places where to look. The
 * *answer* has the frames of these addresses, in the same order, and the build-ids of the modules.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_FLEET_COLLECT_NAMES_H
#define CAIRN_FLEET_COLLECT_NAMES_H

#include "base/cursor.h"
#include "profile/profile.h"
#include "symbol/symbolize.h"

/* Appends the question about PROFILE. Of OPTIONS, it contains the places that uploads have added. */
void cairn_names_ask(const struct cairn_profile *profile, const struct cairn_symbolize_options *options, struct cairn_buffer *out);

/* Reads a question into PROFILE, which is initialized, and OPTIONS, which borrow from ARENA. Returns false if it is damaged. */
bool cairn_names_asked(struct cairn_profile *profile, struct cairn_symbolize_options *options, struct cairn_arena *arena,
		       struct cairn_bytes question);

/* Appends the answer: PROFILE is that of a question, after symbolizing. */
void cairn_names_answer(const struct cairn_profile *profile, struct cairn_buffer *out);

/* Gives the unnamed locations of PROFILE the frames in ANSWER. Returns false if it is damaged: then PROFILE has some of them. */
bool cairn_names_take(struct cairn_profile *profile, struct cairn_bytes answer);

#endif
