/* condition_test.c - a wait that ends by the clock that nobody sets.
 * SPDX-License-Identifier: Apache-2.0 */
#include "base/condition.h"
#include "tap.h"

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t condition;
static bool signalled;

static int64_t now(void)
{
	struct timespec time;
	clock_gettime(CLOCK_MONOTONIC, &time);
	return cairn_time_ns(&time);
}

/* By the wall clock, any time of the other clock is long over. */
static void test_end(void)
{
	int64_t until = now() + 20 * CAIRN_MILLISECOND_NS;
	pthread_mutex_lock(&mutex);
	while (cairn_condition_wait(&condition, &mutex, until))
		;
	pthread_mutex_unlock(&mutex);
	ok(now() >= until, "a wait that nobody ends lasts until its time by CLOCK_MONOTONIC");
	pthread_mutex_lock(&mutex);
	ok(!cairn_condition_wait(&condition, &mutex, until), "and is over at once when that time is past");
	pthread_mutex_unlock(&mutex);
}

static void *signal_it(void *context)
{
	pthread_mutex_lock(&mutex);
	signalled = true;
	pthread_cond_signal(&condition);
	pthread_mutex_unlock(&mutex);
	return context;
}

static void test_signal(void)
{
	pthread_t thread;
	bool in_time = true;
	pthread_mutex_lock(&mutex);
	pthread_create(&thread, NULL, signal_it, NULL);
	while (!signalled && in_time)
		in_time = cairn_condition_wait(&condition, &mutex, now() + CAIRN_HOUR_NS);
	pthread_mutex_unlock(&mutex);
	pthread_join(thread, NULL);
	ok(signalled && in_time, "a signal ends a wait before its time");
}

int main(void)
{
	cairn_condition_init(&condition);
	test_end();
	test_signal();
	return tap_done();
}
