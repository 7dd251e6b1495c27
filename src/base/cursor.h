/* cursor.h - reads binary data, little-endian by default, with a sticky failure.
 *
 * Beyond the end, a cursor yields zeros and stays failed, so a parser checks once per record, not once per field. The hot readers are
 * inline. Nothing here allocates.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef CAIRN_BASE_CURSOR_H
#define CAIRN_BASE_CURSOR_H

#include "base/bytes.h"

struct cairn_cursor {
	const unsigned char *at;
	const unsigned char *end;
	const unsigned char *start;
	bool failed;
	bool big_endian;
};

static inline struct cairn_cursor cairn_cursor(struct cairn_bytes bytes)
{
	const unsigned char *start = (const unsigned char *)(bytes.data ? bytes.data : ""); /* nothing may be added to NULL, not even 0 */
	return (struct cairn_cursor){start, start + bytes.length, start, false, false};
}

static inline size_t cairn_cursor_left(const struct cairn_cursor *in)
{
	return (size_t)(in->end - in->at);
}

static inline size_t cairn_cursor_offset(const struct cairn_cursor *in)
{
	return (size_t)(in->at - in->start);
}

static inline void cairn_cursor_fail(struct cairn_cursor *in)
{
	in->at = in->end;
	in->failed = true;
}

/* Moves to OFFSET from the start; past the end is a failure. */
static inline void cairn_cursor_seek(struct cairn_cursor *in, uint64_t offset)
{
	if (offset > (uint64_t)(in->end - in->start))
		cairn_cursor_fail(in);
	else
		in->at = in->start + offset;
}

static inline void cairn_cursor_skip(struct cairn_cursor *in, uint64_t length)
{
	if (length > cairn_cursor_left(in))
		cairn_cursor_fail(in);
	else
		in->at += length;
}

static inline uint8_t cairn_cursor_u8(struct cairn_cursor *in)
{
	if (in->at == in->end) {
		in->failed = true;
		return 0;
	}
	return *in->at++;
}

#define CAIRN_CURSOR_FIXED(name, type, swap)                                                                           \
	static inline type cairn_cursor_##name(struct cairn_cursor *in)                                                \
	{                                                                                                              \
		type value = 0;                                                                                        \
		if (cairn_cursor_left(in) < sizeof value)                                                              \
			cairn_cursor_fail(in);                                                                         \
		else {                                                                                                 \
			memcpy(&value, in->at, sizeof value);                                                          \
			in->at += sizeof value;                                                                        \
		}                                                                                                      \
		return __builtin_expect(in->big_endian, 0) ? swap(value) : value;                                      \
	}
CAIRN_CURSOR_FIXED(u16, uint16_t, __builtin_bswap16)
CAIRN_CURSOR_FIXED(u32, uint32_t, __builtin_bswap32)
CAIRN_CURSOR_FIXED(u64, uint64_t, __builtin_bswap64)
#undef CAIRN_CURSOR_FIXED

/* A number of 8 bytes if SIZE is 8, otherwise of 4. */
static inline uint64_t cairn_cursor_sized(struct cairn_cursor *in, unsigned size)
{
	return size == 8 ? cairn_cursor_u64(in) : cairn_cursor_u32(in);
}

/* An unsigned LEB128 (also protobuf's varint). Bits past the 64th are dropped. */
static inline uint64_t cairn_cursor_uleb(struct cairn_cursor *in)
{
	if (in->at != in->end && *in->at < 0x80)
		return *in->at++;
	uint64_t value = 0;
	for (unsigned shift = 0;; shift += 7) {
		if (in->at == in->end) {
			in->failed = true;
			return 0;
		}
		unsigned char byte = *in->at++;
		if (shift < 64)
			value |= (uint64_t)(byte & 0x7f) << shift;
		if (byte < 0x80)
			return value;
	}
}

static inline int64_t cairn_cursor_sleb(struct cairn_cursor *in)
{
	uint64_t value = 0;
	for (unsigned shift = 0;;) {
		if (in->at == in->end) {
			in->failed = true;
			return 0;
		}
		unsigned char byte = *in->at++;
		if (shift < 64)
			value |= (uint64_t)(byte & 0x7f) << shift;
		shift += 7;
		if (byte < 0x80) {
			if (shift < 64 && (byte & 0x40))
				value |= ~(uint64_t)0 << shift;
			return (int64_t)value;
		}
	}
}

/* LENGTH bytes, borrowed from the input; empty on failure. */
static inline struct cairn_bytes cairn_cursor_bytes(struct cairn_cursor *in, uint64_t length)
{
	if (length > cairn_cursor_left(in)) {
		cairn_cursor_fail(in);
		return (struct cairn_bytes){(const char *)in->end, 0};
	}
	struct cairn_bytes bytes = {(const char *)in->at, (size_t)length};
	in->at += length;
	return bytes;
}

/* A string up to its terminator, which is skipped; without one it is a failure. */
static inline struct cairn_bytes cairn_cursor_text(struct cairn_cursor *in)
{
	size_t left = cairn_cursor_left(in);
	const unsigned char *end = left ? memchr(in->at, 0, left) : NULL;
	if (!end) {
		cairn_cursor_fail(in);
		return (struct cairn_bytes){"", 0};
	}
	struct cairn_bytes bytes = {(const char *)in->at, (size_t)(end - in->at)};
	in->at = end + 1;
	return bytes;
}

#endif
