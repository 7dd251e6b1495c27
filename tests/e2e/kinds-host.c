/* kinds-host.c - a host with some of everything that Cairn's engine records: what leaks, what is freed again, here and by another thread,
 * what was there at the peak only, what is mapped past the allocator, slack, and slabs that are nearly empty. Prints `ready` after the
 * milliseconds that it is given, and goes on. If targets follow, it asks its own agent for each of them first, through the C API, and
 * writes the answers to files of the working folder, called by their numbers.
 * SPDX-License-Identifier: Apache-2.0 */
#include "cairn.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#pragma weak cairn_answer
#pragma weak cairn_reply_free

enum { lifetime_ms = 20, objects = 10, object_bytes = 2000, sparse = 200000, one_in = 50, spike = 300, megabyte = 1 << 20 };

static void *requests[lifetime_ms][objects];
static void *held[sparse];
static void *volatile handed[objects];
static volatile int turn;

/* A function of that name that fills SIZE bytes which TAKE gets, so that the name is in their stack. */
#define SITE(name, take)                                                   \
	__attribute__((noinline, noclone)) static void *name(size_t size)  \
	{                                                                  \
		return memset(take, 1, size);                              \
	}

SITE(open_request, malloc(size))
SITE(forget_request, malloc(size))
SITE(hand_over, malloc(size))
SITE(hold_sparse, malloc(size))
SITE(hold_loose, malloc(size))
SITE(hold_spike, malloc(size))
SITE(map_cache, mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0))

static long now_ms(void)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static void *release(void *unused)
{
	for (;;) {
		while (!turn)
			usleep(200);
		for (int i = 0; i < objects; i++)
			free(handed[i]);
		__atomic_store_n(&turn, 0, __ATOMIC_RELEASE);
	}
	return unused;
}

static void ask(const char *target, int number)
{
	struct cairn_reply reply;
	char name[16];
	snprintf(name, sizeof name, "%d", number);
	FILE *file = fopen(name, "w");
	if (!file || !cairn_answer || !cairn_answer("GET", target, NULL, NULL, 0, &reply))
		exit(9);
	fprintf(file, "%d %s\n", reply.status, reply.type);
	fwrite(reply.body, 1, reply.length, file);
	fclose(file);
	cairn_reply_free(&reply);
}

int main(int count, char **argument)
{
	pthread_t thread;
	long until = count > 1 ? atol(argument[1]) : 0, start = now_ms();
	void *spikes[spike];
	map_cache(24 * megabyte);
	for (int i = 0; i < sparse; i++)
		held[i] = hold_sparse(64);
	for (int i = 0; i < sparse; i++)
		if (i % one_in)
			free(held[i]);
	for (int i = 0; i < 2000; i++)
		held[i % one_in ? i : i + 1] = hold_loose(1030);
	for (int i = 0; i < spike; i++)
		spikes[i] = hold_spike(100000);
	for (int i = 0; i < spike; i++)
		free(spikes[i]);
	pthread_create(&thread, NULL, release, NULL);
	for (long at = 0;; at++) {
		if (at == until) {
			for (int i = 2; i < count; i++)
				ask(argument[i], i - 1);
			puts("ready");
			fflush(stdout);
		}
		while (now_ms() - start < at)
			usleep(200);
		for (int i = 0; i < objects; i++) {
			free(requests[at % lifetime_ms][i]);
			requests[at % lifetime_ms][i] = open_request(object_bytes);
		}
		forget_request(object_bytes);
		if (__atomic_load_n(&turn, __ATOMIC_ACQUIRE))
			continue; /* what was handed over is not freed yet */
		for (int i = 0; i < objects; i++)
			handed[i] = hand_over(object_bytes);
		__atomic_store_n(&turn, 1, __ATOMIC_RELEASE);
	}
}
