/* leaky.c - a small service that leaks, to try a heap profiler on.
 *
 * Four threads serve made-up requests. Each request allocates and frees a scratch area (busy, but freed again) and looks up
 * a page in a cache that fills and then stays (large, but it stops growing). One request in eight
 * opens a session that is never closed: that is the leak, in remember_session.
 *
 * Usage: leaky [SECONDS]. Runs for 5 seconds by default, which -DLEAKY_SECONDS changes at compile time, and each thread rests for a
 * millisecond after 20 requests, which -DLEAKY_REST_US changes. With -DLEAKY_CLOSES sessions are closed again: the release before the leak
 * came.
 * SPDX-License-Identifier: Apache-2.0 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#ifndef LEAKY_SECONDS
#define LEAKY_SECONDS 5
#endif
#ifndef LEAKY_REST_US
#define LEAKY_REST_US 1000
#endif

enum { workers = 4, cache_pages = 4096, page_bytes = 8192, session_bytes = 1024, scratch_bytes = 16384 };

static char *cache[cache_pages];
static pthread_mutex_t cache_lock = PTHREAD_MUTEX_INITIALIZER;

struct session {
	struct session *next;
	char state[session_bytes];
};

static struct session *open_sessions;
static pthread_mutex_t session_lock = PTHREAD_MUTEX_INITIALIZER;

__attribute__((noinline)) static char *load_page(unsigned number)
{
	char *page = malloc(page_bytes);
	if (page)
		memset(page, (int)number, page_bytes);
	return page;
}

__attribute__((noinline)) static unsigned look_up_page(unsigned number)
{
	pthread_mutex_lock(&cache_lock);
	if (!cache[number])
		cache[number] = load_page(number);
	unsigned value = cache[number] ? (unsigned char)cache[number][0] : 0;
	pthread_mutex_unlock(&cache_lock);
	return value;
}

__attribute__((noinline)) static struct session *remember_session(void)
{
	struct session *session = calloc(1, sizeof *session);
	if (!session)
		return NULL;
	pthread_mutex_lock(&session_lock);
	session->next = open_sessions;
	open_sessions = session;
	pthread_mutex_unlock(&session_lock);
	return session;
}

#ifdef LEAKY_CLOSES
static void close_session(void)
{
	pthread_mutex_lock(&session_lock);
	struct session *session = open_sessions;
	if (session)
		open_sessions = session->next;
	pthread_mutex_unlock(&session_lock);
	free(session);
}
#endif

__attribute__((noinline)) static unsigned render_answer(unsigned seed)
{
	char *scratch = malloc(scratch_bytes);
	if (!scratch)
		return 0;
	memset(scratch, (int)seed, scratch_bytes);
	unsigned sum = 0;
	for (unsigned i = 0; i < scratch_bytes; i += 64)
		sum += (unsigned char)scratch[i];
	free(scratch);
	return sum;
}

__attribute__((noinline)) static unsigned serve_request(unsigned *random)
{
	unsigned sum = render_answer(rand_r(random)) + look_up_page((unsigned)rand_r(random) % cache_pages);
	if (rand_r(random) % 8 == 0) {
		sum += remember_session() != NULL;
#ifdef LEAKY_CLOSES
		close_session();
#endif
	}
	return sum;
}

static long deadline;

static long milliseconds_now(void)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static void *worker(void *argument)
{
	unsigned random = (unsigned)(size_t)argument, sum = 0;
	while (milliseconds_now() < deadline) {
		for (int i = 0; i < 20; i++)
			sum += serve_request(&random);
		usleep(LEAKY_REST_US);
	}
	return (void *)(size_t)sum;
}

int main(int argc, char **argv)
{
	int seconds = argc > 1 ? atoi(argv[1]) : 0;
	deadline = milliseconds_now() + 1000L * (seconds > 0 ? seconds : LEAKY_SECONDS);
	pthread_t threads[workers];
	for (size_t i = 0; i < workers; i++)
		if (pthread_create(&threads[i], NULL, worker, (void *)(i + 1)) != 0)
			return 1;
	for (size_t i = 0; i < workers; i++)
		pthread_join(threads[i], NULL);
	return 0;
}
