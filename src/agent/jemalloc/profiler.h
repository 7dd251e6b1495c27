/* profiler.h - engine one: jemalloc's heap profiler, controlled without misleading results.
 *
 * Older jemallocs accept commands that they do not carry out, and answer every failed dump with "Bad address". So opt.prof is read before
 * anything is written, and every refusal says which of the five states the process is in and which setting changes it.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_AGENT_JEMALLOC_PROFILER_H
#define CAIRN_AGENT_JEMALLOC_PROFILER_H

#include "agent/engine/profiler.h"

extern const struct cairn_engine cairn_engine_jemalloc;

/* The number of bytes after whose allocation jemalloc itself writes a dump each time (lg_prof_interval); 0 if it writes none. */
uint64_t cairn_profiler_jemalloc_interval(struct cairn_profiler *profiler);

#endif
