/* allocator.h - telling the allocator's own frames from the code that wanted memory.
 *
 * At the leaf of every stack of a heap profile lie frames that are the same for all: the profiler, malloc, operator new,
 * Rust's shims. An *entry* is a function programs call to get memory: it and all below it is the allocator's, whatever
 * that is called. An *inner* frame (jemalloc's own functions, code of libjemalloc.so, wrappers such as RawVec's growth) counts
 * only in an unbroken run from the leaf. So do *wrappers* (wrapper.h), where a view folds them into their callers.
 *
 * jemalloc may be built with any prefix (je_, _rjem_, one a vendor made up); the prefixes in use are learnt from the
 * profile's own names, so that zmalloc or my_malloc of a program stay what they are: callers.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_SYMBOL_ALLOCATOR_H
#define CAIRN_SYMBOL_ALLOCATOR_H

#include "base/buffer.h"
#include "profile/profile.h"

/* Ordered: of two that apply the larger one holds. */
enum cairn_allocator_kind { CAIRN_ALLOCATOR_NOT, CAIRN_ALLOCATOR_WRAPPER, CAIRN_ALLOCATOR_INNER, CAIRN_ALLOCATOR_ENTRY };

struct cairn_allocator {
	const struct cairn_profile *profile; /* borrowed */
	struct cairn_arena arena;
	uint8_t *functions; /* kind of each function of the profile */
	uint8_t *modules;   /* kind of each module */
};

/* Looks at all names of PROFILE, once it is named. */
void cairn_allocator_learn(struct cairn_allocator *allocator, const struct cairn_profile *profile);
void cairn_allocator_free(struct cairn_allocator *allocator);

/* From now on wrappers count, those that match PATTERNS (NULL for the default) too. */
void cairn_allocator_fold(struct cairn_allocator *allocator, const char *patterns);

/* Appends a regular expression for pprof's drop_frames: it matches, whole, the names of the functions that are the allocator's, those
 * of this profile and those that somebody who names it later may find. pprof takes off a stack all from the outermost match to the
 * leaf, so a name of this profile is left out where it also stands above other code. */
void cairn_allocator_regex(struct cairn_allocator *allocator, struct cairn_buffer *out);

/* The kind of a frame of LOCATION; FRAME is its index in the profile's frames, CAIRN_NONE for a location without names. */
enum cairn_allocator_kind cairn_allocator_frame(const struct cairn_allocator *allocator, uint32_t location, uint32_t frame);

/* From the leaf up, with KEPT frames kept so far: whether a frame of KIND shows that all up to it is the allocator's. An entry
 * to it always does, its inner frames and wrappers while nothing else came by. A caller keeps the last frame of a stack that is all cut. */
bool cairn_allocator_cuts(enum cairn_allocator_kind kind, size_t kept);

/* Whether NAME is that of an entry that every tool knows: malloc, calloc, posix_memalign and so on, without a prefix. */
bool cairn_allocator_is_common(const char *name);

/* Whether a file of that path is an allocator's, and nothing else: libjemalloc.so.2, libtcmalloc_minimal.so.4. */
bool cairn_allocator_is_module(const char *path);

#endif
