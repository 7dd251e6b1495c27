/* borrow.c - choosing, stopping and looking at threads.
 * SPDX-License-Identifier: Apache-2.0 */
#include "live/attach/borrow.h"

#include "process/clock.h"
#include "process/proc.h"
#include "process/proc_list.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <time.h>

/* A process whose threads all wait where none can be borrowed is soon given up; one whose threads run is not: each look is a new chance. */
enum { attempts_ms = 5000, attempts_running_ms = 30000, stop_ms = 5000, threads_most = 4096 };

/* Stops thread TID, which is seized. Signals that come meanwhile are passed on. */
static bool await_stop(int tid)
{
	int64_t until = cairn_clock_ns() + stop_ms * CAIRN_MILLISECOND_NS;
	if (ptrace(PTRACE_INTERRUPT, tid, 0, 0) != 0)
		return false;
	sigset_t stops;
	sigemptyset(&stops);
	sigaddset(&stops, SIGCHLD);
	while (cairn_clock_ns() < until) {
		int status;
		pid_t got = waitpid(tid, &status, __WALL | WNOHANG);
		if (got < 0 || (got == tid && !WIFSTOPPED(status)))
			return false;
		if (got == 0) {
			sigtimedwait(&stops, NULL, &(struct timespec){0, 5 * CAIRN_MILLISECOND_NS});
			continue;
		}
		if (status >> 16 == PTRACE_EVENT_STOP)
			return WSTOPSIG(status) == SIGTRAP || (ptrace(PTRACE_DETACH, tid, 0, 0), false);
		ptrace(PTRACE_CONT, tid, 0, WSTOPSIG(status));
	}
	return false;
}

enum cairn_borrow_outcome cairn_borrow_stop(int tid)
{
	if (ptrace(PTRACE_SEIZE, tid, 0, 0) != 0)
		return errno == ESRCH ? CAIRN_BORROW_LEFT_ALONE : CAIRN_BORROW_REFUSED;
	return await_stop(tid) ? CAIRN_BORROW_SENT : CAIRN_BORROW_LEFT_ALONE;
}

bool cairn_borrow_has_signal(int tid)
{
	enum { signals_most = 16 };
	siginfo_t signals[signals_most];
	uint64_t blocked;
	if (ptrace(PTRACE_GETSIGMASK, tid, sizeof blocked, &blocked) != 0)
		return true;
	for (unsigned is_shared = 0; is_shared < 2; is_shared++) {
		struct __ptrace_peeksiginfo_args queue = {.flags = is_shared ? PTRACE_PEEKSIGINFO_SHARED : 0, .nr = signals_most};
		long count = ptrace(PTRACE_PEEKSIGINFO, tid, &queue, signals);
		if (count < 0 || count == signals_most) /* there may be more */
			return true;
		while (count-- > 0)
			if (!(blocked >> (signals[count].si_signo - 1) & 1))
				return true;
	}
	return false;
}

/* A restartable sequence that has begun would not be seen to be interrupted. */
static bool is_in_sequence(const struct cairn_subject *subject, int tid)
{
	struct __ptrace_rseq_configuration sequence = {0};
	uint64_t critical = 0;
	if (ptrace(PTRACE_GET_RSEQ_CONFIGURATION, tid, sizeof sequence, &sequence) <= 0 || !sequence.rseq_abi_pointer)
		return false;
	cairn_subject_read(subject, sequence.rseq_abi_pointer + 8, &critical, sizeof critical);
	return critical != 0;
}

long cairn_borrow_read(const struct cairn_subject *subject, const struct cairn_borrow_candidate *candidate, struct cairn_machine *resume,
		       uint64_t registers[CAIRN_REGISTERS], uint64_t *pc)
{
	enum { not_to_be_borrowed = -2 };
	bool at_once = false;
	int tid = candidate->tid;
	if (!cairn_machine_read(tid, resume))
		return not_to_be_borrowed;
	*pc = cairn_machine_pc(resume);
	cairn_machine_to_dwarf(resume, registers);
	long number = cairn_machine_restart(resume, &candidate->call, &at_once);
	bool has_one = cairn_borrow_has_signal(tid);
	if (number >= 0 && at_once && !has_one)
		cairn_machine_write_registers(tid, resume); /* at once, lest we are killed */
	bool good = !has_one && (number >= 0 ? cairn_plain_waits(number) : !is_in_sequence(subject, tid));
	return good ? number : not_to_be_borrowed;
}

/* Lets a stopped thread go. A call that would end with EINTR on our account begins again. */
static void let_go(int tid, const struct cairn_machine_call *before)
{
	struct cairn_machine machine;
	bool at_once;
	if (cairn_machine_read(tid, &machine) && cairn_machine_restart(&machine, before, &at_once) >= 0 && at_once && !cairn_borrow_has_signal(tid))
		cairn_machine_write_registers(tid, &machine);
	ptrace(PTRACE_DETACH, tid, 0, 0);
}

bool cairn_borrow_read_call(int pid, int tid, struct cairn_machine_call *call)
{
	char path[CAIRN_PROC_PATH], text[300] = "";
	unsigned long long values[8] = {0};
	*call = (struct cairn_machine_call){.number = -1};
	FILE *file = fopen(cairn_proc_task_path(path, pid, tid, "syscall"), "re");
	if (!file)
		return false;
	bool read = fgets(text, sizeof text, file) != NULL;
	fclose(file);
	if (read && sscanf(text, "%ld %llx %llx %llx %llx %llx %llx %llx %llx", &call->number, &values[0], &values[1], &values[2],
			   &values[3], &values[4], &values[5], &values[6], &values[7]) == 9) {
		for (int i = 0; i < 6; i++)
			call->arguments[i] = values[i];
		call->sp = values[6];
		call->pc = values[7];
	} else {
		call->number = -1;
	}
	return read;
}

bool cairn_borrow_has_left(int pid, int tid, uint64_t start, size_t size)
{
	struct cairn_machine machine;
	struct cairn_machine_call call;
	if (!cairn_borrow_read_call(pid, tid, &call))
		return errno == ENOENT || errno == ESRCH;
	if (call.number >= 0)
		return call.pc - start >= size;
	enum cairn_borrow_outcome stopped = cairn_borrow_stop(tid);
	if (stopped != CAIRN_BORROW_SENT)
		return stopped == CAIRN_BORROW_LEFT_ALONE && errno == ESRCH;
	bool left = cairn_machine_read(tid, &machine) && cairn_machine_pc(&machine) - start >= size;
	let_go(tid, &call);
	return left;
}

static int by_rank(const void *left, const void *right)
{
	const struct cairn_borrow_candidate *a = left, *b = right;
	return a->rank != b->rank ? (a->rank > b->rank) - (a->rank < b->rank) : (a->tid > b->tid) - (a->tid < b->tid);
}

/* The threads that may be tried, best first, and how many there are in all. A thread can give itself a filter at any time, so that each
 * look asks for it anew. */
static size_t list_threads(int pid, bool filtered, struct cairn_borrow_candidate *threads, size_t most, size_t *all)
{
	char path[CAIRN_PROC_PATH];
	size_t count = 0;
	*all = 0;
	struct cairn_proc_list list;
	cairn_proc_list_threads(&list, pid);
	for (int tid; count < most && (tid = cairn_proc_list_next(&list));) {
		char state[32];
		struct cairn_borrow_candidate *thread = &threads[count];
		thread->tid = tid;
		if (!cairn_proc_line(cairn_proc_task_path(path, pid, tid, "status"), "State:", state, sizeof state) ||
		    strchr("ZX", state[0]))
			continue;
		++*all;
		if (strchr("DtT", state[0]) || !cairn_borrow_read_call(pid, tid, &thread->call))
			continue;
		if (cairn_subject_thread_seccomp(pid, tid) > (filtered ? CAIRN_SECCOMP_FILTER : CAIRN_SECCOMP_NONE))
			continue;
		thread->rank = cairn_plain_rank(&thread->call);
		count += thread->rank != CAIRN_PLAIN_NEVER;
	}
	cairn_proc_list_close(&list);
	qsort(threads, count, sizeof *threads, by_rank);
	return count;
}

static struct cairn_borrow_candidate candidates[threads_most];

size_t cairn_borrow_count(int pid, bool filtered)
{
	size_t all;
	list_threads(pid, filtered, candidates, threads_most, &all);
	return all;
}

int cairn_borrow_any(const struct cairn_borrow *borrow, struct cairn_error *error)
{
	int64_t began = cairn_clock_ns(), until = began + attempts_ms * CAIRN_MILLISECOND_NS;
	for (; cairn_clock_ns() < until; nanosleep(&(struct timespec){0, CAIRN_MILLISECOND_NS}, NULL)) {
		size_t all, count = list_threads(borrow->pid, borrow->filtered, candidates, threads_most, &all);
		if (count == 0 && kill(borrow->pid, 0) != 0 && errno == ESRCH)
			return cairn_fail(error, "process %d ended meanwhile", borrow->pid);
		for (size_t i = 0; i < count && cairn_clock_ns() < until; i++) {
			if (candidates[i].rank == CAIRN_PLAIN_RUNS && !borrow->hasty)
				until = began + attempts_running_ms * CAIRN_MILLISECOND_NS;
			enum cairn_borrow_outcome outcome = borrow->try_one(borrow->context, &candidates[i]);
			if (outcome == CAIRN_BORROW_REFUSED)
				return cairn_fail_errno(error, "process %d cannot be traced", borrow->pid);
			if (outcome == CAIRN_BORROW_SENT)
				return candidates[i].tid;
		}
	}
	return cairn_fail(error, "no thread of process %d was seen %s within %d s (the last was in %s); nothing was changed", borrow->pid,
			  borrow->where, (int)((until - began) / CAIRN_SECOND_NS), (*borrow->why)[0] ? *borrow->why : "a system call");
}
