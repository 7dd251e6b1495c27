#!/usr/bin/env bash
# What cannot be attached to is refused in words that help, and nothing in it is touched.
. tests/e2e/lib.sh
. tests/e2e/agent.sh
need cc python3 setpriv unshare prlimit
. tests/e2e/attach.sh
chmod 777 "$scratch"

# run COMMAND...: in the background; sets `pid`, once it waits
run() {
	"$@" &
	pid=$!
	children+=("$pid")
	for _ in $(seq 250); do
		grep -q '^State:.[SZ]' "/proc/$pid/status" && [ "$(readlink "/proc/$pid/exe")" != "$(readlink /proc/$$/exe)" ] && break
		sleep 0.02
	done
}

printf 'int pause(void); int main(void) { for (;;) pause(); }\n' >"$scratch/wait.c"
# A thread made by clone has no memory for libc's functions; the only other one waits for the child of a vfork, and cannot be borrowed.
cat >"$scratch/bare.c" <<'C'
#define _GNU_SOURCE
#include <sched.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
static char stack[65536] __attribute__((aligned(16)));
static int rest(void *unused)
{
	static const struct timespec second = {1, 0};
	long result;
	(void)unused;
	for (;;) __asm__ volatile("syscall" : "=a"(result) : "a"(SYS_nanosleep), "D"(&second), "S"(0) : "rcx", "r11", "memory");
}
int main(void)
{
	int flags = CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD | CLONE_SYSVSEM | CLONE_SETTLS;
	if (clone(rest, stack + sizeof stack - 64, flags, 0, 0, (void *)0x1000, 0) < 0) return 1;
	if (vfork() == 0) for (;;) pause();
	return 2;
}
C
if [ "$(uname -m)" = x86_64 ]; then
	$cc -O1 -w "$scratch/bare.c" -o "$scratch/bare" || broken 'the host with a thread made by clone does not build'
	"$scratch/bare" &
	pid=$!
	children+=("$pid")
	is_forked() { child=$(pgrep -P "$pid"); }
	wait_for 10 is_forked
	children+=("$child")
	refuses "a process whose only free thread was made by clone" "*without libc's thread-local memory*nothing was changed*"
	kill -9 "$child"
	wait "$pid"
	is $? 2 '  and it goes on'
fi

# A 32-bit program: pause() in a loop, 10 bytes of code.
python3 - "$scratch/short" <<'P'
import struct, sys
code = b"\xb8\x1d\x00\x00\x00\xcd\x80\xeb\xf7\x90"
base = 0x08048000
header = b"\x7fELF\x01\x01\x01" + bytes(9) + struct.pack("<HHIIIIIHHHHHH", 2, 3, 1, base + 84, 52, 0, 0, 52, 32, 1, 0, 0, 0)
segment = struct.pack("<IIIIIIII", 1, 0, base, base, 84 + len(code), 84 + len(code), 5, 4096)
open(sys.argv[1], "wb").write(header + segment + code)
P
chmod +x "$scratch/short"
run "$scratch/short"
if [ "$(readlink "/proc/$pid/exe")" = "$scratch/short" ]; then
	refuses "a program of another architecture" "*is not a program for x86_64*"
	end
else
	skip 'a 32-bit program' 'the kernel runs none'
	skip 'a 32-bit program' 'the kernel runs none'
fi

cat >"$scratch/strict.c" <<'C'
#include <sys/prctl.h>
#include <unistd.h>
int main(void) { char c; prctl(PR_SET_SECCOMP, 1); for (;;) read(0, &c, 1); }
C
$cc -o "$scratch/strict" "$scratch/strict.c"
mkfifo "$scratch/never"
run "$scratch/strict" <>"$scratch/never"
wait_for 10 grep -q 'Seccomp:.1' "/proc/$pid/status"
refuses "strict seccomp" "*may only read and write*"
refuses "and --filtered does not help there" "*may only read and write*" --filtered
end

# A filter of one thread's own, which kills the process: that thread waits in read(), and would suit best otherwise.
cat >"$scratch/worker.c" <<'C'
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>
static int ends[2];
static void *work(void *strict)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_mmap, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = {4, code};
	char c;
	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	prctl(PR_SET_SECCOMP, strict ? SECCOMP_MODE_STRICT : SECCOMP_MODE_FILTER, &program);
	while (read(ends[0], &c, 1) >= 0)
		;
	return NULL;
}
int main(int count, char **arguments)
{
	pthread_t thread;
	pipe(ends);
	pthread_create(&thread, NULL, work, count > 1 ? arguments : NULL);
	for (;;)
		pause();
}
C
$cc -w -o "$scratch/worker" "$scratch/worker.c" -pthread
run "$scratch/worker"
has_thread() { grep -qs "^Seccomp:.$1" /proc/"$pid"/task/*/status; }
wait_for 10 has_thread 2
is "$(grep -c 'Seccomp:.0' "/proc/$pid/status")" 1 "the main thread has no filter"
refuses "a thread with a filter of its own" "*filters its system calls (seccomp)*cairn attach --filtered $pid"
like "$("$cairn" doctor "$pid" 2>&1)" "*its system calls are filtered (seccomp)*" "doctor sees the thread's filter"
end
run "$scratch/worker" strict
wait_for 10 has_thread 1
refuses "a thread in strict mode, even with --filtered" "*may only read and write*" --filtered
end

# A file system that has no locks: nothing is waited for.
cat >"$scratch/locks.c" <<'C'
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>
int flock(int descriptor, int operation)
{
	int file = open(LOCKS, O_WRONLY | O_APPEND | O_CREAT, 0600);
	(void)!write(file, "x", 1);
	close(file);
	errno = ENOLCK;
	return -1;
}
C
$cc -w -shared -fPIC -DLOCKS="\"$scratch/locks\"" -o "$scratch/locks.so" "$scratch/locks.c"
start locked 0 one 3
LD_PRELOAD=$scratch/locks.so "$cairn" attach "$pid" >"$scratch/log" 2>&1
is "$? $(stat -c %s "$scratch/locks")" "0 2" "the program's file is locked once to load the agent and once to count, or not at all: $(cat "$scratch/log")"
end

python3 -c 'import os, time
if os.fork() == 0: os._exit(0)
time.sleep(100)' &
parent=$!
children+=("$parent")
for _ in $(seq 250); do
	pid=$(pgrep -P "$parent" | head -n 1)
	[ -n "$pid" ] && grep -q 'State:.Z' "/proc/$pid/status" && break
	sleep 0.02
done
like "$(attach "$pid" 2>&1)" "cairn: process $pid has ended" "refused: a zombie"
kill "$parent"

# The system shows nothing of a process whose first thread has ended, although it works.
cat >"$scratch/headless.c" <<'C'
#include <pthread.h>
#include <unistd.h>
static void *work(void *unused) { for (;;) pause(); }
int main(void) { pthread_t thread; pthread_create(&thread, NULL, work, NULL); pthread_exit(NULL); }
C
$cc -w -o "$scratch/headless" "$scratch/headless.c" -pthread
"$scratch/headless" &
pid=$!
children+=("$pid")
wait_for 10 grep -q 'State:.Z' "/proc/$pid/status"
refuses "a process whose first thread has ended" "cairn: the first thread of process $pid has ended; *"
end

start threads 2 none
thread=$(ls "/proc/$pid/task" | grep -vx "$pid" | head -n 1)
like "$(attach "$thread" 2>&1)" "cairn: $thread is a thread of process $pid" "refused: the number of a thread"
end

# It has room for the call, and not for the library.
start narrow 0 one 3
wait_for 4 waits_in 230
prlimit --pid "$pid" --as=$((($(awk '/^VmSize/ { print $2 }' "/proc/$pid/status") + 1024) * 1024))
like "$(attach "$pid" 2>&1)" "cairn: process $pid cannot load the agent: *" "a process that has no room for the library"
is "$(grep -c 'memfd:libcairn' <(readlink "/proc/$pid"/fd/*))" 0 "  has its file closed again"
end

if [ "$(id -u)" = 0 ]; then
	nobody=(setpriv --reuid 65534 --regid 65534 --clear-groups)
	start own 0 one 3
	said=$("${nobody[@]}" "$cairn" attach "$pid" 2>&1)
	like "$? $said" "1 *process $pid belongs to another user: sudo cairn attach $pid" "another user's process"
	is "$(grep -c cairn "/proc/$pid/maps")" "$(grep -c "$scratch" "/proc/$pid/maps")" "  and not touched"
	end
	cp "$scratch/target" "$scratch/setuid" && chown 65534 "$scratch/setuid" && chmod 4755 "$scratch/setuid"
	program=$scratch/setuid
	start secure 0 one 3
	wait_for 4 waits_in 230 # until then it maps memory itself
	refuses "a program with set-user-ID" "*runs with another user's rights*"
	end
	program=$scratch/target

	mkdir "$scratch/jail"
	run python3 -c 'import os, sys, time
os.chroot(sys.argv[1])
time.sleep(100)' "$scratch/jail"
	in_jail() { [ "$(readlink "/proc/$pid/root")" = "$scratch/jail" ] && grep -q '^State:.S' "/proc/$pid/status"; }
	wait_for 10 in_jail
	refuses "a process in a root without /proc" "cairn: the root of process $pid (chroot) has no /proc*"
	is "$(grep -c 'memfd:libcairn' <(readlink "/proc/$pid"/fd/*))" 0 "  nor has it the library's file open"
	like "$("$cairn" doctor "$pid" 2>&1)" "*cannot be attached to: *has no /proc*" "doctor says so beforehand"
	end

	# The capability is what root has it by.
	"${nobody[@]}" "$scratch/target" "$scratch/theirs" 0 one 3 &
	pid=$!
	children+=("$pid")
	wait_for 10 test -s "$scratch/theirs"
	said=$(setpriv --bounding-set -sys_ptrace --inh-caps -sys_ptrace "$cairn" attach "$pid" 2>&1)
	like "$? $said" "1 *although you are root: the capability SYS_PTRACE is missing*--cap-add SYS_PTRACE*" "root without the capability"
	# In a user namespace of its own the command has the capability, but not over processes outside.
	like "$(unshare -U -r "$cairn" attach "$pid" 2>&1)" "*although you have the capability SYS_PTRACE: the system refuses*" \
		"a refusal by the system is not a missing capability"
	# The same user may, where the system allows it.
	"${nobody[@]}" env XDG_RUNTIME_DIR= "$cairn" attach "$pid" >"$scratch/log" 2>&1
	like "$? $(cat "$scratch/log")" "0 $pid: attached, sampling*" "its own user may attach"
	end

	# yama, as other kernels have it: its setting is a file, which is put there for this process alone.
	"${nobody[@]}" "$scratch/target" "$scratch/theirs2" 0 one 3 &
	pid=$!
	children+=("$pid")
	wait_for 10 test -s "$scratch/theirs2"
	yama() { # SCOPE: what its own user is told
		unshare -m bash -c 'mount -t tmpfs tmpfs /proc/sys/kernel && mkdir /proc/sys/kernel/yama && echo "$1" >/proc/sys/kernel/yama/ptrace_scope
			shift; exec "$@"' yama "$1" "${nobody[@]}" "$cairn" attach "$pid" 2>&1
	}
	like "$(yama 1)" "*by its parent and by root only: sudo cairn attach $pid, or*sysctl kernel.yama.ptrace_scope=0" \
		"yama 1 tells the line that would allow it"
	like "$(yama 2)" "*only root*ptrace_scope is 2*: sudo cairn attach $pid" "yama 2, too"
	like "$(yama 3)" "*no tracing at all*" "yama 3 has none"
	is "$(grep -c memfd:libcairn "/proc/$pid/maps")" 0 "  and not touched"
	end
else
	skip 'other users' 'only root can be them'
fi
done_testing
