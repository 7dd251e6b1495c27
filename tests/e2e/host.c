/* host.c - a service of many troubles, for tests of the agent: allocates all the time and does what its argument says.
 * SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <locale.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static void *keep[4096];
static volatile sig_atomic_t chld;

__attribute__((noinline)) static void allocate_some(unsigned round)
{
	for (int i = 0; i < 64; i++) {
		unsigned at = (round * 64 + (unsigned)i) % 4096;
		free(keep[at]);
		keep[at] = malloc(1000 + at);
		if (keep[at])
			memset(keep[at], 1, 100);
	}
}

/* The life of a service: some work every millisecond, until its test ends it or ten minutes are over. */
static void serve(void)
{
	for (unsigned round = 0; round < 600000; round++) {
		allocate_some(round);
		usleep(1000);
	}
}

/* Allocates at the start only, and then waits for its test to end it: half an hour is for a test that died. */
static void idle(void)
{
	for (unsigned round = 0; round < 64; round++)
		allocate_some(round);
	sleep(1800);
}

/* A call path for every number: each of its bits is a call of one function or the other. */
static void *descend(unsigned bits, int depth);

__attribute__((noinline)) static void *descend_left(unsigned bits, int depth)
{
	void *volatile kept = descend(bits, depth);
	return kept;
}

__attribute__((noinline)) static void *descend_right(unsigned bits, int depth)
{
	void *volatile kept = descend(bits, depth);
	return kept;
}

__attribute__((noinline)) static void *descend(unsigned bits, int depth)
{
	if (depth == 0)
		return malloc(8192);
	void *volatile kept = (bits & 1 ? descend_left : descend_right)(bits >> 1, depth - 1);
	return kept;
}

/* Allocates by so many call paths that a snapshot has megabytes, and then does nothing. */
static void have_stacks(unsigned count)
{
	for (unsigned i = 0; i < count; i++)
		*(volatile char *)descend(i, 20) = 1;
	printf("held\n");
	sleep(1800);
}

static void on_chld(int number)
{
	(void)number;
	chld++;
}

/* Counts SIGCHLD and children that are not its own; prints both when told to end. */
static void watch_children(void)
{
	signal(SIGCHLD, on_chld);
	int strangers = 0;
	for (unsigned round = 0; access("stop", F_OK) != 0 && round < 600000; round++) {
		allocate_some(round);
		if (waitpid(-1, NULL, WNOHANG) > 0)
			strangers++;
		usleep(1000);
	}
	printf("sigchld %d strangers %d\n", (int)chld, strangers);
}

static void *short_life(void *context)
{
	free(malloc(5000));
	return context;
}

static void many_threads(void)
{
	for (unsigned round = 0; round < 6000000; round++) {
		pthread_t threads[8];
		for (int i = 0; i < 8; i++)
			if (pthread_create(&threads[i], NULL, short_life, NULL) != 0)
				exit(3);
		for (int i = 0; i < 8; i++)
			pthread_join(threads[i], NULL);
		allocate_some(round);
		usleep(1000);
	}
}

static void load_and_unload(void)
{
	static const char *const names[] = {"libz.so.1", "liblzma.so.5", "libm.so.6", "libzstd.so.1"};
	for (unsigned round = 0; round < 600000; round++) {
		void *library = dlopen(names[round % 4], RTLD_NOW);
		allocate_some(round);
		if (library)
			dlclose(library);
		usleep(1000);
	}
}

static void prefork(void)
{
	for (int i = 0; i < 3; i++) {
		pid_t pid = fork();
		if (pid == 0) {
			serve();
			_exit(0);
		}
		printf("child %d\n", pid);
	}
	fflush(stdout);
	serve();
}

/* Until the agent's socket is there: in $CAIRN_SOCKETS, where the test says so. Without an agent there is nothing to wait for. */
static void wait_for_agent(void)
{
	char path[300];
	const char *folder = getenv("CAIRN_SOCKETS");
	if (!getenv("LD_PRELOAD"))
		return;
	if (!folder)
		usleep(500000);
	snprintf(path, sizeof path, "%s/%d.sock", folder ? folder : "", getpid());
	for (unsigned round = 0; folder && access(path, F_OK) != 0 && round < 3000; round++)
		usleep(10000);
}

/* Children that no handler hears of, and that end with everything a process does at its end: by _Fork, and past libc. */
static void fork_unheard(void)
{
	int good = 0;
	wait_for_agent();
	for (int i = 0; i < 20; i++) {
		int status;
		pid_t pid = i % 2 ? _Fork() : (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
		if (pid == 0)
			exit(0);
		good += waitpid(pid, &status, 0) == pid && status == 0;
	}
	printf("unheard %d\n", good);
	serve();
}

/* As daemons do: fork, leave the session, close everything that is open. */
static void become_daemon(void)
{
	wait_for_agent();
	if (fork() > 0)
		_exit(0);
	setsid();
	for (int i = 0; i < 2048; i++)
		close(i);
	int first = open("/dev/null", O_RDWR);
	dup(first);
	dup(first);
	FILE *file = fopen("daemon.pid", "w");
	if (file) {
		fprintf(file, "%d\n", getpid());
		fclose(file);
	}
	serve();
}

/* Closes all descriptors of a process whose agent is up, then opens COUNT of its own and checks that they stay its own. With many of them
 * some have the numbers that the agent's had. */
static void close_under_it(int count)
{
	static int own[1000];
	wait_for_agent();
	for (int i = 3; i < 2048; i++)
		close(i);
	for (int i = 0; i < count; i++)
		own[i] = open("/dev/zero", O_RDONLY);
	printf("closed\n");
	for (unsigned round = 0; round < 600000; round++) {
		char byte = 1;
		allocate_some(round);
		for (int i = 0; i < count; i++)
			if (read(own[i], &byte, 1) != 1 || byte != 0) {
				printf("descriptor %d was taken from us\n", own[i]);
				exit(4);
			}
		usleep(1000);
	}
}

/* Closes what is listened on and nothing else, as a daemon does that closes one number after the other while the agent opens its own. */
static void close_listeners(void)
{
	wait_for_agent();
	for (int i = 3; i < 2048; i++) {
		int listens = 0;
		if (getsockopt(i, SOL_SOCKET, SO_ACCEPTCONN, &listens, &(socklen_t){sizeof listens}) == 0 && listens)
			close(i);
	}
	printf("deaf\n");
	serve();
}

/* Forks children that list their descriptors after exec. */
static void list_descriptors(void)
{
	wait_for_agent();
	pid_t pid = fork();
	if (pid == 0) {
		execl("/bin/ls", "ls", "-l", "/proc/self/fd", (char *)NULL);
		_exit(1);
	}
	waitpid(pid, NULL, 0);
	printf("listed\n");
	serve();
}

static void forbid_memfd(void)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_memfd_create, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = {sizeof code / sizeof *code, code};
	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &program) != 0)
		perror("seccomp");
	serve();
}

static void few_descriptors(void)
{
	wait_for_agent();
	struct rlimit limit = {64, 64};
	setrlimit(RLIMIT_NOFILE, &limit);
	while (open("/dev/null", O_RDONLY) >= 0)
		;
	printf("full\n");
	serve();
}

/* As servers do that keep their rights in a parent: the child becomes another user soon after fork. */
static void become_nobody(void)
{
	wait_for_agent();
	pid_t pid = fork();
	if (pid == 0) {
		if (setgid(65534) != 0 || usleep(20000) != 0 || setuid(65534) != 0)
			perror("setuid");
		serve();
		_exit(0);
	}
	printf("child %d\n", pid);
	serve();
}

/* So little address space is left that a thread more can be had, but no arena for it. */
static void little_address_space(void)
{
	long pages = 0;
	char line[64] = "";
	wait_for_agent();
	for (unsigned round = 0; round < 64; round++)
		allocate_some(round);
	int file = open("/proc/self/statm", O_RDONLY);
	if (file < 0 || read(file, line, sizeof line - 1) <= 0 || (pages = atol(line)) <= 0)
		exit(3);
	close(file);
	rlim_t bytes = (rlim_t)pages * (rlim_t)sysconf(_SC_PAGESIZE) + (1 << 20);
	setrlimit(RLIMIT_AS, &(struct rlimit){bytes, bytes});
	(void)!write(1, "limited\n", 8); /* not before: the test asks at once; and not by printf, which may allocate */
	sleep(1800);
}

static void change_root(const char *folder)
{
	wait_for_agent();
	if (chroot(folder) != 0 || chdir("/") != 0)
		perror("chroot");
	printf("inside\n");
	serve();
}

static void *exit_soon(void *context)
{
	usleep(1500000);
	exit(0);
	return context;
}

static void *signal_storm(void *context)
{
	pid_t self = getpid();
	for (;;) {
		kill(self, SIGUSR1);
		usleep(200);
	}
	return context;
}

static void with_signals(void)
{
	static char stack[65536];
	pthread_t thread;
	stack_t alternate = {.ss_sp = stack, .ss_size = sizeof stack};
	sigaltstack(&alternate, NULL);
	struct sigaction action = {.sa_handler = on_chld, .sa_flags = SA_ONSTACK};
	sigaction(SIGUSR1, &action, NULL);
	pthread_create(&thread, NULL, signal_storm, NULL);
	serve();
}

static void *serve_on(void *context)
{
	serve();
	exit(0);
	return context;
}

/* Goes on without its first thread; /proc/self is nearly empty then. */
static void leave_first_thread(void)
{
	pthread_t thread;
	if (pthread_create(&thread, NULL, serve_on, NULL) == 0)
		pthread_exit(NULL);
}

/* One allocation of many bytes, written to all over again and again: had somebody forked, each page would fault once more. */
static void be_big(size_t megabytes)
{
	size_t size = megabytes << 20;
	char *memory = malloc(size);
	struct rusage before, after;
	int is_last = memory == NULL;
	for (unsigned round = 0; !is_last && round < 100000; round++) {
		is_last = access("stop", F_OK) == 0; /* what happened before that has had its effect */
		for (size_t i = 0; i < size; i += 4096)
			memory[i]++;
		if (round == 0) {
			getrusage(RUSAGE_SELF, &before);
			printf("big\n");
		}
		usleep(10000);
	}
	getrusage(RUSAGE_SELF, &after);
	printf("faults %ld of %zu pages\n", after.ru_minflt - before.ru_minflt, size / 4096);
}

int main(int argc, char **argv)
{
	const char *mode = argc > 1 ? argv[1] : "serve";
	pthread_t thread;
	setvbuf(stdout, NULL, _IOLBF, 0);
	setlocale(LC_ALL, "");
	if (strcmp(mode, "idle") == 0)
		idle();
	else if (strcmp(mode, "stacks") == 0)
		have_stacks((unsigned)atoi(argv[2]));
	else if (strcmp(mode, "children") == 0)
		watch_children();
	else if (strcmp(mode, "threads") == 0)
		many_threads();
	else if (strcmp(mode, "dlopen") == 0)
		load_and_unload();
	else if (strcmp(mode, "prefork") == 0)
		prefork();
	else if (strcmp(mode, "unheard") == 0)
		fork_unheard();
	else if (strcmp(mode, "daemon") == 0)
		become_daemon();
	else if (strcmp(mode, "closeall") == 0)
		close_under_it(argc > 2 ? atoi(argv[2]) : 64);
	else if (strcmp(mode, "deafen") == 0)
		close_listeners();
	else if (strcmp(mode, "exec") == 0)
		list_descriptors();
	else if (strcmp(mode, "seccomp") == 0)
		forbid_memfd();
	else if (strcmp(mode, "nofile") == 0)
		few_descriptors();
	else if (strcmp(mode, "nobody") == 0)
		become_nobody();
	else if (strcmp(mode, "narrow") == 0)
		little_address_space();
	else if (strcmp(mode, "chroot") == 0)
		change_root(argv[2]);
	else if (strcmp(mode, "signals") == 0)
		with_signals();
	else if (strcmp(mode, "leave") == 0)
		leave_first_thread();
	else if (strcmp(mode, "big") == 0)
		be_big((size_t)atoi(argv[2]));
	else if (strcmp(mode, "exit") == 0 && pthread_create(&thread, NULL, exit_soon, NULL) == 0)
		serve();
	else
		serve();
	return 0;
}
