/* pair.c - `pair LIVE [THREADS]`: nanoseconds of CPU time for a malloc and free of 64 bytes, by the allocator itself and as a program
 * calls it, with LIVE sampled objects alive and THREADS threads at it. Both in turn, and the best of each: what else the machine does only
 * ever adds. Prints `bare through`.
 * SPDX-License-Identifier: Apache-2.0 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { pairs = 200000, rounds = 150 };

typedef void *allocate(size_t size);
typedef void release(void *object);

static double now_ns(void)
{
	struct timespec now;
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

static double time_pairs(allocate *volatile take, release *volatile give)
{
	double start = now_ns();
	for (int i = 0; i < pairs; i++) {
		void *object = take(64);
		__asm__ volatile("" ::"r"(object) : "memory");
		give(object);
	}
	return (now_ns() - start) / pairs;
}

static void *work_for_ever(void *unused)
{
	(void)unused;
	for (;;)
		time_pairs(malloc, free);
	return NULL;
}

int main(int count, char **arguments)
{
	/* What the loader would bind, found where no relocation is. */
	allocate *functions_take[2] = {(allocate *)dlsym(RTLD_DEFAULT, "malloc"), malloc};
	release *functions_give[2] = {(release *)dlsym(RTLD_DEFAULT, "free"), free};
	double best[2] = {1e9, 1e9};
	for (int i = 0, live = count > 1 ? atoi(arguments[1]) : 0; i < live; i++)
		if (!malloc(1536 << 10)) /* three periods: nearly all are sampled, and none is touched */
			return 1;
	pthread_t thread;
	for (int i = 1, threads = count > 2 ? atoi(arguments[2]) : 1; i < threads; i++)
		if (pthread_create(&thread, NULL, work_for_ever, NULL) != 0)
			return 1;
	for (int i = 0; i < rounds * 2; i++) {
		double each = time_pairs(functions_take[i % 2], functions_give[i % 2]);
		best[i % 2] = each < best[i % 2] ? each : best[i % 2];
	}
	printf("%.2f %.2f\n", best[0], best[1]);
	return 0;
}
