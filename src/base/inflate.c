/* inflate.c - streaming decompression by ISA-L and zstd, published step by step.
 * SPDX-License-Identifier: Apache-2.0 */
#include "base/inflate.h"

#include "base/error.h"

#include <isa-l/igzip_lib.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/mman.h>
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
	if (inflate->data == MAP_FAILED)
		cairn_out_of_memory(size);
	madvise(inflate->data, size, MADV_HUGEPAGE);
	inflate->packed = packed;
	inflate->kind = kind;
	inflate->size = size;
	pthread_mutex_init(&inflate->lock, NULL);
	pthread_cond_init(&inflate->moved, NULL);
	return inflate;
}

struct cairn_bytes cairn_inflate_bytes(const struct cairn_inflate *inflate)
{
	return (struct cairn_bytes){inflate->data, inflate->size};
}

static void publish(struct cairn_inflate *inflate, size_t ready, bool done)
{
	pthread_mutex_lock(&inflate->lock);
	atomic_store(&inflate->ready, ready);
	atomic_store(&inflate->done, done);
	pthread_cond_broadcast(&inflate->moved);
	pthread_mutex_unlock(&inflate->lock);
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
		size_t room = inflate->size - ready < step_bytes ? inflate->size - ready : step_bytes;
		size_t feed = left.length < ((size_t)1 << 30) ? left.length : (size_t)1 << 30;
		state->next_in = (unsigned char *)(uintptr_t)left.data;
		state->avail_in = (uint32_t)feed;
		state->next_out = (unsigned char *)inflate->data + ready;
		state->avail_out = (uint32_t)room;
		int result = isal_inflate(state);
		size_t written = room - state->avail_out, taken = feed - state->avail_in;
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
		size_t room = inflate->size - ready < step_bytes ? inflate->size - ready : step_bytes;
		ZSTD_outBuffer out = {inflate->data + ready, room, 0};
		size_t before = in.pos, result = ZSTD_decompressStream(stream, &out, &in);
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
	size_t ready = inflate->kind == CAIRN_INFLATE_ZLIB ? run_zlib(inflate) : run_zstd(inflate);
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

bool cairn_inflate_is_done(const struct cairn_inflate *inflate)
{
	return atomic_load(&inflate->done);
}

void cairn_inflate_free(struct cairn_inflate *inflate)
{
	if (!inflate)
		return;
	munmap(inflate->data, inflate->size);
	pthread_cond_destroy(&inflate->moved);
	pthread_mutex_destroy(&inflate->lock);
	free(inflate);
}
