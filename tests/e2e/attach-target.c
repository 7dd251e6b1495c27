/* attach-target.c - a program to attach to: threads that allocate and free, threads that wait in system calls, one that checks its
 * registers, and some that are in the way. Counts what they do, and every error, in a mapped file: int64 work, errors, how often each wait
 * has returned (16), the longest time in microseconds for which a thread of those that allocate neither worked nor waited for a
 * processor, and a word by which the test lets it go on.
 * SPDX-License-Identifier: Apache-2.0 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <linux/futex.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/msg.h>
#include <sys/select.h>
#include <sys/sem.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { wait_kinds = 16 };

static struct {
	_Atomic int64_t work, errors, waits[wait_kinds], stall_us, go;
} *seen;

static int64_t clock_ns(void)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000000000ll + now.tv_nsec;
}

/* How long this thread has waited for a processor in all. */
static int64_t waited_ns(int file)
{
	char text[100] = "";
	long long ran = 0, waited = 0;
	if (pread(file, text, sizeof text - 1, 0) > 0)
		sscanf(text, "%lld %lld", &ran, &waited);
	return waited;
}

/* Looks at the clock once in a millisecond or so. What is more than that, and not for want of a processor, was a stall. */
static void measure(int file, int64_t *mark, int64_t *waited)
{
	int64_t now = clock_ns();
	if (now - *mark < 1000000)
		return;
	int64_t total = waited_ns(file), stall = (now - *mark - (total - *waited)) / 1000 - 1000, most = seen->stall_us;
	while (stall > most && !atomic_compare_exchange_weak(&seen->stall_us, &most, stall))
		;
	*mark = clock_ns();
	*waited = waited_ns(file);
}

static void *allocate(void *unused)
{
	void *held[64] = {0};
	unsigned random = (unsigned)(uintptr_t)&held;
	int file = open("/proc/thread-self/schedstat", O_RDONLY | O_CLOEXEC);
	int64_t mark = clock_ns(), waited = waited_ns(file);
	const int rests = !getenv("CAIRN_LONG"); /* now and then, or eight of them keep every other test waiting */
	(void)unused;
	for (unsigned done = 1;; done++) {
		if (rests && done % 4096 == 0) {
			usleep(10000);
			mark = clock_ns();
			waited = waited_ns(file);
		}
		random = random * 1664525 + 1013904223;
		unsigned slot = random >> 26;
		free(held[slot]);
		size_t size = 8 + (random >> 8) % 4000;
		unsigned char *bytes = malloc(size);
		bytes[0] = bytes[size - 1] = (unsigned char)slot;
		held[slot] = bytes;
		seen->work++;
		measure(file, &mark, &waited);
	}
	return NULL;
}

/* A wait that has returned although nothing that it waited for has happened is an error. */
static void check(int kind, long result)
{
	if (!seen->go)
		seen->errors++;
	(void)result;
	seen->waits[kind]++;
}

static void *wait_in(void *context)
{
	int kind = (int)(intptr_t)context, pipes[2], word = 0;
	char byte;
	struct timespec long_time = {1000, 0};
	sigset_t none, one;
	if (pipe(pipes) != 0)
		abort();
	sigemptyset(&none);
	sigemptyset(&one);
	sigaddset(&one, SIGRTMIN + 3);
	pthread_sigmask(SIG_BLOCK, &one, NULL);
	int poller = epoll_create1(0), listener = socket(AF_UNIX, SOCK_STREAM, 0), pair[2];
	bind(listener, (struct sockaddr *)&(struct sockaddr_un){.sun_family = AF_UNIX}, sizeof(sa_family_t));
	listen(listener, 1);
	if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair) != 0)
		abort();
	fd_set set;
	FD_ZERO(&set);
	FD_SET(pipes[0], &set);
	switch (kind) {
	case 0: check(kind, syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, 0, NULL)); break;
	case 1: check(kind, epoll_wait(poller, &(struct epoll_event){0}, 1, -1)); break;
	case 2: check(kind, read(pipes[0], &byte, 1)); break;
	case 3: check(kind, nanosleep(&long_time, NULL)); break;
	case 4: check(kind, accept(listener, NULL, NULL)); break;
	case 5: check(kind, poll(&(struct pollfd){pipes[0], POLLIN, 0}, 1, 1000000)); break;
	case 6: check(kind, clock_nanosleep(CLOCK_MONOTONIC, 0, &long_time, NULL)); break;
	case 7: check(kind, sigtimedwait(&one, NULL, &long_time)); break;
	case 8: check(kind, semop(semget(IPC_PRIVATE, 1, 0600), &(struct sembuf){0, -1, 0}, 1)); break;
	case 9: check(kind, msgrcv(msgget(IPC_PRIVATE, 0600), &(struct { long type; char text[8]; }){0}, 8, 0, 0)); break;
	case 10: check(kind, select(pipes[0] + 1, &set, NULL, NULL, &(struct timeval){1000, 0})); break;
	case 11: check(kind, recv(pair[0], &byte, 1, 0)); break;
	case 12: check(kind, ppoll(&(struct pollfd){pipes[0], POLLIN, 0}, 1, NULL, &none)); break;
	case 13: check(kind, syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, 0, &long_time)); break;
	case 14: check(kind, epoll_wait(poller, &(struct epoll_event){0}, 1, 1000000)); break;
	case 15: check(kind, recv(pair[0], (char[64]){0}, 64, MSG_WAITALL)); break;
	}
	return NULL;
}

static void handle(int number)
{
	(void)number;
	pause();
}

static int visit(struct dl_phdr_info *info, size_t size, void *context)
{
	(void)info, (void)size, (void)context;
	pause();
	return 1;
}

/* Holds the loader's lock: the library's constructor waits for the word. */
static void *load(void *path)
{
	char text[32];
	snprintf(text, sizeof text, "%p", (void *)&seen->go);
	setenv("ATTACH_GO", text, 1);
	dlopen(path, RTLD_NOW);
	return NULL;
}

#ifdef __x86_64__
/* Every register but the stack pointer holds a value of its own, and is looked at again and again: 1 where one has changed. */
long check_registers(long rounds);
__asm__(".globl check_registers\n"
	".type check_registers, @function\n"
	"check_registers:\n"
	".cfi_startproc\n"
	"	pushq %rbp\n .cfi_adjust_cfa_offset 8\n pushq %rbx\n .cfi_adjust_cfa_offset 8\n"
	"	pushq %r12\n .cfi_adjust_cfa_offset 8\n pushq %r13\n .cfi_adjust_cfa_offset 8\n"
	"	pushq %r14\n .cfi_adjust_cfa_offset 8\n pushq %r15\n .cfi_adjust_cfa_offset 8\n"
	"	movq $1, %rax\n movq $2, %rbx\n movq $3, %rcx\n movq $4, %rdx\n movq $5, %rsi\n movq $6, %rbp\n"
	"	movq $8, %r8\n movq $9, %r9\n movq $10, %r10\n movq $11, %r11\n movq $12, %r12\n movq $13, %r13\n movq $14, %r14\n movq "
	"$15, %r15\n"
	"	movq %r8, %xmm0\n movq %r9, %xmm5\n movq %r15, %xmm15\n fld1\n fldpi\n"
	"	movq $0x1122334455667788, %rax\n movq %rax, -8(%rsp)\n movq %rax, -120(%rsp)\n movq $1, %rax\n" /* in the red zone */
	"1:	stc\n"
	"	nop\n nop\n nop\n nop\n nop\n nop\n nop\n nop\n nop\n nop\n nop\n nop\n"
	"	jnc 9f\n"
	"	cmpq $1, %rax\n jne 9f\n cmpq $2, %rbx\n jne 9f\n cmpq $3, %rcx\n jne 9f\n cmpq $4, %rdx\n jne 9f\n cmpq $5, %rsi\n jne "
	"9f\n"
	"	cmpq $6, %rbp\n jne 9f\n cmpq $8, %r8\n jne 9f\n cmpq $9, %r9\n jne 9f\n cmpq $10, %r10\n jne 9f\n cmpq $11, %r11\n jne "
	"9f\n"
	"	cmpq $12, %r12\n jne 9f\n cmpq $13, %r13\n jne 9f\n cmpq $14, %r14\n jne 9f\n cmpq $15, %r15\n jne 9f\n"
	"	movq %xmm0, %rax\n cmpq $8, %rax\n jne 9f\n movq %xmm5, %rax\n cmpq $9, %rax\n jne 9f\n movq %xmm15, %rax\n cmpq $15, "
	"%rax\n jne 9f\n"
	"	movq $0x1122334455667788, %rax\n cmpq %rax, -8(%rsp)\n jne 9f\n cmpq %rax, -120(%rsp)\n jne 9f\n"
	"	fstsw %ax\n andw $0x3800, %ax\n cmpw $0x3000, %ax\n jne 9f\n" /* two values on the stack of the x87 */
	"	movq $1, %rax\n"
	"	decq %rdi\n jnz 1b\n"
	"	xorl %eax, %eax\n jmp 8f\n"
	"9:	movl $1, %eax\n"
	"8:	fstp %st(0)\n fstp %st(0)\n"
	"	popq %r15\n .cfi_adjust_cfa_offset -8\n popq %r14\n .cfi_adjust_cfa_offset -8\n popq %r13\n .cfi_adjust_cfa_offset -8\n"
	"	popq %r12\n .cfi_adjust_cfa_offset -8\n popq %rbx\n .cfi_adjust_cfa_offset -8\n popq %rbp\n .cfi_adjust_cfa_offset -8\n"
	"	ret\n"
	".cfi_endproc\n"
	".size check_registers, . - check_registers\n");
#else
static long check_registers(long rounds)
{
	while (rounds--)
		__asm__ volatile("");
	return 0;
}
#endif

static void *check_always(void *unused)
{
	(void)unused;
	for (;;) {
		seen->errors += check_registers(100000);
		seen->work++;
	}
	return NULL;
}

/* An allocator of the program's own that waits while it is told to, and a thread in read(2) that can be borrowed. */
#ifdef OWN_ALLOCATOR
static pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER;
static _Atomic int shut;
static char room[64 << 20];
static _Atomic size_t used;

void *malloc(size_t size)
{
	if (shut) {
		pthread_mutex_lock(&gate);
		pthread_mutex_unlock(&gate);
	}
	return room + (atomic_fetch_add(&used, (size + 31) & ~(size_t)15) + 15 & ~(size_t)15);
}

void *calloc(size_t count, size_t size)
{
	return malloc(count * size);
}

void free(void *unused)
{
	(void)unused;
}

void *realloc(void *old, size_t size)
{
	void *now = malloc(size);
	return old ? memcpy(now, old, size) : now;
}

static void *block(void *unused)
{
	(void)unused;
	pthread_mutex_lock(&gate);
	shut = 1;
	seen->work = 1;
	while (!seen->go)
		sched_yield(); /* in no call that can be begun again, and so not the thread that is borrowed */
	shut = 0;
	pthread_mutex_unlock(&gate);
	for (;;)
		pause();
}

static int read_blocked(void)
{
	char byte = 0;
	pthread_t thread;
	sigset_t all, before;
	sigemptyset(&before);
	sigaddset(&before, SIGUSR2);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	pthread_create(&thread, NULL, block, NULL);
	while (!seen->work)
		usleep(1000);
	errno = 77;
	long got = read(0, &byte, 1);
	pthread_sigmask(SIG_SETMASK, NULL, &all);
	if (got != 1 || byte != 'x' || errno != 77 || memcmp(&all, &before, sizeof(long)) != 0)
		seen->errors++;
	seen->waits[2]++;
	for (;;)
		pause();
}
#else
static int read_blocked(void)
{
	return 2;
}
#endif

int main(int count, char **arguments)
{
	pthread_t thread;
	if (count < 4)
		return 2;
	int file = open(arguments[1], O_RDWR | O_CREAT, 0600);
	if (file < 0 || ftruncate(file, 4096) || (seen = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0)) == MAP_FAILED)
		return 1;
	for (int i = atoi(arguments[2]); i > 1; i--)
		pthread_create(&thread, NULL, allocate, NULL);
	if (strcmp(arguments[3], "waits") == 0)
		for (intptr_t i = 0; i < wait_kinds; i++)
			pthread_create(&thread, NULL, wait_in, (void *)i);
	signal(SIGUSR1, handle);
	if (strcmp(arguments[3], "handler") == 0)
		raise(SIGUSR1);
	if (strcmp(arguments[3], "loader") == 0)
		dl_iterate_phdr(visit, NULL);
	if (strcmp(arguments[3], "loading") == 0)
		pthread_create(&thread, NULL, load, arguments[4]);
	if (strcmp(arguments[3], "registers") == 0)
		check_always(NULL);
	if (strcmp(arguments[3], "allocator") == 0)
		return read_blocked();
	if (strcmp(arguments[3], "one") == 0) /* this thread alone, in the wait of that number */
		wait_in((void *)(intptr_t)atoi(arguments[4]));
	else if (atoi(arguments[2]) > 0)
		allocate(NULL);
	for (;;)
		pause();
}
