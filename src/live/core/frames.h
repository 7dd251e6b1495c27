/* frames.h - .eh_frame_hdr for files that have none: linkers make it for dynamic programs alone, and not all do.
 *
 * Without the table in it, the core would have to go through all of .eh_frame to find one function.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_LIVE_CORE_FRAMES_H
#define CAIRN_LIVE_CORE_FRAMES_H

#include "base/buffer.h"
#include "live/core/placed.h"

/* How large it is for MODULE; 0 if that has one, or no .eh_frame. */
size_t cairn_core_frames_size(const struct cairn_subject_module *module);

/* Asks for room for what modules of the process lack, by calls of a visit that CORE describes; MODULES become theirs. */
void cairn_core_frames_ask(const struct cairn_placed *placed, struct cairn_core *core, size_t modules[CAIRN_CORE_CALLS]);

/* After that visit: fills the room that was got. False if the process cannot be written to. */
bool cairn_core_frames_fill(const struct cairn_placed *placed, struct cairn_core *core, const size_t modules[CAIRN_CORE_CALLS]);

#endif
