/* buffer.h - growable text or bytes with a mandatory maximum.
 *
 * Appending past the maximum keeps what fits, sets `failed` and drops the rest: one check at the end is enough.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_BASE_BUFFER_H
#define CAIRN_BASE_BUFFER_H

#include "base/bytes.h"

#include <stdarg.h>

struct cairn_quota;

struct cairn_buffer {
	char *data; /* owned; not terminated */
	size_t length;
	size_t capacity;
	size_t maximum;
	/* Moves the data to room for CAPACITY bytes or a little more, or frees all of it if CAPACITY is 0; returns false if there is no
	 * memory. cairn_buffer uses the heap, cairn_pages whole pages (base/pages.h). */
	bool (*resize)(struct cairn_buffer *buffer, size_t capacity);
	struct cairn_quota *quota; /* borrowed: the quota for pages (base/quota.h); NULL for no limit except the maximum */
	bool failed;
};

/* An empty buffer on the heap for at most MAXIMUM bytes. Allocates nothing until something is appended. */
struct cairn_buffer cairn_buffer(size_t maximum);

void cairn_buffer_append(struct cairn_buffer *buffer, const void *data, size_t length);
void cairn_buffer_text(struct cairn_buffer *buffer, const char *text);
void cairn_buffer_byte(struct cairn_buffer *buffer, char byte);
void cairn_buffer_format(struct cairn_buffer *buffer, const char *format, ...) __attribute__((format(printf, 2, 3)));
void cairn_buffer_format_list(struct cairn_buffer *buffer, const char *format, va_list arguments) __attribute__((format(printf, 2, 0)));

/* VALUE in decimal; replaces printf in hot loops. */
void cairn_buffer_number(struct cairn_buffer *buffer, int64_t value);
/* VALUE as 0x and lower-case digits. */
void cairn_buffer_hex(struct cairn_buffer *buffer, uint64_t value);
/* VALUE as an unsigned LEB128, which cairn_cursor_uleb reads. */
void cairn_buffer_uleb(struct cairn_buffer *buffer, uint64_t value);

/* Room for LENGTH more bytes, or NULL (and `failed`) beyond the maximum or without memory. Borrowed until the next call; the caller adds
 * the number of bytes written to `length`. */
char *cairn_buffer_room(struct cairn_buffer *buffer, size_t length);

/* Appends everything that can be read from DESCRIPTOR, up to the maximum. Returns false with errno if reading fails. */
bool cairn_buffer_read(struct cairn_buffer *buffer, int descriptor);

static inline struct cairn_bytes cairn_buffer_bytes(const struct cairn_buffer *buffer)
{
	return (struct cairn_bytes){buffer->data, buffer->length};
}

void cairn_buffer_free(struct cairn_buffer *buffer);

#endif
