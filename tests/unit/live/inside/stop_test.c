/* stop_test.c - code of a child is changed while its threads run it, and signal handlers interrupt them there.
 * SPDX-License-Identifier: Apache-2.0 */
#include "live/inside/stop.h"

#include "live/inside/words.h"
#include "process/clock.h"
#include "tap.h"

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <time.h>

enum { running_threads = 4, most_threads = 64 };

/* What the child says. */
static struct {
	_Atomic uint64_t rounds, wrong, interrupted, signals, started, ended;
	_Atomic int stop, spawned;
} *told;

/* A function whose first eight bytes have two forms, with instructions of other lengths. In both it returns its argument. */
long changing(long value);
#if defined(__x86_64__)
static const uint64_t forms[] = {0x90909090c3f88948, 0xc3f8894890909090}; /* mov %rdi, %rax; ret; four nop; and four nop before them */
__asm__(".text\n.balign 16\n.globl changing\nchanging: mov %rdi, %rax\nret\nnop\nnop\nnop\nnop\nret\n");
#else
static const uint64_t forms[] = {0xd65f03c0d503201f, 0xd503201fd65f03c0}; /* nop; ret, and ret; nop */
__asm__(".text\n.balign 16\n.globl changing\nchanging: nop\nret\nret\n");
#endif

static void handle(int number)
{
	(void)number;
	for (volatile int i = 0; i < 300000; i++)
		;
	told->signals++;
}

static void *run(void *context)
{
	for (long i = (long)(intptr_t)context; !told->stop; i++) {
		told->wrong += changing(i) != i;
		told->rounds++;
	}
	return NULL;
}

/* Waits in calls of the system that end with EINTR when somebody stops the thread. */
static void *sleep_long(void *context)
{
	int epoll = epoll_create1(EPOLL_CLOEXEC);
	struct epoll_event event;
	(void)context;
	sigset_t all;
	sigfillset(&all);
	pthread_sigmask(SIG_BLOCK, &all, NULL);
	told->started++;
	while (!told->stop)
		told->interrupted += epoll_wait(epoll, &event, 1, 20) < 0;
	close(epoll);
	return NULL;
}

static void *end_at_once(void *context)
{
	(void)context;
	told->ended++;
	return NULL;
}

static void start_threads(int count, void *(*body)(void *))
{
	for (int i = 0; i < count; i++) {
		pthread_t thread;
		pthread_create(&thread, NULL, body, (void *)(intptr_t)(i * 1000));
	}
}

/* Threads that run, some that sleep, and one that makes others all the time; handlers that run often. */
static void live(int sleepers)
{
	struct sigaction action = {.sa_handler = handle, .sa_flags = SA_RESTART};
	sigaction(SIGPROF, &action, NULL);
	timer_t timer;
	struct itimerspec often = {{0, 200000}, {0, 200000}};
	timer_create(CLOCK_PROCESS_CPUTIME_ID, &(struct sigevent){.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGPROF}, &timer);
	timer_settime(timer, 0, &often, NULL);
	start_threads(sleepers, sleep_long);
	start_threads(running_threads, run);
	told->spawned = 1;
	while (!told->stop) {
		pthread_t thread;
		if (pthread_create(&thread, NULL, end_at_once, NULL) == 0)
			pthread_join(thread, NULL);
	}
	_exit(0);
}

struct change {
	struct cairn_words words;
	bool back;
};

static bool change(void *context, int tid, struct cairn_error *error)
{
	struct change *change = context;
	return cairn_words_change(&change->words, tid, change->back, error);
}

static pid_t start(int sleepers)
{
	memset(told, 0, sizeof *told);
	pid_t child = tap_fork();
	if (child == 0)
		live(sleepers);
	while (!told->spawned || told->started < (uint64_t)sleepers || told->rounds < 1000)
		poll(NULL, 0, 1);
	return child;
}

static void end(pid_t child)
{
	int status = -1;
	told->stop = 1;
	waitpid(child, &status, 0);
	is_int(status, 0, "the child ends as it would");
}

static int open_memory(pid_t child)
{
	char path[64];
	snprintf(path, sizeof path, "/proc/%d/mem", child);
	return open(path, O_RDONLY | O_CLOEXEC);
}

static void test_change(int sleepers, int rounds)
{
	pid_t child = start(sleepers);
	uint64_t address = (uintptr_t)changing;
	struct cairn_inside_word word = {address, forms[0], forms[1]};
	struct cairn_stop_place place = {address, address + 8};
	struct cairn_stop stop = {.pid = child, .places = &place, .place_count = 1};
	struct change what = {.words = {.memory = open_memory(child), .items = &word, .count = 1}};
	struct cairn_error error = {.usage = false};
	int64_t longest = 0;
	int good = 0;
	unsigned repeats = 0;
	size_t changed = 0, threads = 0;
	for (int i = 0; i < rounds; i++) {
		what.back = i % 2;
		good += cairn_stop_all(&stop, change, &what, &error);
		changed += what.words.changed;
		repeats += stop.repeats;
		threads = stop.threads > threads ? stop.threads : threads;
		longest = stop.stopped_ns > longest ? stop.stopped_ns : longest;
	}
	is_int(good, rounds, "the code of a process with %d threads that sleep is changed %d times: %s", sleepers, rounds, error.text);
	is_int(changed, rounds, "each time the word was changed");
	ok(threads >= (size_t)(sleepers + running_threads + 1), "all of its threads were stopped: %zu", threads);
	uint64_t before = told->rounds;
	while ((told->rounds < before + 1000 || !told->signals || !told->ended) && kill(child, 0) == 0)
		poll(NULL, 0, 1);
	is_int(told->wrong, 0, "no thread was in the middle of it, in %llu rounds", (unsigned long long)told->rounds);
	is_int(told->interrupted, 0, "no system call ended with EINTR");
	ok(told->signals > 0 && told->ended > 0, "signals came (%llu), and threads began and ended (%llu)", (unsigned long long)told->signals,
	   (unsigned long long)told->ended);
	printf("# stopped for at most %.2f ms, %u times again\n", (double)longest / 1e6, repeats);
	close(what.words.memory);
	end(child);
}

static bool never(void *context, int tid, struct cairn_error *error)
{
	(void)tid, (void)error;
	return *(bool *)context = true;
}

/* A thread that stands in a place for ever, and one whose signal handler returns there. */
static void *stand(void *context)
{
	(void)context;
	changing(0);
	return NULL;
}

static void test_occupied(void)
{
	pid_t child = start(0);
	uint64_t address = (uintptr_t)run;
	struct cairn_stop_place place = {address - 1, address + 256}; /* most of the loop, and what it calls returns there */
	struct cairn_stop stop = {.pid = child, .places = &place, .place_count = 1};
	struct cairn_error error = {.usage = false};
	bool called = false;
	ok(!cairn_stop_all(&stop, never, &called, &error) && !called, "where threads always are in a place, nothing is done");
	like_text(error.text, "in the middle of what was to be changed", "which is said");
	uint64_t before = told->rounds;
	while (told->rounds < before + 1000)
		poll(NULL, 0, 1);
	end(child);
}

static void test_foreign(void)
{
	pid_t child = start(2);
	uint64_t address = (uintptr_t)changing;
	struct cairn_inside_word words[] = {{address, forms[0], forms[1]}, {(uintptr_t)stand, 1, 2}};
	struct cairn_stop stop = {.pid = child};
	struct change what = {.words = {.memory = open_memory(child), .items = words, .count = 2}};
	struct cairn_error error = {.usage = false};
	struct cairn_words_state state;
	ok(!cairn_stop_all(&stop, change, &what, &error), "a word that reads something else: %s", error.text);
	state = cairn_words_look(&what.words);
	ok(state.after == 0 && state.before == 1 && state.strange == 1, "no other was changed");
	words[1] = (struct cairn_inside_word){8, 1, 2};
	ok(!cairn_stop_all(&stop, change, &what, &error), "a word that is not there: %s", error.text);
	state = cairn_words_look(&what.words);
	ok(state.after == 0 && state.before == 1, "no other was changed");
	what.back = true;
	words[0] = (struct cairn_inside_word){address, forms[1], forms[0]};
	words[1] = (struct cairn_inside_word){(uintptr_t)stand, 1, 2};
	ok(!cairn_stop_all(&stop, change, &what, &error), "back, with a word that somebody else has changed: %s", error.text);
	state = cairn_words_look(&what.words);
	ok(what.words.changed == 1 && state.before == 1 && state.strange == 1, "the other one is as it was");
	words[0] = words[1];
	words[1].address += 4;
	ok(cairn_stop_all(&stop, change, &what, &error) && what.words.changed == 0, "back, where all words are of another file");
	words[1] = words[0] = (struct cairn_inside_word){address, forms[0], forms[1]};
	cairn_stop_all(&stop, change, &what, &error);
	ok(cairn_stop_all(&stop, change, &what, &error) && what.words.changed == 0, "back to what it is");
	close(what.words.memory);
	end(child);
}

static void test_traced(void)
{
	pid_t child = start(2);
	bool called = false;
	struct cairn_stop stop = {.pid = child};
	struct cairn_error error = {.usage = false};
	int status;
	ptrace(PTRACE_SEIZE, child, NULL, NULL);
	ok(!cairn_stop_all(&stop, never, &called, &error) && !called, "of a process that is traced nothing is touched");
	like_text(error.text, "is being debugged or traced by process", "and who does it is named");
	ptrace(PTRACE_INTERRUPT, child, NULL, NULL);
	waitpid(child, &status, __WALL);
	ptrace(PTRACE_DETACH, child, NULL, NULL);
	kill(child, SIGSTOP);
	poll(NULL, 0, 50);
	ok(cairn_stop_all(&stop, never, &called, &error) && called, "one that was stopped by a signal can be changed");
	poll(NULL, 0, 50);
	uint64_t before = told->rounds;
	poll(NULL, 0, 50);
	is_int(told->rounds, before, "and stays stopped");
	kill(child, SIGCONT);
	while (told->rounds == before)
		poll(NULL, 0, 1);
	end(child);
	called = false;
	ok(!cairn_stop_all(&stop, never, &called, &error) && !called, "one that is gone cannot: %s", error.text);
}

/* A child of vfork runs in the memory of its parent, and on its own. */
static void test_vfork(void)
{
	memset(told, 0, sizeof *told);
	pid_t child = tap_fork();
	if (child == 0) {
		if (vfork() == 0) { /* it borrows until it ends */
			told->started = 1;
			while (!told->stop)
				poll(NULL, 0, 1);
			_exit(0);
		}
		told->ended = 1;
		while (told->stop < 2)
			poll(NULL, 0, 1);
		_exit(0);
	}
	while (!told->started)
		poll(NULL, 0, 1);
	bool called = false;
	struct cairn_stop stop = {.pid = child};
	struct cairn_error error = {.usage = false};
	ok(!cairn_stop_all(&stop, never, &called, &error) && !called, "while a child runs in its memory nothing is changed");
	like_text(error.text, "vfork", "which is said");
	told->stop = 1;
	while (!told->ended)
		poll(NULL, 0, 1);
	ok(cairn_stop_all(&stop, never, &called, &error) && called, "afterwards it can be");
	told->stop = 2;
	int status = -1;
	waitpid(child, &status, 0);
	is_int(status, 0, "and the parent ends as it would");
}

int main(void)
{
	told = mmap(NULL, sizeof *told, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	alarm(120);
	test_change(2, tap_rounds(20, 100));
	test_change(most_threads, tap_rounds(5, 20));
	test_occupied();
	test_foreign();
	test_traced();
	test_vfork();
	return tap_done();
}
