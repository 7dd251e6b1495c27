/* inside_ask.h - under `cairn run`, has the allocators inside a process counted: before its program runs, and when it loads one.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_AGENT_HOST_INSIDE_ASK_H
#define CAIRN_AGENT_HOST_INSIDE_ASK_H

#include "agent/engine/jemalloc.h"

/* Asks the `cairn run` that listens at REPORT, if this process may have an allocator inside; JEMALLOC is its jemalloc, if it has one. Waits for
 * some seconds at most. */
void cairn_inside_ask_for(const char *report, const struct cairn_jemalloc *jemalloc);

/* From now on asks the same when the host has loaded an object that may have one, on the thread that uses it first. REPORT is borrowed. */
void cairn_inside_ask_later(const char *report);

#endif
