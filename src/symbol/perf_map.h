/* perf_map.h - names of generated code, from the file that a runtime writes for perf: /tmp/perf-PID.map, lines of `START SIZE NAME`.
 *
 * V8 writes it with --perf-basic-prof, HotSpot with -XX:+DumpPerfMapAtExit or jcmd PID Compiler.perfmap, others on request.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_SYMBOL_PERF_MAP_H
#define CAIRN_SYMBOL_PERF_MAP_H

#include "symbol/find.h"

/* Names the locations of PROFILE that are in no file, if its process has such a map, written since it started by its user or root. */
void cairn_perf_map_apply(struct cairn_profile *profile, const struct cairn_find_options *options);

/* The same from the TEXT of a map. If entries overlap, the last one counts: code is replaced and moved. */
void cairn_perf_map_name(struct cairn_profile *profile, struct cairn_bytes text);

#endif
