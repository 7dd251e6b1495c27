/* static-host.c - a program for `cairn attach` that is linked in any way, also without a loader: threads that allocate and free each other's
 * objects, a thread that waits, and one call site that keeps what it allocates. What it has kept so far is in FILE, as int64 bytes, work, errors.
 * At SIGUSR1 it forks a child that does the same work for a while, and counts an error if that did not end well; the child of SIGUSR2 stays.
 * static-host FILE THREADS
 * SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

static struct {
	_Atomic int64_t kept, work, errors, child;
} *seen;

static void *_Atomic handed[256];
static _Atomic int wanted;

__attribute__((noinline, noclone)) void *site_kept(size_t bytes)
{
	void *object = malloc(bytes);
	__asm__ volatile("" ::"r"(object) : "memory");
	return object;
}

__attribute__((noinline, noclone)) void *site_churned(size_t bytes, unsigned kind)
{
	void *object = kind == 0 ? calloc(1, bytes) : kind == 1 ? realloc(malloc(bytes / 2), bytes) : malloc(bytes);
	__asm__ volatile("" ::"r"(object) : "memory");
	return object;
}

/* Each object begins and ends with its size, to be seen again when it is freed. */
static void work_once(unsigned *random)
{
	*random = *random * 1664525 + 1013904223;
	size_t bytes = 24 + (*random >> 8) % 2000;
	unsigned char *object = site_churned(bytes, *random >> 16 & 7);
	memcpy(object, &bytes, sizeof bytes);
	object[bytes - 1] = (unsigned char)bytes;
	unsigned char *other = atomic_exchange(&handed[*random >> 24], object);
	if (other) {
		memcpy(&bytes, other, sizeof bytes);
		seen->errors += bytes < 24 || bytes >= 2024 || other[bytes - 1] != (unsigned char)bytes;
	}
	free(other);
}

static void *work(void *name)
{
	unsigned random = (unsigned)(uintptr_t)&random;
	prctl(PR_SET_NAME, name);
	for (unsigned n = 0;; n++) {
		work_once(&random);
		seen->work++;
		if (n % 512 == 0)
			usleep(100);
	}
	return NULL;
}

static void *await(void *unused)
{
	int ends[2];
	char byte;
	(void)unused;
	if (pipe(ends) == 0 && read(ends[0], &byte, 1) < 0)
		seen->errors++;
	return NULL;
}

static void want(int number)
{
	wanted = number;
}

static void fork_child(int number)
{
	int status = 0;
	pid_t child = fork();
	if (child == 0) {
		unsigned random = 1;
		for (int i = 0; i < 100000; i++)
			work_once(&random);
		for (seen->child = getpid(); number == SIGUSR2;) { /* it stays, and keeps objects */
			free(site_churned(100, 2));
			site_kept(1000);
			usleep(500);
		}
		_exit(0);
	}
	if (number == SIGUSR1)
		seen->errors += waitpid(child, &status, 0) != child || status != 0;
}

int main(int count, char **arguments)
{
	static char names[64][16];
	int file = count > 2 ? open(arguments[1], O_RDWR | O_CREAT, 0600) : -1, threads = count > 2 ? atoi(arguments[2]) : 0;
	if (file < 0 || ftruncate(file, 4096) != 0 || threads > 64)
		return 2;
	seen = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
	signal(SIGUSR1, want);
	signal(SIGUSR2, want);
	pthread_t thread;
	pthread_create(&thread, NULL, await, NULL);
	for (int i = 0; i < threads; i++) {
		strcpy(names[i], "worker");
		names[i][6] = (char)('a' + i % 26);
		pthread_create(&thread, NULL, work, names[i]);
	}
	for (;;) {
		int number = atomic_exchange(&wanted, 0);
		if (number)
			fork_child(number);
		if (!site_kept(1000))
			return 1;
		seen->kept += 1000;
		usleep(50);
	}
}
