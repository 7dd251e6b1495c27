#!/usr/bin/env bash
# Two containers that keep their dumps in one folder: each has a process 1. They are two processes, and both run.
. tests/e2e/lib.sh
. tests/e2e/agent.sh
need cc python3 unshare
[ "$(id -u)" = 0 ] || skip_all 'namespaces need root'
unshare --fork --pid --mount-proc true 2>/dev/null || skip_all 'no PID namespaces here'
${CC:-cc} -O1 -g tests/e2e/leaks-late-host.c -o "$scratch/host" || broken 'the test host does not build'
mkdir "$scratch/dumps"
# contain NAME: the service as process 1 of a namespace, which writes dumps to the folder
contain() {
	LD_PRELOAD='' unshare --fork --pid --mount-proc --kill-child env LD_PRELOAD="$library" \
		CAIRN_CONF="engine:cairn,enable_heap_profiling:true,period:64K,dumps:$scratch/dumps,start:true,time:400ms,distance:0" \
		"$scratch/host" >"$scratch/$1.out" 2>&1 &
	children+=($!)
	wait_for 60 grep -q ready "$scratch/$1.out"
}
lives() { "$cairn" dumps --json "$scratch/dumps" | python3 -c 'import json, sys
lives = {}
for dump in json.load(sys.stdin)["dumps"]:
    lives.setdefault(dump["process"], []).append(dump)
print(*sorted((str(len(dumps) >= 4), str(dumps[0]["pid"]), str(all(d["alive"] for d in dumps)), str(any(d["last_of_dead"] for d in dumps))) for dumps in lives.values()))'; }
contain one
contain two
both_have_dumps() { [ "$(lives | grep -o "'True', '1'" | wc -l)" = 2 ]; }
wait_for 60 both_have_dumps
is "$(lives)" "('True', '1', 'True', 'False') ('True', '1', 'True', 'False')" 'two processes 1 are listed, and both are alive'
is "$("$cairn" dumps "$scratch/dumps" | grep -c '^process 1, running')" 2 'as text, too'
"$cairn" leaks --json "$scratch/dumps" >"$scratch/leaks.json" 2>"$scratch/said"
like "$(cat "$scratch/said")" '*several processes that ran at the same time; using those of process 1 and leaving out * others*' 'a series is of one of them, which is said'
is "$(python3 -c 'import json, sys; print(json.load(open(sys.argv[1]))["runs"])' "$scratch/leaks.json")" 1 'and is one run'
end_children -KILL
children=()
both_are_gone() { [ "$("$cairn" dumps "$scratch/dumps" | grep -c '^process 1, gone')" = 2 ]; }
holds 'when they have ended, they are gone' wait_for 60 both_are_gone
done_testing
