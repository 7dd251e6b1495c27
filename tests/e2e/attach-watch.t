#!/usr/bin/env bash
# `cairn watch --attach` gives processes an agent: one that is named, and those of a service as they appear.
. tests/e2e/lib.sh
. tests/e2e/agent.sh
need cc python3 curl
. tests/e2e/attach.sh

start busy 2 none
timeout 60 "$cairn" watch --attach --period 64K --once --folder "$scratch/dumps" "$pid" >"$scratch/log" 2>&1
ok $? "watch --attach takes a dump of a process that had no agent"
like "$(cat "$scratch/log")" "*target $pid*start*.heap*" "and says so"
like "$("$cairn" status "$pid")" "*period: 65536*" "with the period that was asked for"
timeout 60 "$cairn" watch --attach --once --folder "$scratch/again" "$pid" >"$scratch/log" 2>&1
ok $? "an agent that is there is used"
end

start settings 2 none
port=$(free_port)
timeout 60 "$cairn" watch --attach --period 32K --engine cairn --listen "127.0.0.1:$port" --token sesame --budget 2% --once \
	--folder "$scratch/settings.dumps" "$pid" >"$scratch/log" 2>&1
ok $? "watch --attach with all settings of an agent"
status=$("$cairn" status --json "$pid")
like "$status" '*"period":32768*' "--period"
like "$("$cairn" status "$pid")" "*engine: cairn*" "--engine"
like "$status" '*"budget":0.02*' "--budget"
asked() { curl -s -o /dev/null -w '%{http_code}' "$@" "http://127.0.0.1:$port/cairn/status"; }
is "$(asked) $(asked -H 'Authorization: Bearer sesame')" "401 200" "--listen, with the token of --token"
detach "$pid" >/dev/null
CAIRN_TOKEN=other timeout 60 "$cairn" watch --attach --listen "127.0.0.1:$port" --once --folder "$scratch/settings.dumps" "$pid" \
	>"$scratch/log" 2>&1
is "$(asked) $(asked -H 'Authorization: Bearer other')" "401 200" "or of CAIRN_TOKEN"
end
for wrong in "--engine nothing --attach" "--token a,b --attach --listen 127.0.0.1:1" "--period 1K" \
	"--engine cairn" "--budget 1%" --filtered "--listen 127.0.0.1:1"; do
	"$cairn" watch $wrong --once 1 >"$scratch/log" 2>&1
	is "$? $(wc -l <"$scratch/log")" "2 1" "a usage error: $wrong"
done

# A process with a seccomp filter, as in every container with the default profile of Docker or Kubernetes.
cat >"$scratch/filter.py" <<'P'
import ctypes, os, platform, struct, sys, time
class Program(ctypes.Structure):
    _fields_ = [("length", ctypes.c_ushort), ("code", ctypes.c_void_p)]
allow_all = ctypes.create_string_buffer(struct.pack("HBBI", 6, 0, 0, 0x7fff0000))
libc, program = ctypes.CDLL(None), Program(1, ctypes.addressof(allow_all))
seccomp, set_filter, all_threads = {"x86_64": 317, "aarch64": 277}[platform.machine()], 1, 1
for step in sys.argv[1:]:
    if step == "fork" and os.fork():
        os.wait()
        sys.exit()
    if step in ("filter", "filter-one"):
        libc.prctl(38, 1, 0, 0, 0)
        if libc.syscall(seccomp, set_filter, all_threads if step == "filter" else 0, ctypes.byref(program)):
            sys.exit("no filter")
time.sleep(1000)
P
python3 "$scratch/filter.py" filter &
pid=$!
children+=("$pid")
wait_for 10 grep -q '^Seccomp:.2' "/proc/$pid/status"
timeout 60 "$cairn" watch --attach --once --folder "$scratch/filtered" "$pid" >"$scratch/log" 2>&1
like "$? $(cat "$scratch/log")" "1 *filters its system calls (seccomp)*--filtered*" "a process with a filter is refused"
timeout 60 "$cairn" watch --attach --filtered --once --folder "$scratch/filtered" "$pid" >"$scratch/log" 2>&1
is "$? $(ls "$scratch/filtered" | grep -c 'start.heap$')" "0 1" "and attached to with --filtered"
end

# In a child that a service forks, the agent waits. The filters that the parent's agent lives with do not keep it from being started.
# start_worker STEP...: sets `pid` and `parent`
start_worker() {
	LD_PRELOAD=$library CAIRN_CONF=listen:unix,enable_heap_profiling:true,engine:cairn,period:1G python3 "$scratch/filter.py" "$@" &
	parent=$!
	children+=("$parent")
	has_child() { pid=$(pgrep -P "$parent") && grep -q '^Seccomp:.2' "/proc/$pid/status"; }
	wait_for 10 has_child
	children+=("$pid")
}
end_worker() { kill -9 "$pid" "$parent" 2>/dev/null; wait "$parent" 2>/dev/null; }
start_worker filter fork
timeout 60 "$cairn" attach --waiting "$pid" >"$scratch/log" 2>&1
like "$? $(cat "$scratch/log")" "0 $pid: attached*" "a waiting agent is started in a child with the filter of its parent"
end_worker
start_worker fork filter
timeout 60 "$cairn" attach --waiting "$pid" >"$scratch/log" 2>&1
like "$? $(cat "$scratch/log")" "1 *filters its system calls (seccomp)*--filtered $pid*" "not in one with a filter of its own"
timeout 60 "$cairn" attach --waiting --filtered "$pid" >"$scratch/log" 2>&1
like "$? $(cat "$scratch/log")" "0 $pid: attached*" "unless it is known to allow what is needed"
end_worker
start_worker filter-one fork
timeout 60 "$cairn" attach --waiting "$pid" >"$scratch/log" 2>&1
like "$? $(cat "$scratch/log")" "1 *filters its system calls (seccomp)*" "nor with one that the parent's agent does not live with"
end_worker
start_worker filter fork fork filter
has_worker() { worker=$(pgrep -P "$pid") && grep -q '^Seccomp_filters:.2' "/proc/$worker/status"; }
wait_for 10 has_worker
children+=("$worker")
timeout 60 "$cairn" attach --waiting "$worker" >"$scratch/log" 2>&1
like "$? $(cat "$scratch/log")" "1 *filters its system calls (seccomp)*" "nor where it has one more, and its parent waits, too"
kill -9 "$worker"
end_worker

# One that would end the worker: whoever asks for it is told, and it goes on.
if [ "$(uname -m)" = x86_64 ]; then
	printf 'ALLOW(SYS_%s)\n' read write clock_nanosleep restart_syscall mmap munmap >"$scratch/syscalls.h"
	$cc -O1 -w -DSYSCALLS="\"$scratch/syscalls.h\"" tests/e2e/sandbox.c -o "$scratch/sandbox"
	port=$(free_port)
	LD_PRELOAD=$library CAIRN_TOOL=$cairn CAIRN_CONF=enable_heap_profiling:true,engine:cairn,period:1G,listen:127.0.0.1:$port \
		CAIRN_SOCKETS=$sockets "$scratch/sandbox" before >"$scratch/sandbox.out" 2>&1 &
	parent=$!
	children+=("$parent")
	is_sealed() { grep -q sealed "$scratch/sandbox.out" && grep -q worker "$scratch/sandbox.out"; }
	wait_for 60 is_sealed
	pid=$(sed -n 's/^worker //p' "$scratch/sandbox.out")
	children+=("$pid")
	like "$(timeout 60 "$cairn" status "$pid" 2>&1)" "cairn: process $pid filters its system calls (seccomp)*--filtered $pid" \
		"a worker with a filter that kills is not started by a command that asks for it"
	like "$(curl -s --max-time 60 "http://127.0.0.1:$port/cairn/status?pid=$pid")" "process $pid has no agent yet*may not: *--filtered $pid*" \
		"nor by its parent"
	is "$(sort "$scratch/sandbox.out")" sealed$'\n'"worker $pid" "and goes on"
	kill -9 "$pid" "$parent"
	wait "$parent" 2>/dev/null
else
	skip "a worker with a filter that kills" "its list of system calls is that of x86_64"
fi

# A service that comes, goes and comes again, under a name of its own.
cp "$scratch/target" "$scratch/cairn-attach-me"
program=$scratch/cairn-attach-me
timeout 120 "$cairn" watch --attach --service cairn-attach-me --folder "$scratch/service" >"$scratch/log" 2>&1 &
watch=$!
children+=("$watch")
dumps() { ls "$scratch/service" 2>/dev/null | grep -c 'start.heap$'; }
seen=0
for round in 1 2; do
	start "service$round" 2 none
	for _ in $(seq 600); do [ "$(dumps)" -ge $round ] && break; sleep 0.05; done
	[ "$(dumps)" -ge $round ] && works "$scratch/service$round" && seen=$((seen + 1))
	end
done
is $seen 2 "a service is attached to each time it appears"
sed 's/^/#   /' "$scratch/log" | head -n 4
kill $watch
wait $watch 2>/dev/null

$cc -O1 -w -static -D_GNU_SOURCE tests/e2e/attach-target.c -o "$scratch/static" -pthread 2>/dev/null || broken "no static libc"
"$scratch/static" "$scratch/s" 0 one 3 &
pid=$!
children+=("$pid")
wait_for 30 test -s "$scratch/s"
timeout 60 "$cairn" watch --attach --once --folder "$scratch/dumps" "$pid" >"$scratch/log" 2>&1
is "$? $(ls "$scratch/dumps" | grep -c '^static-.*start.heap$')" "0 1" "a static program is attached to"
"$cairn" detach "$pid" >"$scratch/log" 2>&1
python3 -c '
import ctypes, sys, time
libc = ctypes.CDLL(None)
libc.ptrace.argtypes = [ctypes.c_long] * 4
assert libc.ptrace(0x4206, int(sys.argv[1]), 0, 0) == 0
print("traced", flush=True)
time.sleep(1000)' "$pid" >"$scratch/traced" &
tracer=$!
children+=($tracer)
wait_for 2 grep -q traced "$scratch/traced"
timeout 60 "$cairn" watch --attach --once --folder "$scratch/dumps" "$pid" >"$scratch/log" 2>&1
is "$? $(cut -c1-6 "$scratch/log" | head -n 1)" "1 cairn:" "one that cannot be attached to is an error"
like "$(cat "$scratch/log")" "*traced by*" "which says why"
kill $tracer # before whom the program would not end
end
done_testing
