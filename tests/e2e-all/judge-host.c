/* judge-host.c - a service under load: KIND SEED. Objects of three paths live for half a second, three and fifteen seconds on average;
 * beside them is what KIND says. Runs until it is ended.
 * SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { tick_ms = 10, ticks_a_second = 1000 / tick_ms, wheel_ticks = 1 << 16, late_s = 120, batch_s = 20, batch_pause_s = 10 };
static const double bytes_mean = 4000;

struct object {
	struct object *next;
};
static struct object *wheel[wheel_ticks];
static long tick;
static double load = 1;

static uint64_t random_state;
static double uniform(void)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return ((double)(random_state >> 11) + 0.5) / 9007199254740992.0;
}

static double exponential(double mean)
{
	return -mean * log(uniform());
}

static double normal(void)
{
	return sqrt(-2 * log(uniform())) * cos(2 * M_PI * uniform());
}

/* All memory is touched: resident memory grows as the heap does. */
static void *touch(void *object, size_t size)
{
	for (size_t at = 0; at < size; at += 1024)
		((volatile char *)object)[at] = 1;
	return object;
}

static size_t some_size(void)
{
	return (size_t)(64 + 2 * (bytes_mean - 64) * uniform());
}

#define PATH(name)                                                                                                                         \
	__attribute__((noinline)) static void *name(size_t size)                                                                           \
	{                                                                                                                                  \
		void *volatile object = touch(malloc(size), size);                                                                         \
		return object;                                                                                                             \
	}
PATH(short_lived)
PATH(middle_lived)
PATH(long_lived)
PATH(leaky)
PATH(slow_lived)
PATH(fill_cache)
PATH(enqueue)
PATH(spike)
PATH(build)
PATH(busy)

static void die_after(void *object, double seconds)
{
	double ticks = seconds * ticks_a_second;
	long lives = ticks < 1 ? 1 : ticks > wheel_ticks - 1 ? wheel_ticks - 1 : (long)ticks;
	struct object *own = object, **at = &wheel[(tick + lives) % wheel_ticks];
	own->next = *at;
	*at = own;
}

static void free_due(void)
{
	struct object *due = wheel[tick % wheel_ticks];
	wheel[tick % wheel_ticks] = NULL;
	while (due) {
		struct object *next = due->next;
		free(due);
		due = next;
	}
}

/* How many objects come in this tick at so many bytes a second. */
static unsigned coming(double bytes_a_second)
{
	double mean = bytes_a_second / bytes_mean / ticks_a_second, count = floor(mean);
	return (unsigned)count + (uniform() < mean - count);
}

static void serve(void *(*path)(size_t), double bytes_a_second, double mean_s)
{
	for (unsigned i = coming(load * bytes_a_second); i > 0; i--)
		die_after(path(some_size()), exponential(mean_s));
}

static double seconds(void)
{
	return (double)tick / ticks_a_second;
}

static void leak(double bytes_a_second)
{
	static void *volatile lost;
	for (unsigned i = coming(bytes_a_second); i > 0; i--)
		lost = leaky(some_size());
	(void)lost;
}

static void spikes(void)
{
	if (tick % (45 * ticks_a_second) == 20 * ticks_a_second)
		for (unsigned i = 0; i < 4000; i++)
			die_after(spike(some_size()), 3 + 2 * uniform());
}

/* A cache of COUNT objects: replaces the oldest, or any. */
static void cache(double bytes_a_second, size_t count, int by_chance)
{
	static void *held[1 << 16];
	static size_t used;
	for (unsigned i = coming(bytes_a_second); i > 0; i--) {
		size_t at = used < count ? used : by_chance ? (size_t)(uniform() * (double)count) : used % count;
		free(held[at]);
		held[at] = fill_cache(some_size());
		used++;
	}
}

/* Jobs come and are done, first come first served, so that their number wanders. */
static void queue(void)
{
	static void *jobs[1 << 16];
	static size_t first, last;
	double rate = 8e5, jobs_waiting = (double)(last - first);
	for (unsigned i = coming(rate); i > 0; i--)
		if (last - first < 1 << 16)
			jobs[last++ % (1 << 16)] = enqueue(some_size());
	for (unsigned i = coming(rate * (0.5 + 0.5 * jobs_waiting / 3000) * (0.5 + uniform())); i > 0 && first < last; i--)
		free(jobs[first++ % (1 << 16)]);
}

/* Builds for some time, then frees all, and begins again after a pause. */
static void batch(void)
{
	static void *built[1 << 17];
	static size_t count;
	long at = tick % ((batch_s + batch_pause_s) * ticks_a_second);
	if (at < batch_s * ticks_a_second)
		for (unsigned i = coming(4.2e6); i > 0; i--)
			built[count++ % (1 << 17)] = build(some_size());
	else
		while (count > 0)
			free(built[--count]);
}

static void doubling(void)
{
	static char *vector;
	static size_t size = 1 << 16, used;
	vector = vector ? vector : malloc(size);
	for (unsigned i = coming(2e5); i > 0; i--)
		used += (size_t)bytes_mean;
	if (used > size) {
		size *= 2;
		vector = touch(realloc(vector, size), size);
	}
}

/* One in a hundred objects of a busy path is never freed. */
static void percent(void)
{
	for (unsigned i = coming(5.9e6); i > 0; i--) {
		void *object = busy(some_size());
		if (uniform() >= 0.01)
			die_after(object, exponential(1));
	}
}

static void lives_of(const char *kind, double bytes_a_second)
{
	for (unsigned i = coming(bytes_a_second); i > 0; i--)
		die_after(slow_lived(some_size()), kind[0] == 'p' ? 2 * pow(uniform(), -1 / 1.5) : 4 * exp(normal() - 0.5));
}

static void step(const char *kind)
{
	double now = seconds();
	if (strcmp(kind, "leak") == 0)
		leak(1 << 20);
	else if (strcmp(kind, "slow") == 0)
		leak(128 << 10);
	else if (strcmp(kind, "late") == 0)
		leak(now > late_s ? 1 << 20 : 0);
	else if (strcmp(kind, "leakspikes") == 0)
		leak(1 << 20), spikes();
	else if (strcmp(kind, "spikes") == 0)
		spikes();
	else if (strcmp(kind, "cache") == 0)
		cache(bytes_mean * 8000 / late_s, 8000, 1);
	else if (strcmp(kind, "fifo") == 0 || strcmp(kind, "random") == 0)
		cache(bytes_mean * 8000 / 40, 8000, kind[0] == 'r');
	else if (strcmp(kind, "double") == 0)
		load = now > late_s ? 2 : 1;
	else if (strcmp(kind, "ramp") == 0)
		load = 1 + now / 300;
	else if (strcmp(kind, "queue") == 0)
		queue();
	else if (strcmp(kind, "batch") == 0)
		batch();
	else if (strcmp(kind, "vector") == 0)
		doubling();
	else if (strcmp(kind, "percent") == 0)
		percent();
	else if (strcmp(kind, "pareto") == 0 || strcmp(kind, "lognormal") == 0)
		lives_of(kind, 2e6);
}

int main(int count, char **argument)
{
	struct timespec next;
	if (count < 3)
		return 2;
	random_state = 0x9e3779b97f4a7c15u * strtoul(argument[2], NULL, 10) + 1;
	clock_gettime(CLOCK_MONOTONIC, &next);
	for (;; tick++) {
		free_due();
		serve(short_lived, 8e6, 0.5);
		serve(middle_lived, 5e6, 3);
		serve(long_lived, 2e6, 15);
		step(argument[1]);
		next.tv_nsec += tick_ms * 1000000;
		if (next.tv_nsec >= 1000000000)
			next = (struct timespec){next.tv_sec + 1, next.tv_nsec - 1000000000};
		clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &next, NULL);
	}
}
