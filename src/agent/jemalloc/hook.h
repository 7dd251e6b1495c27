/* hook.h - Cairn's unwinder in the place where jemalloc asks for a stack.
 *
 * jemalloc 5.3 and later call a function of one's own for every sampled allocation (experimental.hooks.prof_backtrace), so
 * profiling that was started by MALLOC_CONF, by an endpoint or by the service uses this unwinder alike. The allocator's own
 * frames are left out, all but one: stock jeprof takes 1 from every address but the first.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_AGENT_JEMALLOC_HOOK_H
#define CAIRN_AGENT_JEMALLOC_HOOK_H

#include "agent/engine.h"
#include "agent/jemalloc/jemalloc.h"
#include "agent/unwind/unwind.h"

/* Installs the hook; stacks have at most DEPTH frames (and no more than jemalloc's prof_bt_max). False with the reason when
 * this jemalloc has none; its own unwinder then stays. Called again it only changes the depth. */
bool cairn_hook_install(const struct cairn_jemalloc *jemalloc, unsigned depth, struct cairn_error *why);

/* Gives jemalloc back what it had before. */
void cairn_hook_remove(const struct cairn_jemalloc *jemalloc);

/* Has NOTIFY called after each stack that is taken, on the thread that allocates; NULL ends it. False where no hook is installed, so
 * that it is never called. */
bool cairn_hook_notify(void (*notify)(void));

void cairn_hook_count(struct cairn_engine_counts *counts);

/* The outermost frame of a stack that was cut off at the depth limit; a symbolizer shows its name. */
__attribute__((visibility("default"))) void cairn_stack_is_truncated(void);

#endif
