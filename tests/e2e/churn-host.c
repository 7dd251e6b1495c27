/* churn-host.c - frees in two known ways: `quick` at once, `slow` after some 60 ms and by another thread.
 * Prints the bytes of each after some four seconds and 60 rounds, and waits.
 * SPDX-License-Identifier: Apache-2.0 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { size = 4000, batch = 50 };
static void *handed[batch];
static pthread_barrier_t barrier;
static volatile int over;

__attribute__((noinline)) static void quick(void)
{
	void *volatile object = malloc(size);
	free(object);
}

__attribute__((noinline)) static void *slow(void)
{
	return memset(malloc(size), 1, size);
}

static void *release(void *unused)
{
	for (;;) {
		pthread_barrier_wait(&barrier);
		if (over)
			return unused;
		usleep(60000);
		for (int i = 0; i < batch; i++)
			free(handed[i]);
		pthread_barrier_wait(&barrier);
	}
}

int main(void)
{
	pthread_t thread;
	long quick_bytes = 0, slow_bytes = 0, rounds = 0;
	struct timespec start, now;
	pthread_barrier_init(&barrier, NULL, 2);
	pthread_create(&thread, NULL, release, NULL);
	clock_gettime(CLOCK_MONOTONIC, &start);
	do {
		for (int i = 0; i < batch; i++)
			handed[i] = slow();
		slow_bytes += batch * size;
		for (int i = 0; i < 200; i++)
			quick();
		quick_bytes += 200 * size;
		pthread_barrier_wait(&barrier);
		pthread_barrier_wait(&barrier);
		clock_gettime(CLOCK_MONOTONIC, &now);
		rounds++;
	} while (now.tv_sec - start.tv_sec < 4 || rounds < 60);
	over = 1;
	pthread_barrier_wait(&barrier);
	printf("quick %ld\nslow %ld\nready\n", quick_bytes, slow_bytes);
	fflush(stdout);
	pause();
	return 0;
}
