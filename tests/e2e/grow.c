/* grow.c - a service that grows: MEGABYTES_PER_SECOND, less where the machine is busy, up to MEGABYTES in blocks of BYTES, touched, then
 * waits to be ended. From SLOWER megabytes on it grows at a tenth of that. Writes how much it has, in bytes, to the file REPORT as it goes,
 * so that a test knows what it had when it was killed.
 * SPDX-License-Identifier: Apache-2.0 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

struct block {
	struct block *next;
};

__attribute__((noinline)) static struct block *allocate_block(struct block *next, size_t size)
{
	struct block *block = malloc(size);
	if (!block)
		return next;
	memset(block, 1, size);
	block->next = next;
	return block;
}

int main(int count, char **arguments)
{
	if (count != 5 && count != 6) {
		fprintf(stderr, "use: grow MEGABYTES_PER_SECOND MEGABYTES BYTES REPORT [SLOWER]\n");
		return 2;
	}
	size_t speed = strtoul(arguments[1], NULL, 10) << 20, most = strtoul(arguments[2], NULL, 10) << 20,
	       size = strtoul(arguments[3], NULL, 10), slower = count > 5 ? strtoul(arguments[5], NULL, 10) << 20 : most;
	int file = open(arguments[4], O_RDWR | O_CREAT | O_TRUNC, 0600);
	if (size < sizeof(struct block) || file < 0 || ftruncate(file, sizeof(size_t)) != 0)
		return 2;
	volatile size_t *report = mmap(NULL, sizeof(size_t), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
	struct block *blocks = NULL;
	size_t step = speed / 100; /* a hundredth of a second's worth at a time */
	struct timespec start, now;
	double late = 0; /* time that is not caught up with: that would be faster than it is told */
	clock_gettime(CLOCK_MONOTONIC, &start);
	for (size_t have = 0; have < most;) {
		for (size_t done = 0; done < step; done += size) {
			blocks = allocate_block(blocks, size);
			*report = have += size;
		}
		clock_gettime(CLOCK_MONOTONIC, &now);
		double elapsed = (double)(now.tv_sec - start.tv_sec) + (double)(now.tv_nsec - start.tv_nsec) / 1e9;
		double slow = have > slower ? 9.0 * (double)(have - slower) : 0;
		double ahead = ((double)have + slow) / (double)speed + late - elapsed;
		if (ahead > 0)
			usleep((useconds_t)(ahead * 1e6));
		else
			late -= ahead;
	}
	pause();
	return blocks == NULL;
}
