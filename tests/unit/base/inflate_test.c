/* inflate_test.c - unpacking while others read, streams, and what damaged data leaves behind.
 * SPDX-License-Identifier: Apache-2.0 */
#include "base/inflate.h"

#include "base/room.h"
#include "tap.h"

#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <zlib.h>
#include <zstd.h>

enum { length = 5 << 20 };
static char plain[length];
static char packed[length + 4096];

static size_t pack(enum cairn_inflate_kind kind)
{
	if (kind == CAIRN_INFLATE_ZSTD)
		return ZSTD_compress(packed, sizeof packed, plain, length, 1);
	uLongf size = sizeof packed;
	compress2((Bytef *)packed, &size, (const Bytef *)plain, length, 1);
	return size;
}

static void *unpack(void *argument)
{
	cairn_inflate_wait(argument, 0, length);
	return NULL;
}

static void test_kind(enum cairn_inflate_kind kind, const char *name)
{
	size_t size = pack(kind);
	struct cairn_inflate *inflate = cairn_inflate_new((struct cairn_bytes){packed, size}, false, kind, length);
	pthread_t thread;
	pthread_create(&thread, NULL, unpack, inflate);
	struct cairn_bytes bytes = cairn_inflate_bytes(inflate);
	bool same = true;
	for (size_t at = 100000; at < length; at += 100000)
		same &= cairn_inflate_wait(inflate, 0, at) && memcmp(bytes.data + at - 100000, plain + at - 100000, 100000) == 0;
	ok(same, "%s: each part is right once it has been waited for", name);
	ok(cairn_inflate_wait(inflate, 0, length) && memcmp(bytes.data, plain, length) == 0, "%s: the whole", name);
	pthread_join(thread, NULL);
	ok(cairn_inflate_is_done(inflate), "%s: it is done", name);
	cairn_inflate_free(inflate);

	inflate = cairn_inflate_new((struct cairn_bytes){packed, size}, false, kind, length);
	ok(cairn_inflate_wait(inflate, 0, length), "%s: who waits for what nobody began unpacks it", name);
	cairn_inflate_free(inflate);

	inflate = cairn_inflate_new((struct cairn_bytes){packed, size / 2}, false, kind, length);
	ok(!cairn_inflate_wait(inflate, 0, length), "%s: cut short, the whole never comes", name);
	ok(cairn_inflate_wait(inflate, 0, 1000), "%s: but its beginning does", name);
	cairn_inflate_free(inflate);

	memset(packed + size / 2, 0x55, 1000);
	inflate = cairn_inflate_new((struct cairn_bytes){packed, size}, false, kind, length);
	cairn_inflate_wait(inflate, 0, length);
	ok(cairn_inflate_is_done(inflate), "%s: damaged data comes to an end", name);
	cairn_inflate_free(inflate);
}

static void test_refused(void)
{
	ok(!cairn_inflate_new((struct cairn_bytes){packed, 100}, false, CAIRN_INFLATE_ZLIB, (size_t)1 << 40),
	   "a terabyte out of 100 bytes is refused");
	ok(!cairn_inflate_new((struct cairn_bytes){packed, 100}, false, CAIRN_INFLATE_ZLIB, 0), "nothing is nothing to unpack");
}

/* A stream is many pieces long, and no number of parts is a number of pieces. */
enum { long_length = 40 << 20, part = 300000 };
static char long_plain[long_length], long_packed[long_length];

static struct cairn_inflate *new_stream(size_t size)
{
	struct cairn_inflate *inflate =
		cairn_inflate_new((struct cairn_bytes){long_packed, size}, false, CAIRN_INFLATE_ZLIB, long_length);
	cairn_inflate_stream(inflate);
	return inflate;
}

/* Whether the part at AT is right while it is held. */
static bool reads(struct cairn_inflate *inflate, size_t at)
{
	size_t end = at + part < long_length ? at + part : long_length;
	cairn_inflate_hold(inflate, at, end);
	bool right = cairn_inflate_wait(inflate, at, end) &&
		     memcmp(cairn_inflate_bytes(inflate).data + at, long_plain + at, end - at) == 0;
	cairn_inflate_release(inflate, at, end);
	return right;
}

static bool reads_in_order(struct cairn_inflate *inflate, size_t start, size_t end)
{
	bool right = true;
	for (size_t at = start; at < end; at += part)
		right &= reads(inflate, at);
	return right;
}

/* How much of the first SIZE bytes is in memory. */
static size_t resident(struct cairn_inflate *inflate, size_t size)
{
	enum { page = 4096 };
	static unsigned char is_there[long_length / page];
	size_t count = 0;
	mincore((void *)(uintptr_t)cairn_inflate_bytes(inflate).data, size, is_there);
	for (size_t i = 0; i < size / page; i++)
		count += is_there[i] & 1;
	return count * page;
}

static void *read_at_random(void *argument)
{
	unsigned seed = (unsigned)(uintptr_t)&seed;
	bool right = true;
	for (int i = 0; i < 200; i++)
		right &= reads(argument, (size_t)rand_r(&seed) % (long_length - part));
	return right ? argument : NULL;
}

static void test_stream(void)
{
	uLongf size = sizeof long_packed;
	compress2((Bytef *)long_packed, &size, (const Bytef *)long_plain, long_length, 1);

	struct cairn_inflate *inflate = new_stream(size);
	ok(reads_in_order(inflate, 0, long_length) && cairn_inflate_is_stream(inflate), "stream: each part is right while it is held");
	size_t kept = resident(inflate, long_length);
	ok(kept <= (size_t)14 << 20, "and little of it is in memory: %zu KiB", kept >> 10);
	bool right = true;
	for (size_t at = 0; at < long_length; at += part)
		right &= reads(inflate, long_length - part - at % (long_length - part));
	ok(right, "stream: backwards, too");
	cairn_inflate_free(inflate);

	inflate = new_stream(size);
	ok(reads_in_order(inflate, 0, long_length / 2) && resident(inflate, 1 << 20) == 0 && reads(inflate, 0) &&
		   reads_in_order(inflate, long_length / 2, long_length),
	   "stream: once back, and on");
	ok(resident(inflate, 1 << 20) == 1 << 20, "what was wanted twice stays");
	cairn_inflate_free(inflate);

	inflate = new_stream(size);
	cairn_inflate_hold(inflate, 1000, part);
	ok(reads_in_order(inflate, 0, long_length) &&
		   memcmp(cairn_inflate_bytes(inflate).data + 1000, long_plain + 1000, part - 1000) == 0,
	   "stream: what is held stays");
	cairn_inflate_release(inflate, 1000, part);
	cairn_inflate_free(inflate);

	inflate = new_stream(size);
	pthread_t threads[4];
	void *outcome;
	right = true;
	for (int i = 0; i < 4; i++)
		pthread_create(&threads[i], NULL, read_at_random, inflate);
	for (int i = 0; i < 4; i++) {
		pthread_join(threads[i], &outcome);
		right &= outcome != NULL;
	}
	ok(right, "stream: threads read here and there");
	cairn_inflate_free(inflate);

	inflate = new_stream(size / 2);
	ok(!reads_in_order(inflate, 0, long_length) && !cairn_inflate_wait(inflate, 0, long_length) && cairn_inflate_is_done(inflate),
	   "stream: cut short, it ends");
	ok(reads(inflate, 0) && reads(inflate, 5 << 20) && !reads(inflate, long_length - part), "what comes before can be read again");
	ok(cairn_inflate_bytes(inflate).data[long_length - 1] == 0, "and the rest reads as zeroes");
	cairn_inflate_free(inflate);

	const char *const folders[] = {"/var/tmp"};
	cairn_room_set(0, folders, 1);
	inflate = new_stream(size);
	ok(reads_in_order(inflate, 0, long_length) && !cairn_inflate_is_stream(inflate), "on disk it is no stream");
	cairn_inflate_free(inflate);
	cairn_room_set(SIZE_MAX, NULL, 0);
}

static void fill(char *bytes, size_t count)
{
	for (size_t i = 0; i < count; i++)
		bytes[i] = (char)(rand() % 4 ? "abcdef"[i % 6] : rand());
}

int main(void)
{
	srand(7);
	fill(plain, length);
	fill(long_plain, long_length);
	test_kind(CAIRN_INFLATE_ZLIB, "zlib");
	test_kind(CAIRN_INFLATE_ZSTD, "zstd");
	test_refused();
	test_stream();
	return tap_done();
}
