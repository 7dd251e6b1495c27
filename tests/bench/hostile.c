/* hostile.c - `hostile LIVE [pointers]`: nanoseconds that a free of the sampler's adds where no cache helps, with LIVE sampled objects
 * alive. With `pointers`, no cache holds the pointers to the objects either.
 *
 * Frees half a million objects of 64 bytes in a random order, far more than the caches hold, by the allocator's own free and by the one
 * that a sampled program calls. A free of this kind waits for memory, and how long depends on which physical pages the objects have: two
 * processes, or two rounds over other objects, differ by more than what is to be measured. So both run in one process over the same
 * objects in the same order. Each round allocates them, sorts them by address and frees them in the one order, in blocks; a block is timed
 * alone, and in each three rounds it is freed once by each of three functions, in an order drawn anew: the bare one, the bare one again,
 * and the sampled one. A difference is that of the same block by two functions, averaged over all blocks. That between bare and bare is
 * what chance makes of nothing.
 *
 * Prints `bare sampled-by-minima chance-by-minima sampled-by-medians chance-by-medians`, the last four as differences from bare.
 * SPDX-License-Identifier: Apache-2.0 */
#include <dlfcn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { many = 1 << 19, block = 1 << 12, blocks = many / block, rounds_each = 15, kinds = 3 };
enum kind { bare, again, sampled };

typedef void *allocate(size_t size);
typedef void release(void *object);

static void *objects[many], *sequence[many];
static unsigned order[many];
static double times[kinds][blocks][rounds_each];

/* Of this thread: what it waits for the processor is not counted. */
static double now_ns(void)
{
	struct timespec now;
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

static unsigned draw(unsigned below)
{
	static unsigned long long random = 1;
	random = random * 6364136223846793005u + 1442695040888963407u;
	return (unsigned)((random >> 32) * below >> 32);
}

static int compare_addresses(const void *left, const void *right)
{
	const char *a = *(char *const *)left, *b = *(char *const *)right;
	return (a > b) - (a < b);
}

static int compare_times(const void *left, const void *right)
{
	double a = *(const double *)left, b = *(const double *)right;
	return (a > b) - (a < b);
}

static double time_block(release *give, void *const *pointers)
{
	double start = now_ns();
	for (int i = 0; i < block; i++)
		give(pointers[i]);
	return (now_ns() - start) / block;
}

/* The pointers, too, come from memory that no cache holds, as those in the nodes of a tree do. */
static double time_block_of_places(release *give, const unsigned *places)
{
	double start = now_ns();
	for (int i = 0; i < block; i++)
		give(objects[places[i]]);
	return (now_ns() - start) / block;
}

/* By the allocator itself: were they sampled, those that the bare free takes would stay in the ledger for good. */
static void take_all(allocate *take)
{
	for (int i = 0; i < many; i++)
		if (!(objects[i] = take(64)))
			exit(1);
	qsort(objects, many, sizeof *objects, compare_addresses);
	for (int i = 0; i < many; i++)
		sequence[i] = objects[order[i]];
}

/* The mean over the blocks of how much longer KIND took than the bare one, each time being the one of RANK among those of its block. */
static double difference(enum kind kind, int rank)
{
	double sum = 0;
	for (int i = 0; i < blocks; i++)
		sum += times[kind][i][rank] - times[bare][i][rank];
	return sum / blocks;
}

int main(int count, char **arguments)
{
	/* What the loader would bind, found where no relocation is; and what a relocation leads to. */
	allocate *take = (allocate *)dlsym(RTLD_DEFAULT, "malloc");
	release *volatile sampled_free = free, *bare_free = (release *)dlsym(RTLD_DEFAULT, "free");
	for (int i = 0, live = count > 1 ? atoi(arguments[1]) : 0; i < live; i++)
		if (!malloc(1536 << 10)) /* three periods: nearly all are sampled, and none is touched */
			return 1;
	bool cold = count > 2;
	for (unsigned i = 0; i < many; i++) {
		unsigned other = draw(i + 1);
		order[i] = order[other];
		order[other] = i;
	}
	for (int round = 0; round < rounds_each; round++) {
		static unsigned char turns[blocks][kinds];
		for (int i = 0; i < blocks; i++)
			for (unsigned j = 0; j < kinds; j++) {
				unsigned other = draw(j + 1);
				turns[i][j] = turns[i][other];
				turns[i][other] = (unsigned char)j;
			}
		for (int turn = 0; turn < kinds; turn++) {
			take_all(take);
			for (int i = 0; i < blocks; i++) {
				enum kind kind = turns[i][turn];
				release *give = kind == sampled ? sampled_free : bare_free;
				times[kind][i][round] = cold ? time_block_of_places(give, order + i * block) :
							       time_block(give, sequence + i * block);
			}
		}
	}
	double mean = 0;
	for (int kind = 0; kind < kinds; kind++)
		for (int i = 0; i < blocks; i++)
			qsort(times[kind][i], rounds_each, sizeof times[kind][i][0], compare_times);
	for (int i = 0; i < blocks; i++)
		mean += times[bare][i][0] / blocks;
	printf("%.2f %.2f %.2f %.2f %.2f\n", mean, difference(sampled, 0), difference(again, 0), difference(sampled, rounds_each / 2),
	       difference(again, rounds_each / 2));
	return 0;
}
