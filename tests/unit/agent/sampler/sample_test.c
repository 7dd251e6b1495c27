/* sample_test.c - what is sampled and what is not: frees of nothing, custom heaps, and the children of a fork.
 * SPDX-License-Identifier: Apache-2.0 */
#include "agent/sampler/sample.h"

#include "../include/cairn.h"
#include "agent/sampler/heap.h"
#include "agent/sampler/sampler.h"
#include "tap.h"

#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { always = 1 << 20 }; /* an object of so many bytes is always sampled with a period of 1 */

static struct cairn_ledger_header *header;

/* What sampler.c does when sampling is switched on, without relocations: nothing but this test is sampled. */
static bool open_ledger(void)
{
	struct cairn_error error;
	if (!cairn_record_open(&cairn_sampling.record, CAIRN_RECORD_LEAST, &error))
		return ok(false, "%s", error.text);
	header = cairn_sampling.record.header;
	cairn_filter_open(cairn_sampling.record.sample_mask + 1);
	cairn_sampling.process = getpid();
	cairn_sampling.depth = 64;
	cairn_sampling.generation = 1;
	cairn_sampling.period = 1;
	cairn_sampling.active = true;
	cairn_sampling.open = true;
	return true;
}

static void allocate(uint64_t address)
{
	cairn_local()->countdown = (uint64_t)-1;
	cairn_sample_spent((void *)(uintptr_t)address, always, (uintptr_t)allocate);
}

static void test_null(void)
{
	uint64_t address = 4096;
	allocate(address); /* the first allocation of a thread draws its first distance */
	cairn_sample_freed((void *)(uintptr_t)address);
	while ((cairn_filter_hash(address) & (cairn_filter_mask << 5 | 31)) != 0)
		address += 16;
	allocate(address);
	uint64_t freed = header->freed;
	ok(header->live == 1 && cairn_filter_has(0), "a live sample for which the filter takes NULL");
	for (int i = 0; i < 3; i++)
		cairn_sample_freed(NULL);
	ok(header->live == 1 && header->freed == freed, "NULL is freed, and nothing changes");
	cairn_sample_freed((void *)(uintptr_t)address);
	ok(header->live == 0 && header->freed == freed + 1 && !cairn_filter_has(0), "until that sample is freed");
}

/* What no allocator can give does not put off the next sample: the lost period would be as long as the request. */
static void test_huge(void)
{
	static const uint64_t sizes[] = {UINT64_MAX, (uint64_t)-2147483648, UINT64_C(1) << 63, UINT64_MAX / 2};
	for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
		cairn_local()->countdown = 1000;
		ok(cairn_sample_count_down(sizes[i]), "a request for %#llx bytes ends the countdown", (unsigned long long)sizes[i]);
		cairn_sample_spent(NULL, sizes[i], (uintptr_t)test_huge);
		ok(cairn_local()->countdown < 1 << 20, "and the next is as long as any: %llu",
		   (unsigned long long)cairn_local()->countdown);
	}
	cairn_local()->countdown = 1000;
	ok(!cairn_sample_count_down(1000) && cairn_sample_count_down(1), "a countdown ends below zero, not at it");
	cairn_sample_spent(NULL, 1, (uintptr_t)test_huge);
}

static void test_heaps(void)
{
	enum { count = 200 };
	uint64_t replaced = header->replaced;
	unsigned one = cairn_heap("one"), other = cairn_heap("other");
	ok(one && other == one + 1 && cairn_heap("one") == one, "two heaps have numbers, the same for the same name");
	is_text(header->heaps[other], "other", "and names in the ledger");
	for (uint64_t id = 0; id < count; id++)
		cairn_heap_allocated(one, id, always);
	for (uint64_t id = 0; id < count; id++)
		cairn_heap_allocated(other, id, always);
	ok(header->live == 2 * count && header->replaced == replaced, "objects of two heaps with the same ids are all live: %llu",
	   (unsigned long long)header->live);
	for (uint64_t id = 0; id < count; id++)
		cairn_heap_freed(one, id);
	is_int(header->live, count, "of which one heap's are freed");
	for (uint64_t id = 0; id < count; id++)
		cairn_heap_freed(other, id);
	is_int(header->live, 0, "and then the other's");
}

/* A thread that is put aside while it writes a name: it is read from a page that cannot be read before somebody else has asked for it. */
static char *slow_name;
static atomic_int is_writing, may_write;

static void make_readable(int number, siginfo_t *info, void *context)
{
	(void)number, (void)context;
	if (info->si_addr != slow_name)
		signal(SIGSEGV, SIG_DFL);
	is_writing = 1;
	while (!may_write)
		nanosleep(&(struct timespec){0, 1000000}, NULL);
	nanosleep(&(struct timespec){0, 20000000}, NULL);
	mprotect(slow_name, 4096, PROT_READ);
}

static void *ask_slowly(void *context)
{
	*(unsigned *)context = cairn_heap(slow_name);
	return NULL;
}

static void test_slow_name(void)
{
	pthread_t thread;
	unsigned first = 0, second;
	int status = -1;
	struct sigaction action = {.sa_sigaction = make_readable, .sa_flags = SA_SIGINFO};
	slow_name = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	memcpy(slow_name, "slow", 5);
	mprotect(slow_name, 4096, PROT_NONE);
	sigaction(SIGSEGV, &action, NULL);
	pthread_create(&thread, NULL, ask_slowly, &first);
	while (!is_writing)
		nanosleep(&(struct timespec){0, 1000000}, NULL);
	pid_t child = tap_fork();
	if (child == 0) {
		cairn_sampler_in_child(&(struct cairn_profiler){0});
		syscall(SYS_exit_group, (int)cairn_heap("of the child")); /* a sanitizer would miss the parent's thread at _exit */
	}
	waitpid(child, &status, 0);
	ok(WIFEXITED(status) && WEXITSTATUS(status) == 1, "a child that is forked while a name is written uses its number");
	may_write = 1;
	second = cairn_heap("slow");
	pthread_join(thread, NULL);
	signal(SIGSEGV, SIG_DFL);
	ok(first == 1 && second == 1, "a name that another thread is writing is waited for: %u and %u", first, second);
}

/* Threads that ask for the same names at the same time. */
enum { askers = 4, names = 50 };
static unsigned numbers[askers][names];
static pthread_barrier_t barrier;

static void *ask_for_names(void *context)
{
	unsigned *got = context;
	for (unsigned i = 0; i < names; i++) {
		char name[16];
		snprintf(name, sizeof name, "heap %u", i);
		pthread_barrier_wait(&barrier);
		got[i] = cairn_heap(name);
	}
	return NULL;
}

static void test_names(void)
{
	pthread_t threads[askers];
	unsigned different = 0, none = 0;
	pthread_barrier_init(&barrier, NULL, askers);
	for (int i = 0; i < askers; i++)
		pthread_create(&threads[i], NULL, ask_for_names, numbers[i]);
	for (int i = 0; i < askers; i++)
		pthread_join(threads[i], NULL);
	for (unsigned i = 0; i < names; i++) {
		none += numbers[0][i] == 0;
		for (int j = 1; j < askers; j++)
			different += numbers[j][i] != numbers[0][i];
	}
	ok(different == 0 && none == 0, "threads that ask for a name at once get the same number: %u differ, %u have none", different,
	   none);
	for (unsigned i = 0; i < CAIRN_LEDGER_HEAPS; i++) {
		char name[16];
		snprintf(name, sizeof name, "more %u", i);
		cairn_heap(name);
	}
	ok(cairn_heap("too many") == 0 && cairn_heap("heap 7") == numbers[0][7], "after the last one there are no more, but all are known");
}

/* Each child tells how far away its next sample is. */
static void test_children(void)
{
	enum { children = 4 };
	uint64_t distances[children] = {0};
	int ends[2], well = 0;
	if (pipe(ends) != 0)
		return;
	cairn_sampling.period = UINT64_C(1) << 40;
	cairn_local()->countdown = (uint64_t)-1;
	cairn_heap_allocated(1, 1, 1);
	for (int i = 0; i < children; i++) {
		if (tap_fork() == 0) {
			cairn_sampler_in_child(&(struct cairn_profiler){0});
			cairn_heap_allocated(1, 1, 1);
			_exit(write(ends[1], &cairn_local()->countdown, sizeof distances[0]) != sizeof distances[0]);
		}
		if (read(ends[0], &distances[i], sizeof distances[0]) == sizeof distances[0])
			well += wait(NULL) > 0;
	}
	is_int(well, children, "forked children go on");
	unsigned same = 0;
	for (int i = 0; i < children; i++)
		for (int j = 0; j < i; j++)
			same += distances[i] == distances[j];
	is_int(same, 0, "and each draws its own samples");
}

int main(void)
{
	if (!open_ledger())
		return tap_done();
	test_slow_name();
	test_null();
	test_huge();
	test_heaps();
	test_names();
	test_children();
	return tap_done();
}
