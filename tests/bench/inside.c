/* inside.c - for each line that it reads, nanoseconds of CPU time for a malloc and free of 64 bytes from the allocator inside, the best of many
 * rounds: what else the machine does only ever adds. PREFIX is that of the allocator's names.
 * SPDX-License-Identifier: Apache-2.0 */
#include <stddef.h>
#include <stdio.h>
#include <time.h>

#ifndef PREFIX
#define PREFIX
#endif
#define JOIN(prefix, name) prefix##name
#define NAMED(prefix, name) JOIN(prefix, name)
#define OWN(name) NAMED(PREFIX, name)

extern void *OWN(malloc)(size_t size);
extern void OWN(free)(void *object);

enum { pairs = 200000, rounds = 60 };

static double now_ns(void)
{
	struct timespec now;
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

int main(void)
{
	char line[16];
	while (fgets(line, sizeof line, stdin)) {
		double best = 1e9;
		for (int round = 0; round < rounds; round++) {
			double start = now_ns();
			for (int i = 0; i < pairs; i++) {
				void *object = OWN(malloc)(64);
				__asm__ volatile("" ::"r"(object) : "memory");
				OWN(free)(object);
			}
			double each = (now_ns() - start) / pairs;
			best = each < best ? each : best;
		}
		printf("%.2f\n", best);
		fflush(stdout);
	}
	return 0;
}
