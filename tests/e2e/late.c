/* late.c - preloaded: threads take their time to end, and at the program's end a line says how many had not.
 * SPDX-License-Identifier: Apache-2.0 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static atomic_int running;

struct start {
	void *(*routine)(void *);
	void *argument;
};

static void *run(void *context)
{
	struct start start = *(struct start *)context;
	free(context);
	void *result = start.routine(start.argument);
	usleep(300000);
	running--;
	return result;
}

int pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*routine)(void *), void *argument)
{
	int (*real)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
	*(void **)&real = dlsym(RTLD_NEXT, "pthread_create");
	struct start *start = malloc(sizeof *start);
	if (!start)
		abort();
	*start = (struct start){routine, argument};
	running++;
	return real(thread, attributes, run, start);
}

__attribute__((destructor)) static void tell(void)
{
	fprintf(stderr, "%d threads at the end\n", running);
}
