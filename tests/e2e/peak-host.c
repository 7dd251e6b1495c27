/* peak-host.c - climbs to a highest point for some 50 ms, comes down, and knows what lived then: prints `site NAME BYTES` for each call
 * site, and `ready` when other threads go on with their churn below it.
 *
 * peak-host MEGABYTES: how much the spike has. A fifth of it stays, a tenth is allocated afterwards.
 * SPDX-License-Identifier: Apache-2.0 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { size = 4000, most = 1 << 18 };
static void *before[most], *spike[most], *after[most];

#define SITE(name)                                                                                                             \
	__attribute__((noinline, noclone)) static void name(void **table, unsigned count)                                      \
	{                                                                                                                      \
		for (unsigned i = 0; i < count; i++) {                                                                         \
			table[i] = malloc(size);                                                                               \
			if (!table[i])                                                                                         \
				exit(9);                                                                                       \
			*(volatile char *)table[i] = 1;                                                                        \
		}                                                                                                              \
	}
SITE(hold_before)
SITE(hold_spike)
SITE(hold_after)

static void release(void **table, unsigned count)
{
	for (unsigned i = 0; i < count; i++)
		free(table[i]);
}

__attribute__((noinline, noclone)) static void *churn(void *unused)
{
	for (;;) {
		void *objects[64];
		for (unsigned i = 0; i < 64; i++) {
			objects[i] = malloc(1000 + i);
			*(volatile char *)objects[i] = 1;
		}
		for (unsigned i = 0; i < 64; i++)
			free(objects[i]);
		usleep(100);
	}
	return unused;
}

int main(int count, char **arguments)
{
	unsigned all = (unsigned)((count > 1 ? atoi(arguments[1]) : 100) * 1000000LL / size);
	pthread_t thread;
	if (all > most)
		return 9;
	for (int i = 0; i < 2; i++)
		pthread_create(&thread, NULL, churn, NULL);
	hold_before(before, all / 5);
	hold_spike(spike, all);
	nanosleep(&(struct timespec){.tv_nsec = 50000000}, NULL);
	release(spike, all);
	release(before, all / 10); /* a half of what was there before goes, too */
	hold_after(after, all / 10);
	printf("site hold_before %lld\nsite hold_spike %lld\nsite hold_after 0\nready\n", (long long)(all / 5) * size,
	       (long long)all * size);
	fflush(stdout);
	pause();
	return 0;
}
