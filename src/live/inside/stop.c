/* stop.c - seizing, interrupting, looking at and letting go of threads.
 * SPDX-License-Identifier: Apache-2.0 */
#include "live/inside/stop.h"

#include "base/array.h"
#include "live/attach/borrow.h"
#include "live/attach/priority.h"
#include "process/clock.h"
#include "process/proc.h"
#include "process/proc_list.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* One that waits for a processor stops late: rather than make the others wait with it, all go on, and it is tried again. */
enum { repeats_most = 100, scans_most = 100, hang_ms = 5, stop_ms = 250, pause_least_us = 100, pause_most_us = 20000 };
enum { red_zone = 128, stack_look = 16 << 10 };

/* What the threads are in, from best to worst. */
enum look { CLEAR, IN_PLACE, BORROWED, LATE, FOREIGN, FAILED };

struct thread {
	int tid;
	bool stopped, gone;
	bool was_stopped; /* with its whole process, by a signal: it stays so */
	bool hangs; /* in the kernel, where it does nothing of its own */
	struct cairn_machine_call before; /* what it was in */
};

struct stopping {
	struct cairn_stop *stop;
	cairn_stop_act *act;
	void *context;
	struct cairn_error *error;
	struct thread *threads;
	size_t count, capacity;
	int memory;
	int64_t began_ns;
	bool done;
};

static void pause_us(long microseconds)
{
	nanosleep(&(struct timespec){0, microseconds * 1000}, NULL);
}

static bool has_ended(int pid, int tid)
{
	char path[CAIRN_PROC_PATH], state[32];
	return !cairn_proc_line(cairn_proc_task_path(path, pid, tid, "status"), "State:", state, sizeof state) || strchr("ZX", state[0]);
}

static bool is_known(const struct stopping *all, int tid)
{
	for (size_t i = all->count; i-- > 0;) /* the newest is the most likely one */
		if (all->threads[i].tid == tid)
			return true;
	return false;
}

static uint64_t tracer_of(int pid, int tid)
{
	char path[CAIRN_PROC_PATH];
	uint64_t tracer = 0;
	cairn_proc_number(cairn_proc_task_path(path, pid, tid, "status"), "TracerPid:", &tracer);
	return tracer;
}

/* Makes the thread ours. One that a thread of ours has just made is from the start. False where it is gone, or, with a reason, where it
 * cannot be ours. */
static bool seize(struct stopping *all, int tid, bool *refused)
{
	int pid = all->stop->pid;
	*refused = false;
	if (ptrace(PTRACE_SEIZE, tid, NULL, (void *)PTRACE_O_TRACECLONE) == 0)
		return true;
	int reason = errno;
	uint64_t tracer = tracer_of(pid, tid);
	if (tracer == (uint64_t)gettid())
		return true;
	*refused = reason != ESRCH && !has_ended(pid, tid);
	errno = reason;
	if (!*refused)
		return false;
	if (tracer)
		cairn_fail(all->error, "process %d is being debugged or traced by process %llu", pid, (unsigned long long)tracer);
	else
		cairn_fail_errno(all->error, "process %d cannot be traced", pid);
	return false;
}

/* Seizes the threads that are new; *FOUND becomes how many. */
static bool seize_new(struct stopping *all, size_t *found)
{
	struct cairn_proc_list list;
	bool refused = false;
	*found = 0;
	cairn_proc_list_threads(&list, all->stop->pid);
	for (int tid; !refused && (tid = cairn_proc_list_next(&list));) {
		if (is_known(all, tid) || !seize(all, tid, &refused))
			continue;
		cairn_array_room(all->threads, all->count, all->capacity);
		struct thread *thread = &all->threads[all->count++];
		*thread = (struct thread){.tid = tid};
		if (!CAIRN_RETURN_IS_PC) /* otherwise the registers tell */
			cairn_borrow_read_call(all->stop->pid, thread->tid, &thread->before);
		++*found;
	}
	cairn_proc_list_close(&list);
	return !refused;
}

/* Whether the thread has stopped, or is gone. Signals that come meanwhile are passed on. */
static bool has_stopped(struct thread *thread)
{
	int status;
	pid_t got = waitpid(thread->tid, &status, __WALL | WNOHANG);
	if (got == 0)
		return false;
	if (got < 0 || !WIFSTOPPED(status)) {
		thread->gone = true;
	} else if (status >> 16) {
		thread->stopped = true;
		thread->was_stopped = status >> 16 == PTRACE_EVENT_STOP && WSTOPSIG(status) != SIGTRAP;
	} else {
		ptrace(PTRACE_CONT, thread->tid, 0, WSTOPSIG(status));
		return false;
	}
	return true;
}

/* Whether the thread is where no signal reaches it. It will stop before it runs on. */
static bool check_hang(struct stopping *all, struct thread *thread)
{
	char path[CAIRN_PROC_PATH], state[32] = "";
	cairn_proc_line(cairn_proc_task_path(path, all->stop->pid, thread->tid, "status"), "State:", state, sizeof state);
	if (state[0] != 'D')
		return false;
	cairn_borrow_read_call(all->stop->pid, thread->tid, &thread->before);
	thread->hangs = thread->before.number >= 0;
	return thread->hangs;
}

/* Whether a child of the thread runs in its memory until it starts another program. */
static bool has_borrower(const struct thread *thread)
{
	long number = thread->before.number;
	bool forks = number == SYS_clone || number == SYS_clone3;
#ifdef SYS_vfork
	forks |= number == SYS_vfork;
#endif
	return thread->hangs && forks;
}

static enum look await_stop(struct stopping *all, struct thread *thread)
{
	int64_t now = cairn_clock_ns(), hang = now + hang_ms * CAIRN_MILLISECOND_NS, until = now + stop_ms * CAIRN_MILLISECOND_NS;
	while (!has_stopped(thread)) {
		now = cairn_clock_ns();
		if (now > hang && check_hang(all, thread))
			break;
		if (now > until)
			return LATE;
		pause_us(20);
	}
	return CLEAR;
}

/* Until a look at the list of threads shows none that is not stopped: who is stopped makes none. */
static enum look stop_threads(struct stopping *all)
{
	size_t from = 0, found = 1;
	all->began_ns = cairn_clock_ns();
	for (int scans = 0; scans < scans_most && found > 0; scans++) {
		for (size_t i = from; i < all->count; i++)
			ptrace(PTRACE_INTERRUPT, all->threads[i].tid, 0, 0);
		for (size_t i = from; i < all->count; i++)
			if (!all->threads[i].gone && await_stop(all, &all->threads[i]) == LATE)
				return LATE;
		from = all->count;
		if (!seize_new(all, &found))
			return FAILED;
	}
	return found == 0 ? CLEAR : LATE;
}

static bool is_in_place(const struct cairn_stop *stop, uint64_t address)
{
	size_t low = 0, high = stop->place_count; /* the last that begins before ADDRESS */
	if (!high || address <= stop->places[0].start || address >= stop->places[high - 1].end)
		return false; /* which is so of nearly all words of a stack */
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (stop->places[middle].start < address)
			low = middle + 1;
		else
			high = middle;
	}
	return low > 0 && address < stop->places[low - 1].end;
}

/* Whether the stack from SP on has an address in a place: what a signal handler returns to lies there. */
static bool returns_to_place(const struct stopping *all, uint64_t sp)
{
	uint64_t words[stack_look / 8];
	ssize_t got = pread(all->memory, words, sizeof words, (off_t)((sp - red_zone) & ~(uint64_t)7));
	if (got <= 0) /* it may begin with a page */
		got = pread(all->memory, words, sizeof words, (off_t)(sp & ~(uint64_t)7));
	for (ssize_t i = 0; i < got / 8; i++)
		if (is_in_place(all->stop, words[i]))
			return true;
	return false;
}

static enum look look_at(const struct stopping *all, const struct thread *thread)
{
	struct cairn_machine machine;
	if (has_borrower(thread))
		return BORROWED;
	if (thread->gone || !all->stop->place_count)
		return CLEAR;
	if (thread->hangs) /* it returns to behind an instruction that calls the system */
		return returns_to_place(all, thread->before.sp) ? IN_PLACE : CLEAR;
	if (!cairn_machine_read_registers(thread->tid, &machine))
		return FOREIGN;
	return is_in_place(all->stop, cairn_machine_pc(&machine)) || returns_to_place(all, cairn_machine_sp(&machine)) ? IN_PLACE : CLEAR;
}

static enum look look_at_all(const struct stopping *all)
{
	enum look look = CLEAR;
	for (size_t i = 0; i < all->count && look == CLEAR; i++)
		look = look_at(all, &all->threads[i]);
	return look;
}

/* A system call that would end with EINTR on our account begins again. */
static void restart_call(const struct thread *thread)
{
	struct cairn_machine machine;
	bool at_once;
	if (cairn_machine_read_registers(thread->tid, &machine) && cairn_machine_restart(&machine, &thread->before, &at_once) >= 0 &&
	    at_once && !cairn_borrow_has_signal(thread->tid))
		cairn_machine_write_registers(thread->tid, &machine);
}

/* Lets all go on, for good or until they are stopped again. */
static void let_go(struct stopping *all, enum __ptrace_request request)
{
	for (size_t i = 0; i < all->count; i++) {
		struct thread *thread = &all->threads[i];
		if (thread->stopped)
			restart_call(thread);
		if (thread->stopped)
			ptrace(request == PTRACE_CONT && thread->was_stopped ? PTRACE_LISTEN : request, thread->tid, 0, 0);
		thread->stopped = thread->hangs = false;
	}
	all->stop->stopped_ns = cairn_clock_ns() - all->began_ns;
}

static enum look try_once(struct stopping *all)
{
	enum look look = stop_threads(all);
	return look == CLEAR ? look_at_all(all) : look;
}

static bool say(const struct stopping *all, enum look look)
{
	int pid = all->stop->pid;
	switch (look) {
	case IN_PLACE: return cairn_fail(all->error, "a thread of process %d was always found in the middle of what was to be changed", pid);
	case BORROWED: return cairn_fail(all->error, "process %d is starting another program all the time (vfork)", pid);
	case LATE: return cairn_fail(all->error, "the threads of process %d cannot be stopped together: it waits for a processor, or starts many", pid);
	case FOREIGN: return cairn_fail(all->error, "the registers of process %d cannot be read", pid);
	default: return false; /* with a reason already */
	}
}

static bool work(struct stopping *all)
{
	struct cairn_stop *stop = all->stop;
	size_t found;
	do { /* as many as possible before the first of them stops */
		if (!seize_new(all, &found))
			return false;
	} while (found > 0);
	enum look look;
	for (long pause = pause_least_us; (look = try_once(all)) != CLEAR; pause = pause < pause_most_us ? pause * 2 : pause) {
		if (look >= FOREIGN || ++stop->repeats == repeats_most)
			return say(all, look);
		let_go(all, PTRACE_CONT);
		pause_us(pause);
	}
	int tid = 0;
	for (size_t i = 0; i < all->count; i++) {
		tid = !tid && all->threads[i].stopped ? all->threads[i].tid : tid;
		stop->threads += !all->threads[i].gone;
	}
	return tid ? all->act(all->context, tid, all->error) : cairn_fail(all->error, "process %d ended meanwhile", stop->pid);
}

/* Our end lets those go that have not stopped. */
static void *run(void *context)
{
	struct stopping *all = context;
	char path[CAIRN_PROC_PATH];
	cairn_priority_raise();
	all->memory = open(cairn_proc_path(path, all->stop->pid, "mem"), O_RDONLY | O_CLOEXEC);
	all->done = all->memory < 0 ? cairn_fail_errno(all->error, "the memory of process %d cannot be read", all->stop->pid) : work(all);
	let_go(all, PTRACE_DETACH);
	if (all->memory >= 0)
		close(all->memory);
	cairn_priority_restore();
	free(all->threads);
	return NULL;
}

bool cairn_stop_all(struct cairn_stop *stop, cairn_stop_act *act, void *context, struct cairn_error *error)
{
	struct stopping all = {.stop = stop, .act = act, .context = context, .error = error};
	pthread_t thread;
	stop->threads = stop->repeats = 0;
	errno = pthread_create(&thread, NULL, run, &all);
	if (errno)
		return cairn_fail_errno(error, "no thread can be started");
	pthread_join(thread, NULL);
	return all.done;
}
