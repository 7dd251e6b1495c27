/* inject.c - stopping a thread, sending it to the piece of code, and waiting for the result.
 * SPDX-License-Identifier: Apache-2.0 */
#include "live/attach/inject.h"

#include "live/attach/borrow.h"
#include "live/attach/priority.h"
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

enum { borrow_ms = 2000, call_ms = 5000 };
enum { memory_size = 512 << 10, stack_size = 1 << 20, slot_most = 1536 };

static void pause_us(long microseconds)
{
	nanosleep(&(struct timespec){0, microseconds * 1000}, NULL);
}

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

static size_t slot_size(void)
{
	return cairn_machine_code().length + sizeof(struct cairn_machine_parameters);
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

/* Whether libc's functions may be called on the thread, which a host may have made by clone, without thread-local memory of its own. libc
 * tells the kernel where the list of robust mutexes of each of its threads begins; versions before 2.34 do so for the first one only where there
 * are others. */
static bool is_of_libc(const struct attempt *attempt, int tid)
{
	uint64_t list = 0, length;
	return tid == attempt->subject->pid || syscall(SYS_get_robust_list, tid, &list, &length) != 0 || list != 0;
}

/* Stops the thread and sends it on its way, if it is in a plain state. */
static enum cairn_borrow_outcome try_thread(void *context, const struct cairn_borrow_candidate *candidate)
{
	struct attempt *attempt = context;
	int tid = candidate->tid;
	struct cairn_machine *resume = &attempt->resume;
	uint64_t registers[CAIRN_REGISTERS], pc;
	enum cairn_borrow_outcome stopped = cairn_borrow_stop(tid);
	if (stopped != CAIRN_BORROW_SENT)
		return stopped;
	attempt->stopped_ns = cairn_clock_ns();
	long number = cairn_borrow_read(attempt->subject, candidate, resume, registers, &pc);
	bool of_libc = is_of_libc(attempt, tid);
	if (!of_libc)
		attempt->why = "code of its own, without libc's thread-local memory";
	bool plain = of_libc && number >= -1 && cairn_plain_check(attempt->subject, pc, registers, number, &attempt->why) &&
		     write_slot(attempt, cairn_machine_pc(resume));
	if (plain) {
		struct cairn_machine sent = *resume;
		cairn_machine_set_pc(&sent, attempt->slot);
		plain = cairn_machine_write_registers(tid, &sent);
		/* The pc stays. But when take_back writes these registers, the thread must not seem to be in a system call. */
		cairn_machine_set_pc(resume, cairn_machine_pc(resume));
	}
	ptrace(PTRACE_DETACH, tid, 0, 0);
	return plain ? CAIRN_BORROW_SENT : CAIRN_BORROW_LEFT_ALONE;
}

static bool has_number(int pid, int tid, uint64_t own)
{
	char path[CAIRN_PROC_PATH];
	int number = cairn_proc_inner_number(cairn_proc_task_path(path, pid, tid, "status"));
	return number > 0 && (uint64_t)number == own; /* 0: there is no such thread */
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
	if (!cairn_borrow_read_call(subject->pid, tid, &call) || call.number != SYS_futex || cairn_borrow_stop(tid) != CAIRN_BORROW_SENT)
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
	while (!cairn_borrow_has_left(pid, tid, attempt->slot, slot_size()) || (attempt->parameters.create && !mailbox.failure && is_there(pid, mailbox.thread))) {
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
	static struct attempt attempt;
	attempt = (struct attempt){.subject = subject, .injection = injection, .why = ""};
	if (!prepare(&attempt, cairn_borrow_count(subject->pid, injection->filtered), error))
		return false;
	struct cairn_borrow borrow = {subject->pid, injection->filtered, try_thread, &attempt,
				      "outside of its allocator, the loader and signal handlers", &attempt.why, injection->hasty};
	int tid = cairn_borrow_any(&borrow, error);
	return tid && await_result(&attempt, tid, error);
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
