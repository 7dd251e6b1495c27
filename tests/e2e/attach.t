#!/usr/bin/env bash
# Attaching to a program that was started without anything, and leaving it again: it never notices.
. tests/e2e/lib.sh
. tests/e2e/agent.sh
need cc python3
. tests/e2e/attach.sh

# Each wait, on the only thread there is.
waits=(futex epoll_wait read nanosleep accept poll clock_nanosleep)
numbers=(202 232 0 230 43 7 230) # of those system calls on x86_64; nanosleep is clock_nanosleep in glibc
for kind in "${!waits[@]}"; do
	start "wait$kind" 0 one "$kind"
	wait_for 4 waits_in "${numbers[kind]}"
	said=$(attach "$pid" 2>&1)
	like "$said" "$pid: attached, sampling with engine cairn*held for * ms" "a process that waits in ${waits[kind]} is attached to"
	detach "$pid" >/dev/null && attach -q "$pid" && detach "$pid" >/dev/null
	ok $? "left, attached to again and left"
	is "$(number "$scratch/wait$kind" 8) $(number "$scratch/wait$kind" $((16 + 8 * kind)))" "0 0" "and ${waits[kind]} has not returned"
	end
done

# Threads that do nothing but allocate and free. They hold 1 MB, which is 16 samples, once all of them have gone on for a while.
start busy 8 none
named() { "$cairn" top --no-fold "$pid" >"$scratch/top" 2>&1 && grep -q allocate "$scratch/top"; }
rounds=0
wanted=$(rounds 2 5)
for _ in $(seq "$wanted"); do
	attach --period 64K "$pid" >"$scratch/log" 2>&1 && works "$scratch/busy" && wait_for 4 named &&
		detach "$pid" >>"$scratch/log" 2>&1 && works "$scratch/busy" && rounds=$((rounds + 1))
done
is $rounds "$wanted" "eight threads that allocate and free are attached to $wanted times, seen, and left"
sed 's/^/#   /' "$scratch/log" | head -n 3
alone() { [ "$(ls "/proc/$pid/task" | wc -l)" = 8 ]; }
wait_for 4 alone # a thread that was waited for is there for a moment more
is "$(ls "/proc/$pid/task" | wc -l)" 8 "no thread of the agent is left"
is "$(grep -c 'memfd:libcairn' <(readlink "/proc/$pid"/fd/*))" 0 "nor a descriptor of the library"
is "$(readlink "/proc/$pid"/fd/* | grep -E '/statm$|/pressure/|/memory\.')" "" "nor one by which it looked at memory"
is "$(awk '$2 ~ /w.*x/ || $2 ~ /rwx/' "/proc/$pid/maps")" "" "no memory is writable and executable"
is "$(awk '/memfd:libcairn/ && $2 ~ /x/' "/proc/$pid/maps" | wc -l)" 1 "the library was loaded once"
like "$("$cairn" top "$pid" 2>&1)" "*no agent runs in process $pid: it was detached*" "the agent is gone"
size=$(awk '/VmSize/ { print $2 }' "/proc/$pid/status")
for _ in 1 2 3 4 5; do attach -q "$pid" && detach "$pid" >/dev/null; done
grown=$(($(awk '/VmSize/ { print $2 }' "/proc/$pid/status") - size))
[ "$grown" -le 4096 ]
ok $? "and five rounds more leave no mapping behind ($grown kB)"
attach --wait "$pid" >"$scratch/log"
like "$("$cairn" status "$pid")" "*state: inactive*" "--wait does not sample"
like "$(attach "$pid" 2>&1)" "*already has an agent*" "an agent that is there is used"
like "$("$cairn" status "$pid")" "*state: active*" "and samples"
end

# The command is killed at any moment.
start killed 3 waits
unharmed=0
points=$(rounds 8 25)
for i in $(seq "$points"); do
	"$cairn" attach -q --period 64K "$pid" >/dev/null 2>&1 &
	tool=$!
	sleep "0.0$((i * 2 % 10))$((RANDOM % 10))"
	kill -9 $tool 2>/dev/null
	wait $tool 2>/dev/null
	works "$scratch/killed" && [ "$(number "$scratch/killed" 8)" = 0 ] && unharmed=$((unharmed + 1))
	[ $((i % 3)) = 0 ] && "$cairn" detach "$pid" >/dev/null 2>&1
done
is $unharmed "$points" "killed at $points points, the command leaves the process working and its waits waiting"
attach "$pid" >"$scratch/log" 2>&1
holds "and afterwards it can be attached to" "$cairn" status "$pid"
is "$(grep -c 'memfd:libcairn' <(readlink "/proc/$pid"/fd/*))" 0 "what a killed command left is used up"
end

# What is refused, with nothing touched.
start handler 0 handler
wait_for 4 waits_in 34 # pause
refuses "a thread that is in a signal handler" "*no thread*the last was in a signal handler*nothing was changed"
end
start loader 0 loader
wait_for 4 waits_in 34
refuses "a thread that is in the loader" "*no thread*the last was in the allocator, the loader*nothing was changed"
end
start stopped 0 one 3
kill -STOP "$pid"
wait_for 4 is_stopped "$pid"
refuses "a stopped process" "*is stopped*kill -CONT*"
kill -CONT "$pid"
like "$("$cairn" top "$pid" 2>&1)" "*no agent; 'cairn attach $pid'*" "top suggests to attach"
like "$("$cairn" doctor "$pid" 2>&1)" "*attach * can be attached to*-> cairn attach $pid*" "doctor says that it will work"
cat >"$scratch/tracer.py" <<'P'
import ctypes, sys, time
libc = ctypes.CDLL(None, use_errno=True)
libc.ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]
assert libc.ptrace(0x4206, int(sys.argv[1]), None, None) == 0
print("traced", flush=True)
time.sleep(60)
P
coproc tracer { exec python3 "$scratch/tracer.py" "$pid"; }
read -r -u "${tracer[0]}" _
refuses "a process that is being debugged" "*is being debugged*"
like "$("$cairn" doctor "$pid" 2>&1)" "*cannot be attached to: *is being debugged*" "doctor says that it will not work"
kill -9 "$tracer_PID"
end
python3 - "$scratch/filtered" <<'P' &
import ctypes, sys, time
libc = ctypes.CDLL(None)
libc.prctl(38, 1, 0, 0, 0)
class Instruction(ctypes.Structure):
    _fields_ = [("code", ctypes.c_ushort), ("jt", ctypes.c_ubyte), ("jf", ctypes.c_ubyte), ("k", ctypes.c_uint)]
class Program(ctypes.Structure): _fields_ = [("length", ctypes.c_ushort), ("filter", ctypes.POINTER(Instruction))]
allow = (Instruction * 1)(Instruction(6, 0, 0, 0x7fff0000))
assert libc.prctl(22, 2, ctypes.byref(Program(1, allow)), 0, 0) == 0
open(sys.argv[1], "w").write("x")
time.sleep(100)
P
pid=$!
children+=("$pid")
wait_for 5 test -s "$scratch/filtered"
refuses "a process with a seccomp filter" "*filters its system calls*--filtered $pid*"
holds "unless it is known to allow what is needed" timeout 300 "$cairn" attach --filtered "$pid"
end
is "$(attach 999999999 2>&1)" "cairn: no process 999999999" "no such process"
attach >/dev/null 2>&1
is $? 2 "no PID is a usage error"
done_testing
