/* trailer_write.h - writes the lines of a trailer (doc/trailer.md), one at a time: the counterpart of trailer.h.
 *
 * Lines of a trailer are written only by these functions, called from wherever the facts are known. A trailer begins with the first line,
 * ends with the last, and has its other lines in any order. All functions append to a buffer and need no other memory.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_DUMP_TRAILER_WRITE_H
#define CAIRN_DUMP_TRAILER_WRITE_H

#include "base/buffer.h"
#include "process/memory.h"

void cairn_trailer_write_first(struct cairn_buffer *out);
void cairn_trailer_write_last(struct cairn_buffer *out);

/* Removes the last line from the end of DUMP, so that more lines can follow. Returns false if DUMP does not end with it. */
bool cairn_trailer_take_last(struct cairn_bytes *dump);

/* Control characters in VALUE become spaces. */
void cairn_trailer_write_text(struct cairn_buffer *out, const char *key, const char *value);
void cairn_trailer_write_number(struct cairn_buffer *out, const char *key, uint64_t value);
/* Writes seconds since 1970, or of another clock, with nine decimal places. */
void cairn_trailer_write_time(struct cairn_buffer *out, const char *key, int64_t ns);
/* Writes a value of several parts, up to 511 bytes. Control characters become spaces. */
__attribute__((format(printf, 3, 4))) void cairn_trailer_write_format(struct cairn_buffer *out, const char *key, const char *format, ...);

/* The memory limit of a process, and how often its group reached it. MEMORY, from which READING was read just now, may be NULL. */
void cairn_trailer_write_limit(struct cairn_buffer *out, const struct cairn_memory *memory, const struct cairn_memory_reading *reading);

/* The machine's setting for transparent huge pages, if it has one. */
void cairn_trailer_write_huge_pages(struct cairn_buffer *out);

/* An executable range of a module. ID is its build-id as bytes, empty for none. Control characters in PATH are written in octal, as the
 * kernel does in /proc/PID/maps. */
struct cairn_trailer_range {
	uint64_t start, end, offset;
	struct cairn_bytes id, path;
};
/* KEY is "module", or "unloaded" for a module that was unloaded. */
void cairn_trailer_write_range(struct cairn_buffer *out, const char *key, const struct cairn_trailer_range *range);
/* The same as a line of /proc/PID/maps, for a dump that has no memory map from the kernel. */
void cairn_trailer_write_map(struct cairn_buffer *out, const struct cairn_trailer_range *range);

#endif
