/* thread.c - preloaded: a thread that sleeps. From then on glibc's malloc takes its locks, which it does not while a program has one thread
 * only; that is part of what any agent with a thread costs.
 * SPDX-License-Identifier: Apache-2.0 */
#include <pthread.h>
#include <unistd.h>

static void *rest(void *unused)
{
	for (;;)
		pause();
	return unused;
}

__attribute__((constructor)) static void start(void)
{
	pthread_t thread;
	pthread_create(&thread, NULL, rest, NULL);
}
