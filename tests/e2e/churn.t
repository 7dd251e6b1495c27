#!/usr/bin/env bash
# cairn churn against a program that knows what it frees, how soon, and by which thread.
. tests/e2e/lib.sh
need cc python3
. tests/e2e/agent.sh
${CC:-cc} -O1 -g -w tests/e2e/churn-host.c -o "$scratch/host" -pthread || broken 'the test host does not build'
LD_PRELOAD=$library CAIRN_CONF=enable_heap_profiling:true,engine:cairn,period:8K "$scratch/host" >"$scratch/out" 2>&1 &
pid=$!
children+=($pid)
wait_for 90 grep -q ready "$scratch/out"
"$cairn" dump -o "$scratch/one.heap" $pid >/dev/null 2>"$scratch/err"
"$cairn" churn --json "$scratch/one.heap" >"$scratch/churn.json" 2>"$scratch/err"
is $? 0 "a dump of Cairn's engine has churn"
holds "bytes, lifetimes and threads are right" python3 - "$scratch/churn.json" "$scratch/out" <<'P'
import json, sys
d = json.load(open(sys.argv[1])); rows = {r["name"]: r for r in d["rows"]}
true = {l.split()[0]: float(l.split()[1]) for l in open(sys.argv[2]) if len(l.split()) == 2}
quick, slow = rows["quick"], rows["slow"]
print(quick["bytes"] / true["quick"], slow["bytes"] / true["slow"], quick["median_seconds"], slow["median_seconds"], quick, slow)
for name in ("quick", "slow"):
    assert abs(rows[name]["bytes"] / true[name] - 1) < 0.15, name
    assert abs(rows[name]["bytes_per_second"] * d["seconds"] / rows[name]["bytes"] - 1) < 0.001
    assert abs(rows[name]["bytes"] / rows[name]["objects"] / 4000 - 1) < 0.05
assert quick["median_seconds"] < 1e-3 and quick["within_1ms"] > 0.9 and quick["other_thread"] < 0.01
assert 0.03 < slow["median_seconds"] < 2 and slow["within_1ms"] < 0.01 and slow["other_thread"] > 0.99
assert d["rows"][0]["name"] == "quick" and "main" in quick["stack"]
P
like "$("$cairn" churn "$scratch/one.heap" 2>/dev/null)" "*Median life*Call path*/s*us*quick*main*slow*" "as a table"
holds "a process can be asked" sh -c "'$cairn' churn $pid | grep -q quick"
is "$("$cairn" churn --focus slow --json "$scratch/one.heap" 2>/dev/null | python3 -c 'import json, sys; print([r["name"] for r in json.load(sys.stdin)["rows"]])')" \
	"['slow']" "filters work"
printf 'heap_v2/524288\n  t*: 1: 100 [0: 0]\n@ 0x1 0x2\n  t*: 1: 100 [0: 0]\n\nMAPPED_LIBRARIES:\n' >"$scratch/jemalloc.heap"
"$cairn" churn "$scratch/jemalloc.heap" >/dev/null 2>"$scratch/err"
is $? 1 "a dump of jemalloc has none"
like "$(cat "$scratch/err")" "*does not say what was freed*" "with the reason"
"$cairn" churn --sum "$scratch/one.heap" "$scratch/one.heap" >/dev/null 2>"$scratch/err"
is $? 2 "sums are refused"
# What was freed is known by call path only, so no label can choose a part of it.
for filter in "--tagfocus=thread_id=." "--tagignore=thread_id=."; do
	"$cairn" churn "$filter" "$scratch/one.heap" >/dev/null 2>"$scratch/err"
	is $? 2 "${filter%%=*} is refused"
	like "$(cat "$scratch/err")" "*'cairn churn' takes one dump as it is*${filter%%=*}*" "with the reason"
done
"$cairn" html --tagignore thread=none -o "$scratch/part.html" "$scratch/one.heap" 2>/dev/null
is "$(python3 tests/e2e/read-page.py "$scratch/part.html" | python3 -c 'import json, sys; print("churn" in json.load(sys.stdin)["facts"])')" False "and the page has no churn then"
"$cairn" html -o "$scratch/whole.html" "$scratch/one.heap" 2>/dev/null
is "$(python3 tests/e2e/read-page.py "$scratch/whole.html" | python3 -c 'import json, sys; print("quick" in str(json.load(sys.stdin)["facts"]["churn"]))')" True "as it has without a filter"
# A profile by thread counts it once, without a thread.
for threads in "" --threads; do
	"$cairn" export --format pprof $threads -o "$scratch/freed.pb.gz" "$scratch/one.heap" 2>/dev/null
	"$cairn" tags --value freed_space --json "$scratch/freed.pb.gz" 2>/dev/null >"$scratch/freed$threads.json"
done
holds "what was freed is no thread's" python3 - "$scratch/freed.json" "$scratch/freed--threads.json" <<'P'
import json, sys
whole, split = (json.load(open(name)) for name in sys.argv[1:])
of_threads = [t["total"] for t in split["tags"] if t["key"].startswith("thread")]
print(whole["total"], split["total"], of_threads, [t["key"] for t in split["tags"]])
assert whole["total"] > 0 and abs(split["total"] / whole["total"] - 1) < 1e-6 and not any(of_threads)
P
done_testing
