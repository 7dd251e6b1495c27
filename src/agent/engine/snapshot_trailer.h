/* snapshot_trailer.h - what this process knows at the moment of a snapshot, as the trailer of a dump.
 *
 * doc/trailer.md describes the lines, which stock jeprof ignores; dump/trailer_write.h writes them, dump/trailer.h reads them.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_AGENT_ENGINE_SNAPSHOT_TRAILER_H
#define CAIRN_AGENT_ENGINE_SNAPSHOT_TRAILER_H

#include "agent/engine/profiler.h"
#include "base/buffer.h"

enum cairn_trailer_extent {
	CAIRN_TRAILER_PLAIN,
	CAIRN_TRAILER_WITH_MAPS,       /* a MAPPED_LIBRARIES section before it, for a dump that has none because /proc is not there */
	CAIRN_TRAILER_WITH_STATISTICS, /* with those of an allocator that is not jemalloc, which host threads may have to wait for */
};

/* Appends the trailer as of now. Of a process without jemalloc it has none of its options and statistics. */
void cairn_snapshot_trailer_write(struct cairn_buffer *out, struct cairn_profiler *profiler, enum cairn_trailer_extent extent);

/* The parts that a profile of another kind has too: first line, version and process; and modules and last line. */
void cairn_snapshot_trailer_begin(struct cairn_buffer *out);
void cairn_snapshot_trailer_end(struct cairn_buffer *out, const struct cairn_engine *engine);

#endif
