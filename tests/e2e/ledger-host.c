/* ledger-host.c - `ledger-host workers N`: forks N processes that sample a little and then do nothing. `ledger-host stacks N LIVE`: N call
 * paths, of which the last LIVE have an object each. `ledger-host fill MEGABYTES`: that much in objects of 2,000 bytes. Each says so when it
 * is done, and waits until its input ends.
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static void wait_for_end(const char *said)
{
	char byte;
	puts(said);
	fflush(stdout);
	while (read(0, &byte, 1) > 0)
		;
}

/* Below the parent's, whose pages they would copy. */
static void allocate_some(void)
{
	for (int i = 0; i < 30; i++)
		*(volatile char *)malloc(1 << 20) = 1;
}

static int work(int count)
{
	int ends[2], status, ended = 0;
	char byte;
	if (pipe(ends) != 0)
		return 1;
	allocate_some();
	for (int i = 0; i < count; i++)
		if (fork() == 0) {
			close(ends[1]);
			usleep(300000); /* a sampled child has its agent from 200 ms on */
			allocate_some();
			while (read(ends[0], &byte, 1) > 0)
				;
			_exit(0);
		}
	sleep(1);
	wait_for_end("ready");
	close(ends[1]);
	while (wait(&status) > 0)
		ended += WIFEXITED(status);
	return ended != count;
}

/* A call path for each number. */
void *right(unsigned path, int depth);
__attribute__((noinline)) void *leaf(void)
{
	void *object = malloc(100);
	__asm__ volatile("" ::"r"(object) : "memory");
	return object;
}
__attribute__((noinline)) void *left(unsigned path, int depth)
{
	void *object = depth == 0 ? leaf() : path & 1 ? right(path >> 1, depth - 1) : left(path >> 1, depth - 1);
	__asm__ volatile("" ::"r"(object) : "memory");
	return object;
}
__attribute__((noinline)) void *right(unsigned path, int depth)
{
	void *object = depth == 0 ? leaf() : path & 1 ? right(path >> 1, depth - 1) : left(path >> 1, depth - 1);
	__asm__ volatile("" ::"r"(object) : "memory");
	return object;
}

static void walk_paths(unsigned count, unsigned live)
{
	void **objects = calloc(live, sizeof *objects);
	for (unsigned i = 0; i < count; i++) {
		free(objects[i % live]);
		objects[i % live] = left(i, 17);
	}
	wait_for_end("ready");
}

int main(int count, char **arguments)
{
	if (count == 3 && strcmp(arguments[1], "workers") == 0)
		return work(atoi(arguments[2]));
	if (count == 4 && strcmp(arguments[1], "stacks") == 0)
		walk_paths((unsigned)atoi(arguments[2]), (unsigned)atoi(arguments[3]));
	if (count == 3 && strcmp(arguments[1], "fill") == 0) {
		for (long i = atol(arguments[2]) * 500; i > 0; i--)
			*(volatile char *)malloc(2000) = 1;
		wait_for_end("ready");
	}
	return 0;
}
