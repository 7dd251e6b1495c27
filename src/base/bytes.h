/* bytes.h - borrowed bytes: a start and a length.
 *
 * Stages pass input to each other in this form. It owns nothing; the function that returns it says how long it lives.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_BASE_BYTES_H
#define CAIRN_BASE_BYTES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct cairn_bytes {
	const char *data;
	size_t length;
};

/* A literal or any terminated string as bytes, without its terminator. */
static inline struct cairn_bytes cairn_bytes_of(const char *text)
{
	return (struct cairn_bytes){text, strlen(text)};
}

static inline bool cairn_bytes_equal(struct cairn_bytes a, struct cairn_bytes b)
{
	return a.length == b.length && (a.length == 0 || memcmp(a.data, b.data, a.length) == 0);
}

static inline bool cairn_bytes_start_with(struct cairn_bytes bytes, const char *prefix)
{
	size_t length = strlen(prefix);
	return bytes.length >= length && memcmp(bytes.data, prefix, length) == 0;
}

static inline bool cairn_bytes_end_with(struct cairn_bytes bytes, const char *suffix)
{
	size_t length = strlen(suffix);
	return bytes.length >= length && memcmp(bytes.data + bytes.length - length, suffix, length) == 0;
}

static inline bool cairn_bytes_contain(struct cairn_bytes bytes, const char *part)
{
	return bytes.length > 0 && memmem(bytes.data, bytes.length, part, strlen(part)) != NULL;
}

/* BYTES without its first COUNT bytes, empty when there are fewer. */
static inline struct cairn_bytes cairn_bytes_skip(struct cairn_bytes bytes, size_t count)
{
	if (count > bytes.length)
		count = bytes.length;
	if (count == 0) /* nothing may also have no address, to which nothing can be added */
		return bytes;
	return (struct cairn_bytes){bytes.data + count, bytes.length - count};
}

#endif
