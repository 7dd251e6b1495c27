/* leaks-one-host.c - serves made-up requests: LIFETIME_MS MILLISECONDS [leak]. Each object of a request is freed after its lifetime; with
 * `leak` as many as one in ten are lost besides. What it holds from the start it keeps. Prints ready after so many milliseconds, and goes
 * on until it is ended.
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { ring_most = 4096, longest_ms = 900000, objects = 20, object_bytes = 2000 };
static void *volatile ring[ring_most][objects];
static void *volatile held[3000];

static long now_ms(void)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

__attribute__((noinline)) static void load_settings(unsigned i)
{
	held[i] = memset(malloc(object_bytes), 1, object_bytes);
}

__attribute__((noinline)) static void *open_request(void)
{
	return memset(malloc(object_bytes), 1, object_bytes);
}

__attribute__((noinline)) static void forget_request(void)
{
	void *volatile lost = memset(malloc(object_bytes), 1, object_bytes);
	(void)lost;
}

int main(int count, char **argument)
{
	if (count < 3 || atol(argument[1]) >= ring_most)
		return 2;
	long lifetime = atol(argument[1]), until = atol(argument[2]), start = now_ms();
	int leaks = count > 3;
	for (unsigned i = 0; i < 3000; i++)
		load_settings(i);
	for (long at = 0; at < longest_ms; at++) {
		if (at == until) {
			puts("ready");
			fflush(stdout);
		}
		while (now_ms() - start < at)
			usleep(200);
		for (int i = 0; i < objects; i++) {
			ring[at % ring_most][i] = open_request();
			if (at >= lifetime) {
				free(ring[(at - lifetime) % ring_most][i]);
				ring[(at - lifetime) % ring_most][i] = NULL;
			}
			if (leaks && i % 10 == 0)
				forget_request();
		}
	}
	return 0;
}
