/* hook.h - Cairn's unwinder for jemalloc's stacks.
 *
 * jemalloc 5.3 and later call a custom function for every sampled allocation (experimental.hooks.prof_backtrace), so this unwinder is
 * used whether MALLOC_CONF, an endpoint or the service started profiling. The allocator's own frames are left out except one: stock
 * jeprof subtracts 1 from every address but the first.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_AGENT_JEMALLOC_HOOK_H
#define CAIRN_AGENT_JEMALLOC_HOOK_H

#include "agent/engine/jemalloc.h"
#include "agent/engine/profiler.h"
#include "agent/unwind/unwind.h"

/* Installs the hook; stacks have at most DEPTH frames (and no more than jemalloc's prof_bt_max). Returns false with the reason if this
 * jemalloc has no hook; its own unwinder then stays. Further calls only change the depth. */
bool cairn_hook_install(const struct cairn_jemalloc *jemalloc, unsigned depth, struct cairn_error *why);

/* Restores jemalloc's earlier hook. */
void cairn_hook_remove(const struct cairn_jemalloc *jemalloc);

/* Calls NOTIFY after each stack, on the thread that allocates; NULL ends this. Returns false if no hook is installed, so that it is never
 * called. */
bool cairn_hook_notify(void (*notify)(void));

void cairn_hook_count(struct cairn_engine_counts *counts);

#endif
