/* cpu_test.c - CPU runs from start to end: one at a time, threads that come and go, forks, and nothing left behind.
 * SPDX-License-Identifier: Apache-2.0 */
#include "agent/cpu/cpu.h"
#include "agent/cpu/cpu_stacks.h"
#include "profile/read.h"
#include "tap.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static atomic_bool stop;
static atomic_int spinning;

static void *spin(void *context)
{
	(void)context;
	spinning++;
	while (!stop)
		for (int i = 0; i < 1000; i++)
			__asm__ volatile("");
	return NULL;
}

static void *spin_a_little(void *context)
{
	(void)context;
	for (int i = 0; i < 2000000; i++)
		__asm__ volatile("");
	return NULL;
}

static void wait_ms(long milliseconds)
{
	nanosleep(&(struct timespec){milliseconds / 1000, milliseconds % 1000 * 1000000}, NULL);
}

static int timers_left(void)
{
	FILE *file = fopen("/proc/self/timers", "r");
	char line[256];
	int count = 0;
	while (file && fgets(line, sizeof line, file))
		count += strncmp(line, "ID:", 3) == 0;
	if (file)
		fclose(file);
	return count;
}

static bool is_default(int number)
{
	struct sigaction action;
	return sigaction(number, NULL, &action) == 0 && !(action.sa_flags & SA_SIGINFO) && action.sa_handler == SIG_DFL;
}

static void test_run(void)
{
	struct cairn_error error;
	bool busy;
	pthread_t threads[2], short_lived;
	for (int i = 0; i < 2; i++)
		pthread_create(&threads[i], NULL, spin, NULL);
	while (spinning < 2) /* one that has not begun blocks all signals, and is seen later */
		wait_ms(1);
	struct cairn_cpu *cpu = cairn_cpu_start(500, &busy, &error);
	if (!ok(cpu != NULL, "a run starts"))
		return;
	ok(!cairn_cpu_start(99, &busy, &error) && busy, "a second is refused: %s", error.text);
	int at_first = timers_left();
	ok(at_first >= 3, "every thread has a timer");
	for (int i = 0; i < 10; i++) {
		pthread_create(&short_lived, NULL, spin_a_little, NULL);
		wait_ms(50);
		cairn_cpu_collect(cpu);
		pthread_join(short_lived, NULL);
	}
	for (int i = 0; i < 2; i++) {
		wait_ms(250);
		cairn_cpu_collect(cpu);
	}
	is_int(timers_left(), at_first, "those of threads that ended are given back");
	pid_t child = tap_fork();
	if (child == 0) {
		cairn_cpu_forget();
		wait_ms(20);
		_exit(is_default(SIGPROF) && timers_left() == 0 ? 0 : 1);
	}
	int status;
	waitpid(child, &status, 0);
	ok(WIFEXITED(status) && WEXITSTATUS(status) == 0, "a forked child has nothing of it");
	cairn_cpu_stop(cpu);
	is_int(timers_left(), 0, "no timer is left");
	ok(is_default(SIGPROF), "nor a handler");
	struct cairn_buffer out = cairn_pages(64 << 20);
	cairn_cpu_write(cpu, &out);
	struct cairn_profile profile;
	cairn_profile_init(&profile);
	ok(cairn_profile_read(&profile, cairn_buffer_bytes(&out), "cpu", NULL, &error), "the profile can be read");
	double samples = 0;
	for (size_t i = 0; i < profile.sample_count; i++)
		samples += profile.values[2 * i];
	struct cairn_cpu_counts counts;
	cairn_cpu_count(&counts);
	ok(samples > 0 && samples == (double)counts.samples, "and has every sample: %.0f of %llu", samples,
	   (unsigned long long)counts.samples);
	cairn_profile_free(&profile);
	cairn_buffer_free(&out);
	cairn_cpu_free(cpu);
	stop = true;
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
}

static void ignore_it(int number)
{
	(void)number;
}

/* The host begins to profile itself in the middle of a run. */
static void test_overtaken(void)
{
	struct cairn_error error;
	bool busy;
	struct sigaction action;
	struct cairn_cpu *cpu = cairn_cpu_start(100, &busy, &error);
	if (!ok(cpu && timers_left() > 0, "a run"))
		return;
	signal(SIGPROF, ignore_it);
	cairn_cpu_collect(cpu);
	is_int(timers_left(), 0, "whose signal the host takes over sends no more");
	sigaction(SIGPROF, NULL, &action);
	ok(action.sa_handler == ignore_it, "and leaves it to the host");
	cairn_cpu_collect(cpu);
	cairn_cpu_stop(cpu);
	struct cairn_buffer out = cairn_pages(64 << 20);
	cairn_cpu_write(cpu, &out);
	ok(!out.failed && memmem(out.data, out.length, "# cairn cpu.overtaken 1\n", 24), "its profile says so");
	cairn_buffer_free(&out);
	cairn_cpu_free(cpu);
	signal(SIGPROF, SIG_DFL);
}

/* CPU time of THREAD. */
static int64_t used_ms(pthread_t thread)
{
	clockid_t clock;
	struct timespec used = {0, 0};
	if (pthread_getcpuclockid(thread, &clock) == 0)
		clock_gettime(clock, &used);
	return (int64_t)used.tv_sec * 1000 + used.tv_nsec / 1000000;
}

/* The profile of a run in which TOILER has 50 milliseconds of a processor, or half a minute is over. */
static struct cairn_buffer profile_of(void *(*toiler)(void *context), void *context, struct cairn_error *error)
{
	struct cairn_buffer out = cairn_pages(64 << 20);
	pthread_t thread;
	bool busy;
	stop = false;
	pthread_create(&thread, NULL, toiler, context);
	while (used_ms(thread) < 10) /* it has done what it does at first */
		wait_ms(1);
	struct cairn_cpu *cpu = cairn_cpu_start(1000, &busy, error);
	int64_t before = used_ms(thread);
	for (int i = 0; cpu && i < 600 && used_ms(thread) < before + 50; i++) {
		wait_ms(50);
		cairn_cpu_collect(cpu);
	}
	if (cpu) {
		cairn_cpu_stop(cpu);
		cairn_cpu_write(cpu, &out);
		cairn_cpu_free(cpu);
	}
	stop = true;
	pthread_join(thread, NULL);
	return out;
}

static bool says(const struct cairn_buffer *profile, const char *line)
{
	return profile->length && memmem(profile->data, profile->length, line, strlen(line));
}

static void burn(void)
{
	for (int i = 0; i < 20000000; i++)
		__asm__ volatile("");
}

/* Works, and now and then takes the signals that have come, as a loop around a signalfd does. */
static void *fetch_signals(void *context)
{
	int *strange = context;
	sigset_t all;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, NULL);
	int signals = signalfd(-1, &all, SFD_NONBLOCK | SFD_CLOEXEC);
	while (!stop) {
		struct signalfd_siginfo info;
		burn();
		while (read(signals, &info, sizeof info) == sizeof info)
			++*strange;
	}
	close(signals);
	return NULL;
}

/* Waits for signals and works a little for each. */
static void *await_signals(void *context)
{
	int *strange = context, number = 0;
	sigset_t all;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, NULL);
	while (number != SIGTERM && sigwait(&all, &number) == 0) {
		*strange += number != SIGUSR1 && number != SIGTERM;
		burn();
	}
	return NULL;
}

static void test_awaited(void)
{
	struct cairn_error error;
	pthread_t thread;
	int strange = 0;
	bool busy;
	sigset_t all, before;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before); /* which the thread has from its first instruction on, however late that comes */
	pthread_create(&thread, NULL, await_signals, &strange);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	wait_ms(100); /* it waits by now */
	struct cairn_cpu *cpu = cairn_cpu_start(1000, &busy, &error);
	for (int i = 0; i < 10; i++) {
		pthread_kill(thread, SIGUSR1);
		wait_ms(20);
	}
	pthread_kill(thread, SIGTERM);
	pthread_join(thread, NULL);
	if (ok(cpu != NULL, "a run beside a thread that waits for signals"))
		cairn_cpu_free(cpu);
	is_int(strange, 0, "which gets none of ours");
}

static void test_blocked(void)
{
	struct cairn_error error = {""};
	int strange = 0;
	struct cairn_buffer out = profile_of(fetch_signals, &strange, &error);
	is_int(strange, 0, "a thread that takes all signals by a descriptor gets none of ours");
	ok(says(&out, TAP_THREAD_SANITIZER ? "# cairn cpu.blocked " : "# cairn cpu.blocked 1\n"),
	   "and the profile says that it was not sampled");
	cairn_buffer_free(&out);

	sigset_t profiling;
	bool busy;
	sigemptyset(&profiling);
	sigaddset(&profiling, SIGPROF);
	pthread_sigmask(SIG_BLOCK, &profiling, NULL);
	ok(!cairn_cpu_start(100, &busy, &error) && strstr(error.text, "every thread") && timers_left() == 0,
	   "where every thread blocks the signal there is no run: %s", error.text);
	pthread_sigmask(SIG_UNBLOCK, &profiling, NULL);
}

enum { alternate_room = 64 << 10 };
static unsigned char alternate[alternate_room * 2] __attribute__((aligned(64)));

static uintptr_t handler_frame;

static void note_frame(int number)
{
	(void)number;
	handler_frame = (uintptr_t)__builtin_frame_address(0);
}

/* What a signal's frame takes on a stack. AT_MINSIGSTKSZ says how much it may take: with AMX that is 8 KiB more, but only for a thread that
 * has used it. */
static size_t frame_bytes(void)
{
	stack_t large = {.ss_sp = alternate, .ss_size = sizeof alternate}, before;
	struct sigaction action = {.sa_handler = note_frame, .sa_flags = SA_ONSTACK}, old;
	sigaltstack(&large, &before);
	sigaction(SIGUSR1, &action, &old);
	pthread_kill(pthread_self(), SIGUSR1);
	sigaction(SIGUSR1, &old, NULL);
	sigaltstack(&before, NULL);
	size_t taken = (uintptr_t)alternate + sizeof alternate - handler_frame;
	return taken > 2048 ? taken : 2048;
}

static void *spin_on_small_alternate(void *context)
{
	stack_t small = {.ss_sp = alternate + alternate_room, .ss_size = frame_bytes() + 512};
	stack_t before; /* a sanitizer's, which wants it back */
	memset(alternate, 0xa5, sizeof alternate);
	sigaltstack(&small, &before);
	spin(context);
	sigaltstack(&before, NULL);
	return NULL;
}

/* An alternate stack with room for little more than the kernel's frame, as handlers that only set a flag need. */
static void test_small_alternate_stack(void)
{
	struct cairn_error error = {""};
	struct cairn_buffer out = profile_of(spin_on_small_alternate, NULL, &error);
	size_t low = 0;
	while (low < alternate_room && alternate[low] == 0xa5)
		low++;
	is_int(alternate_room - low, 0, "nothing is written below a small alternate stack");
	ok(TAP_THREAD_SANITIZER || says(&out, "# cairn cpu.cramped "), "and the profile says that samples were lost");
	cairn_buffer_free(&out);
}

/* Spins with LEFT bytes of the stack below, or so: the frame takes the rest. */
__attribute__((noinline)) static void spin_near_guard(uintptr_t low, size_t left, void *context)
{
	uintptr_t here = (uintptr_t)__builtin_frame_address(0);
	size_t room = here - low > left ? here - low - left : 0;
	volatile char *filler = __builtin_alloca(room + 1);
	filler[0] = 1;
	spin(context);
	filler[room] = 2;
}

static size_t left_on_small_stack;

static void *spin_on_small_stack(void *context)
{
	pthread_attr_t attributes;
	void *low = NULL;
	size_t size = 0;
	pthread_getattr_np(pthread_self(), &attributes);
	pthread_attr_getstack(&attributes, &low, &size);
	pthread_attr_destroy(&attributes);
	spin_near_guard((uintptr_t)low, left_on_small_stack, context);
	return NULL;
}

/* Room for what the kernel puts there and for a handler that does nothing, down to the guard page, and no more. Under AddressSanitizer
 * every thread has an alternate stack, and without that the handler, which it makes larger, finds no room. */
static void test_small_stack(void)
{
	if (TAP_ADDRESS_SANITIZER) {
		tap_skip("a thread with little of its stack left is given up", "under AddressSanitizer it has another stack for signals");
		return;
	}
	struct cairn_error error = {""};
	size_t least = frame_bytes();
	for (size_t left = 1024; left <= 4096; left += 512) {
		left_on_small_stack = least + left;
		struct cairn_buffer out = profile_of(spin_on_small_stack, NULL, &error);
		ok(TAP_THREAD_SANITIZER || says(&out, "# cairn cpu.small 1\n"), "a thread with %zu bytes left is given up, and goes on",
		   left);
		cairn_buffer_free(&out);
	}
}

static atomic_int foreign_spinning;

/* A thread without libc's thread-local memory, which calls nothing of libc. */
static int spin_alone(void *context)
{
	(void)context;
	foreign_spinning++;
	for (;;)
		__asm__ volatile("");
	return 0;
}

/* Threads made by clone, whose thread pointer is 0 or the host's own. In a child, since they never end and may be the end of it. */
static void test_foreign(void)
{
	if (TAP_THREAD_SANITIZER || TAP_ADDRESS_SANITIZER) {
		tap_skip("threads that are not libc's go on", "a sanitizer's own code is thread-local");
		return;
	}
	static char stacks[2][64 << 10] __attribute__((aligned(16))), own[4096];
	pid_t child = tap_fork();
	if (child == 0) {
		int flags = CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD | CLONE_SYSVSEM | CLONE_SETTLS;
		struct cairn_error error;
		bool busy, said = false;
		memset(own, 0x5a, sizeof own);
		for (int i = 0; i < 2; i++)
			clone(spin_alone, stacks[i] + sizeof stacks[i], flags, NULL, NULL, i ? own + 2048 : NULL, NULL);
		while (foreign_spinning < 2)
			wait_ms(1);
		struct cairn_cpu *cpu = cairn_cpu_start(1000, &busy, &error);
		for (int i = 0; cpu && i < 600 && !said; i++) {
			struct cairn_buffer out = cairn_pages(64 << 20);
			wait_ms(50);
			burn();
			cairn_cpu_collect(cpu);
			cairn_cpu_write(cpu, &out);
			said = says(&out, "# cairn cpu.foreign 2\n") && says(&out, "# cairn cpu.thread");
			cairn_buffer_free(&out);
		}
		bool whole = true;
		for (size_t i = 0; i < sizeof own; i++)
			whole = whole && own[i] == 0x5a;
		syscall(SYS_exit_group, said && whole ? 0 : 1);
	}
	int status = -1;
	waitpid(child, &status, 0);
	ok(status == 0, "threads that are not libc's go on, their memory stays theirs, the others are sampled, and the profile says so");
}

/* Runs that are broken off at once, with the signal in use by somebody else. */
static void test_again(void)
{
	struct cairn_error error;
	bool busy, all = true;
	signal(SIGPROF, ignore_it);
	for (int i = 0; i < 20 && all; i++) {
		struct cairn_cpu *cpu = cairn_cpu_start(1000, &busy, &error);
		all = cpu != NULL;
		if (cpu)
			cairn_cpu_free(cpu);
	}
	ok(all && timers_left() == 0 && is_default(SIGRTMAX), "twenty runs one after another, by another signal");
	struct sigaction action;
	sigaction(SIGPROF, NULL, &action);
	ok(action.sa_handler == ignore_it, "the one who handles SIGPROF still does");
}

/* As a timer of an earlier run would that this thread is late to hear of. */
static void send_late_signal(void *value)
{
	siginfo_t info = {.si_signo = SIGRTMAX, .si_code = SI_TIMER};
	info.si_value.sival_ptr = value;
	syscall(SYS_rt_tgsigqueueinfo, getpid(), gettid(), SIGRTMAX, &info);
}

static void test_late_signals(void)
{
	enum { run_size = 4 << 20, further = 1 << 20 };
	struct cairn_error error;
	bool busy;
	struct cairn_cpu *cpu = cairn_cpu_start(1, &busy, &error);
	for (int at = 0; cpu && at < run_size + further; at += 997)
		send_late_signal((char *)cpu + at);
	struct cairn_buffer out = cairn_pages(64 << 20);
	cairn_cpu_stop(cpu);
	cairn_cpu_write(cpu, &out);
	struct cairn_profile profile;
	cairn_profile_init(&profile);
	double samples = 0;
	ok(cairn_profile_read(&profile, cairn_buffer_bytes(&out), "cpu", NULL, &error), "a run that hears of timers of another");
	for (size_t i = 0; i < profile.sample_count; i++)
		samples += profile.values[2 * i];
	ok(samples <= 3, "takes no samples for them: %.0f", samples);
	cairn_profile_free(&profile);
	cairn_buffer_free(&out);
	cairn_cpu_free(cpu);
}

static void test_stacks(void)
{
	struct cairn_cpu_stacks stacks;
	ok(cairn_cpu_stacks_open(&stacks), "a table");
	for (unsigned round = 0; round < 2; round++)
		for (uint64_t i = 0; i < 20000; i++)
			cairn_cpu_stacks_add(&stacks, (uint32_t)(i % 3), 2, (const uint64_t[]){i, i * 7, 5}, 1 + i % 3);
	is_int(stacks.count, 20000, "equal stacks are one");
	size_t seen = 0, right = 0;
	for (const struct cairn_cpu_stack *stack = NULL; (stack = cairn_cpu_stacks_next(&stacks, stack)); seen++)
		right += stack->times == 4 && stack->thread == stack->pcs[0] % 3 && stack->depth == 1 + stack->pcs[0] % 3;
	ok(seen == 20000 && right == seen, "each counted, by thread");
	cairn_cpu_stacks_close(&stacks);
}

int main(void)
{
	test_stacks();
	test_run();
	test_overtaken();
	test_blocked();
	test_awaited();
	test_small_alternate_stack();
	test_small_stack();
	test_foreign();
	test_again();
	test_late_signals();
	return tap_done();
}
