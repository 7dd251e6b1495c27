/* last-thread.c - a service whose first thread ends before the others.
 *
 * last-thread exit MS: by pthread_exit; another thread goes on for MS milliseconds. last-thread strict: its only thread is ended by the kernel,
 * since it may only read and write. last-thread wait FILE MS: as exit, once FILE is there.
 * SPDX-License-Identifier: Apache-2.0 */
#include <linux/seccomp.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

static void *work(void *milliseconds)
{
	for (long i = 0; i < (long)milliseconds; i += 5) {
		free(malloc(100000));
		usleep(5000);
	}
	return NULL;
}

/* As without an agent: once, on a thread that takes signals, and before the process has ended. */
static void say_goodbye(void)
{
	sigset_t blocked;
	pthread_sigmask(SIG_BLOCK, NULL, &blocked);
	printf("goodbye%s\n", sigismember(&blocked, SIGTERM) ? ", deaf" : "");
	fflush(stdout);
}

int main(int count, char **arguments)
{
	pthread_t thread;
	atexit(say_goodbye);
	puts("ready");
	fflush(stdout);
	if (strcmp(arguments[1], "strict") == 0) {
		usleep(300000); /* an agent that listens does so by then */
		prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT);
		syscall(SYS_getpid);
	}
	while (count > 3 && access(arguments[2], F_OK) != 0)
		usleep(20000);
	pthread_create(&thread, NULL, work, (void *)atol(arguments[count - 1]));
	pthread_detach(thread);
	pthread_exit(NULL);
}
