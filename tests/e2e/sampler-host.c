/* sampler-host.c - hosts that make a sampler's life hard. sampler-host MODE [ARGUMENT]: works hard for a while, checks that every
 * pointer it
 * was given is sound, and ends with 0. With CAIRN_LONG in its environment it works ten times as long.
 * SPDX-License-Identifier: Apache-2.0 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <malloc.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

static double now(void)
{
	struct timespec time;
	clock_gettime(CLOCK_MONOTONIC, &time);
	return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

static void fail(const char *what)
{
	fprintf(stderr, "%s: %s\n", what, strerror(errno));
	_exit(1);
}

/* SECONDS, or how often, if it is to work for long. */
static double while_long(double seconds)
{
	return getenv("CAIRN_LONG") ? seconds : seconds / 10;
}

/* Allocates in every way, marks the memory, and finds it so when it is freed. */
static void churn(unsigned rounds, unsigned seed)
{
	enum { kept = 64 };
	struct {
		unsigned char *data;
		size_t size;
	} objects[kept] = {0};
	for (unsigned i = 0; i < rounds; i++) {
		seed = seed * 1664525 + 1013904223;
		unsigned at = seed >> 26, size = 1 + (seed >> 8) % 3000;
		unsigned char *old = objects[at].data, mark = (unsigned char)(at + 1);
		if (old && (old[0] != mark || old[objects[at].size - 1] != mark))
			fail("memory was changed");
		unsigned char *data = NULL;
		switch (seed >> 5 & 7) {
		case 0:
			data = realloc(old, size);
			old = NULL;
			break;
		case 1:
			data = calloc(1, size);
			if (data && (data[0] || data[size - 1]))
				fail("calloc gave other than zeroes");
			break;
		case 2:
			if (posix_memalign((void **)&data, 256, size) || (uintptr_t)data % 256)
				fail("posix_memalign");
			break;
		case 3:
			data = aligned_alloc(64, size);
			if ((uintptr_t)data % 64)
				fail("aligned_alloc");
			break;
		case 4:
			data = reallocarray(old, size, 1);
			old = NULL;
			break;
		case 5:
			data = (unsigned char *)strdup("a text of libc's own");
			size = 21;
			break;
		default: data = malloc(size); break;
		}
		free(old);
		if (!data || malloc_usable_size(data) < size)
			fail("allocation");
		data[0] = data[size - 1] = mark;
		objects[at].data = data;
		objects[at].size = size;
	}
	for (unsigned i = 0; i < kept; i++)
		free(objects[i].data);
}

static void *churn_thread(void *seed)
{
	churn(2000, (unsigned)(uintptr_t)seed);
	return NULL;
}

static void many_threads(void)
{
	enum { at_once = 200 };
	int in_all = (int)while_long(4000);
	pthread_t threads[at_once];
	pthread_attr_t attributes;
	pthread_attr_init(&attributes);
	pthread_attr_setstacksize(&attributes, 64 << 10);
	for (int i = 0; i < in_all; i++) {
		if (i >= at_once)
			pthread_join(threads[i % at_once], NULL);
		if (pthread_create(&threads[i % at_once], &attributes, churn_thread, (void *)(uintptr_t)i))
			fail("pthread_create");
	}
	for (int i = 0; i < at_once; i++)
		pthread_join(threads[i], NULL);
}

/* All of them at once. */
static pthread_barrier_t together;

static void *churn_together(void *seed)
{
	churn(500, (unsigned)(uintptr_t)seed);
	pthread_barrier_wait(&together);
	churn(500, (unsigned)(uintptr_t)seed + 7);
	return NULL;
}

static void crowd(void)
{
	enum { count = 2000 };
	static pthread_t threads[count];
	pthread_attr_t attributes;
	pthread_attr_init(&attributes);
	pthread_attr_setstacksize(&attributes, 64 << 10);
	pthread_barrier_init(&together, NULL, count);
	for (int i = 0; i < count; i++)
		if (pthread_create(&threads[i], &attributes, churn_together, (void *)(uintptr_t)i))
			fail("pthread_create");
	for (int i = 0; i < count; i++)
		pthread_join(threads[i], NULL);
}

static void *churn_for_ever(void *seed)
{
	for (;;) {
		churn(1000, (unsigned)(uintptr_t)seed);
		usleep(500);
	}
	return NULL;
}

/* Children by fork, by vfork and by a system call that libc does not see, while other threads allocate. */
static void many_forks(void)
{
	pthread_t thread;
	for (uintptr_t i = 1; i < 3; i++)
		pthread_create(&thread, NULL, churn_for_ever, (void *)i);
	double start = now();
	unsigned i = 0;
	for (; i < while_long(1500); i++) {
		int status;
		pid_t child = i % 3 == 0 ? fork() : i % 3 == 1 ? vfork() : (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
		if (child == 0) {
			if (i % 3 == 0)
				churn(200, i); /* the allocator's locks are free only after fork itself */
			_exit(0);
		}
		if (child < 0 || waitpid(child, &status, 0) != child || status != 0)
			fail("a child");
		churn(200, i);
	}
	printf("%.0f forks a second\n", i / (now() - start));
}

/* A child that lives on has a profile of its own. */
static void long_child(int seconds)
{
	churn(5000, 1);
	if (fork() == 0) {
		for (double start = now(); now() - start < seconds; usleep(500))
			churn(1000, 2);
		_exit(0);
	}
	int status;
	wait(&status);
	if (status != 0)
		fail("the child");
}

static void many_loads(const char *library)
{
	pthread_t thread;
	pthread_create(&thread, NULL, churn_for_ever, (void *)5);
	double start = now();
	for (unsigned i = 0; now() - start < while_long(3); i++) {
		void *handle = dlopen(library, i % 2 ? RTLD_NOW : RTLD_LAZY | RTLD_DEEPBIND);
		if (!handle)
			fail(dlerror());
		void *(*allocate)(size_t) = (void *(*)(size_t))dlsym(handle, "plugin_allocate");
		void (*release)(void *) = (void (*)(void *))dlsym(handle, "plugin_release");
		if (!allocate || !release)
			fail("dlsym");
		for (int j = 0; j < 50; j++)
			release(allocate(500));
		free(allocate(100)); /* theirs and ours is one allocator */
		dlclose(handle);
	}
}

/* Stacks that are not the thread's, with little room. */
static ucontext_t main_context, fiber_context;

static void fiber(void)
{
	churn(3000, 9);
}

static void on_signal(int number)
{
	(void)number;
	void *volatile object = malloc(3000); /* on the alternate stack; raised, not interrupting */
	free(object);
}

static void fibers(void)
{
	enum { small = 16 << 10 };
	char *stack = mmap(NULL, small, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	for (int i = 0; i < 50; i++) {
		getcontext(&fiber_context);
		fiber_context.uc_stack.ss_sp = stack;
		fiber_context.uc_stack.ss_size = small;
		fiber_context.uc_link = &main_context;
		makecontext(&fiber_context, fiber, 0);
		swapcontext(&main_context, &fiber_context);
	}
	munmap(stack, small);
	stack_t alternate = {.ss_sp = malloc(32 << 10), .ss_size = 32 << 10};
	sigaltstack(&alternate, NULL);
	struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_ONSTACK};
	sigaction(SIGUSR1, &action, NULL);
	for (int i = 0; i < 3000; i++)
		raise(SIGUSR1);
}

/* Signals that interrupt the sampler anywhere, whose handler frees and allocates from memory of its own. */
static void on_timer(int number)
{
	(void)number;
	volatile int unused = getpid();
	(void)unused;
}

static void signals(void)
{
	struct sigaction action = {.sa_handler = on_timer, .sa_flags = SA_RESTART};
	sigaction(SIGALRM, &action, NULL);
	timer_t timer;
	timer_create(CLOCK_MONOTONIC, NULL, &timer);
	struct itimerspec every = {{0, 50000}, {0, 50000}};
	timer_settime(timer, 0, &every, NULL);
	for (double start = now(); now() - start < while_long(3);)
		churn(1000, 3);
}

static void close_all(void)
{
	for (int i = 3; i < 65536; i++)
		close(i);
	for (double start = now(); now() - start < while_long(3);)
		churn(1000, 3);
}

/* No new descriptors, no memfd, no futex operations but waiting: what a sandbox of a browser forbids and more. */
static void sandbox(void)
{
	churn(1000, 1);
	struct sock_filter filter[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_memfd_create, 2, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_openat, 1, 0),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
	};
	struct sock_fprog program = {sizeof filter / sizeof *filter, filter};
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program))
		fail("seccomp");
	for (double start = now(); now() - start < while_long(3);)
		churn(1000, 3);
}

static void hold(void)
{
	for (int i = 0; i < 20000; i++)
		if (!malloc(1000))
			fail("malloc");
	puts("ready");
	fflush(stdout);
	pause();
}

static void busy(void)
{
	puts("ready");
	fflush(stdout);
	churn_for_ever((void *)3);
}

/* Holds ever more memory, a high after the other. */
static void grow(void)
{
	puts("ready");
	fflush(stdout);
	for (int i = 0; i < 400; i++) {
		for (int j = 0; j < 200; j++)
			if (!malloc(20000))
				fail("malloc");
		usleep(50000);
	}
	pause();
}

/* A worker that limits the length of its files, as many do, before its first sample. */
static void limited_worker(void)
{
	int status = -1;
	pid_t child = fork();
	if (child == 0) {
		setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0});
		setrlimit(RLIMIT_FSIZE, &(struct rlimit){1 << 20, 1 << 20});
		usleep(300000);
		churn(100000, 5);
		_exit(0);
	}
	if (waitpid(child, &status, 0) != child || status != 0) {
		errno = 0;
		fail(WIFSIGNALED(status) ? strsignal(WTERMSIG(status)) : "worker");
	}
}

/* A daemon: forks twice at once, and the master that is left forks a worker at once. Prints who they are; both allocate for good. */
static void become_daemon(void)
{
	if (fork() != 0)
		_exit(0);
	setsid();
	if (fork() != 0)
		_exit(0);
	pid_t worker = fork();
	if (worker != 0)
		printf("master %d worker %d\nready\n", (int)getpid(), (int)worker), fflush(stdout);
	churn_for_ever((void *)3);
}

/* Holds 64 MB, and 32 MB more with each line from PATH. */
static void step(const char *path)
{
	enum { object = 100000 };
	FILE *input = fopen(path, "r");
	int left = 64000000 / object, byte;
	if (!input)
		fail(path);
	for (bool said = false;; left = 32000000 / object) {
		for (; left > 0; left--)
			if (!malloc(object))
				fail("malloc");
		if (!said)
			puts("ready"), fflush(stdout);
		said = true;
		while ((byte = getc(input)) != '\n')
			if (byte == EOF)
				return;
	}
}

/* Publishes NAME as OpenTelemetry's process context (OTEP 4719). */
static void context(const char *name)
{
	struct {
		char signature[8];
		uint32_t version, size;
		uint64_t published, address;
		char payload[200];
	} *page;
	int descriptor = memfd_create("OTEL_CTX", MFD_CLOEXEC), length = (int)strlen(name);
	if (descriptor < 0 || length > 100 || ftruncate(descriptor, 4096))
		fail("memfd_create");
	page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE, descriptor, 0);
	close(descriptor);
	page->version = 2;
	page->size = (uint32_t)sprintf(page->payload, "\x0a%c\x0a%cservice.name\x12%c\x0a%c%s", 18 + length, 12, 2 + length, length, name);
	page->address = (uintptr_t)page->payload;
	page->published = 1;
	memcpy(page->signature, "OTEL_CTX", 8);
	hold();
}

int main(int count, char **argument)
{
	const char *mode = count > 1 ? argument[1] : "";
	if (strcmp(mode, "threads") == 0)
		many_threads();
	else if (strcmp(mode, "forks") == 0)
		many_forks();
	else if (strcmp(mode, "child") == 0)
		long_child(count > 2 ? atoi(argument[2]) : 1);
	else if (strcmp(mode, "loads") == 0)
		many_loads(argument[2]);
	else if (strcmp(mode, "fibers") == 0)
		fibers();
	else if (strcmp(mode, "signals") == 0)
		signals();
	else if (strcmp(mode, "close") == 0)
		close_all();
	else if (strcmp(mode, "sandbox") == 0)
		sandbox();
	else if (strcmp(mode, "hold") == 0)
		hold();
	else if (strcmp(mode, "crowd") == 0)
		crowd();
	else if (strcmp(mode, "busy") == 0)
		busy();
	else if (strcmp(mode, "grow") == 0)
		grow();
	else if (strcmp(mode, "daemon") == 0)
		become_daemon();
	else if (strcmp(mode, "step") == 0)
		step(argument[2]);
	else if (strcmp(mode, "limited") == 0)
		limited_worker();
	else if (strcmp(mode, "context") == 0)
		context(argument[2]);
	else
		for (double start = now(); now() - start < while_long(3);)
			churn(1000, 3);
	puts("well");
	return 0;
}
