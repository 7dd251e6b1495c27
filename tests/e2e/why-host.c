/* why-host.c - a program whose memory is what its scenario says: why-host SCENARIO SIZE COUNT THREADS FILE. Objects of SIZE bytes, COUNT of
 * them in each of THREADS. When it stands still it writes a line to FILE: its PID, live bytes, bytes that it mapped, bytes of its stacks,
 * resident bytes when it began, and the numbers of objects of site_pin and site_other that stay among freed ones.
 * On SIGUSR1 it gives free memory back in its first thread, and writes resident memory before and after to FILE.2; as `steps` has the next
 * burst then. */
#include <fcntl.h>
#include <malloc.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

extern int mallctl(const char *, void *, size_t *, void *, size_t) __attribute__((weak));
extern void mi_collect(int) __attribute__((weak));
extern void MallocExtension_ReleaseFreeMemory(void) __attribute__((weak));

#define SITE(name) \
	__attribute__((noinline, noclone)) void *site_##name(size_t bytes) \
	{ \
		void *p = malloc(bytes); \
		memset(p, 1, bytes); \
		__asm__ volatile("" ::"r"(p) : "memory"); \
		return p; \
	}
SITE(bulk)
SITE(pin)
SITE(other)
SITE(hold)
SITE(leak)
SITE(cache)

__attribute__((noinline, noclone)) void *site_map(size_t bytes)
{
	char *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	memset(p, 1, bytes);
	return p;
}

static const char *scenario, *file;
static size_t size, count, threads;
static pthread_barrier_t barrier;
static _Atomic size_t live, mapped, stacks, pins, others;

static int is(const char *name)
{
	return strcmp(scenario, name) == 0;
}

static void *keep(void *p)
{
	live += malloc_usable_size(p);
	return p;
}

/* COUNT objects, of which one in eight is followed by a small one that stays. */
static void mix(void)
{
	void **all = malloc(count * sizeof *all);
	for (size_t i = 0; i < count; i++) {
		all[i] = site_bulk(size);
		if (i % 8 == 0) {
			keep(site_pin(48));
			pins++;
		}
	}
	for (size_t i = 0; i < count; i++)
		free(all[i]);
	free(all);
}

/* COUNT objects, of which one in eight, at random, stays: three in four of these are of one site, the others of another. */
static void divide(void)
{
	void **all = calloc(count, sizeof *all);
	unsigned random = 1;
	for (size_t i = 0; i < count; i++) {
		random = random * 1103515245u + 12345;
		unsigned lot = random >> 16 & 31;
		if (lot >= 4) {
			all[i] = site_bulk(size);
		} else if (lot) {
			keep(site_pin(size));
			pins++;
		} else {
			keep(site_other(size));
			others++;
		}
	}
	for (size_t i = 0; i < count; i++)
		free(all[i]);
	free(all);
}

/* COUNT objects, all freed; with PINNED, the last one of all stays, at the end of the heap. */
static void spike(int pinned)
{
	void **all = malloc(count * sizeof *all);
	for (size_t i = 0; i < count; i++)
		all[i] = site_bulk(size);
	if (pinned) {
		keep(site_pin(20000)); /* larger than any hole before */
		pins++;
	}
	for (size_t i = 0; i < count; i++)
		free(all[i]);
	free(all);
}

static void hold(void)
{
	for (size_t i = 0; i < count; i++)
		keep(site_hold(size));
}

static void *work(void *argument)
{
	if (is("mixed") || is("arenas"))
		mix();
	else if (is("divided"))
		divide();
	else if (is("hoards"))
		spike(1);
	else if (is("stacks")) {
		char *stack = __builtin_alloca(size);
		memset(stack, 1, size);
		__asm__ volatile("" ::"r"(stack) : "memory");
		stacks += size;
	} else
		hold();
	pthread_barrier_wait(&barrier);
	if (argument)
		for (;;)
			pause();
	return argument;
}

static size_t resident(void)
{
	char text[256];
	size_t sum = 0;
	FILE *f = fopen("/proc/self/smaps_rollup", "r");
	setvbuf(f, NULL, _IONBF, 0);
	while (fgets(text, sizeof text, f))
		if (strncmp(text, "Rss:", 4) == 0)
			sum = strtoul(text + 4, NULL, 10) * 1024;
	fclose(f);
	return sum;
}

static void give_back(void)
{
	char name[4096];
	size_t before = resident();
	if (mallctl)
		mallctl("arena.4096.purge", NULL, NULL, NULL, 0);
	else if (mi_collect)
		mi_collect(1);
	else if (MallocExtension_ReleaseFreeMemory)
		MallocExtension_ReleaseFreeMemory();
	else
		malloc_trim(0);
	size_t after = resident();
	snprintf(name, sizeof name, "%s.2", file);
	FILE *f = fopen(name, "w");
	fprintf(f, "%zu %zu\n", before, after);
	fclose(f);
}

enum { per_second = 200 };

/* What requests hold for a third of a second. */
static void serve_requests(void)
{
	enum { requests = 64, objects = 20 };
	static void *ring[requests][objects];
	static unsigned next;
	void **request = ring[next++ % requests];
	for (size_t k = 0; k < objects; k++) {
		free(request[k]);
		request[k] = site_bulk(size);
	}
	usleep(1000000 / per_second);
}

static void grow(void)
{
	for (;; serve_requests())
		for (size_t k = 0; k < 1 + count / 1000; k++)
			keep(site_leak(size));
}

/* A cache of COUNT objects that are made when they are asked for first: two thirds of what still lacks in three seconds. */
static void fill(void)
{
	void **slots = calloc(count, sizeof *slots);
	unsigned random = 1;
	for (;; serve_requests())
		for (size_t i = 0; i < count / (3 * per_second); i++) {
			random = random * 1664525u + 1013904223u;
			void **slot = &slots[(uint64_t)random * count >> 32];
			if (!*slot)
				*slot = keep(site_cache(size));
		}
}

static void map(size_t number)
{
	for (size_t i = 0; i < number; i++, mapped += size)
		site_map(size);
}

/* Reads COUNT times SIZE bytes from the file FILE.data, which is as long. */
static void read_file(void)
{
	char name[4096], *buffer = malloc(size);
	snprintf(name, sizeof name, "%s.data", file);
	int number = open(name, O_RDONLY);
	for (size_t i = 0; i < count; i++)
		if (read(number, buffer, size) != (ssize_t)size)
			exit(1);
	close(number);
	free(buffer);
}

static void evict(void)
{
	static void *slots[1 << 16];
	for (size_t i = 0; i < count; i++) {
		void **slot = &slots[i * 2654435761u % (1 << 16)];
		if (*slot)
			live -= malloc_usable_size(*slot);
		free(*slot);
		*slot = keep(site_cache(size));
	}
}

/* A burst twice as large as the one before. */
static void step(void)
{
	char name[4096];
	count *= 2;
	mix();
	snprintf(name, sizeof name, "%s.2", file);
	FILE *f = fopen(name, "w");
	fprintf(f, "%zu\n", count);
	fclose(f);
}

static volatile sig_atomic_t asked;
static void ask(int number)
{
	asked = number;
}

int main(int arguments, char **argument)
{
	pthread_attr_t attribute;
	if (arguments < 6)
		return 2;
	scenario = argument[1];
	size = strtoul(argument[2], NULL, 10);
	count = strtoul(argument[3], NULL, 10);
	threads = strtoul(argument[4], NULL, 10);
	file = argument[5];
	size_t start = resident();
	signal(SIGUSR1, ask);
	pthread_attr_init(&attribute);
	pthread_attr_setstacksize(&attribute, (is("stacks") ? size : 0) + (1 << 20));
	pthread_barrier_init(&barrier, NULL, (unsigned)threads);
	for (size_t i = 1; i < threads; i++) {
		pthread_t thread;
		pthread_create(&thread, &attribute, work, (void *)i);
	}
	if (is("spike"))
		spike(0);
	else if (is("top"))
		spike(1);
	else if (is("map") || is("maps"))
		map(count);
	else if (is("pages"))
		read_file();
	else if (is("cache"))
		evict();
	else if (is("huge")) { /* one page in 64 is written to */
		char *p = aligned_alloc(2 << 20, count * size);
		madvise(p, count * size, MADV_HUGEPAGE);
		for (size_t i = 0; i < count * size; i += 64 * 4096)
			p[i] = 1;
		live += count * size;
	} else if (is("tmpfs")) {
		int memory = memfd_create("data", 0);
		if (ftruncate(memory, (off_t)(count * size)))
			return 1;
		memset(mmap(NULL, count * size, PROT_READ | PROT_WRITE, MAP_SHARED, memory, 0), 1, count * size);
	} else if (is("steps"))
		mix();
	else if (!is("leak") && !is("fill"))
		work(NULL);
	FILE *f = fopen(file, "w");
	fprintf(f, "%d %zu %zu %zu %zu %zu %zu\n", getpid(), live, mapped, stacks, start, pins, others);
	fclose(f);
	if (is("leak"))
		grow();
	if (is("fill"))
		fill();
	for (; is("maps"); usleep(100000))
		map(1);
	for (;;) {
		pause();
		if (asked && is("steps"))
			step();
		else if (asked)
			give_back();
		asked = 0;
	}
}
