#!/usr/bin/env bash
# --slack: what objects can hold beyond what was requested, by call path, against a program that knows the truth.
. tests/e2e/lib.sh
need cc python3
. tests/e2e/agent.sh
for allocator in libc tcmalloc_minimal mimalloc jemalloc; do
	[ $allocator = libc ] && link= || link="-Wl,--no-as-needed -l$allocator"
	${CC:-cc} -O1 -g -w -D_GNU_SOURCE tests/e2e/slack-host.c -o "$scratch/host" $link || broken "the test host does not build with $allocator"
	rm -f "$scratch/out"
	LD_PRELOAD=$library CAIRN_CONF=enable_heap_profiling:true,engine:cairn,period:4K "$scratch/host" >"$scratch/out" 2>&1 &
	pid=$!
	children+=($pid)
	wait_for 60 grep -q ready "$scratch/out"
	"$cairn" dump -o "$scratch/one.heap" $pid >/dev/null 2>&1
	"$cairn" top --slack --json "$scratch/one.heap" >"$scratch/slack.json" 2>"$scratch/err"
	holds "$allocator: the slack of each call site, within a tenth" python3 - "$scratch/slack.json" "$scratch/out" <<'P'
import json, sys
data = json.load(open(sys.argv[1]))
rows = {row["name"]: row["cum"] for row in data["rows"]}
sites = [line.split()[1:] for line in open(sys.argv[2]) if line.startswith("site ")]
print(sites, rows)
whole = sum(int(size) for _, size in sites)
sys.exit(len(sites) != 3 or not data["slack"] or
         any(abs(rows.get(name, 0) - int(size)) > 0.1 * int(size) + 0.02 * whole for name, size in sites))
P
	kill -9 $pid
	wait $pid 2>/dev/null
done
like "$("$cairn" top --slack "$scratch/one.heap" 2>/dev/null)" \
	"*slack: what live objects can hold beyond what was requested: *" "the head says what it is"
holds "it works for pictures" "$cairn" flame --slack -o "$scratch/slack.svg" "$scratch/one.heap"
like "$(cat "$scratch/slack.svg")" "*hold_loose*" "with the call paths"
printf 'heap_v2/524288\n  t*: 1: 100 [0: 0]\n@ 0x1 0x2\n  t*: 1: 100 [0: 0]\n\nMAPPED_LIBRARIES:\n' >"$scratch/jemalloc.heap"
"$cairn" top --slack "$scratch/jemalloc.heap" >/dev/null 2>"$scratch/err"
is $? 1 "a dump that does not know it is refused"
like "$(cat "$scratch/err")" "*does not say how much of its objects was requested*" "with the reason"
done_testing
