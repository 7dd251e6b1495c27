#!/usr/bin/env bash
# --fragmentation: what is free in the slabs of live objects, by call path, on jemalloc, against a program that knows the truth.
. tests/e2e/lib.sh
need cc python3
. tests/e2e/agent.sh
${CC:-cc} -O1 -g -w -D_GNU_SOURCE tests/e2e/fragmentation-host.c -o "$scratch/host" -ljemalloc || broken 'the test host does not build'
LD_PRELOAD=$library CAIRN_CONF=enable_heap_profiling:true,engine:cairn,period:4K "$scratch/host" >"$scratch/out" 2>&1 &
pid=$!
children+=($pid)
wait_for 60 grep -q ready "$scratch/out"
"$cairn" dump -o "$scratch/one.heap" $pid >/dev/null 2>&1
"$cairn" top --fragmentation --json "$scratch/one.heap" >"$scratch/top.json" 2>"$scratch/err"
holds 'what is free in the slabs of each call path' python3 - "$scratch/top.json" "$scratch/out" <<'P'
import json, sys
data = json.load(open(sys.argv[1]))
rows = {row["name"]: row["cum"] for row in data["rows"]}
true = {name: int(size) for _, name, size in (line.split() for line in open(sys.argv[2]) if line.startswith("site "))}
print(true, rows)
# Some 650 samples: the standard error is 4 %.
sys.exit(not (data["fragmentation"] and abs(rows["hold_sparse"] / true["hold_sparse"] - 1) < 0.2 and rows.get("hold_dense", 0) < 2e6))
P
like "$("$cairn" top --fragmentation "$scratch/one.heap" 2>/dev/null)" "*free memory that live objects keep from being returned: *" 'the head says what it is'
like "$("$cairn" top "$scratch/one.heap" 2>/dev/null | sed -n '/hold_/{p;q}')" '*hold_dense' 'in live bytes the other call path comes first'
for _ in 1 2 3 4 5; do "$cairn" dump -o "$scratch/more.heap" $pid >/dev/null 2>&1; done
holds 'the host survives being asked while it allocates and frees' kill -0 $pid
"$cairn" top --fragmentation --slack "$scratch/one.heap" >/dev/null 2>"$scratch/err"
is "$? $(cat "$scratch/err")" '2 cairn: --slack and --fragmentation are two values: choose one' 'not together with --slack'
printf 'heap_v2/524288\n  t*: 1: 100 [0: 0]\n@ 0x1 0x2\n  t*: 1: 100 [0: 0]\n\nMAPPED_LIBRARIES:\n' >"$scratch/jemalloc.heap"
"$cairn" top --fragmentation "$scratch/jemalloc.heap" >/dev/null 2>"$scratch/err"
is $? 1 'a dump that does not know it is refused'
like "$(cat "$scratch/err")" '*does not say what free memory its objects keep*' 'with the reason'
done_testing
