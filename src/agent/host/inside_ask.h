/* inside_ask.h - at the start of a process under `cairn run`: has allocators inside it counted before its program runs.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_AGENT_HOST_INSIDE_ASK_H
#define CAIRN_AGENT_HOST_INSIDE_ASK_H

#include "agent/engine/jemalloc.h"

/* Asks the `cairn run` that listens at REPORT, if this process may have an allocator inside; JEMALLOC is its jemalloc, if it has one. Waits for
 * some seconds at most. */
void cairn_inside_ask_for(const char *report, const struct cairn_jemalloc *jemalloc);

#endif
