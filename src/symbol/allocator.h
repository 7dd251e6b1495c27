/* allocator.h - distinguishes the allocator's own frames from the code that requested memory.
 *
 * Every stack of a heap profile ends in frames that are the same for all stacks: the profiler, malloc, operator new, Rust's shims. An
 * *entry* is a function that programs call to get memory: it and everything it calls belong to the allocator, whatever their names. An
 * *inner* frame (jemalloc's own functions, code of libjemalloc.so, wrappers such as RawVec's growth) counts only in an unbroken run from
 * the leaf. So do *wrappers* (wrapper.h), if a view folds them into their callers.
 *
 * A service in a language with a runtime allocates through that: if the program's own functions have names, they cut off the runtime's
 * frames below them (runtime.h), again only in views that fold.
 *
 * Names decide. An inlined function that has a name without a scope, as line tables give it, is judged by its source file (library_file.h).
 * A closure that has no name of its own belongs to the function that it is inlined into.
 *
 * jemalloc may be built with any prefix (je_, _rjem_, one that a vendor chose); the prefixes in use are learnt from the profile's own
 * names, so that a program's zmalloc or my_malloc stay what they are: callers.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_SYMBOL_ALLOCATOR_H
#define CAIRN_SYMBOL_ALLOCATOR_H

#include "base/buffer.h"
#include "profile/profile.h"

/* Ordered: if two apply, the larger one counts. */
enum cairn_allocator_kind {
	CAIRN_ALLOCATOR_NOT,
	CAIRN_ALLOCATOR_PROGRAM, /* the program's own function, if a view folds wrappers */
	CAIRN_ALLOCATOR_RUNTIME, /* a language's runtime (runtime.h) or tasks (library_file.h) that such functions use */
	CAIRN_ALLOCATOR_WRAPPER,
	CAIRN_ALLOCATOR_INNER,
	CAIRN_ALLOCATOR_ENTRY,
};

struct cairn_allocator {
	const struct cairn_profile *profile; /* borrowed */
	struct cairn_arena arena;
	uint8_t *functions; /* kind of each function of the profile */
	uint8_t *modules;   /* kind of each module */
	uint8_t *files;     /* enum cairn_library_file of each function whose name does not tell whose it is */
	uint8_t *frames;    /* whether the kind of a frame is that of a wrapper, whatever its function; NULL if wrappers do not count */
};

/* Examines all names of PROFILE, which must be symbolized. */
void cairn_allocator_learn(struct cairn_allocator *allocator, const struct cairn_profile *profile);
void cairn_allocator_free(struct cairn_allocator *allocator);

/* From now on wrappers count as well, including those that match PATTERNS (NULL for the default). */
void cairn_allocator_fold(struct cairn_allocator *allocator, const char *patterns);

/* Appends a regular expression for pprof's drop_frames: it matches the full names of the allocator's functions, those in this profile and
 * those that may turn up if it is symbolized later. pprof removes everything from the outermost match to the leaf, so a name of this
 * profile is left out if it also occurs above other code. */
void cairn_allocator_regex(struct cairn_allocator *allocator, struct cairn_buffer *out);

/* The kind of a frame of LOCATION; FRAME is its index in the profile's frames, CAIRN_NONE for a location without names. */
enum cairn_allocator_kind cairn_allocator_frame(const struct cairn_allocator *allocator, uint32_t location, uint32_t frame);

/* Going up a stack from its leaf, all zero at first: how many frames are kept so far, and how many of them, from the leaf on, are a
 * runtime's. */
struct cairn_allocator_walk {
	size_t kept, runtime;
};

/* What a frame says of those kept so far: nothing; that they belong to the allocator or runtime; that it does, too. */
enum cairn_allocator_cut { CAIRN_CUT_NOTHING, CAIRN_CUT_BELOW, CAIRN_CUT_THROUGH };

/* Takes the next frame, which is of KIND. An entry always cuts through; inner frames and wrappers do as long as no other frame came before.
 * The program's own function cuts off a runtime that it called. If all frames of a stack are cut, the caller keeps the last one. */
enum cairn_allocator_cut cairn_allocator_step(struct cairn_allocator_walk *walk, enum cairn_allocator_kind kind);

/* Whether NAME is an entry that every tool knows: malloc, calloc, posix_memalign and so on, without a prefix. */
bool cairn_allocator_is_common(const char *name);

/* Whether the file at PATH is an allocator and nothing else: libjemalloc.so.2, libtcmalloc_minimal.so.4. */
bool cairn_allocator_is_module(const char *path);

#endif
