/* cpu.c - timers, the signal handler, the ring, and the life of a run.
 * SPDX-License-Identifier: Apache-2.0 */
#include "agent/cpu/cpu.h"

#include "agent/cpu/cpu_stacks.h"
#include "agent/cpu/thread.h"
#include "agent/engine/snapshot_trailer.h"
#include "agent/unwind/stack.h"
#include "agent/unwind/unwind.h"
#include "base/time.h"
#include "dump/trailer_write.h"
#include "process/clock.h"
#include "process/facts.h"
#include "process/proc_list.h"
#include "process/tasks.h"

#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/auxv.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { slots_count = 4096, depth_most = 125, threads_most = 8192, scan_ms = 200, scans_most = 2 };
enum { buckets = 8192 };          /* of threads by number; a power of two */
enum { stack_needed = 4 << 10 };  /* used by the handler: the deepest walk takes 2.7 KiB */
enum { small_stack = 12 << 10 };  /* a signal's frame takes 3 KiB with AVX-512 and 11 KiB with AMX, and a walk below it; see is_small */
enum { first_stack_most = 8 << 20 }; /* the usual limit on the first thread's stack */

enum slot_state { SLOT_FREE, SLOT_WRITING, SLOT_READY };

/* One sample on its way from a signal handler to the thread that collects them. */
struct slot {
	atomic_int state;
	uint32_t thread; /* index in `threads` */
	uint32_t times;  /* this one, and those for which the thread was too late */
	uint32_t depth;
	void *pcs[depth_most];
};

/* Why a thread is given up. */
enum refusal { NOT_REFUSED, SMALL_STACK, NOT_OF_LIBC };

struct thread {
	atomic_int tid;
	int timer;
	bool has_timer;
	atomic_int refused; /* enum refusal: it gets no more signals */
	unsigned scan; /* the last scan that saw it */
	unsigned next; /* in its bucket: an index + 1, or 0 */
	char name[16];
};

struct cairn_cpu {
	struct slot ring[slots_count];
	atomic_uint head; /* the next slot to write */
	unsigned tail;    /* the next to read */
	struct thread threads[threads_most];
	unsigned thread_count;
	unsigned first[buckets];  /* the newest thread of each: an index + 1, or 0 */
	unsigned scan;            /* number of scans for threads */
	unsigned missed, unwatched; /* threads without a timer because there was no room: in this scan, and the most in any scan */
	unsigned closed, blocked;   /* threads without a timer because they block its signal: in this scan, and in all: new ones do too */
	_Atomic uint64_t dropped, cramped;
	unsigned small, foreign;  /* threads that were given up because their stacks are too small, or because they are not libc's */
	struct cairn_cpu_stacks stacks;
	unsigned frequency;
	int signal;
	struct sigaction before;
	int64_t scanned_ns;
	bool sampling;
	bool overtaken; /* the host has begun to handle the signal itself */
};

/* What the handler sees. `inside` counts handlers that may hold `current`. */
static struct {
	struct cairn_cpu *_Atomic current;
	atomic_int inside;
	atomic_flag taken;
	_Atomic uint64_t runs, samples, dropped;
} state = {.taken = ATOMIC_FLAG_INIT};

static void count_dropped(struct cairn_cpu *cpu, uint32_t times)
{
	atomic_fetch_add_explicit(&cpu->dropped, times, memory_order_relaxed);
	atomic_fetch_add_explicit(&state.dropped, times, memory_order_relaxed);
}

static void put_sample(struct cairn_cpu *cpu, uint32_t thread, uint32_t times, const ucontext_t *context)
{
	struct slot *slot = &cpu->ring[atomic_fetch_add_explicit(&cpu->head, 1, memory_order_relaxed) % slots_count];
	int expected = SLOT_FREE;
	if (!atomic_compare_exchange_strong_explicit(&slot->state, &expected, SLOT_WRITING, memory_order_acquire, memory_order_relaxed)) {
		count_dropped(cpu, times);
		return;
	}
	struct cairn_registers registers;
	unsigned depth;
	cairn_registers_interrupted(&registers, context);
	cairn_unwind(&registers, NULL, slot->pcs, depth_most, &depth);
	slot->thread = thread;
	slot->times = times;
	slot->depth = depth;
	atomic_store_explicit(&slot->state, SLOT_READY, memory_order_release);
}

/* The thread whose timer sent the signal, which is the calling one, or NULL. Our timers carry the address of their thread's entry, but so
 * did those of an earlier run: one of its signals may arrive late, when that memory is in use again. */
static struct thread *find_thread(struct cairn_cpu *cpu, const siginfo_t *info)
{
	if (!cpu || info->si_code != SI_TIMER)
		return NULL;
	uintptr_t place = (uintptr_t)info->si_value.sival_ptr - (uintptr_t)cpu->threads;
	if (place >= sizeof cpu->threads)
		return NULL;
	struct thread *thread = &cpu->threads[place / sizeof *cpu->threads];
	return atomic_load_explicit(&thread->tid, memory_order_relaxed) == syscall(SYS_gettid) ? thread : NULL;
}

/* The first thread's stack grows by itself down to its limit, so memory below it that is not mapped yet is no guard page. The bytes of
 * AT_RANDOM lie at its top. */
static bool is_first_stack(uintptr_t here)
{
	return (uintptr_t)getauxval(AT_RANDOM) - here < first_stack_most;
}

/* The signal arrives on the thread's alternate stack if it has one. That stack may be just large enough for a handler that does next to
 * nothing, and what lies below it is the host's. On other stacks there may be a guard page below, or nothing. */
static bool has_room(const stack_t *alternate)
{
	uintptr_t here = (uintptr_t)__builtin_frame_address(0), left = here - (uintptr_t)alternate->ss_sp;
	if (left < alternate->ss_size)
		return left >= stack_needed;
	return is_first_stack(here) || cairn_stack_is_readable((here - stack_needed) & ~(uintptr_t)7);
}

/* A thread whose stack is so small that the kernel might find no room for a signal on it, which would end the process. It must not get
 * another. */
static bool is_small(const stack_t *alternate)
{
	uintptr_t here = (uintptr_t)__builtin_frame_address(0);
	if (here - (uintptr_t)alternate->ss_sp < alternate->ss_size || is_first_stack(here))
		return false;
	for (unsigned below = stack_needed; below <= small_stack; below += stack_needed) /* a guard page may have only 4 KiB */
		if (!cairn_stack_is_readable((here - below) & ~(uintptr_t)7))
			return true;
	return false;
}

/* The thread has no thread-local memory, so no errno. */
__attribute__((noinline)) static void refuse(const siginfo_t *info)
{
	struct thread *thread = find_thread(atomic_load(&state.current), info);
	if (thread)
		atomic_store_explicit(&thread->refused, NOT_OF_LIBC, memory_order_relaxed);
}

__attribute__((noinline)) static void take(const siginfo_t *info, const ucontext_t *interrupted)
{
	int saved = errno;
	struct cairn_cpu *cpu = atomic_load(&state.current);
	struct thread *thread = find_thread(cpu, info);
	uint32_t times = 1 + (info->si_overrun > 0 ? (uint32_t)info->si_overrun : 0);
	if (thread && has_room(&interrupted->uc_stack))
		put_sample(cpu, (uint32_t)(thread - cpu->threads), times, interrupted);
	else if (thread)
		atomic_fetch_add_explicit(&cpu->cramped, times, memory_order_relaxed);
	if (thread && is_small(&interrupted->uc_stack))
		atomic_store_explicit(&thread->refused, SMALL_STACK, memory_order_relaxed);
	errno = saved;
}

static void handle(int signal, siginfo_t *info, void *context)
{
	(void)signal;
	atomic_fetch_add(&state.inside, 1);
	if (cairn_thread_is_of_libc())
		take(info, context);
	else
		refuse(info);
	atomic_fetch_sub(&state.inside, 1);
}

/* Nobody handles a signal whose action is the default. A thread that receives it by sigwait or signalfd blocks it, and gets no timer. */
static bool choose_signal(struct cairn_cpu *cpu)
{
	for (int i = 0, number = SIGPROF; number == SIGPROF || number > SIGRTMIN; number = SIGRTMAX - i++) {
		if (sigaction(number, NULL, &cpu->before) == 0 && !(cpu->before.sa_flags & SA_SIGINFO) &&
		    cpu->before.sa_handler == SIG_DFL) {
			cpu->signal = number;
			return true;
		}
	}
	return false;
}

/* Uses the system calls directly: libc's wrappers keep their own records. */
static bool arm_timer(struct cairn_cpu *cpu, struct thread *thread)
{
	struct sigevent event = {.sigev_notify = SIGEV_THREAD_ID, .sigev_signo = cpu->signal, .sigev_value.sival_ptr = thread};
	event._sigev_un._tid = thread->tid;
	clockid_t clock = (clockid_t)(~(unsigned)thread->tid << 3 | 6); /* the CPU clock of that thread, as the kernel numbers them */
	if (syscall(SYS_timer_create, clock, &event, &thread->timer) != 0) {
		cpu->missed += errno == EAGAIN; /* RLIMIT_SIGPENDING; any other error means that the thread is gone */
		return false;
	}
	thread->has_timer = true;
	long period = CAIRN_SECOND_NS / (long)cpu->frequency;
	/* Threads that start together should not always be sampled together. */
	long first = period / 8 + (long)((unsigned long)thread->tid * 2654435761u % 1000 * (unsigned long)period / 1000 * 7 / 8);
	struct itimerspec times = {{period / CAIRN_SECOND_NS, period % CAIRN_SECOND_NS},
				   {first / CAIRN_SECOND_NS, first % CAIRN_SECOND_NS + (first == 0)}};
	return syscall(SYS_timer_settime, thread->timer, 0, &times, NULL) == 0;
}

/* Recognizes the agent's own threads by name: that they block signals is no news. */
static bool is_ours(int tid)
{
	char name[16] = "";
	cairn_task_name(tid, name, sizeof name);
	return strcmp(name, "cairn") == 0 || strncmp(name, "cairn-", 6) == 0;
}

/* A thread that blocks the signal cannot be sampled; the signal would stay pending, and its sigwait or signalfd would take it for one of
 * the host's. */
static bool count_if_closed(struct cairn_cpu *cpu, int tid)
{
	if (!cairn_task_reserves(tid, cpu->signal))
		return false;
	cpu->closed += !is_ours(tid);
	return true;
}

/* The kernel gives out numbers one after the other. */
static unsigned *bucket_of(struct cairn_cpu *cpu, int tid)
{
	return &cpu->first[(unsigned)tid % buckets];
}

/* Finds a thread that has a timer. One that was given up lately gets no other, unless its number belongs to another thread by now. */
static struct thread *find_known(struct cairn_cpu *cpu, int tid)
{
	for (unsigned at = *bucket_of(cpu, tid); at; at = cpu->threads[at - 1].next) {
		struct thread *thread = &cpu->threads[at - 1];
		bool is_given_up = atomic_load_explicit(&thread->refused, memory_order_relaxed) && cpu->scan - thread->scan <= scans_most;
		if (atomic_load_explicit(&thread->tid, memory_order_relaxed) == tid && (thread->has_timer || is_given_up))
			return thread;
	}
	return NULL;
}

static void see_task(struct cairn_cpu *cpu, int tid)
{
	struct thread *known = find_known(cpu, tid);
	if (known)
		known->scan = cpu->scan;
	if (known || count_if_closed(cpu, tid))
		return;
	if (cpu->thread_count == threads_most) {
		cpu->missed++;
		return;
	}
	struct thread *thread = &cpu->threads[cpu->thread_count];
	thread->scan = cpu->scan;
	thread->has_timer = false;
	atomic_store_explicit(&thread->refused, NOT_REFUSED, memory_order_relaxed);
	thread->name[0] = 0;
	atomic_store_explicit(&thread->tid, tid, memory_order_relaxed);
	cairn_task_name(tid, thread->name, sizeof thread->name);
	if (arm_timer(cpu, thread)) {
		thread->next = *bucket_of(cpu, tid);
		*bucket_of(cpu, tid) = ++cpu->thread_count;
	} else if (thread->has_timer) {
		syscall(SYS_timer_delete, thread->timer);
	}
}

/* Deletes the timers of threads that have ended: they count against the user's limit, and the number may soon belong to another thread. A
 * thread that only one scan has missed may still exist. */
static void forget_ended(struct cairn_cpu *cpu)
{
	for (unsigned i = 0; i < cpu->thread_count; i++) {
		struct thread *thread = &cpu->threads[i];
		if (!thread->has_timer || cpu->scan - thread->scan < scans_most)
			continue;
		syscall(SYS_timer_delete, thread->timer);
		thread->has_timer = false;
	}
}

static void scan_threads(struct cairn_cpu *cpu)
{
	cpu->scan++;
	cpu->missed = cpu->closed = 0;
	struct cairn_proc_list list;
	bool listed = cairn_proc_list_threads(&list, 0);
	for (int tid; (tid = cairn_proc_list_next(&list));)
		see_task(cpu, tid);
	if (listed)
		forget_ended(cpu);
	if (cpu->missed > cpu->unwatched)
		cpu->unwatched = cpu->missed;
	if (cpu->scan == 1 || cpu->closed < cpu->blocked)
		cpu->blocked = cpu->closed;
}

/* Skips a handler that has its number but not yet its slot: that sample waits until the ring comes round, or for the last drain. */
static void drain(struct cairn_cpu *cpu)
{
	unsigned head = atomic_load_explicit(&cpu->head, memory_order_relaxed);
	if (head - cpu->tail > slots_count)
		cpu->tail = head - slots_count; /* the ring has gone round: what found no free slot was dropped */
	for (; cpu->tail != head; cpu->tail++) {
		struct slot *slot = &cpu->ring[cpu->tail % slots_count];
		int now = atomic_load_explicit(&slot->state, memory_order_acquire);
		if (now == SLOT_WRITING)
			break;
		if (now == SLOT_FREE)
			continue;
		if (!cairn_cpu_stacks_add(&cpu->stacks, slot->thread, slot->times, (const uint64_t *)(void *)slot->pcs, slot->depth))
			count_dropped(cpu, slot->times);
		else
			atomic_fetch_add_explicit(&state.samples, slot->times, memory_order_relaxed);
		atomic_store_explicit(&slot->state, SLOT_FREE, memory_order_release);
	}
}

static void forget_refused(struct cairn_cpu *cpu)
{
	for (unsigned i = 0; i < cpu->thread_count; i++) {
		struct thread *thread = &cpu->threads[i];
		int refused = atomic_load_explicit(&thread->refused, memory_order_relaxed);
		if (!thread->has_timer || !refused)
			continue;
		syscall(SYS_timer_delete, thread->timer);
		thread->has_timer = false;
		cpu->small += refused == SMALL_STACK;
		cpu->foreign += refused == NOT_OF_LIBC;
	}
}

static bool is_handled_here(const struct cairn_cpu *cpu)
{
	struct sigaction now;
	return sigaction(cpu->signal, NULL, &now) == 0 && (now.sa_flags & SA_SIGINFO) && now.sa_sigaction == handle;
}

void cairn_cpu_collect(struct cairn_cpu *cpu)
{
	drain(cpu);
	forget_refused(cpu);
	if (cpu->sampling && !is_handled_here(cpu)) { /* a profiler of the host's own must not count our signals */
		cpu->overtaken = true;
		cairn_cpu_stop(cpu);
	}
	int64_t now = cairn_clock_ns();
	if (cpu->sampling && now - cpu->scanned_ns >= scan_ms * CAIRN_MILLISECOND_NS) {
		cpu->scanned_ns = now;
		scan_threads(cpu);
	}
}

static struct cairn_cpu *give_up(struct cairn_cpu *cpu)
{
	cairn_cpu_free(cpu);
	return NULL;
}

struct cairn_cpu *cairn_cpu_start(unsigned frequency, bool *busy, struct cairn_error *error)
{
	*busy = atomic_flag_test_and_set(&state.taken);
	if (*busy) {
		cairn_fail(error, "a CPU profile is already running");
		return NULL;
	}
	struct cairn_cpu *cpu = cairn_pages_map(sizeof *cpu);
	if (!cpu) {
		atomic_flag_clear(&state.taken);
		cairn_fail(error, "no memory for a CPU profile");
		return NULL;
	}
	cpu->frequency = frequency;
	if (!cairn_cpu_stacks_open(&cpu->stacks)) {
		cairn_fail(error, "no memory for a CPU profile");
		return give_up(cpu);
	}
	if (!choose_signal(cpu)) {
		cairn_fail(error, "every signal has a handler in this process; none is left for CPU timers");
		return give_up(cpu);
	}
	struct sigaction action = {.sa_sigaction = handle, .sa_flags = SA_SIGINFO | SA_RESTART | SA_ONSTACK};
	sigfillset(&action.sa_mask);
	if (!cairn_code_is_live())
		cairn_code_refresh();
	atomic_store(&state.current, cpu);
	sigaction(cpu->signal, &action, NULL);
	cpu->sampling = true;
	atomic_fetch_add(&state.runs, 1);
	cairn_cpu_collect(cpu);
	if (cpu->thread_count == 0 && cpu->blocked) {
		cairn_fail(error, "every thread of this process blocks signal %d (%s) or waits for it itself, so none can be sampled",
			   cpu->signal, cpu->signal == SIGPROF ? "SIGPROF" : "a real-time signal");
		return give_up(cpu);
	}
	if (cpu->thread_count == 0) {
		cairn_fail_errno(error, "no CPU timer could be set");
		return give_up(cpu);
	}
	return cpu;
}

void cairn_cpu_stop(struct cairn_cpu *cpu)
{
	if (!cpu->sampling)
		return;
	cpu->sampling = false;
	for (unsigned i = 0; i < cpu->thread_count; i++) {
		struct thread *thread = &cpu->threads[i];
		if (!thread->has_timer)
			continue;
		syscall(SYS_timer_delete, thread->timer);
		cairn_task_name(thread->tid, thread->name, sizeof thread->name);
	}
	/* Ignoring a signal discards pending ones; with the default action the last of them would end the process. */
	struct sigaction ignore = {.sa_handler = SIG_IGN};
	if (is_handled_here(cpu)) {
		sigaction(cpu->signal, &ignore, NULL);
		sigaction(cpu->signal, &cpu->before, NULL);
	}
	atomic_store(&state.current, NULL);
	while (atomic_load(&state.inside) > 0)
		nanosleep(&(struct timespec){.tv_nsec = CAIRN_MILLISECOND_NS}, NULL);
	cpu->tail = atomic_load(&cpu->head) - slots_count; /* every slot once more: nobody writes now */
	drain(cpu);
}

void cairn_cpu_free(struct cairn_cpu *cpu)
{
	cairn_cpu_stop(cpu);
	cairn_cpu_stacks_close(&cpu->stacks);
	cairn_pages_unmap(cpu, sizeof *cpu);
	atomic_flag_clear(&state.taken);
}

void cairn_cpu_forget(void)
{
	struct sigaction now;
	if (!atomic_flag_test_and_set(&state.taken)) { /* no profile was being taken: the child makes no system call */
		atomic_flag_clear(&state.taken);
		return;
	}
	for (int number = SIGPROF; number <= SIGRTMAX; number++)
		if (sigaction(number, NULL, &now) == 0 && (now.sa_flags & SA_SIGINFO) && now.sa_sigaction == handle)
			signal(number, SIG_DFL);
	atomic_store(&state.current, NULL);
	atomic_store(&state.inside, 0);
	atomic_flag_clear(&state.taken);
}

void cairn_cpu_count(struct cairn_cpu_counts *counts)
{
	*counts = (struct cairn_cpu_counts){
		.runs = atomic_load(&state.runs),
		.samples = atomic_load(&state.samples),
		.dropped = atomic_load(&state.dropped),
		.running = atomic_load(&state.current) != NULL,
	};
}

static void write_words(struct cairn_buffer *out, const uint64_t *words, size_t count)
{
	cairn_buffer_append(out, words, count * sizeof *words);
}

/* Where the records of each thread are: ORDER has all of them by thread, and those of thread i end before ENDS[i]. */
static void order_by_thread(const struct cairn_cpu *cpu, uint32_t *ends, const struct cairn_cpu_stack **order)
{
	for (const struct cairn_cpu_stack *stack = NULL; (stack = cairn_cpu_stacks_next(&cpu->stacks, stack));)
		ends[stack->thread + 1]++;
	for (unsigned i = 0; i < cpu->thread_count; i++)
		ends[i + 1] += ends[i];
	for (const struct cairn_cpu_stack *stack = NULL; (stack = cairn_cpu_stacks_next(&cpu->stacks, stack));)
		order[ends[stack->thread]++] = stack;
}

static void write_records(const struct cairn_cpu *cpu, struct cairn_buffer *out, uint32_t *ends, const struct cairn_cpu_stack **order)
{
	order_by_thread(cpu, ends, order);
	write_words(out, (uint64_t[]){0, 3, 0, 1000000 / cpu->frequency, 0}, 5);
	for (size_t i = 0; i < cpu->stacks.count; i++) {
		write_words(out, (uint64_t[]){order[i]->times, order[i]->depth}, 2);
		write_words(out, order[i]->pcs, order[i]->depth);
	}
	write_words(out, (uint64_t[]){0, 1, 0}, 3);
	cairn_facts_read("/proc/thread-self/maps", out);
	cairn_snapshot_trailer_begin(out);
	const struct {
		const char *key;
		uint64_t value;
	} counts[] = {
		{"cpu.period", (uint64_t)CAIRN_SECOND_NS / cpu->frequency},
		{"cpu.dropped", atomic_load(&cpu->dropped)},
		{"cpu.unwatched", cpu->unwatched},
		{"cpu.blocked", cpu->blocked},
		{"cpu.cramped", atomic_load(&cpu->cramped)},
		{"cpu.small", cpu->small},
		{"cpu.foreign", cpu->foreign},
		{"cpu.overtaken", cpu->overtaken},
	};
	for (size_t i = 0; i < sizeof counts / sizeof *counts; i++)
		if (counts[i].value)
			cairn_trailer_write_number(out, counts[i].key, counts[i].value);
	for (unsigned i = 0; i < cpu->thread_count; i++) {
		uint32_t records = ends[i] - (i ? ends[i - 1] : 0);
		if (records > 0)
			cairn_trailer_write_format(out, "cpu.thread", "%u %d %s", records, cpu->threads[i].tid, cpu->threads[i].name);
	}
	cairn_snapshot_trailer_end(out, NULL);
}

/* The records of a thread follow each other, so that a line after the memory map can name the thread they belong to. */
void cairn_cpu_write(struct cairn_cpu *cpu, struct cairn_buffer *out)
{
	size_t ends_size = (cpu->thread_count + 1) * sizeof(uint32_t), order_size = (cpu->stacks.count + 1) * sizeof(void *);
	uint32_t *ends = cairn_pages_map(ends_size);
	const struct cairn_cpu_stack **order = cairn_pages_map(order_size);
	if (ends && order)
		write_records(cpu, out, ends, order);
	else
		out->failed = true;
	if (ends)
		cairn_pages_unmap(ends, ends_size);
	if (order)
		cairn_pages_unmap(order, order_size);
}
