/* ending.c - exit codes by pidfd and from /proc.
 * SPDX-License-Identifier: Apache-2.0 */
#include "live/watch/ending.h"

#include "process/proc.h"

#include <signal.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* The kernel's struct pidfd_info in its first size, which has the exit code from Linux 6.15 on. */
struct pidfd_facts {
	uint64_t mask, group;
	uint32_t ids[11];
	int32_t exit_code;
};

enum { exit_is_known = 1 << 3 };

/* Known once somebody has waited for the process. */
static bool ask_kernel(int pidfd, int *status)
{
	struct pidfd_facts facts = {.mask = exit_is_known};
	if (pidfd < 0 || ioctl(pidfd, _IOWR(0xff, 11, struct pidfd_facts), &facts) != 0 || !(facts.mask & exit_is_known))
		return false;
	*status = facts.exit_code;
	return true;
}

/* While nobody has waited for it. The kernel shows 0 to other users than its own and root. */
static bool read_zombie(int pid, int *status)
{
	char path[CAIRN_PROC_PATH];
	struct stat owner;
	struct cairn_proc_stat process;
	if (stat(cairn_proc_path(path, pid, ""), &owner) != 0 || (geteuid() != 0 && geteuid() != owner.st_uid) ||
	    !cairn_proc_stat_read(pid, &process) || process.state != 'Z' || process.exit_status > UINT16_MAX)
		return false;
	*status = (int)process.exit_status;
	return true;
}

void cairn_ending_read(const struct cairn_life *life, int pidfd, struct cairn_ending *ending)
{
	struct cairn_life now;
	bool there = cairn_life_of(life->pid, &now);
	ending->reused = there && !cairn_life_equal(life, &now);
	ending->known = ask_kernel(pidfd, &ending->status) || (there && !ending->reused && read_zombie(life->pid, &ending->status)) ||
			ask_kernel(pidfd, &ending->status); /* somebody may have waited for it meanwhile */
}

/* The group's count says that somebody in it was killed by the OOM killer; that it was this one is a conclusion. */
static struct cairn_end end_of(const struct cairn_ending *ending)
{
	bool killed = ending->known && WIFSIGNALED(ending->status);
	return (struct cairn_end){
		.kind = killed ? CAIRN_END_SIGNAL : ending->known ? CAIRN_END_CODE : CAIRN_END_UNKNOWN,
		.number = killed ? WTERMSIG(ending->status) : WEXITSTATUS(ending->status),
		.out_of_memory = ending->short_of_memory && (!ending->known || (killed && WTERMSIG(ending->status) == SIGKILL)),
	};
}

void cairn_ending_tell(const struct cairn_ending *ending, char *out, size_t size)
{
	char how[100] = "ended";
	struct cairn_end end = end_of(ending);
	if (end.kind == CAIRN_END_SIGNAL)
		snprintf(how, sizeof how, "was killed by signal %d (%s)", end.number, strsignal(end.number));
	else if (end.kind == CAIRN_END_CODE)
		snprintf(how, sizeof how, "exited with code %d", end.number);
	snprintf(out, size, "%s%s%s", how, end.out_of_memory ? ": killed by the OOM killer" : "",
		 ending->reused ? "; its PID now belongs to another process" : "");
}

void cairn_ending_say(const struct cairn_ending *ending, char *out, size_t size)
{
	struct cairn_end end = end_of(ending);
	cairn_end_say(&end, out, size);
}

struct cairn_ledger_end cairn_ending_for_ledger(const struct cairn_ending *ending, const char *how)
{
	return (struct cairn_ledger_end){.how = how, .end = end_of(ending)};
}
