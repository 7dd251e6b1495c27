/* heaps-host.c - holds what it says it holds, on the allocator that it is preloaded or linked with: heaps-host [THREADS [OBJECTS]]. Prints
 * its PID, the live objects and their bytes by malloc_usable_size; at each line of input gives free memory back, and prints resident memory
 * before and after. */
#include <malloc.h>
#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

extern int mallctl(const char *, void *, size_t *, void *, size_t) __attribute__((weak));
extern void mi_collect(int) __attribute__((weak));
extern void MallocExtension_ReleaseFreeMemory(void) __attribute__((weak));

/* Pointers to all objects: not those of neighbours beside each other, so that whoever looks at what they point to reads page by page. */
static void *table[1 << 20];
enum { scatter = 7919 };

static size_t each, threads;
static size_t live_objects, live_bytes;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_barrier_t barrier;

static size_t resident(void)
{
	char text[4096], *at;
	size_t sum = 0;
	FILE *f = fopen("/proc/self/smaps_rollup", "r");
	setvbuf(f, NULL, _IONBF, 0);
	while (fgets(text, sizeof text, f))
		if ((at = strstr(text, "Rss:")))
			sum = strtoul(at + 4, NULL, 10) * 1024;
	fclose(f);
	return sum;
}

/* Small objects and some large ones; every fourth run of 200 lives, and one in 50 of the rest. */
static void *work(void *argument)
{
	uint64_t random = (uintptr_t)argument * 977 + 12345;
	void **own = table + (uintptr_t)argument * each;
	size_t objects = 0, bytes = 0;
	for (size_t i = 0; i < each; i++) {
		random = random * 6364136223846793005u + 1442695040888963407u;
		size_t size = 16 + (random >> 40) % (i % 64 == 0 ? 60000 : i % 16 == 0 ? 6000 : 500);
		void *object = own[i * scatter % each] = malloc(i % 5000 == 0 ? 3000000 : size);
		memset(object, 1, size);
	}
	for (size_t i = 0; i < each; i++) {
		void *object = own[i * scatter % each];
		if (i / 200 % 4 && i % 50) {
			free(object);
			continue;
		}
		objects++;
		bytes += malloc_usable_size(object);
	}
	pthread_mutex_lock(&lock);
	live_objects += objects;
	live_bytes += bytes;
	pthread_mutex_unlock(&lock);
	pthread_barrier_wait(&barrier);
	if (argument)
		for (;;)
			pause();
	return own;
}

int main(int count, char **argument)
{
	char line[64];
	threads = count > 1 ? strtoul(argument[1], NULL, 10) : 4;
	each = (count > 2 ? strtoul(argument[2], NULL, 10) : 200000) / threads;
	if (each * threads > sizeof table / sizeof *table)
		return 2;
	pthread_barrier_init(&barrier, NULL, (unsigned)threads);
	for (size_t i = 1; i < threads; i++) {
		pthread_t thread;
		pthread_create(&thread, NULL, work, (void *)i);
	}
	work(NULL);
	resident();
	printf("%d %zu %zu\n", getpid(), live_objects, live_bytes);
	fflush(stdout);
	while (fgets(line, sizeof line, stdin)) {
		size_t before = resident();
		if (mallctl)
			mallctl("arena.4096.purge", NULL, NULL, NULL, 0);
		else if (mi_collect)
			mi_collect(1);
		else if (MallocExtension_ReleaseFreeMemory)
			MallocExtension_ReleaseFreeMemory();
#ifdef __GLIBC__
		else
			malloc_trim(0);
#endif
		printf("%zu %zu\n", before, resident());
		fflush(stdout);
	}
	return 0;
}
