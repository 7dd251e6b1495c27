/* trailer_write.h - what jemalloc leaves out of a dump, written after it as lines that stock jeprof ignores.
 *
 * doc/trailer.md describes the lines; dump/trailer.h reads them.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_AGENT_JEMALLOC_TRAILER_WRITE_H
#define CAIRN_AGENT_JEMALLOC_TRAILER_WRITE_H

#include "agent/jemalloc/profiler.h"
#include "base/buffer.h"

/* Appends the trailer as of now. WITH_MAPS adds a MAPPED_LIBRARIES section before it, for a dump that has none because
 * /proc is not there. Of a process without jemalloc it has no options and statistics. */
void cairn_trailer_write(struct cairn_buffer *out, struct cairn_profiler *profiler, bool with_maps);

/* The parts that a profile of another kind has too: first line, version and process; and modules and last line. */
void cairn_trailer_begin(struct cairn_buffer *out);
void cairn_trailer_end(struct cairn_buffer *out);

#endif
