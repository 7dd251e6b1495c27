/* sampler-truth.c - a program that knows what it holds: for each call site it prints `site NAME SIZE BYTES`, then `ready`, and waits
 * while other threads allocate and free each other's objects. With an argument it has the agent that was preloaded write a dump of that
 * name, and ends.
 * SPDX-License-Identifier: Apache-2.0 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static void *from_aligned(size_t size)
{
	void *object = NULL;
	return posix_memalign(&object, 4096, size) ? NULL : object;
}

static void *from_growth(size_t size)
{
	void *object = malloc(size / 64);
	for (size_t part = size / 32; part <= size; part *= 2)
		object = realloc(object, part);
	return object;
}

#define SITE(name, size, count, expression)                                                                                    \
	__attribute__((noinline, noclone)) void *site_##name(size_t bytes)                                                     \
	{                                                                                                                      \
		void *object = (expression);                                                                                   \
		__asm__ volatile("" ::"r"(object) : "memory");                                                                 \
		return object;                                                                                                 \
	}                                                                                                                      \
	static void hold_##name(void)                                                                                          \
	{                                                                                                                      \
		for (int i = 0; i < (count); i++)                                                                              \
			if (!site_##name(size))                                                                                \
				exit(1);                                                                                       \
		printf("site site_" #name " %d %lld\n", size, (long long)(size) * (count));                                    \
	}
SITE(small, 64, 300000, malloc(bytes))
SITE(medium, 3000, 10000, malloc(bytes))
SITE(large, 200000, 200, malloc(bytes))
SITE(grown, 65536, 256, from_growth(bytes))
SITE(aligned, 8192, 1280, from_aligned(bytes))
SITE(zeroed, 1024, 12288, calloc(1, bytes))
SITE(array, 2000, 5000, reallocarray(NULL, bytes / 10, 10))

static void *_Atomic handed[256];

__attribute__((noinline, noclone)) static void *churn(size_t size)
{
	void *object = malloc(size);
	__asm__ volatile("" ::"r"(object) : "memory");
	return object;
}

static void *work(void *unused)
{
	unsigned random = (unsigned)(uintptr_t)&random;
	(void)unused;
	for (unsigned n = 0;; n++) {
		random = random * 1664525 + 1013904223;
		free(atomic_exchange(&handed[random >> 24], churn(16 + (random >> 8) % 2000)));
		if (n % 1024 == 0)
			usleep(1000);
	}
	return NULL;
}

int main(int count, char **arguments)
{
	pthread_t thread;
	for (int i = 0; i < 3; i++)
		pthread_create(&thread, NULL, work, NULL);
	hold_small();
	hold_medium();
	hold_large();
	hold_grown();
	hold_aligned();
	hold_zeroed();
	hold_array();
	puts("ready");
	fflush(stdout);
	if (count > 1) {
		bool (*write_dump)(const char *, char *, size_t) =
			(bool (*)(const char *, char *, size_t))dlsym(RTLD_DEFAULT, "cairn_snapshot_file");
		char error[256] = "no agent";
		if (!write_dump || !write_dump(arguments[1], error, sizeof error))
			return puts(error), 1;
		_exit(0);
	}
	pause();
	return 0;
}
