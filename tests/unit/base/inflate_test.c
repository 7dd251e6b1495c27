/* inflate_test.c - unpacking in the background, and what damaged data leaves behind.
 * SPDX-License-Identifier: Apache-2.0 */
#include "base/inflate.h"

#include "tap.h"

#include <pthread.h>
#include <stdlib.h>
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
	cairn_inflate_run(argument);
	return NULL;
}

static void test_kind(enum cairn_inflate_kind kind, const char *name)
{
	size_t size = pack(kind);
	struct cairn_inflate *inflate = cairn_inflate_new((struct cairn_bytes){packed, size}, kind, length);
	pthread_t thread;
	pthread_create(&thread, NULL, unpack, inflate);
	struct cairn_bytes bytes = cairn_inflate_bytes(inflate);
	bool same = true;
	for (size_t at = 100000; at < length; at += 100000)
		same &= cairn_inflate_wait(inflate, at) && memcmp(bytes.data + at - 100000, plain + at - 100000, 100000) == 0;
	ok(same, "%s: each part is right once it has been waited for", name);
	ok(cairn_inflate_wait(inflate, length) && memcmp(bytes.data, plain, length) == 0, "%s: the whole", name);
	pthread_join(thread, NULL);
	ok(cairn_inflate_is_done(inflate), "%s: it is done", name);
	cairn_inflate_free(inflate);

	inflate = cairn_inflate_new((struct cairn_bytes){packed, size}, kind, length);
	ok(cairn_inflate_wait(inflate, length), "%s: who waits for what nobody began unpacks it", name);
	cairn_inflate_free(inflate);

	inflate = cairn_inflate_new((struct cairn_bytes){packed, size / 2}, kind, length);
	ok(!cairn_inflate_wait(inflate, length), "%s: cut short, the whole never comes", name);
	ok(cairn_inflate_wait(inflate, 1000), "%s: but its beginning does", name);
	cairn_inflate_free(inflate);

	memset(packed + size / 2, 0x55, 1000);
	inflate = cairn_inflate_new((struct cairn_bytes){packed, size}, kind, length);
	cairn_inflate_wait(inflate, length);
	ok(cairn_inflate_is_done(inflate), "%s: damaged data comes to an end", name);
	cairn_inflate_free(inflate);
}

static void test_refused(void)
{
	ok(!cairn_inflate_new((struct cairn_bytes){packed, 100}, CAIRN_INFLATE_ZLIB, (size_t)1 << 40),
	   "a terabyte out of 100 bytes is refused");
	ok(!cairn_inflate_new((struct cairn_bytes){packed, 100}, CAIRN_INFLATE_ZLIB, 0), "nothing is nothing to unpack");
}

int main(void)
{
	srand(7);
	for (size_t i = 0; i < length; i++)
		plain[i] = (char)(rand() % 4 ? "abcdef"[i % 6] : rand());
	test_kind(CAIRN_INFLATE_ZLIB, "zlib");
	test_kind(CAIRN_INFLATE_ZSTD, "zstd");
	test_refused();
	return tap_done();
}
