/* mappings-host.c - maps memory in every way and knows what is left: prints `site NAME KIND BYTES` for each call site, then `ready`.
 * Meanwhile its allocator maps for itself, and threads map and unmap parts of what others have mapped.
 * SPDX-License-Identifier: Apache-2.0 */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { page = 4096, megabyte = 1 << 20 };

static char *anonymous(size_t length)
{
	char *memory = mmap(NULL, length, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (memory == MAP_FAILED)
		exit(9);
	return memory;
}

#define SITE(name) __attribute__((noinline, noclone)) static void name(void)

SITE(map_whole)
{
	memset(anonymous(64 * megabyte), 1, 64 * megabyte);
}

/* As runtimes align: more than is needed, and its ends given back. */
SITE(map_trimmed)
{
	char *memory = anonymous(32 * megabyte);
	munmap(memory, 3 * megabyte);
	munmap(memory + 24 * megabyte, 8 * megabyte);
	munmap(memory + 10 * megabyte, megabyte); /* and a hole: 20 MB are left in two parts */
}

SITE(map_gone)
{
	for (int i = 0; i < 1000; i++) {
		char *memory = anonymous(megabyte);
		memory[0] = 1;
		munmap(memory, megabyte);
	}
}

SITE(map_moved)
{
	char *memory = anonymous(4 * megabyte);
	if (mremap(memory, 4 * megabyte, 40 * megabyte, MREMAP_MAYMOVE) == MAP_FAILED)
		exit(9);
}

SITE(map_shrunk)
{
	char *memory = anonymous(30 * megabyte);
	if (mremap(memory, 30 * megabyte, 7 * megabyte, 0) == MAP_FAILED)
		exit(9);
}

SITE(map_reserved)
{
	char *memory = mmap(NULL, 512 * (size_t)megabyte, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	/* Of which 16 MB are used. */
	mmap(memory + 100 * megabyte, 16 * megabyte, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
}

SITE(map_shared)
{
	mmap(NULL, 12 * megabyte, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
}

SITE(map_file)
{
	FILE *file = tmpfile();
	if (ftruncate(fileno(file), 9 * megabyte) != 0)
		exit(9);
	mmap(NULL, 9 * megabyte, PROT_READ, MAP_PRIVATE, fileno(file), 0);
	fclose(file);
}

SITE(map_break)
{
	sbrk(6 * megabyte);
	sbrk(-(intptr_t)megabyte);
}

/* Threads that unmap each other's halves. */
static char *_Atomic handed[8];

static void *work(void *unused)
{
	for (int i = 0; i < 3000; i++) {
		char *memory = anonymous(16 * page), *other = __atomic_exchange_n(&handed[i % 8], memory + 8 * page, __ATOMIC_ACQ_REL);
		munmap(memory, 8 * page);
		if (other)
			munmap(other, 8 * page);
	}
	return unused;
}

SITE(map_together)
{
	pthread_t threads[4];
	for (int i = 0; i < 4; i++)
		pthread_create(&threads[i], NULL, work, NULL);
	for (int i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
	for (int i = 0; i < 8; i++)
		munmap(handed[i], 8 * page);
}

int main(void)
{
	for (int i = 0; i < 100; i++)
		memset(malloc(megabyte), 1, megabyte); /* which the allocator maps */
	map_whole();
	map_trimmed();
	map_gone();
	map_moved();
	map_shrunk();
	map_reserved();
	map_shared();
	map_file();
	map_break();
	map_together();
	static const struct {
		const char *name, *kind;
		int megabytes;
	} left[] = {
		{"map_whole", "anonymous", 64}, {"map_trimmed", "anonymous", 20}, {"map_gone", "anonymous", 0},
		{"map_moved", "anonymous", 40}, {"map_shrunk", "anonymous", 7}, {"map_reserved", "anonymous", 16},
		{"map_reserved", "reserved", 496}, {"map_shared", "shared", 12}, {"map_file", "file", 9}, {"map_break", "brk", 5},
		{"work", "anonymous", 0},
	};
	for (size_t i = 0; i < sizeof left / sizeof *left; i++)
		printf("site %s %s %d\n", left[i].name, left[i].kind, left[i].megabytes * megabyte);
	puts("ready");
	fflush(stdout);
	pause();
	return 0;
}
