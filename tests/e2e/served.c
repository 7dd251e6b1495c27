/* served.c - a service that is linked with the agent and hands it its jemalloc, so that both can be built under a sanitizer, which has a
 * malloc of its own: served PORT DUMPS [CALL-PATHS]. Allocates by jemalloc's own functions and then waits.
 * SPDX-License-Identifier: Apache-2.0 */
#include "cairn.h"

#include <jemalloc/jemalloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* A call path for every number: each of its bits is a call of one function or the other. */
static void *descend(unsigned bits, int depth);

__attribute__((noinline)) static void *descend_left(unsigned bits, int depth)
{
	void *volatile kept = descend(bits, depth);
	return kept;
}

__attribute__((noinline)) static void *descend(unsigned bits, int depth)
{
	if (depth == 0)
		return mallocx(8192, 0);
	void *volatile kept = bits & 1 ? descend_left(bits >> 1, depth - 1) : descend(bits >> 1, depth - 1);
	return kept;
}

int main(int argc, char **argv)
{
	char listen[32], error[256];
	unsigned paths = argc > 3 ? (unsigned)atoi(argv[3]) : 100;
	if (argc < 3)
		return 2;
	snprintf(listen, sizeof listen, "127.0.0.1:%s", argv[1]);
	for (unsigned i = 0; i < paths; i++)
		*(volatile char *)descend(i, 12) = 1;
	struct cairn_options options = {
		.size = sizeof options, .listen = listen, .dumps = argv[2], .mallctl = mallctl, .malloc_stats_print = malloc_stats_print,
	};
	if (!cairn_start(&options, error, sizeof error)) {
		fprintf(stderr, "served: %s\n", error);
		return 1;
	}
	sleep(1800);
	return 0;
}
