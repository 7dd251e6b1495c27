/* inflate.c - streaming decompression by ISA-L and zstd, published step by step.
 * SPDX-License-Identifier: Apache-2.0 */
#include "base/inflate.h"

#include "base/error.h"
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
static const size_t bomb_floor = (size_t)256 << 20;
enum { bomb_ratio = 100 };

struct cairn_inflate {
	struct cairn_bytes packed;
	enum cairn_inflate_kind kind;
	char *data;
	size_t size;
	enum { NOT_PLACED, IN_MEMORY, IN_FILE, NOWHERE } place; /* under the lock */
	int descriptor; /* of the file */
	char *step;     /* what is unpacked next, on its way to the file */
	bool disk_full; /* it could not get there; under the lock */
	atomic_flag begun;
	atomic_size_t ready;
	atomic_bool done;
	pthread_mutex_t lock;
	pthread_cond_t moved;
};

struct cairn_inflate *cairn_inflate_new(struct cairn_bytes packed, enum cairn_inflate_kind kind, size_t size)
{
	if (size == 0 || (size > bomb_floor && size / bomb_ratio > packed.length))
		return NULL;
	struct cairn_inflate *inflate = calloc(1, sizeof *inflate);
	if (!inflate)
		cairn_out_of_memory(sizeof *inflate);
	inflate->data = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (inflate->data == MAP_FAILED) { /* addresses are used up, as by a file of very many such sections */
		free(inflate);
		return NULL;
	}
	inflate->packed = packed;
	inflate->kind = kind;
	inflate->size = size;
	inflate->descriptor = -1;
	pthread_mutex_init(&inflate->lock, NULL);
	pthread_cond_init(&inflate->moved, NULL);
	return inflate;
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

static int find_place(struct cairn_inflate *inflate)
{
	if (!cairn_room_take(inflate->size, &inflate->descriptor))
		return NOWHERE;
	if (inflate->descriptor < 0) {
		madvise(inflate->data, inflate->size, MADV_HUGEPAGE);
		return IN_MEMORY;
	}
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

bool cairn_inflate_place(struct cairn_inflate *inflate)
{
	pthread_mutex_lock(&inflate->lock);
	if (inflate->place == NOT_PLACED)
		inflate->place = find_place(inflate);
	bool good = inflate->place != NOWHERE;
	pthread_mutex_unlock(&inflate->lock);
	return good;
}

static void publish(struct cairn_inflate *inflate, size_t ready, bool done)
{
	pthread_mutex_lock(&inflate->lock);
	atomic_store(&inflate->ready, ready);
	atomic_store(&inflate->done, done);
	pthread_cond_broadcast(&inflate->moved);
	pthread_mutex_unlock(&inflate->lock);
}

/* Where the bytes from READY on are unpacked to, and how many at a time. */
static unsigned char *step_start(struct cairn_inflate *inflate, size_t ready, size_t *room)
{
	*room = inflate->size - ready < step_bytes ? inflate->size - ready : step_bytes;
	return (unsigned char *)(inflate->step ? inflate->step : inflate->data + ready);
}

/* Brings LENGTH unpacked bytes to their place. A disk that is full after all ends the data there. Writing begins at once: in a small
 * control group the pages are wanted for something else soon, and those that are clean can be dropped. */
static bool step_end(struct cairn_inflate *inflate, size_t ready, size_t length)
{
	for (size_t done = 0; inflate->step && done < length;) {
		ssize_t count = pwrite(inflate->descriptor, inflate->step + done, length - done, (off_t)(ready + done));
		if (count == 0 || (count < 0 && errno != EINTR)) {
			pthread_mutex_lock(&inflate->lock);
			inflate->disk_full = true;
			pthread_mutex_unlock(&inflate->lock);
			return false;
		}
		done += count < 0 ? 0 : (size_t)count;
	}
	if (inflate->step)
		sync_file_range(inflate->descriptor, (off_t)ready, (off_t)length, SYNC_FILE_RANGE_WRITE);
	return true;
}

/* The checksum at the end is not verified: whoever reads the result checks every number in it anyway. */
static size_t run_zlib(struct cairn_inflate *inflate)
{
	enum { header_bytes = 2 };
	struct inflate_state *state = malloc(sizeof *state);
	if (!state)
		cairn_out_of_memory(sizeof *state);
	isal_inflate_init(state);
	struct cairn_bytes left = cairn_bytes_skip(inflate->packed, header_bytes);
	size_t ready = 0;
	for (;;) {
		size_t room;
		size_t feed = left.length < ((size_t)1 << 30) ? left.length : (size_t)1 << 30;
		state->next_in = (unsigned char *)(uintptr_t)left.data;
		state->avail_in = (uint32_t)feed;
		state->next_out = step_start(inflate, ready, &room);
		state->avail_out = (uint32_t)room;
		int result = isal_inflate(state);
		size_t written = room - state->avail_out, taken = feed - state->avail_in;
		if (!step_end(inflate, ready, written))
			break;
		ready += written;
		left = cairn_bytes_skip(left, taken);
		if (result != ISAL_DECOMP_OK || state->block_state == ISAL_BLOCK_FINISH || ready == inflate->size ||
		    written + taken == 0)
			break;
		publish(inflate, ready, false);
	}
	free(state);
	return ready;
}

static size_t run_zstd(struct cairn_inflate *inflate)
{
	ZSTD_DStream *stream = ZSTD_createDStream();
	if (!stream)
		cairn_out_of_memory(0);
	ZSTD_inBuffer in = {inflate->packed.data, inflate->packed.length, 0};
	size_t ready = 0;
	for (;;) {
		size_t room;
		unsigned char *start = step_start(inflate, ready, &room);
		ZSTD_outBuffer out = {start, room, 0};
		size_t before = in.pos, result = ZSTD_decompressStream(stream, &out, &in);
		if (!step_end(inflate, ready, out.pos))
			break;
		ready += out.pos;
		if (ZSTD_isError(result) || ready == inflate->size || (out.pos == 0 && in.pos == before))
			break;
		publish(inflate, ready, false);
	}
	ZSTD_freeDStream(stream);
	return ready;
}

void cairn_inflate_run(struct cairn_inflate *inflate)
{
	if (atomic_flag_test_and_set(&inflate->begun))
		return;
	size_t ready = 0;
	bool placed = cairn_inflate_place(inflate);
	if (placed && inflate->descriptor >= 0 && !(inflate->step = malloc(step_bytes)))
		cairn_out_of_memory(step_bytes);
	if (placed)
		ready = inflate->kind == CAIRN_INFLATE_ZLIB ? run_zlib(inflate) : run_zstd(inflate);
	free(inflate->step);
	publish(inflate, ready, true);
}

bool cairn_inflate_wait(struct cairn_inflate *inflate, size_t length)
{
	if (atomic_load_explicit(&inflate->ready, memory_order_acquire) >= length)
		return true;
	cairn_inflate_run(inflate);
	pthread_mutex_lock(&inflate->lock);
	while (atomic_load(&inflate->ready) < length && !atomic_load(&inflate->done))
		pthread_cond_wait(&inflate->moved, &inflate->lock);
	pthread_mutex_unlock(&inflate->lock);
	return atomic_load(&inflate->ready) >= length;
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
	munmap(inflate->data, inflate->size);
	if (inflate->place == IN_MEMORY)
		cairn_room_give(inflate->size);
	if (inflate->descriptor >= 0)
		close(inflate->descriptor);
	pthread_cond_destroy(&inflate->moved);
	pthread_mutex_destroy(&inflate->lock);
	free(inflate);
}
