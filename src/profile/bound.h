/* bound.h - limits on what a small file can become once its stacks are written out frame by frame.
 *
 * A location is stored once, with all functions that were inlined at its address, and a name once, however many stacks refer to them; but
 * reports go through every frame of every stack. A few hundred kilobytes could so stand for billions of frames, or for names of terabytes.
 * No compiler's output and no profiler's comes near the limits here.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_PROFILE_BOUND_H
#define CAIRN_PROFILE_BOUND_H

#include "profile/profile.h"

enum {
	CAIRN_INLINED_MOST = 1024, /* functions at one address */
	CAIRN_LABEL_MOST = 256,    /* bytes of a name that very many samples may share, as that of a thread */
};

/* Brings PROFILE within the limits. Of functions that were inlined at an address, the innermost are left out, where there are most, so that
 * the function that has the code always stays; then the longest names are cut. A warning says what was done. */
void cairn_profile_bound(struct cairn_profile *profile);

/* The start of TEXT that a label may have. */
static inline struct cairn_bytes cairn_bound_label(struct cairn_bytes text)
{
	return (struct cairn_bytes){text.data, text.length < CAIRN_LABEL_MOST ? text.length : CAIRN_LABEL_MOST};
}

#endif
