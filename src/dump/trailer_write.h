/* trailer_write.h - writing the lines of a trailer (doc/trailer.md), one at a time: the counterpart of trailer.h.
 *
 * Who knows a fact writes its line with these; no other place spells a line out. A trailer begins with the first line, ends with the last,
 * and has its lines in any order between them. All of them append to a buffer and need no other memory.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_DUMP_TRAILER_WRITE_H
#define CAIRN_DUMP_TRAILER_WRITE_H

#include "base/buffer.h"

void cairn_trailer_write_first(struct cairn_buffer *out);
void cairn_trailer_write_last(struct cairn_buffer *out);

/* Takes the last line off the end of DUMP, so that more lines can follow; false when it does not end in one. */
bool cairn_trailer_take_last(struct cairn_bytes *dump);

/* VALUE's control characters become blanks. */
void cairn_trailer_write_text(struct cairn_buffer *out, const char *key, const char *value);
void cairn_trailer_write_number(struct cairn_buffer *out, const char *key, uint64_t value);
/* Seconds since 1970, or of another clock, with nine digits behind the point. */
void cairn_trailer_write_time(struct cairn_buffer *out, const char *key, int64_t ns);
/* A value of several parts, of up to 511 bytes. Control characters become blanks. */
__attribute__((format(printf, 3, 4))) void cairn_trailer_write_format(struct cairn_buffer *out, const char *key, const char *format, ...);

/* An executable range of a module: ID is its build-id as bytes, empty for none. Control characters in PATH are written as the kernel does
 * it in /proc/PID/maps, in octal. */
struct cairn_trailer_range {
	uint64_t start, end, offset;
	struct cairn_bytes id, path;
};
/* KEY: "module", or "unloaded" for one that was there before. */
void cairn_trailer_write_range(struct cairn_buffer *out, const char *key, const struct cairn_trailer_range *range);
/* The same as a line of /proc/PID/maps, for a dump that has no memory map from the kernel. */
void cairn_trailer_write_map(struct cairn_buffer *out, const struct cairn_trailer_range *range);

#endif
