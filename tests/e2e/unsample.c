/* unsample.c - known amounts of live memory at known places, sampled by jemalloc many times over.
 *
 * Usage: unsample FOLDER TRIALS. Each trial starts the profile anew, allocates, dumps to FOLDER/trial.N.heap and frees.
 * SPDX-License-Identifier: Apache-2.0 */
#include <jemalloc/jemalloc.h>
#include <stdio.h>
#include <stdlib.h>

enum { small_count = 4000, small_size = 64, large_count = 60, large_size = 5120, few_count = 300, few_size = 96, mixed_count = 500 };

static void *kept[small_count + large_count + few_count + 2 * mixed_count];
static size_t kept_count;

#define SITE __attribute__((noinline, noipa))

SITE static void allocate_small(void)
{
	for (int i = 0; i < small_count; i++)
		kept[kept_count++] = malloc(small_size);
}

SITE static void allocate_large(void)
{
	for (int i = 0; i < large_count; i++)
		kept[kept_count++] = malloc(large_size);
}

/* Seven samples, more or less. */
SITE static void allocate_few(void)
{
	for (int i = 0; i < few_count; i++)
		kept[kept_count++] = malloc(few_size);
}

/* Two sizes from one place: where a mean size would mislead. */
SITE static void allocate_mixed(void)
{
	for (int i = 0; i < 2 * mixed_count; i++)
		kept[kept_count++] = malloc(i % 2 ? 32 : 2048);
}

int main(int argc, char **argv)
{
	int trials = argc > 2 ? atoi(argv[2]) : 0;
	printf("allocate_small %d\nallocate_large %d\nallocate_few %d\nallocate_mixed %d\n", small_count * small_size,
	       large_count * large_size, few_count * few_size, mixed_count * (32 + 2048));
	for (int trial = 0; trial < trials; trial++) {
		char path[4096];
		const char *name = path;
		snprintf(path, sizeof path, "%s/trial.%d.heap", argv[1], trial);
		kept_count = 0;
		if (mallctl("prof.reset", NULL, NULL, NULL, 0) != 0)
			return 1;
		allocate_small();
		allocate_large();
		allocate_few();
		allocate_mixed();
		if (mallctl("prof.dump", NULL, NULL, &name, sizeof name) != 0)
			return 1;
		for (size_t i = 0; i < kept_count; i++)
			free(kept[i]);
	}
	return 0;
}
