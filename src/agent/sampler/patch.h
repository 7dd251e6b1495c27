/* patch.h - points the relocations of the loaded objects at the hooks, and back.
 *
 * Only a relocation that leads to exactly the function behind the hook is changed. So an object that was bound to another allocator
 * (RTLD_DEEPBIND, a private copy) keeps it; only its samples are missing. A relocation that is not bound yet is changed if the loader
 * would bind it to that function.
 *
 * An object that is still being loaded is left alone until its relocations are done, that is, until the loader has made them read-only.
 *
 * The relocations of an object are walked once, and again only while some of them are pending (loaded.h): so a program that loads a library
 * pays for that library, whatever else is loaded.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_AGENT_SAMPLER_PATCH_H
#define CAIRN_AGENT_SAMPLER_PATCH_H

#include "agent/unwind/object.h"
#include "base/error.h"

#include <stdint.h>

/* Finds the host's allocator. Returns false with the reason if it must be left alone (a sanitizer's) or cannot be found. Call it once. */
bool cairn_patch_prepare(struct cairn_error *error);

/* The object that malloc is in, by the loader's name; "" for the program itself. */
const char *cairn_patch_allocator(void);
/* Whether that is the program itself: its own calls then have no relocations to change. */
bool cairn_patch_allocator_is_program(void);
/* Whether its malloc is counted: not if it is part of the program and no stub leads there. */
bool cairn_patch_sees_malloc(void);

struct cairn_patch_counts {
	unsigned objects; /* seen */
	unsigned slots;   /* that point to a hook now */
	unsigned pending; /* objects that were not ready, could not be changed, or have relocations that are not bound yet */
};

/* Changes all relocations that need it, of new objects and of pending ones, or, if INSTALL is false, all of them back. Does nothing if another thread is doing so. Takes the
 * loader's lock, so it is never called from inside malloc. */
bool cairn_patch_apply(bool install, struct cairn_patch_counts *counts);

/* The same with all objects looked at again: what is counted by other means has changed (inside_blocks.h). */
bool cairn_patch_renew(struct cairn_patch_counts *counts);

/* Changes those of new objects, on a thread of the host, which must not wait, and calls SEE with each. Returns false if that has to be done
 * again: another thread is doing so, forks, or is loading an object. */
bool cairn_patch_try(void (*see)(const struct cairn_object *object));

/* cairn_patch_renew on a thread of the host, like cairn_patch_try. */
bool cairn_patch_try_renew(void);

/* The number of objects ever loaded, by the loader's count: it changes when there are new ones. */
uint64_t cairn_patch_loaded(void);

/* The work so far: how many relocations, and how many objects, known or new, were looked at. */
void cairn_patch_work(uint64_t *relocations, uint64_t *objects);

/* In a forked child: the thread that was changing relocations is not here. */
void cairn_patch_in_child(void);

#endif
