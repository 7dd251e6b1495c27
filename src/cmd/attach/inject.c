/* inject.c - stopping a thread, sending it to the piece of code, and waiting for the result.
 * SPDX-License-Identifier: Apache-2.0 */
#include "cmd/attach/inject.h"

#include "cmd/attach/plain.h"
#include "process/clock.h"

#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#if defined(__x86_64__)
#include <cpuid.h>

/* What the piece of code reads; it follows the code. */
struct parameters {
	uint64_t memory_size, save_size; /* of all that it maps, and of the vector registers at its start */
	uint64_t blocked;                /* signals, during the call */
	uint64_t errno_location;
	uint64_t function, arguments[3], describe;
	uint64_t mailbox;
	uint64_t resume; /* where the thread goes on */
	char text[256];
};

/* What it leaves, in unused bytes of a library's data. */
struct mailbox {
	uint64_t magic, state, result, description;
};
enum { STATE_BUSY = 1, STATE_DONE = 2, STATE_PREPARED = 3 };
static const uint64_t mailbox_magic = 0x4341495252534d42;

extern const char cairn_inject_code[], cairn_inject_code_end[];
__asm__(".pushsection .rodata\n"
	".balign 16\n"
	"cairn_inject_code:\n"
	"	leaq -128(%rsp), %rsp\n" /* below the red zone; no flags change */
	"	pushfq\n"
	"	pushq %rax\n	pushq %rbx\n	pushq %rcx\n	pushq %rdx\n	pushq %rsi\n	pushq %rdi\n	pushq %rbp\n"
	"	pushq %r8\n	pushq %r9\n	pushq %r10\n	pushq %r11\n	pushq %r12\n	pushq %r13\n	pushq %r14\n	pushq %r15\n"
	"	cld\n"
	"	movq %rsp, %rbp\n"
	"	movq 1f+72(%rip), %rdi\n"
	"	movq $1, 8(%rdi)\n"
	"	movl $9, %eax\n" /* mmap(NULL, memory_size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) */
	"	xorl %edi, %edi\n"
	"	movq 1f+0(%rip), %rsi\n"
	"	movl $3, %edx\n"
	"	movl $0x22, %r10d\n"
	"	movq $-1, %r8\n"
	"	xorl %r9d, %r9d\n"
	"	syscall\n"
	"	xorl %r14d, %r14d\n"
	"	xorl %r15d, %r15d\n"
	"	cmpq $-4096, %rax\n"
	"	ja 3f\n"
	"	movq %rax, %rbx\n"
	"	movl $-1, %eax\n"
	"	movl $-1, %edx\n"
	"	xsave64 (%rbx)\n"
	"	movl $14, %eax\n" /* rt_sigprocmask(SIG_SETMASK, &blocked, memory + save_size, 8) */
	"	movl $2, %edi\n"
	"	leaq 1f+16(%rip), %rsi\n"
	"	movq 1f+8(%rip), %rdx\n"
	"	addq %rbx, %rdx\n"
	"	movl $8, %r10d\n"
	"	syscall\n"
	"	movq 1f+0(%rip), %rcx\n"
	"	leaq -256(%rbx,%rcx), %rsp\n" /* functions may look above their return address */
	"	call *1f+24(%rip)\n"
	"	movq %rax, %r12\n"
	"	movl (%rax), %r13d\n"
	"	movq 1f+40(%rip), %rdi\n"
	"	movq 1f+48(%rip), %rsi\n"
	"	movq 1f+56(%rip), %rdx\n"
	"	xorl %eax, %eax\n"
	"	call *1f+32(%rip)\n"
	"	movq %rax, %r14\n"
	"	testq %rax, %rax\n"
	"	jnz 2f\n"
	"	cmpq $0, 1f+64(%rip)\n"
	"	je 2f\n"
	"	call *1f+64(%rip)\n"
	"	movq %rax, %r15\n"
	"2:	movl %r13d, (%r12)\n"
	"	movl $14, %eax\n"
	"	movl $2, %edi\n"
	"	movq 1f+8(%rip), %rsi\n"
	"	addq %rbx, %rsi\n"
	"	xorl %edx, %edx\n"
	"	movl $8, %r10d\n"
	"	syscall\n"
	"	movl $-1, %eax\n"
	"	movl $-1, %edx\n"
	"	xrstor64 (%rbx)\n"
	"	movq %rbp, %rsp\n"
	"	movl $11, %eax\n" /* munmap */
	"	movq %rbx, %rdi\n"
	"	movq 1f+0(%rip), %rsi\n"
	"	syscall\n"
	"3:	movq 1f+72(%rip), %rdi\n"
	"	movq %r14, 16(%rdi)\n"
	"	movq %r15, 24(%rdi)\n"
	"	movq $2, 8(%rdi)\n"
	"	popq %r15\n	popq %r14\n	popq %r13\n	popq %r12\n	popq %r11\n	popq %r10\n	popq %r9\n	popq %r8\n"
	"	popq %rbp\n	popq %rdi\n	popq %rsi\n	popq %rdx\n	popq %rcx\n	popq %rbx\n	popq %rax\n"
	"	popfq\n"
	"	leaq 128(%rsp), %rsp\n"
	"	jmp *1f+80(%rip)\n"
	".balign 8\n"
	"1:\n"
	"cairn_inject_code_end:\n"
	".popsection\n");

enum { memory_size = 512 << 10, attempts_ms = 5000, call_ms = 10000, stop_ms = 500, threads_most = 4096, slot_most = 1024 };

static const int64_t millisecond = 1000000;

static void pause_us(long microseconds)
{
	nanosleep(&(struct timespec){0, microseconds * 1000}, NULL);
}

struct attempt {
	const struct cairn_subject *subject;
	struct cairn_injection *injection;
	uint64_t slot, mailbox;
	char before[slot_most]; /* what was at the slot */
	struct parameters parameters;
	const char *why;
	int64_t stopped_ns;
};

enum outcome { LEFT_ALONE, SENT, REFUSED };

/* Waits until thread TID has stopped for us. Signals that come meanwhile are passed on. */
static bool await_stop(int tid)
{
	int64_t until = cairn_clock_ns() + stop_ms * millisecond;
	while (cairn_clock_ns() < until) {
		int status;
		pid_t got = waitpid(tid, &status, __WALL | WNOHANG);
		if (got < 0 || (got == tid && !WIFSTOPPED(status)))
			return false;
		if (got == 0) {
			pause_us(20);
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
	char name[40], pending[32], shared[32], blocked[32];
	snprintf(name, sizeof name, "task/%d/status", tid);
	if (!cairn_subject_line(pid, name, "SigPnd:", pending, sizeof pending) ||
	    !cairn_subject_line(pid, name, "ShdPnd:", shared, sizeof shared) ||
	    !cairn_subject_line(pid, name, "SigBlk:", blocked, sizeof blocked))
		return true;
	return ((strtoull(pending, NULL, 16) | strtoull(shared, NULL, 16)) & ~strtoull(blocked, NULL, 16)) != 0;
}

/* The kernel's own codes for a system call that is to be begun again (linux/errno.h); programs never see them. */
enum { restart_sys = 512, restart_no_interrupt = 513, restart_no_handler = 514, restart_block = 516 };

/* Turns registers of a thread that was interrupted in a system call into those with which it begins it again. False where it was in none.
 * Some calls end with EINTR whatever interrupts them, and would even now: *AT_ONCE. */
static bool begin_again(struct user_regs_struct *registers, bool *at_once)
{
	long code = -(long)registers->rax;
	*at_once = code == EINTR;
	if ((long)registers->orig_rax < 0 || !(code == restart_sys || code == restart_no_interrupt || code == restart_no_handler ||
					       code == restart_block || (code == EINTR && cairn_plain_waits((long)registers->orig_rax))))
		return false;
	registers->rip -= 2; /* the instruction itself */
	registers->rax = code == restart_block ? SYS_restart_syscall : registers->orig_rax;
	registers->orig_rax = (unsigned long long)-1;
	return true;
}

static void to_dwarf(const struct user_regs_struct *from, uint64_t to[CAIRN_REGISTERS])
{
	const uint64_t values[CAIRN_REGISTERS] = {from->rax, from->rdx, from->rcx, from->rbx, from->rsi, from->rdi, from->rbp, from->rsp, from->r8,
						  from->r9, from->r10, from->r11, from->r12, from->r13, from->r14, from->r15, from->rip};
	memcpy(to, values, sizeof values);
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

/* The code, and what it is to do; then the mailbox. The code itself says there that it is under way: the
 * command may be killed before a thread is sent. */
static bool write_slot(struct attempt *attempt, uint64_t resume)
{
	char code[slot_most];
	size_t length = (size_t)(cairn_inject_code_end - cairn_inject_code);
	struct mailbox mailbox = {mailbox_magic, STATE_PREPARED, 0, 0};
	attempt->parameters.resume = resume;
	memcpy(code, cairn_inject_code, length);
	memcpy(code + length, &attempt->parameters, sizeof attempt->parameters);
	return cairn_subject_write(attempt->subject, attempt->slot, code, length + sizeof attempt->parameters) &&
	       cairn_subject_write(attempt->subject, attempt->mailbox, &mailbox, sizeof mailbox);
}

static size_t slot_size(void)
{
	return (size_t)(cairn_inject_code_end - cairn_inject_code) + sizeof(struct parameters);
}

static void clean_slot(struct attempt *attempt)
{
	cairn_subject_write(attempt->subject, attempt->slot, attempt->before, slot_size());
	cairn_subject_write(attempt->subject, attempt->mailbox, &(struct mailbox){0}, sizeof(struct mailbox));
}

/* Stops thread TID and sends it on its way, if it is in a plain state. */
static enum outcome try_thread(struct attempt *attempt, int tid)
{
	struct user_regs_struct registers, resume;
	if (ptrace(PTRACE_SEIZE, tid, 0, 0) != 0)
		return errno == ESRCH ? LEFT_ALONE : REFUSED;
	if (ptrace(PTRACE_INTERRUPT, tid, 0, 0) != 0 || !await_stop(tid))
		return LEFT_ALONE;
	attempt->stopped_ns = cairn_clock_ns();
	if (ptrace(PTRACE_GETREGS, tid, 0, &registers) != 0) {
		ptrace(PTRACE_DETACH, tid, 0, 0);
		return LEFT_ALONE;
	}
	bool at_once = false;
	resume = registers;
	long number = begin_again(&resume, &at_once) ? (long)registers.orig_rax : -1;
	bool has_one = has_signal(attempt->subject->pid, tid);
	if (number >= 0 && at_once && !has_one)
		ptrace(PTRACE_SETREGS, tid, 0, &resume);
	uint64_t values[CAIRN_REGISTERS];
	to_dwarf(&registers, values);
	bool plain = registers.cs == 0x33 && !has_one && (number < 0 || cairn_plain_waits(number)) &&
		     cairn_plain_check(attempt->subject, values, number, &attempt->why) &&
		     (number >= 0 || !is_in_sequence(attempt->subject, tid));
	resume.orig_rax = (unsigned long long)-1;
	if (plain && write_slot(attempt, resume.rip)) {
		resume.rip = attempt->slot;
		plain = ptrace(PTRACE_SETREGS, tid, 0, &resume) == 0;
	} else {
		plain = false;
	}
	ptrace(PTRACE_DETACH, tid, 0, 0);
	return plain ? SENT : LEFT_ALONE;
}

/* Threads that wait for something, before those that run. */
static size_t list_threads(int pid, int *threads, size_t most)
{
	char path[64];
	size_t count = 0;
	snprintf(path, sizeof path, "/proc/%d/task", pid);
	for (int waiting = 1; waiting >= 0; waiting--) {
		DIR *folder = opendir(path);
		for (struct dirent *entry; folder && (entry = readdir(folder)) && count < most;) {
			char name[300], state[32];
			int tid = atoi(entry->d_name);
			snprintf(name, sizeof name, "task/%d/status", tid);
			if (tid <= 0 || !cairn_subject_line(pid, name, "State:", state, sizeof state) || strchr("DZXtT", state[0]))
				continue;
			if ((state[0] == 'S') == waiting)
				threads[count++] = tid;
		}
		if (folder)
			closedir(folder);
	}
	return count;
}

/* Whether the thread is out of the slot. One that runs is stopped for a look. */
static bool has_left(struct attempt *attempt, int tid)
{
	char path[64], text[256] = "";
	struct user_regs_struct registers;
	snprintf(path, sizeof path, "/proc/%d/task/%d/syscall", attempt->subject->pid, tid);
	FILE *file = fopen(path, "re");
	if (!file)
		return errno == ENOENT || errno == ESRCH;
	bool read = fgets(text, sizeof text, file) != NULL;
	fclose(file);
	const char *last = strrchr(text, ' ');
	if (read && last && strncmp(text, "running", 7) != 0)
		return strtoull(last, NULL, 16) - attempt->slot >= slot_size();
	if (ptrace(PTRACE_SEIZE, tid, 0, 0) != 0)
		return errno == ESRCH;
	if (ptrace(PTRACE_INTERRUPT, tid, 0, 0) != 0 || !await_stop(tid))
		return false;
	bool left = ptrace(PTRACE_GETREGS, tid, 0, &registers) == 0 && registers.rip - attempt->slot >= slot_size(), at_once;
	struct user_regs_struct resume = registers;
	if (left && begin_again(&resume, &at_once) && at_once && !has_signal(attempt->subject->pid, tid))
		ptrace(PTRACE_SETREGS, tid, 0, &resume);
	ptrace(PTRACE_DETACH, tid, 0, 0);
	return left;
}

static bool await_result(struct attempt *attempt, int tid, struct cairn_error *error)
{
	struct mailbox mailbox = {0};
	struct cairn_injection *injection = attempt->injection;
	int64_t until = cairn_clock_ns() + call_ms * millisecond;
	while (mailbox.state != STATE_DONE) {
		if (cairn_subject_read(attempt->subject, attempt->mailbox, &mailbox, sizeof mailbox) != sizeof mailbox)
			return cairn_fail(error, "process %d ended meanwhile", attempt->subject->pid);
		if (mailbox.state != STATE_DONE && cairn_clock_ns() > until)
			return cairn_fail(error, "thread %d of process %d waits inside the loader, for more than %d s by now; it goes on by itself once it "
					  "gets the loader's lock", tid, attempt->subject->pid, call_ms / 1000);
		if (mailbox.state != STATE_DONE)
			pause_us(50);
	}
	injection->held_ns = cairn_clock_ns() - attempt->stopped_ns;
	injection->thread = tid;
	injection->result = mailbox.result;
	if (mailbox.description) {
		size_t length = cairn_subject_read(attempt->subject, mailbox.description, injection->description, sizeof injection->description - 1);
		injection->description[length] = 0;
	}
	while (!has_left(attempt, tid)) {
		if (cairn_clock_ns() > until)
			return true; /* and the code stays where it is */
		pause_us(200);
	}
	clean_slot(attempt);
	return true;
}

/* One that an earlier command has begun is waited for. */
static bool prepare(struct attempt *attempt, struct cairn_error *error)
{
	unsigned a, b, c = 0, d;
	const struct cairn_subject *subject = attempt->subject;
	const struct cairn_subject_module *libc = cairn_subject_find(subject, CAIRN_SUBJECT_LIBC);
	const struct cairn_injection *injection = attempt->injection;
	struct mailbox mailbox = {0};
	if (!__get_cpuid_count(0xd, 0, &a, &b, &c, &d) || c < 576 || slot_size() > slot_most)
		return cairn_fail(error, "this processor cannot save its vector registers (xsave)");
	attempt->slot = cairn_subject_room(subject, true, slot_size());
	attempt->mailbox = cairn_subject_room(subject, false, sizeof mailbox);
	if (!attempt->slot || !attempt->mailbox)
		return cairn_fail(error, "no library of process %d has room behind its code and its data", subject->pid);
	attempt->parameters = (struct parameters){
		.memory_size = memory_size,
		.save_size = (c + 63) & ~63u,
		.blocked = ~(1ull << (SIGSEGV - 1) | 1ull << (SIGBUS - 1) | 1ull << (SIGILL - 1) | 1ull << (SIGFPE - 1) | 1ull << (SIGTRAP - 1) |
			     1ull << (SIGSYS - 1)),
		.errno_location = cairn_subject_symbol(libc, "__errno_location"),
		.function = injection->function,
		.arguments = {injection->arguments[0], injection->arguments[1], injection->arguments[2]},
		.describe = injection->describe,
		.mailbox = attempt->mailbox,
	};
	if (injection->text[0]) {
		memcpy(attempt->parameters.text, injection->text, sizeof attempt->parameters.text);
		attempt->parameters.arguments[injection->text_argument] = attempt->slot + slot_size() - sizeof attempt->parameters.text;
	}
	if (!attempt->parameters.errno_location)
		return cairn_fail(error, "the C library of process %d cannot be read", subject->pid);
	bool looked = false;
	for (int64_t until = cairn_clock_ns() + call_ms * millisecond;; pause_us(1000)) {
		if (cairn_subject_read(subject, attempt->mailbox, &mailbox, sizeof mailbox) != sizeof mailbox ||
		    cairn_subject_read(subject, attempt->slot, attempt->before, slot_size()) != slot_size())
			return cairn_fail(error, "the memory of process %d cannot be read", subject->pid);
		if (mailbox.magic != mailbox_magic || (mailbox.state != STATE_BUSY && looked))
			break;
		if (mailbox.state != STATE_BUSY && !looked) {
			pause_us(200000); /* a command that was killed has left its code, and a thread may be at the first or the last of it */
			looked = true;
			continue;
		}
		if (cairn_clock_ns() > until)
			return cairn_fail(error, "another 'cairn attach' is under way in process %d", subject->pid);
	}
	return true;
}

bool cairn_inject(const struct cairn_subject *subject, struct cairn_injection *injection, struct cairn_error *error)
{
	static int threads[threads_most];
	struct attempt attempt = {.subject = subject, .injection = injection, .why = ""};
	if (!prepare(&attempt, error))
		return false;
	for (int64_t until = cairn_clock_ns() + attempts_ms * millisecond; cairn_clock_ns() < until; pause_us(1000)) {
		size_t count = list_threads(subject->pid, threads, threads_most);
		if (count == 0 && kill(subject->pid, 0) != 0 && errno == ESRCH)
			return cairn_fail(error, "process %d ended meanwhile", subject->pid);
		for (size_t i = 0; i < count && cairn_clock_ns() < until; i++) {
			enum outcome outcome = try_thread(&attempt, threads[i]);
			if (outcome == REFUSED)
				return cairn_fail_errno(error, "process %d cannot be traced", subject->pid);
			if (outcome == SENT)
				return await_result(&attempt, threads[i], error);
		}
	}
	return cairn_fail(error, "no thread of process %d was seen outside of its allocator, the loader and signal handlers within %d s (the "
			  "last was in %s); nothing was changed", subject->pid, attempts_ms / 1000, attempt.why[0] ? attempt.why : "a system call");
}

#else

bool cairn_inject(const struct cairn_subject *subject, struct cairn_injection *injection, struct cairn_error *error)
{
	(void)injection;
	return cairn_fail(error, "'cairn attach' works on x86_64 only; start process %d with 'cairn run'", subject->pid);
}

#endif
