/* inflate.c - step-by-step decompression by ISA-L and zstd, and the pieces of streams.
 * SPDX-License-Identifier: Apache-2.0 */
#include "base/inflate.h"

#include "base/array.h"
#include "base/error.h"
#include "base/file.h"
#include "base/room.h"

#include <errno.h>
#include <fcntl.h>
#include <isa-l/igzip_lib.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>
#include <zstd.h>

/* A step is large enough that waking readers costs nothing beside it, and small enough that they follow closely. */
static const size_t step_bytes = (size_t)1 << 20;
/* The size of a huge page, which moves as one. */
static const size_t piece_bytes = (size_t)2 << 20;
static const size_t bomb_floor = (size_t)256 << 20;
enum { bomb_ratio = 100 };
/* How many pieces of a stream stay although nobody holds them: threads do not read in step with each other. */
enum { spare_pieces = 4 };

/* Where decompression stands. */
struct decoder {
	struct inflate_state *zlib;
	ZSTD_DStream *zstd;
	size_t taken; /* of the packed bytes */
};

struct piece {
	unsigned holders;
	bool there;  /* it has memory, and is complete up to what is ready */
	bool stays;
	size_t taken; /* how to decompress it again: the decoder at its start */
	void *state;
};

struct cairn_inflate {
	struct cairn_bytes packed;
	bool mapped;
	enum cairn_inflate_kind kind;
	char *data;
	size_t size;
	char *reserved; /* address space, of which DATA is the aligned part */
	size_t reserved_size;
	struct decoder decoder;
	int descriptor; /* of the file */
	char *step;     /* what is unpacked next, on its way to the file */
	atomic_size_t ready;
	atomic_bool done;
	pthread_mutex_t lock; /* protects everything below */
	pthread_cond_t moved;
	bool busy; /* a thread is decompressing, and owns the decoder */
	enum { NOT_PLACED, IN_MEMORY, IN_FILE, NOWHERE } place;
	bool disk_full;	      /* it could not get to the file */
	bool streams;	      /* as was asked for */
	struct piece *pieces; /* of a stream; NULL if it is none */
};

struct cairn_inflate *cairn_inflate_new(struct cairn_bytes packed, bool mapped, enum cairn_inflate_kind kind, size_t size)
{
	if (size == 0 || (size > bomb_floor && size / bomb_ratio > packed.length))
		return NULL;
	struct cairn_inflate *inflate = cairn_array_zero(1, sizeof *inflate);
	size_t slack = size < piece_bytes ? 0 : piece_bytes;
	inflate->reserved_size = size + slack;
	inflate->reserved =
		mmap(NULL, inflate->reserved_size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (inflate->reserved == MAP_FAILED) { /* addresses are used up, as by a file of very many such sections */
		free(inflate);
		return NULL;
	}
	inflate->data = inflate->reserved + (slack ? -(uintptr_t)inflate->reserved & (piece_bytes - 1) : 0);
	inflate->packed = packed;
	inflate->mapped = mapped;
	inflate->kind = kind;
	inflate->size = size;
	inflate->descriptor = -1;
	pthread_mutex_init(&inflate->lock, NULL);
	pthread_cond_init(&inflate->moved, NULL);
	return inflate;
}

void cairn_inflate_stream(struct cairn_inflate *inflate)
{
	inflate->streams = inflate->kind == CAIRN_INFLATE_ZLIB && inflate->size > (spare_pieces + 1) * piece_bytes;
}

bool cairn_inflate_is_stream(const struct cairn_inflate *inflate)
{
	return inflate->pieces != NULL;
}

struct cairn_bytes cairn_inflate_bytes(const struct cairn_inflate *inflate)
{
	return (struct cairn_bytes){inflate->data, inflate->size};
}

/* The file takes the place of the memory that was laid out, so that what points there stays right. Reading ahead is for the caller to ask
 * for: the kernel would read megabytes around every page, and in a small control group drop what is needed next for it. */
static bool map_file(struct cairn_inflate *inflate)
{
	if (mmap(inflate->data, inflate->size, PROT_READ, MAP_SHARED | MAP_FIXED, inflate->descriptor, 0) == MAP_FAILED)
		return false;
	madvise(inflate->data, inflate->size, MADV_RANDOM);
	return true;
}

/* A stream takes as much room as any other: all of it, if all is wanted twice. */
static int find_place(struct cairn_inflate *inflate)
{
	if (!cairn_room_take(inflate->size, &inflate->descriptor))
		return NOWHERE;
	if (inflate->descriptor < 0) {
		madvise(inflate->data, inflate->size, MADV_HUGEPAGE);
		if (inflate->streams)
			inflate->pieces = cairn_array_zero(inflate->size / piece_bytes + 1, sizeof *inflate->pieces);
		return IN_MEMORY;
	}
	inflate->step = cairn_array_new(step_bytes, 1);
	return map_file(inflate) ? IN_FILE : NOWHERE;
}

void cairn_inflate_expect(const struct cairn_inflate *inflate, size_t start, size_t length)
{
	enum { page_size = 4096 };
	if (inflate->descriptor < 0 || start >= inflate->size)
		return;
	size_t from = start & ~(size_t)(page_size - 1), most = inflate->size - from;
	madvise(inflate->data + from, length + (start - from) < most ? length + (start - from) : most, MADV_WILLNEED);
}

/* Finds the place if there is none yet; the caller has the lock. */
static bool ensure_place(struct cairn_inflate *inflate)
{
	if (inflate->place == NOT_PLACED)
		inflate->place = find_place(inflate);
	return inflate->place != NOWHERE;
}

bool cairn_inflate_place(struct cairn_inflate *inflate)
{
	pthread_mutex_lock(&inflate->lock);
	bool good = ensure_place(inflate);
	pthread_mutex_unlock(&inflate->lock);
	return good;
}

/* Decompresses to the ROOM bytes at OUT. Returns how many were written; *MORE says whether others may follow. The checksum at the end of
 * zlib data is not verified: whoever reads the result checks every number in it anyway. */
static size_t decode_zlib(const struct cairn_inflate *inflate, struct decoder *decoder, unsigned char *out, size_t room, bool *more)
{
	enum { header_bytes = 2 };
	struct inflate_state *state = decoder->zlib;
	if (!state) {
		state = decoder->zlib = cairn_array_new(1, sizeof *state);
		isal_inflate_init(state);
		decoder->taken = header_bytes;
	}
	struct cairn_bytes left = cairn_bytes_skip(inflate->packed, decoder->taken);
	size_t feed = left.length < ((size_t)1 << 30) ? left.length : (size_t)1 << 30;
	state->next_in = (unsigned char *)(uintptr_t)left.data;
	state->avail_in = (uint32_t)feed;
	state->next_out = out;
	state->avail_out = (uint32_t)room;
	int result = isal_inflate(state);
	size_t written = room - state->avail_out, taken = feed - state->avail_in;
	decoder->taken += taken;
	*more = result == ISAL_DECOMP_OK && state->block_state != ISAL_BLOCK_FINISH && written + taken > 0;
	return written;
}

static size_t decode_zstd(const struct cairn_inflate *inflate, struct decoder *decoder, char *out, size_t room, bool *more)
{
	if (!decoder->zstd && !(decoder->zstd = ZSTD_createDStream()))
		cairn_out_of_memory(0);
	ZSTD_inBuffer in = {inflate->packed.data, inflate->packed.length, decoder->taken};
	ZSTD_outBuffer piece = {out, room, 0};
	size_t result = ZSTD_decompressStream(decoder->zstd, &piece, &in);
	*more = !ZSTD_isError(result) && (piece.pos > 0 || in.pos > decoder->taken);
	decoder->taken = in.pos;
	return piece.pos;
}

static size_t decode(const struct cairn_inflate *inflate, struct decoder *decoder, char *out, size_t room, bool *more)
{
	size_t before = decoder->taken;
	size_t written = inflate->kind == CAIRN_INFLATE_ZLIB ? decode_zlib(inflate, decoder, (unsigned char *)out, room, more)
							     : decode_zstd(inflate, decoder, out, room, more);
	if (inflate->mapped)
		cairn_file_release((struct cairn_bytes){inflate->packed.data + before, decoder->taken - before});
	return written;
}

static void free_decoder(struct decoder *decoder)
{
	free(decoder->zlib);
	ZSTD_freeDStream(decoder->zstd);
	*decoder = (struct decoder){0};
}

/* Brings LENGTH unpacked bytes to the file. A disk that is full after all ends the data there. Writing begins at once: in a small control
 * group the pages are wanted for something else soon, and those that are clean can be dropped. */
static bool write_step(struct cairn_inflate *inflate, size_t ready, size_t length)
{
	for (size_t done = 0; done < length;) {
		ssize_t count = pwrite(inflate->descriptor, inflate->step + done, length - done, (off_t)(ready + done));
		if (count == 0 || (count < 0 && errno != EINTR))
			return false;
		done += count < 0 ? 0 : (size_t)count;
	}
	sync_file_range(inflate->descriptor, (off_t)ready, (off_t)length, SYNC_FILE_RANGE_WRITE);
	return true;
}

/* Gives the memory of piece FROM to piece TO. What was at TO, nothing, is at FROM then. */
static void move_memory(struct cairn_inflate *inflate, size_t from, size_t to)
{
	char *source = inflate->data + from * piece_bytes, *target = inflate->data + to * piece_bytes;
	int how = MREMAP_MAYMOVE | MREMAP_FIXED | MREMAP_DONTUNMAP;
	if (mremap(source, piece_bytes, piece_bytes, how, target) != MAP_FAILED)
		return;
	/* Linux before 5.7, or too many mappings: the memory is given back. */
	int fresh = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED;
	madvise(source, piece_bytes, MADV_DONTNEED);
	if (mmap(target, piece_bytes, PROT_READ | PROT_WRITE, fresh, -1, 0) == MAP_FAILED)
		cairn_out_of_memory(piece_bytes);
}

/* The oldest piece whose memory can be used for another, of those before END; END if there are not more than a few. */
static size_t find_spare(const struct cairn_inflate *inflate, size_t end)
{
	size_t oldest = end, count = 0;
	for (size_t i = end; i-- > 0;) {
		const struct piece *piece = &inflate->pieces[i];
		if (piece->there && !piece->holders && !piece->stays && count++ >= spare_pieces)
			oldest = i;
	}
	return oldest;
}

/* Prepares the next piece of a stream, at its start. */
static void begin_piece(struct cairn_inflate *inflate, size_t number)
{
	struct piece *piece = &inflate->pieces[number];
	const struct decoder *decoder = &inflate->decoder;
	size_t spare = find_spare(inflate, number);
	/* The last piece is shorter than others and may have what is not ours behind it. */
	if (spare < number && (number + 1) * piece_bytes <= inflate->size) {
		inflate->pieces[spare].there = false;
		move_memory(inflate, spare, number);
	}
	piece->there = true;
	if (number == 0)
		return;
	/* The history, at the end of the state, is mostly half as long as its room. */
	size_t size = offsetof(struct inflate_state, tmp_out_buffer) + (size_t)decoder->zlib->tmp_out_valid;
	piece->taken = decoder->taken;
	piece->state = cairn_array_new(size, 1);
	memcpy(piece->state, decoder->zlib, size);
}

/* The first piece between START and END whose memory went to another one; NULL if there is none. */
static struct piece *find_gone(const struct cairn_inflate *inflate, size_t start, size_t end)
{
	size_t ready = atomic_load(&inflate->ready), last = end < ready ? end : ready;
	for (size_t i = start / piece_bytes; inflate->pieces && i * piece_bytes < last; i++)
		if (!inflate->pieces[i].there)
			return &inflate->pieces[i];
	return NULL;
}

/* Decompresses PIECE again. Its memory is there for good from now on, so that it is not asked for a third time. */
static void restore(struct cairn_inflate *inflate, const struct piece *piece)
{
	size_t number = (size_t)(piece - inflate->pieces), length = 0;
	struct decoder decoder = {0};
	if (piece->state) {
		size_t history = (size_t)((const struct inflate_state *)piece->state)->tmp_out_valid;
		decoder.zlib = cairn_array_new(1, sizeof *decoder.zlib);
		memcpy(decoder.zlib, piece->state, offsetof(struct inflate_state, tmp_out_buffer) + history);
		decoder.taken = piece->taken;
	}
	char *start = inflate->data + number * piece_bytes;
	for (bool more = true; more && length < piece_bytes;)
		length += decode(inflate, &decoder, start + length, piece_bytes - length, &more);
	free_decoder(&decoder);
}

/* Decompresses the next bytes; returns how many, and in *MORE whether others follow. A step ends with its piece. */
static size_t decode_next(struct cairn_inflate *inflate, size_t ready, bool *more)
{
	size_t left = inflate->size - ready, room = piece_bytes - ready % piece_bytes;
	room = room < step_bytes ? room : step_bytes;
	char *out = inflate->step ? inflate->step : inflate->data + ready;
	size_t written = decode(inflate, &inflate->decoder, out, left < room ? left : room, more);
	*more = *more && written < left;
	return written;
}

/* Takes one step; the caller has the lock, which is free while bytes are being decompressed. */
static void advance(struct cairn_inflate *inflate)
{
	size_t ready = atomic_load(&inflate->ready), written = 0;
	bool more = ensure_place(inflate), good = true;
	if (more && inflate->pieces && ready % piece_bytes == 0)
		begin_piece(inflate, ready / piece_bytes);
	inflate->busy = true;
	pthread_mutex_unlock(&inflate->lock);
	if (more)
		written = decode_next(inflate, ready, &more);
	if (inflate->step && written)
		good = write_step(inflate, ready, written);
	pthread_mutex_lock(&inflate->lock);
	inflate->disk_full = !good;
	if (good)
		atomic_store(&inflate->ready, ready + written);
	if (!good || !more) {
		atomic_store(&inflate->done, true);
		free_decoder(&inflate->decoder);
	}
}

static void bring_back(struct cairn_inflate *inflate, struct piece *piece)
{
	inflate->busy = true;
	pthread_mutex_unlock(&inflate->lock);
	restore(inflate, piece);
	pthread_mutex_lock(&inflate->lock);
	piece->there = piece->stays = true;
}

bool cairn_inflate_wait(struct cairn_inflate *inflate, size_t start, size_t end)
{
	if (!inflate->streams && atomic_load_explicit(&inflate->ready, memory_order_acquire) >= end)
		return true;
	pthread_mutex_lock(&inflate->lock);
	for (;;) {
		struct piece *gone = find_gone(inflate, start, end);
		if (!gone && (atomic_load(&inflate->ready) >= end || atomic_load(&inflate->done)))
			break;
		if (inflate->busy) {
			pthread_cond_wait(&inflate->moved, &inflate->lock);
			continue;
		}
		if (gone)
			bring_back(inflate, gone);
		else
			advance(inflate);
		inflate->busy = false;
		pthread_cond_broadcast(&inflate->moved);
	}
	pthread_mutex_unlock(&inflate->lock);
	return atomic_load(&inflate->ready) >= end;
}

/* Adds CHANGE to the holders of each piece between START and END. */
static void change_holders(struct cairn_inflate *inflate, size_t start, size_t end, int change)
{
	pthread_mutex_lock(&inflate->lock);
	ensure_place(inflate);
	for (size_t i = start / piece_bytes; inflate->pieces && i * piece_bytes < end && i * piece_bytes < inflate->size; i++)
		inflate->pieces[i].holders += (unsigned)change;
	pthread_mutex_unlock(&inflate->lock);
}

void cairn_inflate_hold(struct cairn_inflate *inflate, size_t start, size_t end)
{
	if (inflate->streams)
		change_holders(inflate, start, end, 1);
}

void cairn_inflate_release(struct cairn_inflate *inflate, size_t start, size_t end)
{
	if (inflate->streams)
		change_holders(inflate, start, end, -1);
}

bool cairn_inflate_lacked_room(struct cairn_inflate *inflate)
{
	pthread_mutex_lock(&inflate->lock);
	bool lacked = inflate->disk_full || inflate->place == NOWHERE;
	pthread_mutex_unlock(&inflate->lock);
	return lacked;
}

bool cairn_inflate_is_done(const struct cairn_inflate *inflate)
{
	return atomic_load(&inflate->done);
}

void cairn_inflate_free(struct cairn_inflate *inflate)
{
	if (!inflate)
		return;
	munmap(inflate->reserved, inflate->reserved_size);
	if (inflate->place == IN_MEMORY)
		cairn_room_give(inflate->size);
	if (inflate->descriptor >= 0)
		close(inflate->descriptor);
	for (size_t i = 0; inflate->pieces && i <= inflate->size / piece_bytes; i++)
		free(inflate->pieces[i].state);
	free(inflate->pieces);
	free(inflate->step);
	free_decoder(&inflate->decoder);
	pthread_cond_destroy(&inflate->moved);
	pthread_mutex_destroy(&inflate->lock);
	free(inflate);
}
