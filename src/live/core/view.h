/* view.h - the code that a process with a core has mapped: its files, the vdso, and the core itself.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_LIVE_CORE_VIEW_H
#define CAIRN_LIVE_CORE_VIEW_H

#include "live/core/placed.h"
#include "protocol/beside.h"

/* Calls SEE for each; what stands for no file has no path. */
void cairn_view_list(const struct cairn_placed *placed, cairn_beside_see *see, void *to);

#endif
