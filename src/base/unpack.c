/* unpack.c - gzip, zstd and xz by their libraries, zlib, zstd and liblzma, which can salvage a file cut short. What is packed goes through
 * libdeflate, which is faster.
 * SPDX-License-Identifier: Apache-2.0 */
#include "base/unpack.h"

#include "base/buffer.h"
#include "base/cursor.h"

#include <libdeflate.h>
#include <lzma.h>
#include <stdlib.h>
#include <zlib.h>
#include <zstd.h>
#include <zstd_errors.h>

/* Profiles and symbol tables shrink 5 to 30 times. Below the floor any ratio goes; above it, this one. What a profile becomes once it is read
 * is ten times its text at most. */
static const size_t bomb_floor = (size_t)40 << 20;
enum { bomb_ratio = 40, step_bytes = 256 << 10 };
static const uint64_t xz_memory_least = (uint64_t)80 << 20, xz_memory_most = (uint64_t)1 << 30;

/* A frame of zstd that holds no data (RFC 8878, 3.1.2), as pzstd writes before each of the others: a mark, and the length of the rest. */
static bool is_skippable(struct cairn_bytes frame)
{
	return frame.length >= 8 && (frame.data[0] & 0xf0) == 0x50 && memcmp(frame.data + 1, "\x2a\x4d\x18", 3) == 0;
}

/* INPUT after the frames of zstd that hold no data. */
static struct cairn_bytes skip_frames(struct cairn_bytes input)
{
	while (is_skippable(input)) {
		struct cairn_cursor length = cairn_cursor(cairn_bytes_skip(input, 4));
		input = cairn_bytes_skip(input, 8 + (size_t)cairn_cursor_u32(&length));
	}
	return input;
}

enum cairn_packing cairn_unpack_sniff(struct cairn_bytes input)
{
	if (cairn_bytes_start_with(input, "\x1f\x8b"))
		return CAIRN_PACKED_GZIP;
	if (cairn_bytes_start_with(skip_frames(input), "\x28\xb5\x2f\xfd"))
		return CAIRN_PACKED_ZSTD;
	if (cairn_bytes_start_with(input, "\xfd" "7zXZ"))
		return CAIRN_PACKED_XZ;
	return CAIRN_PACKED_NOT;
}

enum outcome { whole, short_input, damaged, too_large, needs_memory };

/* Where unpacked bytes go. A count keeps none of them. */
struct output {
	struct cairn_buffer bytes;
	bool count_only;
	size_t counted, limit;
};

/* Where the next bytes go, and how many fit; NULL past the limit. */
static char *next_room(struct output *out, size_t *step)
{
	struct cairn_buffer *bytes = &out->bytes;
	if (out->count_only) {
		*step = step_bytes;
		return out->counted > out->limit ? NULL : cairn_buffer_room(bytes, step_bytes);
	}
	/* One byte beyond the limit is asked for, so that what ends exactly there fits. */
	size_t free_bytes = bytes->capacity - bytes->length, left = out->limit + 1 - bytes->length;
	*step = free_bytes > step_bytes ? free_bytes : step_bytes;
	*step = *step < left ? *step : left;
	return bytes->length > out->limit ? NULL : cairn_buffer_room(bytes, *step);
}

static void took(struct output *out, size_t length)
{
	out->counted += length;
	if (!out->count_only)
		out->bytes.length += length;
}

static enum outcome gunzip(struct cairn_bytes input, struct output *out)
{
	z_stream stream = {.next_in = (unsigned char *)(uintptr_t)input.data};
	size_t left = input.length;
	if (inflateInit2(&stream, 15 + 16) != Z_OK)
		cairn_out_of_memory(0);
	enum outcome outcome = short_input;
	for (;;) {
		if (stream.avail_in == 0) {
			stream.avail_in = left > (1u << 30) ? 1u << 30 : (unsigned)left;
			left -= stream.avail_in;
		}
		size_t step;
		char *room = next_room(out, &step);
		if (!room) {
			outcome = too_large;
			break;
		}
		if (step > (1u << 30))
			step = 1u << 30;
		stream.next_out = (unsigned char *)room;
		stream.avail_out = (unsigned)step;
		int result = inflate(&stream, Z_NO_FLUSH);
		took(out, step - stream.avail_out);
		if (result == Z_STREAM_END) {
			struct cairn_bytes rest = {(const char *)stream.next_in, stream.avail_in + left};
			if (cairn_unpack_sniff(rest) != CAIRN_PACKED_GZIP) {
				outcome = whole;
				break;
			}
			inflateReset(&stream);
		} else if (result == Z_BUF_ERROR || (result == Z_OK && stream.avail_in + left == 0 && stream.avail_out)) {
			break;
		} else if (result != Z_OK) {
			outcome = damaged;
			break;
		}
	}
	inflateEnd(&stream);
	return outcome;
}

static enum outcome unzstd(struct cairn_bytes input, struct output *out)
{
	ZSTD_DStream *stream = ZSTD_createDStream();
	if (!stream)
		cairn_out_of_memory(0);
	/* Of the window only as many bytes are used as are unpacked, which have their own limit: any will do ("zstd --long=31"). */
	ZSTD_DCtx_setParameter(stream, ZSTD_d_windowLogMax, ZSTD_dParam_getBounds(ZSTD_d_windowLogMax).upperBound);
	ZSTD_inBuffer in = {input.data, input.length, 0};
	enum outcome outcome = short_input;
	for (;;) {
		size_t step;
		char *room = next_room(out, &step);
		if (!room) {
			outcome = too_large;
			break;
		}
		ZSTD_outBuffer piece = {room, step, 0};
		size_t result = ZSTD_decompressStream(stream, &piece, &in);
		took(out, piece.pos);
		if (ZSTD_isError(result)) {
			ZSTD_ErrorCode code = ZSTD_getErrorCode(result);
			bool memory = code == ZSTD_error_memory_allocation || code == ZSTD_error_frameParameter_windowTooLarge;
			outcome = memory ? needs_memory : damaged;
			break;
		}
		/* At the end of a frame the result is 0, and everything is written; asked again, zstd waits for another frame. */
		if (in.pos == in.size && (result == 0 || piece.pos < piece.size)) {
			outcome = result == 0 ? whole : short_input;
			break;
		}
	}
	ZSTD_freeDStream(stream);
	return outcome;
}

static enum outcome unxz(struct cairn_bytes input, struct output *out)
{
	lzma_stream stream = LZMA_STREAM_INIT;
	/* "xz -9" needs 65 MiB, whatever the size of the data. */
	uint64_t memory = out->limit < xz_memory_least ? xz_memory_least : out->limit < xz_memory_most ? out->limit : xz_memory_most;
	if (lzma_stream_decoder(&stream, memory, LZMA_CONCATENATED) != LZMA_OK)
		cairn_out_of_memory(0);
	stream.next_in = (const uint8_t *)input.data;
	stream.avail_in = input.length;
	enum outcome outcome = short_input;
	for (;;) {
		size_t step;
		char *room = next_room(out, &step);
		if (!room) {
			outcome = too_large;
			break;
		}
		stream.next_out = (uint8_t *)room;
		stream.avail_out = step;
		lzma_ret result = lzma_code(&stream, LZMA_FINISH);
		took(out, step - stream.avail_out);
		if (result == LZMA_STREAM_END)
			outcome = whole;
		else if (result == LZMA_BUF_ERROR)
			outcome = short_input;
		else if (result == LZMA_MEMLIMIT_ERROR || result == LZMA_MEM_ERROR)
			outcome = needs_memory;
		else if (result != LZMA_OK)
			outcome = damaged;
		if (result != LZMA_OK)
			break;
	}
	lzma_end(&stream);
	return outcome;
}

static enum outcome unpack(struct cairn_bytes input, struct output *out)
{
	switch (cairn_unpack_sniff(input)) {
	case CAIRN_PACKED_GZIP: return gunzip(input, out);
	case CAIRN_PACKED_ZSTD: return unzstd(input, out);
	case CAIRN_PACKED_XZ: return unxz(input, out);
	case CAIRN_PACKED_NOT: break;
	}
	return damaged;
}

static bool unpack_within(struct cairn_bytes input, size_t most, const char *advice, char **data, size_t *length, bool *cut,
			  struct cairn_error *error)
{
	static const char *const names[] = {[CAIRN_PACKED_GZIP] = "gzip", [CAIRN_PACKED_ZSTD] = "zstd", [CAIRN_PACKED_XZ] = "xz"};
	struct output out = {.bytes = cairn_buffer(most + 1), .limit = most};
	const char *name = names[cairn_unpack_sniff(input)];
	if (!name)
		return cairn_fail(error, "not gzip, zstd or xz data");
	enum outcome outcome = unpack(input, &out);
	*cut = outcome != whole;
	if (outcome == too_large || out.bytes.length > most)
		cairn_fail(error, "%s data decompresses to more than %zu MiB from %zu bytes: refused%s", name, most >> 20, input.length, advice);
	else if (outcome == needs_memory && out.bytes.length == 0)
		cairn_fail(error, "%s data was compressed with a window that takes too much memory here; compress it with a smaller one",
			   name);
	else if (*cut && out.bytes.length == 0)
		cairn_fail(error, "%s data is %s", name, outcome == damaged ? "damaged" : "truncated before anything could be read");
	else {
		if (!out.bytes.data)
			out.bytes.data = calloc(1, 1);
		*data = out.bytes.data;
		*length = out.bytes.length;
		return true;
	}
	cairn_buffer_free(&out.bytes);
	return false;
}

/* MOST, or less if the ratio allows only that. */
static size_t limit_of(struct cairn_bytes input, size_t most)
{
	size_t limit = input.length > bomb_floor / bomb_ratio ? input.length * bomb_ratio : bomb_floor;
	return limit < most ? limit : most;
}

bool cairn_unpack_within(struct cairn_bytes input, size_t most, char **data, size_t *length, bool *cut, struct cairn_error *error)
{
	return unpack_within(input, limit_of(input, most), "", data, length, cut, error);
}

bool cairn_unpack(struct cairn_bytes input, char **data, size_t *length, bool *cut, struct cairn_error *error)
{
	return unpack_within(input, limit_of(input, SIZE_MAX - 1), "; decompress it yourself if you trust it", data, length, cut, error);
}

bool cairn_unpack_fits(struct cairn_bytes input, size_t most)
{
	struct output out = {.bytes = cairn_buffer(step_bytes), .count_only = true, .limit = limit_of(input, most)};
	if (cairn_unpack_sniff(input) == CAIRN_PACKED_NOT)
		return input.length <= most;
	unpack(input, &out);
	cairn_buffer_free(&out.bytes);
	return out.counted <= out.limit;
}

size_t cairn_unpack_head(struct cairn_bytes input, char *head, size_t size)
{
	struct output out = {.bytes = cairn_buffer(size + 1), .limit = size};
	unpack(input, &out);
	size_t length = out.bytes.length < size ? out.bytes.length : size;
	if (length)
		memcpy(head, out.bytes.data, length);
	cairn_buffer_free(&out.bytes);
	return length;
}

char *cairn_pack_gzip(struct cairn_bytes data, size_t *length)
{
	struct libdeflate_compressor *compressor = libdeflate_alloc_compressor(6);
	if (!compressor)
		return NULL;
	size_t bound = libdeflate_gzip_compress_bound(compressor, data.length);
	char *out = malloc(bound);
	if (out)
		*length = libdeflate_gzip_compress(compressor, data.data, data.length, out, bound);
	libdeflate_free_compressor(compressor);
	return out;
}
