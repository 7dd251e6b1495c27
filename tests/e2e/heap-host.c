/* heap-host.c - a host that knows its allocator's own counts, to compare a walk of its heap with.
 *
 * heap-host [THREADS [MEGABYTES [SEED]]]: each thread allocates about MEGABYTES in objects of many sizes and frees most of them, some in other
 * threads. Then the host says "ready", and answers lines on standard input with a line each:
 *   stats    PID, live objects and bytes by its own count, then free, used and directly mapped bytes and their number, as malloc says (glibc)
 *   give     calls what gives free memory back in this allocator; resident kB before and after
 *   churn N  N threads allocate and free from now on; still ends that
 *   quit
 * SPDX-License-Identifier: Apache-2.0 */
#include <dlfcn.h>
#include <malloc.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { threads_most = 64 };

struct object {
	void *memory;
	size_t size;
};

struct worker {
	pthread_t thread;
	unsigned number;
	uint64_t random;
	struct object *objects;
	size_t count;
};

static struct worker workers[threads_most], churners[threads_most];
static unsigned worker_count, churner_count;
static size_t bytes_each;
static pthread_barrier_t barrier;
static volatile int churning;

static uint64_t next_random(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

/* Mostly small, some of a few KiB, a few of hundreds of KiB. */
static size_t random_size(uint64_t *state)
{
	uint64_t r = next_random(state), kind = r % 1000;
	r >>= 20;
	return kind < 600 ? 8 + r % 120 : kind < 900 ? 8 + r % 1000 : kind < 990 ? 8 + r % 10000 : kind < 998 ? 8 + r % 100000 : 8 + r % 700000;
}

static void *work(void *argument)
{
	struct worker *worker = argument;
	size_t most = bytes_each / 300 + 1000, bytes = 0;
	worker->objects = calloc(most, sizeof *worker->objects);
	for (; worker->count < most && bytes < bytes_each; worker->count++) {
		struct object *object = &worker->objects[worker->count];
		object->size = random_size(&worker->random);
		object->memory = malloc(object->size);
		memset(object->memory, 1, object->size);
		bytes += object->size;
	}
	pthread_barrier_wait(&barrier);
	/* Every second one is freed here, every fourth in the next thread; runs of a few hundred are freed whole. */
	for (int round = 0; round < 2; round++) {
		struct worker *of = &workers[(worker->number + (unsigned)round) % worker_count];
		for (size_t i = 0; i < of->count; i++) {
			int here = round == 0 ? i % 2 == 0 || i / 300 % 3 == 0 : i % 4 == 1 && i / 300 % 3 != 0;
			if (here && of->objects[i].memory) {
				free(of->objects[i].memory);
				of->objects[i].memory = NULL;
			}
		}
		pthread_barrier_wait(&barrier);
	}
	if (worker->number)
		for (;;)
			pause();
	return NULL;
}

static void *churn(void *argument)
{
	struct worker *worker = argument;
	static __thread struct object own[20000];
	while (churning) {
		struct object *object = &own[next_random(&worker->random) % 20000];
		free(object->memory);
		object->size = random_size(&worker->random);
		object->memory = malloc(object->size);
		memset(object->memory, 1, object->size < 64 ? object->size : 64);
	}
	for (size_t i = 0; i < 20000; i++)
		free(own[i].memory);
	return NULL;
}

static long resident(void)
{
	char line[256];
	long kilobytes = 0;
	FILE *file = fopen("/proc/self/status", "r");
	while (file && fgets(line, sizeof line, file))
		if (strncmp(line, "VmRSS:", 6) == 0)
			kilobytes = atol(line + 6);
	if (file)
		fclose(file);
	return kilobytes;
}

/* struct mallinfo2, which older headers lack. */
struct info {
	size_t arena, ordblks, smblks, hblks, hblkhd, usmblks, fsmblks, uordblks, fordblks, keepcost;
};

static void *find(const char *name)
{
	return dlsym(RTLD_DEFAULT, name);
}

static void say_stats(void)
{
	size_t count = 0, bytes = 0;
	struct info info = {0};
	struct info (*mallinfo2_function)(void);
	*(void **)&mallinfo2_function = find("mallinfo2");
	for (unsigned i = 0; i < worker_count; i++)
		for (size_t k = 0; k < workers[i].count; k++)
			if (workers[i].objects[k].memory) {
				count++;
				bytes += workers[i].objects[k].size;
			}
	if (mallinfo2_function)
		info = mallinfo2_function();
	else {
		struct old {
			int arena, ordblks, smblks, hblks, hblkhd, usmblks, fsmblks, uordblks, fordblks, keepcost;
		} old, (*mallinfo_function)(void);
		*(void **)&mallinfo_function = find("mallinfo");
		old = mallinfo_function ? mallinfo_function() : (struct old){0};
		info = (struct info){.hblks = (unsigned)old.hblks, .hblkhd = (unsigned)old.hblkhd, .uordblks = (unsigned)old.uordblks,
				     .fordblks = (unsigned)old.fordblks};
	}
	printf("%d %zu %zu %zu %zu %zu %zu\n", getpid(), count, bytes, info.fordblks, info.uordblks, info.hblkhd, info.hblks);
}

static void give(void)
{
	int (*trim)(size_t), (*mallctl)(const char *, void *, size_t *, void *, size_t);
	void (*collect)(int), (*release)(void);
	*(void **)&trim = find("malloc_trim");
	*(void **)&mallctl = find("mallctl");
	*(void **)&collect = find("mi_collect");
	*(void **)&release = find("MallocExtension_ReleaseFreeMemory");
	long before = resident();
	if (mallctl)
		mallctl("arena.4096.purge", NULL, NULL, NULL, 0);
	else if (collect)
		collect(1);
	else if (release)
		release();
	else if (trim)
		trim(0);
	printf("%ld %ld\n", before, resident());
}

int main(int argument_count, char **arguments)
{
	char line[64];
	static char input[256];
	uint64_t seed = argument_count > 3 ? strtoull(arguments[3], NULL, 10) : 1;
	worker_count = argument_count > 1 ? (unsigned)atoi(arguments[1]) : 4;
	bytes_each = (argument_count > 2 ? (size_t)atoi(arguments[2]) : 32) << 20;
	if (worker_count < 1 || worker_count > threads_most)
		return 2;
	setvbuf(stdin, input, _IOFBF, sizeof input);
	setvbuf(stdout, NULL, _IOLBF, BUFSIZ);
	pthread_barrier_init(&barrier, NULL, worker_count);
	for (unsigned i = 0; i < worker_count; i++)
		workers[i] = (struct worker){.number = i, .random = (seed << 8 | i) * 0x9e3779b97f4a7c15u | 1};
	for (unsigned i = 1; i < worker_count; i++)
		pthread_create(&workers[i].thread, NULL, work, &workers[i]);
	work(&workers[0]);
	resident();
	puts("ready");
	while (fgets(line, sizeof line, stdin) && strcmp(line, "quit\n") != 0) {
		if (strcmp(line, "stats\n") == 0)
			say_stats();
		else if (strcmp(line, "give\n") == 0)
			give();
		else if (strncmp(line, "churn ", 6) == 0) {
			churning = 1;
			churner_count = (unsigned)atoi(line + 6) % threads_most;
			for (unsigned i = 0; i < churner_count; i++) {
				churners[i].random = 77 + i;
				pthread_create(&churners[i].thread, NULL, churn, &churners[i]);
			}
			puts("churning");
		} else if (strcmp(line, "still\n") == 0) {
			churning = 0;
			for (unsigned i = 0; i < churner_count; i++)
				pthread_join(churners[i].thread, NULL);
			puts("still");
		}
	}
	return 0;
}
