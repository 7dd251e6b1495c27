#!/usr/bin/env bash
# A process that samples has no thread of ours before somebody asks for one: it may do what only a process with one thread may, and its profile is
# read from outside all the same.
. tests/e2e/lib.sh
need cc python3
. tests/e2e/agent.sh
${CC:-cc} -O1 -g -w tests/e2e/waits.c -o "$scratch/waits" || broken 'the test host does not build'
cp "$scratch/waits" "$scratch/waits-jemalloc" && ${CC:-cc} -O1 -g -w tests/e2e/waits.c -o "$scratch/waits-jemalloc" -ljemalloc || broken 'it builds with jemalloc'
threads() { awk '/^Threads:/ {print $2}' "/proc/$1/status"; }
pid_of() { sed -n "s/^$1 \([0-9]*\) holds.*/\1/p" "$scratch/out"; }
says() { grep -q "^$1" "$scratch/out"; }
can_unshare=alone
python3 -c 'import ctypes, sys; sys.exit(ctypes.CDLL(None).unshare(0x10000000) != 0)' 2>/dev/null || can_unshare='not alone'

# walk: lets the service do its next steps, and waits for each
walk() { for step; do [ "$step" = "${step#=}" ] && touch "$scratch/steps/$step" || wait_for 30 says "${step#=}"; done; }
begin() { rm -rf "$scratch/steps"; mkdir "$scratch/steps"; : >"$scratch/out"; }
expected="again holds 20 MiB with 1 thread
again is $can_unshare
child holds 20 MiB with 1 thread
child is $can_unshare
parent holds 30 MiB with 1 thread
parent is $can_unshare"
said() { sed 's/ [0-9]* holds/ holds/' "$scratch/out" | sort; }

# Under cairn run, nobody asks.
cd "$scratch"
for way in "" jemalloc; do
	begin
	program=$scratch/waits${way:+-$way}
	"$cairn" run ${way:+--engine $way} -o "$scratch/left$way.pb.gz" -- "$program" "$scratch/steps" >"$scratch/out" 2>"$scratch/err" &
	runner=$!
	children+=($runner)
	walk =child child parent =again again
	wait $runner
	status=$?
	if [ "$way" ]; then # what jemalloc's profiler has sampled only an agent can tell, so that cairn run asks for one once there is much of it
		is "$status $(said | grep holds)" "0 $(echo "$expected" | grep holds)" "cairn run --engine $way: all of them begin with one thread"
	else
		is "$status $(said)" "0 $expected" 'cairn run: parent, forked child and executed program have one thread'
	fi
	like "$("$cairn" top "left$way.pb.gz" 2>&1)" '*live memory: *[0-9][0-9].[0-9] MiB*hold*' "and their memory is in the profile"
	like "$(cat "$scratch/err")" "*held by: hold *profile: *" "as the summary says"
done

# With the agent preloaded, for as long as only profiles are wanted.
begin
LD_PRELOAD=$library CAIRN_CONF=enable_heap_profiling:true,period:16K "$scratch/waits" "$scratch/steps" >"$scratch/out" 2>&1 &
parent=$!
children+=($parent)
walk =child
child=$(pid_of child)
like "$("$cairn" top --no-fold $parent 2>&1)" '*live memory: [23][0-9].[0-9] MiB*hold*' 'top shows a process without a thread of ours'
like "$("$cairn" top --no-fold $child 2>&1)" '*live memory: [12][0-9].[0-9] MiB*hold*' 'and its forked child'
like "$("$cairn" top --tree $parent 2>&1)" '*live memory: [45][0-9].[0-9] MiB*hold*' 'and both'
like "$("$cairn" ps)" "*$parent  active *16.0 KiB *waits*" 'ps lists it'
holds 'the page of it is written' "$cairn" html -o "$scratch/page.html" $parent
holds 'and a dump' "$cairn" dump -o "$scratch/one.heap" $parent
mkdir "$scratch/watched"
holds 'watch keeps one of the child, as part of the tree' timeout 60 "$cairn" watch --once --tree -o "$scratch/watched" $parent
kill -STOP $child
wait_for 10 is_stopped $child
like "$("$cairn" top $child 2>&1)" '*live memory: [12][0-9].[0-9] MiB*hold*' 'a process that is stopped is no different'
kill -CONT $child
is "$(threads $child)" 1 'the child, whom nobody named to watch, has one thread'
like "$("$cairn" status $child)" "pid: $child*state: active*" 'status starts its agent'
is "$(threads $child)" 2 'which is a second thread'
like "$("$cairn" top $child 2>&1)" '*live memory: [12][0-9].[0-9] MiB*hold*' 'and nothing is lost'
walk child parent again
wait $parent

# Where nobody may trace the process, its next sample starts the agent: here somebody traces it already. Not where a thread or a socket of ours
# could end it: a child with a filter of its own is left alone.
cat >"$scratch/traced.c" <<'C'
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#define END(number) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 0, 1), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS)
static void seal(void)
{
	struct sock_filter code[] = {BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)), END(SYS_clone), END(SYS_clone3),
				     END(SYS_socket), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
	struct sock_fprog program = {sizeof code / sizeof *code, code};
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0) _exit(3);
}
int main(int argc, char **argv)
{
	pid_t child = fork();
	if (child == 0 && argc > 1) seal();
	if (child == 0)
		for (void *volatile kept;; usleep(1000)) free((kept = malloc(100000)));
	if (ptrace(PTRACE_SEIZE, child, 0, 0) != 0) return 1;
	for (int status; waitpid(child, &status, __WALL) == child && WIFSTOPPED(status);) ptrace(PTRACE_CONT, child, 0, 0);
	return 0;
}
C
${CC:-cc} -O1 -w "$scratch/traced.c" -o "$scratch/traced" || broken 'the traced host does not build'
is_sampled() { child=$(pgrep -P $parent) && grep -q cairn-ledger "/proc/$child/maps"; }
# trace [sealed]: starts it
trace() {
	LD_PRELOAD=$library CAIRN_CONF=enable_heap_profiling:true,period:64K "$scratch/traced" "$@" &
	parent=$!
	children+=($parent)
	wait_for 20 is_sampled
	children+=($child)
}
trace
like "$("$cairn" attach $child 2>&1)" '*is being debugged or traced*' 'a process that is traced cannot be attached to'
like "$("$cairn" status $child 2>&1)" "pid: $child*" 'but asked: its next sample starts its agent'
kill -9 $child
wait $parent
trace sealed
"$cairn" status $child >"$scratch/log" 2>&1
sleep 0.2 # some hundred samples
like "$(cat "$scratch/log") $(threads $child)" 'cairn: *has not started* 1' 'one with a filter of its own is left alone'
kill -9 $child
wait $parent

# What has work for the agent starts it.
for conf in listen:unix dumps:$scratch/dumps,start:true dumps:$scratch/dumps,keep_count:3 ledger:$scratch/ledger budget:1%; do
	LD_PRELOAD=$library CAIRN_CONF=$conf sleep 100 &
	children+=($!)
	has_two() { [ "$(threads $1)" -ge 2 ]; }
	holds "$conf is work for the agent" wait_for 20 has_two $!
	kill $!
done
holds 'an address may be unix' "$cairn" run -q -o /dev/null --listen unix -- true
done_testing
