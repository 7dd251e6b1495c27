/* sandbox.c - a service that kills itself at the first system call that is not in its list: the test writes it, as lines of ALLOW(name),
 * into the file that is included here.
 *
 *   sandbox           seals itself
 *   sandbox before    forks a worker first, which seals itself, and prints how that ends
 *   sandbox after     forks a worker then, which is sealed by the fork
 * SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define ALLOW(number) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 0, 1), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),

static void *volatile keep[1024];

/* Returns in the worker, and in the service where it does not WAIT. */
static void fork_worker(int wait)
{
	int status, worker = fork();
	if (worker == 0)
		return;
	dprintf(1, "worker %d\n", worker);
	if (!wait)
		return;
	waitpid(worker, &status, 0);
	dprintf(1, "ended by signal %d\n", WIFSIGNALED(status) ? WTERMSIG(status) : 0);
	exit(0);
}

int main(int argc, char **argv)
{
	const char *when = argc > 1 ? argv[1] : "";
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
#include SYSCALLS
		ALLOW(SYS_exit_group) ALLOW(SYS_brk) /* of the service itself */
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
	};
	struct sock_fprog program = {sizeof code / sizeof *code, code};
	char path[300];
	snprintf(path, sizeof path, "%s/%d.sock", getenv("CAIRN_SOCKETS") ? getenv("CAIRN_SOCKETS") : "", getpid());
	for (unsigned round = 0; access(path, F_OK) != 0 && round < 3000; round++) /* until there is an agent */
		usleep(10000);
	usleep(300000);
	if (strcmp(when, "before") == 0)
		fork_worker(1);
	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &program) != 0)
		return 3;
	(void)!write(1, "sealed\n", 7);
	if (strcmp(when, "after") == 0)
		fork_worker(0);
	for (unsigned round = 0; round < 600000; round++) {
		if (strcmp(when, "before") != 0) { /* then it stays idle, and its agent waits */
			free(keep[round % 1024]);
			keep[round % 1024] = malloc(5000);
		}
		usleep(1000);
	}
	return 0;
}
