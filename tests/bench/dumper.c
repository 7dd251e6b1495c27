/* dumper.c - preloaded into a service: what stock profiling does for a snapshot every second, prof.dump to a file.
 * SPDX-License-Identifier: Apache-2.0 */
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <stdlib.h>
#include <unistd.h>

int mallctl(const char *name, void *old_value, size_t *old_size, void *new_value, size_t new_size) __attribute__((weak));

static void *dump_every_second(void *path)
{
	for (;;) {
		sleep(1);
		mallctl("prof.dump", NULL, NULL, &path, sizeof path);
	}
	return NULL;
}

__attribute__((constructor)) static void start(void)
{
	static pthread_t thread;
	sigset_t all, before;
	if (!mallctl || !getenv("DUMP_TO"))
		return;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	pthread_create(&thread, NULL, dump_every_second, getenv("DUMP_TO"));
	pthread_sigmask(SIG_SETMASK, &before, NULL);
}
