/* stall.c - a host with 24,000 stacks in its profile that measures how long its allocations are held up.
 *
 * `stall stock FILE` dumps by jemalloc's prof.dump itself; `stall agent` waits for somebody to ask the agent. Each line of output is
 * the longest allocation of one second, in microseconds.
 * SPDX-License-Identifier: Apache-2.0 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

__attribute__((weak)) int mallctl(const char *name, void *old_value, size_t *old_size, void *new_value, size_t new_size);

enum { levels = 15, stacks = 24000 };
static void *kept[stacks];

/* Each path through these two is a stack of its own. */
static void *left(unsigned path, int level);
static void *right(unsigned path, int level);

__attribute__((noinline)) static void *descend(unsigned path, int level)
{
	return level == 0 ? malloc(100) : path & 1 ? left(path >> 1, level - 1) : right(path >> 1, level - 1);
}

__attribute__((noinline)) static void *left(unsigned path, int level)
{
	void *result = descend(path, level);
	__asm__ volatile("" ::"r"(result));
	return result;
}

__attribute__((noinline)) static void *right(unsigned path, int level)
{
	void *result = descend(path, level);
	__asm__ volatile("" ::"r"(&result));
	return result;
}

__attribute__((noinline)) static void renew(unsigned at)
{
	free(kept[at]);
	kept[at] = descend(at, levels);
}

static void *dump(void *path)
{
	for (;;) {
		sleep(1);
		mallctl("prof.dump", NULL, NULL, &path, sizeof path);
	}
	return NULL;
}

static double now_us(void)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec * 1e6 + (double)now.tv_nsec / 1e3;
}

int main(int argc, char **argv)
{
	pthread_t thread;
	setvbuf(stdout, NULL, _IOLBF, 0);
	if (argc > 2 && strcmp(argv[1], "stock") == 0)
		pthread_create(&thread, NULL, dump, argv[2]);
	for (unsigned round = 0;;) { /* the first of which make the stacks */
		double worst = 0, second = now_us();
		for (double start = second; start - second < 1e6;) {
			/* A stack comes and goes: the case in which a dump holds an allocation up. */
			renew(round++ % stacks);
			double end = now_us();
			if (end - start > worst)
				worst = end - start;
			start = end;
		}
		if (round > stacks)
			printf("%.0f\n", worst);
	}
}
