/* stack.c - `stack DEPTH`: nanoseconds for a malloc and free of 64 bytes under a call chain of DEPTH frames, the best of nine
 * rounds; then one block is kept under another such chain, so that a dump at exit shows how much of the stack was seen.
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { rounds = 9, calls = 5000 };

static double now_ns(void)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

__attribute__((noinline)) static void allocate_under(int depth)
{
	if (depth > 0) {
		allocate_under(depth - 1);
		__asm__ volatile("");
		return;
	}
	for (int i = 0; i < calls; i++) {
		void *volatile block = malloc(64);
		free(block);
	}
}

static void *volatile kept;

__attribute__((noinline)) static void keep_under(int depth)
{
	if (depth > 0) {
		keep_under(depth - 1);
		__asm__ volatile("");
		return;
	}
	kept = malloc(64);
}

int main(int count, char **arguments)
{
	int depth = count > 1 ? atoi(arguments[1]) : 20;
	double best = 1e18;
	allocate_under(depth);
	for (int i = 0; i < rounds; i++) {
		double start = now_ns();
		allocate_under(depth);
		double each = (now_ns() - start) / calls;
		best = each < best ? each : best;
	}
	printf("%.0f\n", best);
	keep_under(depth);
	return 0;
}
