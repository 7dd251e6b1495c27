/* statistics.h - what the host's allocator counts itself: glibc's, tcmalloc's and mimalloc's, as lines of the trailer.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_AGENT_SAMPLER_STATISTICS_H
#define CAIRN_AGENT_SAMPLER_STATISTICS_H

#include "base/buffer.h"

/* Asks the allocator that is the host's malloc, and appends its figures, `# cairn malloc.KEY BYTES` (doc/trailer.md); nothing where it has
 * none that are known. glibc takes the lock of one arena after the other and counts its free chunks, while threads that use that arena
 * wait: up to 90 ns for each free chunk, for malloc_info and mallinfo2 alike. So only for whoever asks for a bill, on a worker of the
 * agent's, never on the way of a dump. */
void cairn_statistics_write(struct cairn_buffer *out);

#endif
