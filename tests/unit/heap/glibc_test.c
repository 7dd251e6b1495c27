/* glibc_test.c - the heap of a process on glibc's malloc, read from outside, against what mallinfo2 and malloc_trim say there.
 * SPDX-License-Identifier: Apache-2.0 */
#include "heap/glibc.h"
#include "heap/walk.h"
#include "process/proc.h"
#include "tap.h"

#include <malloc.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>

/* What the child says of itself, and what it was asked to do last. */
struct shared {
	_Atomic int stage, asked;
	struct mallinfo2 info;
	uint64_t before, after;
	char *kept;
};

enum { objects_most = 60000, threads = 3 };

static struct shared *shared;
static pthread_barrier_t barrier;

static uint64_t resident(void)
{
	struct cairn_proc_statm statm;
	cairn_proc_statm_read(0, &statm);
	return statm.resident;
}

static void settle(int stage)
{
	shared->stage = stage;
	while (shared->asked < stage)
		usleep(1000);
}

/* Objects of 16 bytes to 8 KiB, of which runs are freed, and one in 8 of the rest; some lists of every cache stay full. */
static void *work(void *argument)
{
	static void *lists[threads][objects_most / threads];
	size_t number = (size_t)argument;
	void **own = lists[number];
	uint64_t random = number + 1;
	for (size_t i = 0; i < objects_most / threads; i++) {
		random = random * 6364136223846793005u + 1442695040888963407u;
		size_t size = 16 + (random >> 40) % (i % 16 ? 500 : 8000);
		own[i] = malloc(size);
		memset(own[i], 1, size);
	}
	for (size_t i = 0; i < objects_most / threads; i++)
		if (i / 100 % 2 || i % 8 == 0)
			free(own[i]);
	void *mapped = malloc((size_t)3 << 20);
	memset(mapped, 1, 5000);
	pthread_barrier_wait(&barrier);
	if (number) /* its cache stays */
		pause();
	return mapped;
}

/* One object of 40 bytes on every page, in an arena of its own. */
static void *spread(void *argument)
{
	enum { pages = 5000 };
	static void *sparse[pages], *bulk[pages];
	for (size_t i = 0; i < pages; i++) {
		sparse[i] = malloc(40);
		bulk[i] = malloc(4096 - 48 - 8);
		memset(bulk[i], 1, 4000);
	}
	memset(malloc(4000), 1, 4000);
	for (size_t i = 0; i < pages; i++)
		free(bulk[i]);
	shared->kept = sparse[2000];
	return argument;
}

static void child(void)
{
	pthread_t thread;
	mallopt(M_MMAP_THRESHOLD, 1 << 20);
	pthread_barrier_init(&barrier, NULL, threads);
	for (size_t i = 1; i < threads; i++)
		pthread_create(&thread, NULL, work, (void *)i);
	shared->kept = work(0);
	resident();
	shared->info = mallinfo2();
	settle(1);
	shared->before = resident();
	malloc_trim(0);
	shared->after = resident();
	settle(2);
	pthread_create(&thread, NULL, spread, NULL);
	pthread_join(thread, NULL);
	settle(3);
}

static void await_stage(int stage)
{
	while (shared->stage < stage)
		usleep(1000);
}

static const struct cairn_walk_heap *only_heap(const struct cairn_walk *walk)
{
	is_int(walk->heap_count, 1, "one heap");
	ok(walk->heap_count == 1 && walk->heaps[0].kind == CAIRN_WALK_GLIBC && walk->heaps[0].is_read && !walk->heaps[0].problem[0],
	   "which is glibc's %s", walk->heaps[0].version);
	return &walk->heaps[0];
}

static void test_counts(int pid)
{
	struct cairn_walk walk;
	struct cairn_error error;
	await_stage(1);
	ok(cairn_walk_process(&walk, pid, NULL, &error), "a child can be read");
	const struct cairn_walk_heap *heap = only_heap(&walk);
	is_int(heap->sum.free, shared->info.fordblks, "free bytes are mallinfo2's");
	is_int(heap->settings.mmapped, shared->info.hblkhd, "and those of objects with mappings of their own");
	is_int(heap->settings.mmapped_objects, threads, "and their number");
	is_near((double)(heap->sum.live + heap->sum.cached - heap->settings.mmapped), (double)shared->info.uordblks, 10000,
		"used bytes, but for headers of arenas");
	is_int(heap->difference, 0, "every byte that glibc obtained was found");
	is_int(heap->arena_count, threads, "an arena for each thread");
	ok(heap->sum.cached_objects > 7 * 20 && heap->sum.cached_objects <= threads * 7 * 64, "objects in the caches of threads: %llu",
	   (unsigned long long)heap->sum.cached_objects);
	ok(heap->settings.known && heap->settings.mmap_threshold == 1 << 20 && heap->settings.fixed_thresholds, "the settings");
	uint64_t predicted = heap->sum.returnable;
	is_int(heap->sum.resident_free, heap->sum.returnable + heap->sum.pinned + heap->sum.reserved, "free memory adds up");
	cairn_walk_free(&walk);
	shared->asked = 1;
	await_stage(2);
	is_near((double)(shared->before - shared->after), (double)predicted, 64 << 10, "what malloc_trim returns was predicted");
	ok(cairn_walk_process(&walk, pid, NULL, &error) && walk.sum.returnable < 4096 * 4, "after that there is nothing to return");
	cairn_walk_free(&walk);
}

/* A cache that malloc takes from a bin may have 16 bytes that would be too few for a chunk. */
static void test_cache_sizes(void)
{
	struct cairn_glibc glibc = {.first = 230, .last = 241};
	ok(cairn_glibc_may_be_cache(&glibc, 0x290) && cairn_glibc_may_be_cache(&glibc, 0x2a0), "caches of either size");
	ok(!cairn_glibc_may_be_cache(&glibc, 0x280) && !cairn_glibc_may_be_cache(&glibc, 0x2b0), "and of no other");
}

static void test_shares(int pid)
{
	struct cairn_walk walk;
	struct cairn_error error;
	double share;
	shared->asked = 2;
	await_stage(3);
	ok(cairn_walk_process(&walk, pid, NULL, &error), "once more");
	ok(cairn_walk_share(&walk, (uintptr_t)shared->kept, malloc_usable_size(malloc(40)), &share), "an object in the heap");
	is_near(share, 4048, 20, "an object alone on its page keeps the rest of it");
	ok(!cairn_walk_share(&walk, (uintptr_t)&walk, 64, &share) && share == 0, "what is in no heap keeps nothing");
	ok(walk.sum.pinned > 4900 * 4000u, "and so do all of them");
	cairn_walk_free(&walk);
}

int main(void)
{
	shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (TAP_ADDRESS_SANITIZER || TAP_THREAD_SANITIZER) {
		tap_skip("glibc's heap", "the sanitizers have an allocator of their own");
		return tap_done();
	}
	pid_t pid = tap_fork();
	if (pid == 0) {
		child();
		for (;;)
			pause();
	}
	test_cache_sizes();
	test_counts(pid);
	test_shares(pid);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	struct cairn_walk walk;
	struct cairn_error error;
	ok(!cairn_walk_process(&walk, pid, NULL, &error), "a process that has ended: %s", error.text);
	cairn_walk_free(&walk);
	return tap_done();
}
