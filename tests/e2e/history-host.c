/* history-host.c - grows by a megabyte every 40 ms, and says each time how much it holds: `at MILLISECONDS BYTES`. A second thread
 * allocates and frees two megabytes meanwhile, which is not counted there.
 * SPDX-License-Identifier: Apache-2.0 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { size = 10000, each = 100 };
static void *held[1 << 16];

static void *churn(void *unused)
{
	for (;;) {
		void *objects[each];
		for (unsigned i = 0; i < each; i++)
			objects[i] = memset(malloc(2 * size), 1, 2 * size);
		for (unsigned i = 0; i < each; i++)
			free(objects[i]);
		usleep(40000);
	}
	return unused;
}

int main(void)
{
	pthread_t thread;
	pthread_create(&thread, NULL, churn, NULL);
	for (unsigned long long count = 0; count < sizeof held / sizeof *held;) {
		for (unsigned i = 0; i < each; i++)
			held[count++] = memset(malloc(size), 1, size);
		struct timespec now;
		clock_gettime(CLOCK_REALTIME, &now);
		printf("at %lld %llu\n", (long long)now.tv_sec * 1000 + now.tv_nsec / 1000000, count * size);
		fflush(stdout);
		usleep(40000);
	}
	pause();
	return 0;
}
