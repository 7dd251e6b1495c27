/* asked-host.c - a service whose malloc_info takes its time: while the agent asks it, the service forks, and the child exits as any program
 * does, which writes what is left in every stream. Prints how the child ended. With ALLOCATOR, it is the library that has the malloc.
 * SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include <malloc.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#ifdef ALLOCATOR
atomic_bool asked, forked;

void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *pointer, size_t size);
void __libc_free(void *pointer);

void *malloc(size_t size)
{
	return __libc_malloc(size);
}

void *calloc(size_t count, size_t size)
{
	return __libc_calloc(count, size);
}

void *realloc(void *pointer, size_t size)
{
	return __libc_realloc(pointer, size);
}

void free(void *pointer)
{
	__libc_free(pointer);
}

struct mallinfo2 mallinfo2(void)
{
	return (struct mallinfo2){.arena = 1};
}

int malloc_info(int options, FILE *stream)
{
	(void)options;
	fputs("<malloc version=\"1\">\n<heap nr=\"0\">\n<total type=\"fast\" count=\"1\" size=\"7000\"/>\n", stream);
	/* More than a stream keeps back, and then some more. */
	for (int i = 0; i < 1000; i++)
		fputs("<size from=\"1\" to=\"2\" total=\"0\" count=\"0\"/>\n", stream);
	atomic_store(&asked, true);
	while (!atomic_load(&forked))
		usleep(1000);
	fputs("<total type=\"rest\" count=\"1\" size=\"5000\"/>\n<system type=\"current\" size=\"900000\"/>\n</heap>\n</malloc>\n", stream);
	return 0;
}

#else
extern atomic_bool asked, forked;

int main(void)
{
	int status = -1;
	printf("ready\n");
	fflush(stdout);
	while (!atomic_load(&asked))
		usleep(1000);
	pid_t child = fork();
	if (child == 0)
		exit(0);
	waitpid(child, &status, 0);
	printf("child %d\n", status);
	fflush(stdout);
	atomic_store(&forked, true);
	sleep(60);
	return 0;
}
#endif
