/* patch.h - pointing the relocations of the loaded objects at the hooks, and back.
 *
 * Only a relocation that leads to the very function the hook goes on to is changed. So an object that was bound to another allocator
 * (RTLD_DEEPBIND, a private copy) keeps it, and costs samples only. One that has not been bound yet is changed where the loader would bind
 * it to that function.
 *
 * An object that is still being loaded is left alone until its relocations are done: that is when the loader has made them read-only.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_AGENT_SAMPLER_PATCH_H
#define CAIRN_AGENT_SAMPLER_PATCH_H

#include "base/error.h"

#include <stdint.h>

/* Finds the host's allocator. False, with the reason, where it must be left alone: a sanitizer's, or none to be found. Once. */
bool cairn_patch_prepare(struct cairn_error *error);

/* The object that malloc is in, by the loader's name; "" for the program itself. */
const char *cairn_patch_allocator(void);
/* Whether that is the program itself: its own calls then have no relocations to change. */
bool cairn_patch_allocator_is_program(void);

struct cairn_patch_counts {
	unsigned objects; /* seen */
	unsigned slots;   /* that lead to a hook now */
	unsigned changed; /* by this call */
	unsigned pending; /* objects that were not ready, or could not be changed, or have relocations that are not bound yet */
};

/* Changes all relocations that are to be changed and are not yet, or with INSTALL false all of them back. Nothing where another thread
 * is at
 * it. Takes the loader's lock, so it is never called from inside malloc. */
bool cairn_patch_apply(bool install, struct cairn_patch_counts *counts);

/* How many objects were ever loaded, by the loader's count: a change says that there are new ones. */
uint64_t cairn_patch_loaded(void);

/* In a forked child: whoever was at it is not here. */
void cairn_patch_forget(void);

#endif
