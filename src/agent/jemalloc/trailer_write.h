/* trailer_write.h - what jemalloc leaves out of a dump, written after it as lines that stock jeprof ignores.
 *
 * doc/trailer.md describes the lines; dump/trailer.h reads them.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_AGENT_JEMALLOC_TRAILER_WRITE_H
#define CAIRN_AGENT_JEMALLOC_TRAILER_WRITE_H

#include "agent/jemalloc/profiler.h"
#include "base/buffer.h"

enum cairn_trailer_extent {
	CAIRN_TRAILER_PLAIN,
	CAIRN_TRAILER_WITH_MAPS,       /* a MAPPED_LIBRARIES section before it, for a dump that has none because /proc is not there */
	CAIRN_TRAILER_WITH_STATISTICS, /* with those of an allocator that is not jemalloc, which host threads may have to wait for */
};

/* Appends the trailer as of now. Of a process without jemalloc it has none of its options and statistics. */
void cairn_trailer_write(struct cairn_buffer *out, struct cairn_profiler *profiler, enum cairn_trailer_extent extent);

/* The parts that a profile of another kind has too: first line, version and process; and modules and last line. */
void cairn_trailer_begin(struct cairn_buffer *out);
void cairn_trailer_end(struct cairn_buffer *out);

#endif
