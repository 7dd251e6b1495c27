#!/usr/bin/env bash
# Stacks through code that has no unwind rules: V8 and HotSpot compile theirs while they run, and Go calls C on another stack. They reach
# the thread's start, and generated code is named from the map that the runtime writes for perf.
. tests/e2e/lib.sh
. tests/e2e/agent.sh
need node java javac go gcc
jemalloc=$(ldconfig -p | awk '$1 == "libjemalloc.so.2" { print $NF; exit }')

# start COMMAND...: with the agent; sets pid, once it has allocated
start() {
	mkfifo "$scratch/in.$1" 2>/dev/null
	LD_PRELOAD="$library $jemalloc" MALLOC_CONF=prof:true,lg_prof_sample:14 "$@" >"$scratch/out" 2>&1 < <(sleep 300) &
	pid=$!
	children+=($pid)
	wait_for 60 grep -q ready "$scratch/out" || sed 's/^/# /' "$scratch/out"
	wait_for 10 "$cairn" status "$pid"
}
# cut: how many of a hundred stacks did not reach the thread's start
cut() { "$cairn" status --json "$pid" | python3 -c 'import json, sys
u = json.load(sys.stdin)["unwinder"]
print(round(100 * (u["no_code"] + u["no_rule"] + u["unreadable"]) / max(1, u["stacks"])))'; }
# under PATTERN: the MiB of all stacks that match
under() { "$cairn" collapsed "$pid" 2>/dev/null | awk -v path="$1" '$0 ~ path { sum += $NF } END { printf "%d\n", sum / 1048576 + 0.5 }'; }

start node --perf-basic-prof "--logfile=$scratch/v8.log" tests/hosts/hold.js
is "$(cut)" 0 'node: all stacks are whole'
holds "node: callers through V8's code, by name: $(under 'node::Start;.*outerHold.*;.*middleHold.*;.*innerHold.*AllocateUninitialized') MiB" \
	[ "$(under 'node::Start;.*outerHold.*;.*middleHold.*;.*innerHold.*AllocateUninitialized')" -ge 20 ]
holds 'node: and back to its start' [ "$(under 'node::Start;.*AllocateUninitialized')" -ge 90 ]
holder() { "$cairn" top --json -n 1 "$pid" 2>/dev/null | python3 -c 'import json, sys; print(json.load(sys.stdin)["rows"][0]["name"])'; }
like "$(holder)" 'JS:*innerHold *hold.js:*' 'node: its own function holds what V8 allocates'
mv "/tmp/perf-$pid.map" "$scratch/map" && ln -s "$scratch/map" "/tmp/perf-$pid.map"
is "$(under innerHold)" 0 'a map that is a link is not read'
rm "/tmp/perf-$pid.map"
end_children

javac -d "$scratch" tests/hosts/Hold.java || exit 1
start java -XX:+PreserveFramePointer -cp "$scratch" Hold
holds 'java: all stacks are whole' [ "$(cut)" -le 1 ]
jcmd "$pid" Compiler.perfmap >/dev/null
holds "java: callers through HotSpot's code, by name: $(under 'JavaMain;.*Hold.innerHold.*;.*allocateMemory.*os::malloc') MiB" \
	[ "$(under 'JavaMain;.*Hold.innerHold.*;.*allocateMemory.*os::malloc')" -ge 20 ]
holds 'java: and back to the start' [ "$(under 'start_thread;.*JavaMain;.*os::malloc')" -ge 85 ]
is "$(holder)" 'void Hold.innerHold(int)' "java: its own method holds what the JDK's classes allocate"
rm -f "/tmp/perf-$pid.map"
end_children

export GOFLAGS=-mod=mod GOTOOLCHAIN=local
(cd tests/hosts/go && go build -o "$scratch/hold" .) || exit 1
start "$scratch/hold"
is "$(cut)" 0 'Go: all stacks are whole'
holds "Go: from C to the goroutine's function" [ "$(under 'main.main.func1;main.outerHold;main.innerHold;.*asmcgocall;.*;keep')" -ge 40 ]
holds 'Go: and to main' [ "$(under 'runtime.main;main.main;main.outerHold;main.innerHold;.*asmcgocall;.*;keep')" -ge 40 ]
done_testing
