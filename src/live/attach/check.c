/* check.c - the reasons not to attach, as /proc tells them.
 * SPDX-License-Identifier: Apache-2.0 */
#include "live/attach/check.h"

#include "arch/arch.h"
#include "base/file.h"
#include "live/attach/subject.h"
#include "live/target.h"
#include "process/life.h"
#include "process/proc.h"
#include "process/proc_list.h"
#include "process/tree.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <signal.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

static bool check_state(int pid, bool filtered, struct cairn_error *error)
{
	char status[CAIRN_PROC_PATH];
	uint64_t process, tracer;
	if (!cairn_proc_number(cairn_proc_path(status, pid, "status"), "Tgid:", &process))
		return cairn_fail(error, "no process %d", pid);
	if (process != (uint64_t)pid)
		return cairn_fail(error, "%d is a thread of process %llu", pid, (unsigned long long)process);
	char state = cairn_proc_state(pid);
	if (cairn_life_has_ended(pid))
		return cairn_fail(error, "process %d has ended", pid);
	if (state == 'Z')
		return cairn_fail(error,
				  "the first thread of process %d has ended; /proc shows nothing of a process without it, so nothing can "
				  "be loaded into it",
				  pid);
	if (cairn_proc_number(status, "TracerPid:", &tracer) && tracer != 0)
		return cairn_fail(error, "process %d is being debugged or traced by process %llu; attach when that has ended", pid,
				  (unsigned long long)tracer);
	if (state == 'T' || state == 't')
		return cairn_fail(error, "process %d is stopped; 'kill -CONT %d' resumes it", pid, pid);
	enum cairn_subject_seccomp seccomp = cairn_subject_seccomp(pid);
	if (seccomp == CAIRN_SECCOMP_STRICT)
		return cairn_fail(error, "process %d may only read and write (seccomp strict mode), so that nothing can be loaded into it",
				  pid);
	if (!filtered && seccomp == CAIRN_SECCOMP_FILTER)
		return cairn_fail(
			error,
			"process %d filters its system calls (seccomp), and a filter that kills would end it; if it allows those that "
			"doc/containers.md lists, as those of Docker and Kubernetes do: cairn attach --filtered %d",
			pid, pid);
	return true;
}

/* Whether the program has no loader, or one that loads nothing made for glibc. */
static bool lacks_loader(const struct cairn_elf *elf)
{
	struct cairn_bytes loader = cairn_elf_named(elf, ".interp");
	return loader.length == 0 || memmem(loader.data, loader.length, "ld-musl", 7);
}

enum cairn_attach_way cairn_attach_way_of(int pid)
{
	char path[CAIRN_PROC_PATH];
	struct cairn_elf *elf = cairn_elf_open(cairn_proc_path(path, pid, "exe"), NULL);
	bool by_core = elf && lacks_loader(elf);
	cairn_elf_close(elf);
	return by_core ? CAIRN_ATTACH_BY_CORE : CAIRN_ATTACH_BY_LIBRARY;
}

/* The kernel thread, the other architecture. */
static bool check_program(int pid, struct cairn_error *error)
{
	char path[64];
	struct cairn_error inner;
	snprintf(path, sizeof path, "/proc/%d/exe", pid);
	struct cairn_elf *elf = cairn_elf_open(path, &inner);
	if (!elf && (errno == EACCES || errno == EPERM))
		return true; /* it cannot be looked at; the next check says why */
	if (!elf)
		return cairn_fail(error, "the program of process %d cannot be read, or is not for %s: %.300s", pid, CAIRN_ARCH_NAME, inner.text);
	uint16_t machine = elf->machine;
	cairn_elf_close(elf);
	return machine == CAIRN_ARCH_ELF || cairn_fail(error, "process %d is not a program for %s", pid, CAIRN_ARCH_NAME);
}

static int yama_scope(void)
{
	struct cairn_file file;
	int scope = 0;
	if (cairn_file_read(&file, "/proc/sys/kernel/yama/ptrace_scope", NULL)) {
		scope = file.bytes.length ? file.bytes.data[0] - '0' : 0;
		cairn_file_close(&file);
	}
	return scope;
}

static bool has_capability(void)
{
	char path[CAIRN_PROC_PATH];
	uint64_t capabilities;
	return cairn_proc_mask(cairn_proc_path(path, 0, "status"), "CapEff:", &capabilities) && (capabilities >> CAP_SYS_PTRACE & 1);
}

static bool check_permission(int pid, struct cairn_error *error)
{
	char path[64];
	struct stat status;
	snprintf(path, sizeof path, "/proc/%d", pid);
	if (stat(path, &status) != 0)
		return cairn_fail(error, "no process %d", pid);
	int scope = yama_scope();
	if (scope == 3)
		return cairn_fail(error, "this system allows no tracing at all until it is started anew (kernel.yama.ptrace_scope is 3)");
	if (scope == 2 && !has_capability())
		return cairn_fail(error, "this system lets only root trace processes (kernel.yama.ptrace_scope is 2): sudo cairn attach %d",
				  pid);
	if (scope == 1 && !has_capability())
		return cairn_fail(
			error,
			"this system lets a process be traced by its parent and by root only: sudo cairn attach %d, or for everybody "
			"sudo sysctl kernel.yama.ptrace_scope=0",
			pid);
	snprintf(path, sizeof path, "/proc/%d/mem", pid);
	int descriptor = open(path, O_RDWR | O_CLOEXEC);
	if (descriptor >= 0) {
		close(descriptor);
		return true;
	}
	if (errno != EACCES && errno != EPERM)
		return cairn_fail_errno(error, "the memory of process %d cannot be opened", pid);
	if (has_capability())
		return cairn_fail(error,
				  "process %d cannot be traced although you have the capability SYS_PTRACE: the system refuses, by a "
				  "security module (AppArmor, SELinux), a seccomp filter or the user namespace of the process",
				  pid);
	if (geteuid() == 0)
		return cairn_fail(
			error,
			"process %d cannot be traced from here although you are root: the capability SYS_PTRACE is missing (docker run "
			"--cap-add SYS_PTRACE; in a pod securityContext.capabilities.add: [SYS_PTRACE])",
			pid);
	return cairn_fail(error,
			  status.st_uid == geteuid()
				  ? "process %d cannot be traced, since it has been another user or has capabilities: sudo cairn attach %d"
				  : "process %d belongs to another user: sudo cairn attach %d",
			  pid, pid);
}

static bool is_agent_thread(int pid, int tid)
{
	char path[CAIRN_PROC_PATH], comm[32];
	return tid != pid && cairn_proc_line(cairn_proc_task_path(path, pid, tid, "comm"), "", comm, sizeof comm) &&
	       strcmp(comm, "cairn") == 0;
}

/* The most seccomp filters that a thread of the process has, or its agent's; -1 where there is none such or the kernel does not tell. */
static int count_filters(int pid, bool of_agent)
{
	char path[CAIRN_PROC_PATH];
	int most = -1;
	struct cairn_proc_list list;
	cairn_proc_list_threads(&list, pid);
	for (int tid; (tid = cairn_proc_list_next(&list));) {
		uint64_t filters;
		if ((of_agent && !is_agent_thread(pid, tid)) ||
		    !cairn_proc_number(cairn_proc_task_path(path, pid, tid, "status"), "Seccomp_filters:", &filters))
			continue;
		most = (int)filters > most ? (int)filters : most;
	}
	return most;
}

/* Filters come with the fork and are never taken away, so as many as an ancestor has are the ancestor's. One whose agent does not run
 * itself proves nothing. */
bool cairn_attach_filters_are_inherited(int pid)
{
	enum { ancestors_most = 100 };
	int own = count_filters(pid, false), known = -1, above = pid;
	for (int i = 0; i < ancestors_most && known < 0 && (above = cairn_tree_parent(above)) > 0; i++)
		known = cairn_target_has_loaded(above) ? count_filters(above, true) : -1;
	return own > 0 && own <= known;
}

/* The library is opened by /proc/self/fd, unless it is there. */
static bool check_root(int pid, struct cairn_error *error)
{
	char path[64];
	struct stat status;
	snprintf(path, sizeof path, "/proc/%d/root/proc/self", pid);
	return cairn_attach_way_of(pid) == CAIRN_ATTACH_BY_CORE || lstat(path, &status) == 0 || errno != ENOENT || cairn_target_has_loaded(pid) ||
	       cairn_fail(error, "the root of process %d (chroot) has no /proc, by which it would load the agent", pid);
}

bool cairn_attach_is_possible(int pid, bool filtered, struct cairn_error *error)
{
	if (!check_state(pid, filtered, error) || !check_program(pid, error) || !check_permission(pid, error) || !check_root(pid, error))
		return false;
	if (cairn_proc_is_secure(pid))
		return cairn_fail(error, "process %d runs with another user's rights (setuid, setgid or file capabilities); the "
				  "agent stays out of it", pid);
	return true;
}
