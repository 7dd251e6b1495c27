/* pair.c - `pair LIVE [THREADS]`: nanoseconds of CPU time for a malloc and free of 64 bytes, by the allocator itself and as a program
 * calls it, with LIVE sampled objects alive and THREADS threads at it. Both in turn, and the best of each: what else the machine does only
 * ever adds. Prints `bare through bare-hostile through-hostile`; hostile is a free of objects in an order that no cache foresees.
 * SPDX-License-Identifier: Apache-2.0 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { pairs = 200000, rounds = 150, many = 1 << 19, hostile_rounds = 21 };

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

static double time_hostile(allocate *volatile take, release *volatile give, void **objects, const unsigned *order)
{
	for (int i = 0; i < many; i++)
		objects[i] = take(64);
	double start = now_ns();
	for (int i = 0; i < many; i++)
		give(objects[order[i]]);
	return (now_ns() - start) / many;
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
	double best[4] = {1e9, 1e9, 1e9, 1e9};
	for (int i = 0, live = count > 1 ? atoi(arguments[1]) : 0; i < live; i++)
		if (!malloc(1536 << 10)) /* three periods: nearly all are sampled, and none is touched */
			return 1;
	pthread_t thread;
	for (int i = 1, threads = count > 2 ? atoi(arguments[2]) : 1; i < threads; i++)
		if (pthread_create(&thread, NULL, work_for_ever, NULL) != 0)
			return 1;
	void **objects = malloc(many * sizeof *objects);
	unsigned *order = malloc(many * sizeof *order), random = 1;
	for (unsigned i = 0; i < many; i++)
		order[i] = i;
	for (unsigned i = many - 1; i > 0; i--) {
		random = random * 1664525 + 1013904223;
		unsigned other = (random >> 8) % (i + 1), kept = order[i];
		order[i] = order[other];
		order[other] = kept;
	}
	for (int i = 0; i < rounds * 2; i++) {
		double each = time_pairs(functions_take[i % 2], functions_give[i % 2]);
		best[i % 2] = each < best[i % 2] ? each : best[i % 2];
	}
	for (int i = 0; i < hostile_rounds * 2; i++) {
		double each = time_hostile(functions_take[i % 2], functions_give[i % 2], objects, order);
		best[2 + i % 2] = each < best[2 + i % 2] ? each : best[2 + i % 2];
	}
	printf("%.2f %.2f %.2f %.2f\n", best[0], best[1], best[2], best[3]);
	return 0;
}
