/* keeper-host.c - a process that always knows what it holds, and comes to its end in the way it is told.
 *
 * keeper-host TRUTH MODE [ARGUMENT]: the live bytes of `hold` are the first number of the mapped file TRUTH, at any instant. It goes on
 * when TRUTH.go is there. The numbers behind it are what it held and when (ns) it went on, and when it last held more.
 * SPDX-License-Identifier: Apache-2.0 */
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

enum { object = 3000, first = 6000, most = 1 << 17 };
static volatile int64_t *truth;
static void *held[most];
static char go[600];

static int64_t now_ns(void)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000000000 + now.tv_nsec;
}

__attribute__((noinline)) static void hold(unsigned i)
{
	held[i] = malloc(object);
	memset(held[i], 1, object);
	*truth += object;
	truth[3] = now_ns();
}

/* As fast as four threads can, in huge pages where the machine has them. */
__attribute__((noinline)) static char *hold_fast(size_t size)
{
	char *memory = aligned_alloc(2 << 20, size);
	madvise(memory, size, MADV_HUGEPAGE);
	__atomic_fetch_add((int64_t *)truth, (int64_t)size, __ATOMIC_RELAXED);
	for (size_t i = 0; i < size; i += 4096)
		memory[i] = 1;
	truth[3] = now_ns();
	return memory;
}

/* Touches so much memory and gives it back. A virtual machine gets its memory from its host when it is first touched, which is far slower
 * than a machine is otherwise; for a moment it is then there. */
static int warm(size_t size)
{
	char *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (memory == MAP_FAILED)
		return 1;
	madvise(memory, size, MADV_HUGEPAGE);
	for (size_t i = 0; i < size; i += 4096)
		memory[i] = 1;
	return 0;
}

static void *grow_fast(void *unused)
{
	for (;;)
		hold_fast(2 << 20);
	return unused;
}

/* All at once. */
__attribute__((noinline)) static char *hold_burst(size_t size)
{
	char *memory = malloc(size);
	*truth += (int64_t)size;
	return memset(memory, 1, size);
}

static void release(unsigned i)
{
	free(held[i]);
	held[i] = NULL;
	*truth -= object;
}

static void open_truth(const char *path)
{
	int descriptor = open(path, O_RDWR | O_CREAT, 0644);
	if (descriptor < 0 || ftruncate(descriptor, 4096) != 0)
		exit(9);
	truth = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
	close(descriptor);
}

static void *churn_elsewhere(void *unused)
{
	for (;;)
		free(malloc(4000));
	return unused;
}

/* Grows to some 100 MB, a part of which comes and goes. */
static void churn(void)
{
	pthread_t thread;
	pthread_create(&thread, NULL, churn_elsewhere, NULL);
	for (unsigned i = first;; i++) {
		unsigned at = i % 30000;
		if (held[at])
			release(at);
		hold(at);
		if (i % 100 == 0)
			usleep(1000);
	}
}

static void await_go(void)
{
	while (access(go, F_OK) != 0)
		usleep(10000);
	truth[1] = truth[0];
	truth[2] = now_ns();
}

/* Descriptors with numbers above that of the ledger: who looks for that has long to go on after it has found it. */
static void open_many(void)
{
	struct rlimit limit;
	getrlimit(RLIMIT_NOFILE, &limit);
	int from = (int)limit.rlim_cur, to = from + 60000;
	limit.rlim_cur = limit.rlim_max;
	setrlimit(RLIMIT_NOFILE, &limit);
	for (int i = from; i < to && dup2(0, i) == i; i++)
		;
}

/* A memfd by the ledger's name that is none. */
static void make_hostile(const char *kind)
{
	int descriptor = memfd_create("cairn-ledger", MFD_CLOEXEC);
	static const char magic[] = "CnLedger\1\0\0\0\1\0\0\0";
	if (strcmp(kind, "short") == 0)
		ftruncate(descriptor, 100);
	if (strcmp(kind, "huge") == 0)
		ftruncate(descriptor, (off_t)1 << 40);
	if (strcmp(kind, "forged") == 0) {
		static uint32_t words[1 << 18];
		for (unsigned i = 0; i < sizeof words / sizeof *words; i++)
			words[i] = i % 7 ? i * 2654435761u : 0xffffffff;
		memset((char *)words + 152, 0, 3944); /* all of the header but its areas: it is of no process in particular */
		memcpy(words, magic, 16);
		write(descriptor, words, sizeof words);
	} else if (strcmp(kind, "empty") != 0) {
		pwrite(descriptor, magic, 16, 0);
	}
}

int main(int count, char **arguments)
{
	char text[600];
	const char *mode = count > 2 ? arguments[2] : "";
	if (count < 3)
		return 9;
	if (strcmp(mode, "warm") == 0)
		return warm(strtoul(arguments[3], NULL, 10));
	open_truth(arguments[1]);
	snprintf(go, sizeof go, "%s.go", arguments[1]);
	for (unsigned i = 0; i < first; i++)
		hold(i);
	if (strcmp(mode, "churn") == 0)
		churn();
	if (strcmp(mode, "fork") == 0)
		for (int i = 0; i < 3; i++)
			if (fork() == 0) {
				for (int k = 0; k < 300; k++) {
					memset(malloc(100000), 1, 100000);
					usleep(10000);
				}
				_exit(0);
			}
	if (strcmp(mode, "hostile") == 0) {
		make_hostile(arguments[3]);
		pause();
	}
	if (strcmp(mode, "fork") == 0)
		pause();
	if (strcmp(mode, "crowd") == 0)
		open_many();
	await_go();
	if (strcmp(mode, "exit") == 0 || strcmp(mode, "crowd") == 0)
		return atoi(arguments[3]);
	if (strcmp(mode, "crash") == 0)
		*(volatile int *)8 = 1;
	for (unsigned i = first, pause_us = count > 3 ? (unsigned)atoi(arguments[3]) : 0; strcmp(mode, "grow") == 0 && i < most; i++) {
		hold(i);
		if (pause_us && i % 100 == 0)
			usleep(pause_us);
	}
	for (int i = 0; strcmp(mode, "fast") == 0; i++) {
		pthread_t thread;
		if (i < 4)
			pthread_create(&thread, NULL, grow_fast, NULL);
		else
			pause();
	}
	if (strcmp(mode, "burst") == 0)
		hold_burst((size_t)500 << 20);
	snprintf(text, sizeof text, "%s.execed", arguments[1]);
	if (strcmp(mode, "exec") == 0)
		execl(arguments[0], arguments[0], text, "churn", (char *)NULL);
	unsetenv("LD_PRELOAD");
	execlp("sleep", "sleep", "60", (char *)NULL);
	return 8;
}
