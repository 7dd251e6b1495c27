/* walk.c - nanoseconds per frame of Cairn's unwinder: cached, and cold with every rule worked out anew; libgcc's beside it.
 * SPDX-License-Identifier: Apache-2.0 */
#include "agent/unwind/rule_cache.h"
#include "agent/unwind/unwind.h"

#include <stdio.h>
#include <time.h>
#include <unwind.h>

enum { rounds = 200 };

static double best_cached = 1e18, best_cold = 1e18, best_libgcc = 1e18;

static double now_ns(void)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

static double walk(void)
{
	void *pcs[256];
	unsigned frames;
	struct cairn_registers registers;
	cairn_registers_here(&registers);
	double start = now_ns();
	cairn_unwind(&registers, NULL, pcs, 256, &frames);
	return (now_ns() - start) / frames;
}

static _Unwind_Reason_Code count_frame(struct _Unwind_Context *context, void *count)
{
	(void)context;
	++*(unsigned *)count;
	return _URC_NO_REASON;
}

static double walk_libgcc(void)
{
	unsigned frames = 0;
	double start = now_ns();
	_Unwind_Backtrace(count_frame, &frames);
	return (now_ns() - start) / frames;
}

static void keep_best(double *best, double value)
{
	*best = value < *best ? value : *best;
}

/* Thirty different functions, so that thirty rules are needed. */
#define LEVEL(number, next)                                                                                                      \
	__attribute__((noinline)) static void level_##number(void)                                                              \
	{                                                                                                                        \
		next();                                                                                                          \
		__asm__ volatile("");                                                                                            \
	}

static void measure(void)
{
	for (int i = 0; i < rounds; i++) {
		memset(cairn_rule_lines, 0, sizeof cairn_rule_lines);
		keep_best(&best_cold, walk());
		keep_best(&best_cached, walk());
		keep_best(&best_libgcc, walk_libgcc());
	}
}

/* clang-format off */
LEVEL(a0, measure) LEVEL(a1, level_a0) LEVEL(a2, level_a1) LEVEL(a3, level_a2) LEVEL(a4, level_a3) LEVEL(a5, level_a4)
LEVEL(a6, level_a5) LEVEL(a7, level_a6) LEVEL(a8, level_a7) LEVEL(a9, level_a8) LEVEL(b0, level_a9) LEVEL(b1, level_b0)
LEVEL(b2, level_b1) LEVEL(b3, level_b2) LEVEL(b4, level_b3) LEVEL(b5, level_b4) LEVEL(b6, level_b5) LEVEL(b7, level_b6)
LEVEL(b8, level_b7) LEVEL(b9, level_b8) LEVEL(c0, level_b9) LEVEL(c1, level_c0) LEVEL(c2, level_c1) LEVEL(c3, level_c2)
LEVEL(c4, level_c3) LEVEL(c5, level_c4) LEVEL(c6, level_c5) LEVEL(c7, level_c6) LEVEL(c8, level_c7) LEVEL(c9, level_c8)
	/* clang-format on */

	int main(void)
{
	level_c9();
	printf("%.1f %.1f %.1f\n", best_cached, best_cold, best_libgcc);
	return 0;
}
