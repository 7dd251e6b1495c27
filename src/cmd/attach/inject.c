/* inject.c - stopping a thread, sending it to the piece of code, and waiting for the result.
 * SPDX-License-Identifier: Apache-2.0 */
#include "cmd/attach/inject.h"

#include "cmd/attach/plain.h"
#include "cmd/attach/priority.h"
#include "process/clock.h"
#include "process/proc.h"
#include "process/proc_list.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* A process whose threads all wait where none can be borrowed is soon given up; one whose threads run is not: each look is a new chance. */
enum { attempts_ms = 5000, attempts_running_ms = 30000, borrow_ms = 2000, call_ms = 5000, stop_ms = 5000 };
enum { memory_size = 512 << 10, stack_size = 1 << 20, threads_most = 4096, slot_most = 1536 };

static void pause_us(long microseconds)
{
	nanosleep(&(struct timespec){0, microseconds * 1000}, NULL);
}

/* A thread that may be borrowed, and what it was seen in. */
struct candidate {
	int tid;
	enum cairn_plain_rank rank;
	struct cairn_machine_call call;
};

struct attempt {
	const struct cairn_subject *subject;
	struct cairn_injection *injection;
	uint64_t slot, mailbox;
	size_t text_most; /* behind the mailbox */
	char original[slot_most]; /* of the slot */
	struct cairn_machine_parameters parameters;
	struct cairn_machine resume; /* the thread that was sent, as it goes on afterwards */
	const char *why;
	int64_t stopped_ns;
};

enum outcome { LEFT_ALONE, SENT, REFUSED };

static size_t slot_size(void)
{
	return cairn_machine_code().length + sizeof(struct cairn_machine_parameters);
}

/* Stops thread TID, which is seized. Signals that come meanwhile are passed on. A thread can be let go only when it has stopped, so that
 * this waits until it has, or is gone; only one that hangs in the kernel is given up, and let go by our end. */
static bool stop(int tid)
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

/* Whether a signal waits to be delivered to the thread: what it interrupts is not ours to begin again. */
static bool has_signal(int pid, int tid)
{
	char status[CAIRN_PROC_PATH];
	uint64_t pending, shared, blocked;
	cairn_proc_task_path(status, pid, tid, "status");
	if (!cairn_proc_mask(status, "SigPnd:", &pending) || !cairn_proc_mask(status, "ShdPnd:", &shared) ||
	    !cairn_proc_mask(status, "SigBlk:", &blocked))
		return true;
	return ((pending | shared) & ~blocked) != 0;
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

/* Those bytes are zero in every process. */
static bool clear_mailbox(const struct attempt *attempt)
{
	char nothing[sizeof(struct cairn_machine_mailbox) + CAIRN_MACHINE_TEXT] = {0};
	return cairn_subject_write(attempt->subject, attempt->mailbox, nothing, sizeof(struct cairn_machine_mailbox) + attempt->text_most);
}

/* The code, and what it is to do; then the mailbox. The code itself says there that it is under way: the command may be killed before a
 * thread is sent. */
static bool write_slot(struct attempt *attempt, uint64_t resume)
{
	char code[slot_most];
	struct cairn_bytes piece = cairn_machine_code();
	struct cairn_machine_mailbox mailbox = {.magic = cairn_machine_magic, .state = CAIRN_MACHINE_PREPARED};
	memcpy(code, piece.data, piece.length);
	for (size_t n = 0;; n++) { /* the first that is near enough */
		attempt->slot = cairn_subject_room_in_code(attempt->subject, n, slot_size(), attempt->original);
		if (!attempt->slot)
			return false;
		if (cairn_machine_aim(code, attempt->slot, resume))
			break;
	}
	struct cairn_machine_parameters *parameters = &attempt->parameters;
	parameters->resume = resume;
	parameters->entrance = attempt->slot + cairn_machine_entrance();
	if (attempt->injection->text[0])
		parameters->arguments[attempt->injection->text_argument] = attempt->slot + slot_size() - sizeof parameters->text;
	memcpy(code + piece.length, parameters, sizeof *parameters);
	return cairn_subject_write(attempt->subject, attempt->slot, code, slot_size()) && clear_mailbox(attempt) &&
	       cairn_subject_write(attempt->subject, attempt->mailbox, &mailbox, sizeof mailbox);
}

static void clean_slot(const struct attempt *attempt)
{
	cairn_subject_write(attempt->subject, attempt->slot, attempt->original, slot_size());
	clear_mailbox(attempt);
}

/* Lets the thread go. A call that would end with EINTR on our account begins again. */
static void let_go(const struct attempt *attempt, int tid, const struct cairn_machine_call *before)
{
	struct cairn_machine machine;
	bool at_once;
	if (cairn_machine_read(tid, &machine) && cairn_machine_restart(&machine, before, &at_once) >= 0 && at_once &&
	    !has_signal(attempt->subject->pid, tid))
		cairn_machine_write_registers(tid, &machine);
	ptrace(PTRACE_DETACH, tid, 0, 0);
}

/* Stops the thread and sends it on its way, if it is in a plain state. */
static enum outcome try_thread(struct attempt *attempt, const struct candidate *candidate)
{
	int tid = candidate->tid;
	struct cairn_machine *resume = &attempt->resume;
	uint64_t registers[CAIRN_REGISTERS];
	bool at_once = false;
	if (ptrace(PTRACE_SEIZE, tid, 0, 0) != 0)
		return errno == ESRCH ? LEFT_ALONE : REFUSED;
	if (!stop(tid))
		return LEFT_ALONE;
	attempt->stopped_ns = cairn_clock_ns();
	if (!cairn_machine_read(tid, resume)) {
		ptrace(PTRACE_DETACH, tid, 0, 0);
		return LEFT_ALONE;
	}
	uint64_t pc = cairn_machine_pc(resume);
	cairn_machine_to_dwarf(resume, registers);
	long number = cairn_machine_restart(resume, &candidate->call, &at_once);
	bool has_one = has_signal(attempt->subject->pid, tid);
	if (number >= 0 && at_once && !has_one)
		cairn_machine_write_registers(tid, resume); /* at once, lest we are killed */
	bool plain = !has_one && (number < 0 || cairn_plain_waits(number)) &&
		     cairn_plain_check(attempt->subject, pc, registers, number, &attempt->why) &&
		     (number >= 0 || !is_in_sequence(attempt->subject, tid));
	if (plain && write_slot(attempt, cairn_machine_pc(resume))) {
		struct cairn_machine sent = *resume;
		cairn_machine_set_pc(&sent, attempt->slot);
		plain = cairn_machine_write_registers(tid, &sent);
		/* The pc stays. But when take_back writes these registers, the thread must not seem to be in a system call. */
		cairn_machine_set_pc(resume, cairn_machine_pc(resume));
	} else {
		plain = false;
	}
	ptrace(PTRACE_DETACH, tid, 0, 0);
	return plain ? SENT : LEFT_ALONE;
}

/* What the thread is in; false where that cannot be seen. */
static bool read_call(int pid, int tid, struct cairn_machine_call *call)
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

static int by_rank(const void *left, const void *right)
{
	const struct candidate *a = left, *b = right;
	return a->rank != b->rank ? (a->rank > b->rank) - (a->rank < b->rank) : (a->tid > b->tid) - (a->tid < b->tid);
}

/* The threads that may be tried, best first, and how many there are in all. A thread can give itself a filter at any time, so that each
 * look asks for it anew. */
static size_t list_threads(int pid, bool filtered, struct candidate *threads, size_t most, size_t *all)
{
	char path[CAIRN_PROC_PATH];
	size_t count = 0;
	*all = 0;
	struct cairn_proc_list list;
	cairn_proc_list_threads(&list, pid);
	for (int tid; count < most && (tid = cairn_proc_list_next(&list));) {
		char state[32];
		struct candidate *thread = &threads[count];
		thread->tid = tid;
		if (!cairn_proc_line(cairn_proc_task_path(path, pid, tid, "status"), "State:", state, sizeof state) ||
		    strchr("ZX", state[0]))
			continue;
		++*all;
		if (strchr("DtT", state[0]) || !read_call(pid, tid, &thread->call))
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

/* Whether the thread is out of the slot. One that runs is stopped for a look. */
static bool has_left(struct attempt *attempt, int tid)
{
	struct cairn_machine machine;
	struct cairn_machine_call call;
	int pid = attempt->subject->pid;
	if (!read_call(pid, tid, &call))
		return errno == ENOENT || errno == ESRCH;
	if (call.number >= 0)
		return call.pc - attempt->slot >= slot_size();
	if (ptrace(PTRACE_SEIZE, tid, 0, 0) != 0)
		return errno == ESRCH;
	if (!stop(tid))
		return false;
	bool left = cairn_machine_read(tid, &machine) && cairn_machine_pc(&machine) - attempt->slot >= slot_size();
	let_go(attempt, tid, &call);
	return left;
}

static bool has_number(int pid, int tid, uint64_t own)
{
	char path[CAIRN_PROC_PATH];
	return (uint64_t)cairn_proc_inner_number(cairn_proc_task_path(path, pid, tid, "status")) == own;
}

/* Whether the thread with this number of the process's own is there. Outside of containers, that is its number here, too; otherwise it is
 * looked for twice, because threads that end meanwhile can hide it from the list. */
static bool is_there(int pid, uint64_t own)
{
	enum { looks = 2 };
	bool found = has_number(pid, (int)own, own);
	for (int i = 0; i < looks && !found; i++) {
		struct cairn_proc_list list;
		cairn_proc_list_threads(&list, pid);
		for (int tid; !found && (tid = cairn_proc_list_next(&list));)
			found = has_number(pid, tid, own);
		cairn_proc_list_close(&list);
	}
	return found;
}

/* Puts a thread that waits inside a call of ours back to where it was, as if it had never been sent. It holds nothing there: what waits
 * for a lock does not have it. */
static bool take_back(struct attempt *attempt, int tid)
{
	struct cairn_machine machine;
	struct cairn_machine_mailbox mailbox = {0};
	struct cairn_machine_call call;
	const struct cairn_subject *subject = attempt->subject;
	if (!read_call(subject->pid, tid, &call) || call.number != SYS_futex || ptrace(PTRACE_SEIZE, tid, 0, 0) != 0)
		return false;
	if (!stop(tid))
		return false;
	bool at_once, done = cairn_machine_read(tid, &machine);
	bool here = done && cairn_subject_read(subject, attempt->mailbox, &mailbox, sizeof mailbox) == sizeof mailbox && mailbox.memory &&
		    cairn_machine_sp(&machine) - mailbox.memory < memory_size;
	int32_t value = (int32_t)mailbox.errno_value;
	done = here && cairn_machine_restart(&machine, &call, &at_once) == SYS_futex &&
	       (!mailbox.errno_address || cairn_subject_write(subject, mailbox.errno_address, &value, sizeof value)) &&
	       cairn_machine_write(tid, &attempt->resume);
	ptrace(PTRACE_DETACH, tid, 0, 0);
	return done;
}

/* Waits until the thread that was sent is on its way back. */
static bool await_return(struct attempt *attempt, int tid, struct cairn_machine_mailbox *mailbox, struct cairn_error *error)
{
	int pid = attempt->subject->pid;
	int64_t until = cairn_clock_ns() + borrow_ms * CAIRN_MILLISECOND_NS;
	for (;;) {
		if (cairn_subject_read(attempt->subject, attempt->mailbox, mailbox, sizeof *mailbox) != sizeof *mailbox)
			return cairn_fail(error, "process %d ended meanwhile", pid);
		if (mailbox->borrowed == CAIRN_MACHINE_RETURNING)
			return true;
		if (cairn_clock_ns() > until && take_back(attempt, tid)) {
			clean_slot(attempt);
			return cairn_fail(
				error,
				"thread %d of process %d had to wait inside its allocator or loader for more than %d s, and was put back "
				"to where it was; nothing was loaded",
				tid, pid, borrow_ms / 1000);
		}
		attempt->injection->waits = cairn_clock_ns() > until + call_ms * CAIRN_MILLISECOND_NS;
		if (attempt->injection->waits)
			return cairn_fail(error,
					  "thread %d of process %d has not returned from the loader within %d s; it goes on by itself", tid,
					  pid, (borrow_ms + call_ms) / 1000);
		pause_us(50);
	}
}

static bool await_result(struct attempt *attempt, int tid, struct cairn_error *error)
{
	struct cairn_machine_mailbox mailbox = {0};
	struct cairn_injection *injection = attempt->injection;
	int pid = attempt->subject->pid;
	if (!await_return(attempt, tid, &mailbox, error))
		return false;
	injection->held_ns = cairn_clock_ns() - attempt->stopped_ns;
	int64_t until = cairn_clock_ns() + call_ms * CAIRN_MILLISECOND_NS;
	while (mailbox.state != CAIRN_MACHINE_DONE) {
		pause_us(50);
		if (cairn_subject_read(attempt->subject, attempt->mailbox, &mailbox, sizeof mailbox) != sizeof mailbox)
			return cairn_fail(error, "process %d ended meanwhile", pid);
		injection->waits = mailbox.state != CAIRN_MACHINE_DONE && cairn_clock_ns() > until;
		if (injection->waits)
			return cairn_fail(
				error,
				"the loader of process %d is busy: another thread has held its lock for %d s. No thread of the program was "
				"kept waiting; try again later",
				pid, call_ms / 1000);
	}
	injection->result = mailbox.result;
	size_t length = cairn_subject_read(attempt->subject, attempt->mailbox + sizeof mailbox, injection->description, attempt->text_most);
	injection->description[length] = 0;
	if (mailbox.failure) {
		errno = (int)((int64_t)mailbox.failure < 0 ? -(int64_t)mailbox.failure : (int64_t)mailbox.failure);
		cairn_fail_errno(error, "process %d cannot start a thread", pid);
	}
	while (!has_left(attempt, tid) || (attempt->parameters.create && !mailbox.failure && is_there(pid, mailbox.thread))) {
		if (cairn_clock_ns() > until)
			return !mailbox.failure; /* and the code stays where it is */
		pause_us(200);
	}
	clean_slot(attempt);
	return !mailbox.failure;
}

/* A function of libc, or of libpthread before glibc 2.34. */
static uint64_t find_function(const struct cairn_subject *subject, const char *name)
{
	uint64_t address = cairn_subject_symbol(cairn_subject_find(subject, CAIRN_SUBJECT_LIBC), name);
	for (size_t i = 0; i < subject->count && !address; i++)
		if (strstr(subject->modules[i].path, "/libpthread"))
			address = cairn_subject_symbol(&subject->modules[i], name);
	return address;
}

/* Whether the call is another process's: this one was forked while it was made, without the thread that makes it. */
static bool is_copy(const struct cairn_subject *subject, const struct cairn_machine_mailbox *mailbox)
{
	return mailbox->state == CAIRN_MACHINE_BUSY && mailbox->thread && !is_there(subject->pid, mailbox->thread);
}

bool cairn_inject_await_turn(const struct cairn_subject *subject, struct cairn_error *error)
{
	struct cairn_machine_mailbox mailbox = {0};
	size_t more;
	uint64_t address = cairn_subject_room_in_data(subject, sizeof mailbox, &more);
	bool looked = false;
	if (!address)
		return cairn_fail(error, "no library of process %d has room behind its data", subject->pid);
	for (int64_t until = cairn_clock_ns() + call_ms * CAIRN_MILLISECOND_NS;; pause_us(1000)) {
		if (cairn_subject_read(subject, address, &mailbox, sizeof mailbox) != sizeof mailbox)
			return cairn_fail(error, "the memory of process %d cannot be read", subject->pid);
		bool busy = (mailbox.state == CAIRN_MACHINE_BUSY || mailbox.borrowed == CAIRN_MACHINE_AWAY) && !is_copy(subject, &mailbox);
		if (mailbox.magic != cairn_machine_magic || (!busy && looked))
			return true;
		if (!busy) {
			/* A command that was killed has left its code, and a thread may be at the first or the last of it; or the call
			 * has ended since the mailbox was read. */
			pause_us(200000);
			looked = true;
		} else if (cairn_clock_ns() > until) {
			return cairn_fail(error, "an earlier 'cairn attach' still waits for the loader of process %d; try again later",
					  subject->pid);
		}
	}
}

static bool prepare(struct attempt *attempt, size_t threads, struct cairn_error *error)
{
	const struct cairn_subject *subject = attempt->subject;
	const struct cairn_injection *injection = attempt->injection;
	size_t save_size = cairn_machine_save_size();
	if (!save_size || save_size > memory_size / 4)
		return cairn_fail(error, "this processor cannot save its vector registers");
	size_t more = 0;
	attempt->mailbox = cairn_subject_room_in_data(subject, sizeof(struct cairn_machine_mailbox), &more);
	attempt->text_most = more < CAIRN_MACHINE_TEXT ? more : CAIRN_MACHINE_TEXT;
	if (slot_size() > slot_most || !attempt->mailbox || !cairn_subject_room_in_code(subject, 0, slot_size(), attempt->original))
		return cairn_fail(error, "no library of process %d has room behind its code and its data", subject->pid);
	attempt->parameters = (struct cairn_machine_parameters){
		.memory_size = memory_size,
		.save_size = save_size,
		.blocked = ~(1ull << (SIGSEGV - 1) | 1ull << (SIGBUS - 1) | 1ull << (SIGILL - 1) | 1ull << (SIGFPE - 1) |
			     1ull << (SIGTRAP - 1) | 1ull << (SIGSYS - 1)),
		.errno_location = find_function(subject, "__errno_location"),
		.function = injection->function,
		.arguments = {injection->arguments[0], injection->arguments[1], injection->arguments[2]},
		.describe = injection->describe,
		.mailbox = attempt->mailbox,
		.attributes_init = find_function(subject, "pthread_attr_init"),
		.attributes_detached = find_function(subject, "pthread_attr_setdetachstate"),
		.attributes_stack = find_function(subject, "pthread_attr_setstacksize"),
		.stack_size = stack_size,
		.text_most = attempt->text_most,
	};
	struct cairn_machine_parameters *parameters = &attempt->parameters;
	if (threads > 1 && parameters->attributes_init && parameters->attributes_detached && parameters->attributes_stack)
		parameters->create = find_function(subject, "pthread_create");
	memcpy(parameters->text, injection->text, sizeof parameters->text);
	if (!parameters->errno_location)
		return cairn_fail(error, "the C library of process %d cannot be read", subject->pid);
	return cairn_inject_await_turn(subject, error);
}

static bool inject(const struct cairn_subject *subject, struct cairn_injection *injection, struct cairn_error *error)
{
	static struct candidate threads[threads_most];
	static struct attempt attempt;
	size_t all, count = list_threads(subject->pid, injection->filtered, threads, threads_most, &all);
	attempt = (struct attempt){.subject = subject, .injection = injection, .why = ""};
	if (!prepare(&attempt, all, error))
		return false;
	int64_t began = cairn_clock_ns(), until = began + attempts_ms * CAIRN_MILLISECOND_NS;
	for (; cairn_clock_ns() < until; pause_us(1000)) {
		count = list_threads(subject->pid, injection->filtered, threads, threads_most, &all);
		if (count == 0 && kill(subject->pid, 0) != 0 && errno == ESRCH)
			return cairn_fail(error, "process %d ended meanwhile", subject->pid);
		for (size_t i = 0; i < count && cairn_clock_ns() < until; i++) {
			if (threads[i].rank == CAIRN_PLAIN_RUNS)
				until = began + attempts_running_ms * CAIRN_MILLISECOND_NS;
			enum outcome outcome = try_thread(&attempt, &threads[i]);
			if (outcome == REFUSED)
				return cairn_fail_errno(error, "process %d cannot be traced", subject->pid);
			if (outcome == SENT)
				return await_result(&attempt, threads[i].tid, error);
		}
	}
	return cairn_fail(error,
			  "no thread of process %d was seen outside of its allocator, the loader and signal handlers within %d s (the "
			  "last was in %s); nothing was changed",
			  subject->pid, (int)((until - began) / CAIRN_SECOND_NS), attempt.why[0] ? attempt.why : "a system call");
}

bool cairn_inject(const struct cairn_subject *subject, struct cairn_injection *injection, struct cairn_error *error)
{
	sigset_t stops, before; /* SIGCHLD wakes us up as soon as a thread has stopped */
	sigemptyset(&stops);
	sigaddset(&stops, SIGCHLD);
	pthread_sigmask(SIG_BLOCK, &stops, &before);
	cairn_priority_raise();
	bool done = inject(subject, injection, error);
	cairn_priority_restore();
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return done;
}
