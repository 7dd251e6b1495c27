#!/usr/bin/env bash
# A real OOM kill with the keeper outside the control group: the last dump shows what filled the memory, and the cause.
. tests/e2e/lib.sh
need cc python3
. tests/e2e/agent.sh
. tests/e2e/group.sh
${CC:-cc} -O1 -g -w -D_GNU_SOURCE tests/e2e/keeper-host.c -o "$scratch/host" -pthread || broken 'the growing host does not build'
make_group 128
trap 'end_children; rmdir "$group"; rm -rf "$scratch"' EXIT
holds_ledger() { ls -l "/proc/$watcher/fd" 2>/dev/null | grep -q 'memfd:cairn-ledger'; }

# kill_at MICROSECONDS: the kernel ends a process that pauses so long after every hundred objects of 3000 bytes; its last moment is in a
# folder of that name
kill_at() {
	mkdir -p "$scratch/$1"
	rm -f "$scratch/truth" "$scratch/truth.go"
	LD_PRELOAD=$library CAIRN_CONF=enable_heap_profiling:true,engine:cairn,period:64K bash -c 'echo $$ >"$0/cgroup.procs"; exec "$@"' \
		"$group" "$scratch/host" "$scratch/truth" grow "$1" >/dev/null 2>&1 &
	pid=$!
	children+=($pid)
	wait_for 30 test -s "$scratch/truth"
	"$cairn" watch --start false --grow 1T -o "$scratch/$1" "$pid" >"$scratch/out" 2>"$scratch/err" &
	watcher=$!
	children+=($watcher)
	wait_for 30 holds_ledger
	touch "$scratch/truth.go"
	wait $pid 2>/dev/null
	is $? 137 "with pauses of $1 us the kernel kills it"
	wait $watcher
	is $? 0 "the watcher has its last moment"
	is "$(sed -n 's/^# cairn ended //p' "$scratch/$1"/*.heap)" "killed by signal 9 (Killed), by the OOM killer (inferred)" "with the cause"
	is "$(sed -n 's/^# cairn ended.oom //p' "$scratch/$1"/*.heap)" inferred "which is marked as inferred"
	like "$("$cairn" dumps "$scratch/$1")" \
		"*last moment of process $pid, killed by signal 9 (Killed), by the OOM killer (inferred)*out of memory*" "cairn dumps says so"
	"$cairn" top --json "$scratch/$1" >"$scratch/top.json"
	holds "it shows what filled the memory" python3 - "$scratch/top.json" "$scratch/truth" <<'P'
import json, struct, sys
rows, had = json.load(open(sys.argv[1]))["rows"], struct.unpack("=q", open(sys.argv[2], "rb").read(8))[0]
got = next((r["cum"] for r in rows if r["name"] == "hold"), 0)
print(got, had); sys.exit(not (abs(got - had) < 0.15 * had and had > 60e6))
P
}
kill_at 10000
kill_at 0
done_testing
