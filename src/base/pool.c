/* pool.c - parallel loops. Threads live for one loop: starting one costs tens of microseconds, and a loop worth
 * spreading takes milliseconds.
 * SPDX-License-Identifier: Apache-2.0 */
#include "base/pool.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>

enum { widest = 64 };

/* Asked once: what was made for each thread must still be enough when the process is allowed more processors later. */
static long processors(void)
{
	static atomic_long known;
	long count = atomic_load(&known);
	if (count)
		return count;
	cpu_set_t set;
	long now = sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 1;
	return atomic_compare_exchange_strong(&known, &count, now) ? now : count;
}

unsigned cairn_pool_width(void)
{
	const char *asked = getenv("CAIRN_THREADS");
	long width = asked ? strtol(asked, NULL, 10) : 0;
	if (width <= 0)
		width = processors();
	return width < 1 ? 1 : width > widest ? widest : (unsigned)width;
}

struct loop {
	void (*work)(void *context, size_t item, unsigned worker);
	void *context;
	size_t count;
	atomic_size_t next;
	atomic_uint workers;
};

static void *run(void *argument)
{
	struct loop *loop = argument;
	unsigned worker = atomic_fetch_add(&loop->workers, 1);
	for (;;) {
		size_t item = atomic_fetch_add(&loop->next, 1);
		if (item >= loop->count)
			return NULL;
		loop->work(loop->context, item, worker);
	}
}

void cairn_pool_run(size_t count, void (*work)(void *context, size_t item, unsigned worker), void *context)
{
	cairn_pool_run_few(count, widest, work, context);
}

void cairn_pool_run_few(size_t count, size_t most, void (*work)(void *context, size_t item, unsigned worker), void *context)
{
	struct loop loop = {.work = work, .context = context, .count = count};
	pthread_t threads[widest];
	unsigned started = 0, width = cairn_pool_width();
	width = most < width ? (unsigned)most : width;
	while (started + 1 < width && started + 1 < count &&
	       pthread_create(&threads[started], NULL, run, &loop) == 0)
		started++;
	run(&loop);
	for (unsigned i = 0; i < started; i++)
		pthread_join(threads[i], NULL);
}
