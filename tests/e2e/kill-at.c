/* kill-at.c - runs a command and kills it with SIGKILL at the beginning or end of one of its system calls.
 *
 * kill-at all|touching N COMMAND...
 *
 * The command is stopped where each system call begins and where it ends; at the Nth of these stops it is killed. "touching" counts only
 * the calls by which a process changes another (ptrace and pwrite64), "all" counts every call from the first ptrace on. Where the command
 * ends before, or N is 0, prints how many stops of both kinds there were.
 * SPDX-License-Identifier: Apache-2.0 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

int main(int count, char **arguments)
{
	long all = 0, touching = 0, most = count > 3 ? atol(arguments[2]) : 0;
	int status, signal_to_pass = 0, began = 0;
	if (count < 4)
		return 2;
	int only_touching = strcmp(arguments[1], "touching") == 0;
	pid_t child = fork();
	if (child == 0) {
		ptrace(PTRACE_TRACEME, 0, 0, 0);
		raise(SIGSTOP);
		execvp(arguments[3], arguments + 3);
		_exit(127);
	}
	if (waitpid(child, &status, 0) != child || !WIFSTOPPED(status))
		return 2;
	ptrace(PTRACE_SETOPTIONS, child, 0, PTRACE_O_TRACESYSGOOD | PTRACE_O_EXITKILL | PTRACE_O_TRACEEXEC);
	for (long number = -1;;) {
		if (ptrace(PTRACE_SYSCALL, child, 0, signal_to_pass) != 0 || waitpid(child, &status, 0) != child)
			return 2;
		if (!WIFSTOPPED(status))
			break;
		signal_to_pass = 0;
		if (status >> 8 == (SIGTRAP | PTRACE_EVENT_EXEC << 8))
			continue;
		if (WSTOPSIG(status) != (SIGTRAP | 0x80)) {
			signal_to_pass = WSTOPSIG(status);
			continue;
		}
		struct __ptrace_syscall_info info;
		if (ptrace(PTRACE_GET_SYSCALL_INFO, child, sizeof info, &info) > 0 && info.op == PTRACE_SYSCALL_INFO_ENTRY)
			number = (long)info.entry.nr;
		int touches = number == SYS_ptrace || number == SYS_pwrite64;
		began |= number == SYS_ptrace;
		all += began;
		touching += touches;
		if (most > 0 && (only_touching ? touches && touching == most : all == most)) {
			kill(child, SIGKILL);
			while (waitpid(child, &status, 0) == child && WIFSTOPPED(status))
				ptrace(PTRACE_CONT, child, 0, 0);
			return 0;
		}
	}
	printf("%ld %ld\n", all, touching);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}
