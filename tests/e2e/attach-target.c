/* attach-target.c - a program to attach to: threads that allocate and free, and threads that wait in system calls. Counts what they
 * do, and every error, in a mapped file: int64 work, errors, and how often each wait has returned. SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <linux/futex.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

static struct {
	_Atomic int64_t work, errors, waits[8];
} *seen;

static void *allocate(void *unused)
{
	void *held[64] = {0};
	unsigned random = (unsigned)(uintptr_t)&held;
	(void)unused;
	for (;;) {
		random = random * 1664525 + 1013904223;
		unsigned slot = random >> 26;
		free(held[slot]);
		size_t size = 8 + (random >> 8) % 4000;
		unsigned char *bytes = malloc(size);
		bytes[0] = bytes[size - 1] = (unsigned char)slot;
		held[slot] = bytes;
		seen->work++;
	}
	return NULL;
}

static void check(int kind, long result)
{
	if (result < 0 && errno != ETIMEDOUT && errno != EAGAIN)
		seen->errors++;
	seen->waits[kind]++;
}

static void *wait_in(void *context)
{
	int kind = (int)(intptr_t)context, pipes[2], word = 0;
	char byte;
	struct timespec long_time = {100, 0};
	if (pipe(pipes) != 0)
		abort();
	int poller = epoll_create1(0), listener = socket(AF_UNIX, SOCK_STREAM, 0);
	bind(listener, (struct sockaddr *)&(struct sockaddr_un){.sun_family = AF_UNIX}, sizeof(sa_family_t));
	listen(listener, 1);
	switch (kind) {
	case 0: check(kind, syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, 0, NULL)); break;
	case 1: check(kind, epoll_wait(poller, &(struct epoll_event){0}, 1, -1)); break;
	case 2: check(kind, read(pipes[0], &byte, 1)); break;
	case 3: check(kind, nanosleep(&long_time, NULL)); break;
	case 4: check(kind, accept(listener, NULL, NULL)); break;
	case 5: check(kind, poll(&(struct pollfd){pipes[0], POLLIN, 0}, 1, 100000)); break;
	case 6: check(kind, clock_nanosleep(CLOCK_MONOTONIC, 0, &long_time, NULL)); break;
	}
	return NULL;
}

static void handle(int number)
{
	(void)number;
	pause();
}

static int visit(struct dl_phdr_info *info, size_t size, void *context)
{
	(void)info, (void)size, (void)context;
	pause();
	return 1;
}

int main(int count, char **arguments)
{
	pthread_t thread;
	if (count < 4)
		return 2;
	int file = open(arguments[1], O_RDWR | O_CREAT, 0600);
	if (file < 0 || ftruncate(file, 4096) || (seen = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0)) == MAP_FAILED)
		return 1;
	for (int i = atoi(arguments[2]); i > 1; i--)
		pthread_create(&thread, NULL, allocate, NULL);
	if (strcmp(arguments[3], "waits") == 0)
		for (intptr_t i = 0; i < 7; i++)
			pthread_create(&thread, NULL, wait_in, (void *)i);
	signal(SIGUSR1, handle);
	if (strcmp(arguments[3], "handler") == 0)
		raise(SIGUSR1);
	if (strcmp(arguments[3], "loader") == 0)
		dl_iterate_phdr(visit, NULL);
	if (strcmp(arguments[3], "one") == 0) /* this thread alone, in the wait of that number */
		wait_in((void *)(intptr_t)atoi(arguments[4]));
	else if (atoi(arguments[2]) > 0)
		allocate(NULL);
	for (;;)
		pause();
}
