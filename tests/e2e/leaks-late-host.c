/* leaks-late-host.c - for tests/e2e/leaks-late.t: a ring of sessions that holds a constant amount; each is replaced after ten minutes. Requests take
 * buffers that they free at once.
 *
 *	leaks-late-host [leak]
 *
 * Says "ready" when the ring is full. With leak, it forgets a megabyte each second from then on.
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { sessions = 20000, session_bytes = 4000, forgotten_bytes = 8000 };
static const double lifetime = 600, forgotten_each_second = 1e6 / forgotten_bytes;
static char *ring[sessions];

__attribute__((noinline)) static char *open_session(void)
{
	char *session = malloc(session_bytes);
	return memset(session, 1, session_bytes);
}

__attribute__((noinline)) static void forget_request(void)
{
	static char *volatile last;
	last = malloc(forgotten_bytes);
	memset(last, 1, forgotten_bytes);
}

__attribute__((noinline)) static void serve_request(void)
{
	char *volatile buffer = malloc(session_bytes);
	memset(buffer, 1, session_bytes);
	free(buffer);
}

static void replace(size_t at)
{
	free(ring[at]);
	ring[at] = open_session();
}

static double now(void)
{
	struct timespec time;
	clock_gettime(CLOCK_MONOTONIC, &time);
	return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

int main(int count, char **arguments)
{
	(void)arguments;
	for (size_t i = 0; i < sessions; i++)
		replace(i);
	puts("ready");
	fflush(stdout);
	double start = now(), replaced = 0, forgotten = 0;
	for (;;) {
		double seconds = now() - start;
		for (; replaced < seconds * sessions / lifetime; replaced++)
			replace((size_t)replaced % sessions);
		for (; count > 1 && forgotten < seconds * forgotten_each_second; forgotten++)
			forget_request();
		for (int i = 0; i < 20; i++)
			serve_request();
		usleep(10000);
	}
}
