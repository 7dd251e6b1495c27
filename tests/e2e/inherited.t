#!/usr/bin/env bash
# What a forked child of a sampled process has from its parent: it is not in the child's profile, and every command says so.
. tests/e2e/lib.sh
. tests/e2e/agent.sh
need cc python3
${CC:-cc} -O1 -g tests/e2e/inherited-host.c -o "$scratch/host" || broken 'the host does not build'
export CAIRN_TOOL=$cairn

LD_PRELOAD=$library CAIRN_CONF=enable_heap_profiling:true,engine:cairn,period:16K "$scratch/host" >"$scratch/out" &
parent=$!
children+=("$parent")
wait_for 60 test -s "$scratch/out"
child=$(<"$scratch/out")
children+=("$child")
wait_for 20 "$cairn" status "$child"

sentence='*sampling began at ??:??:??; * MiB were resident by then and are not in this profile (cairn rss explains them)*'
like "$("$cairn" top "$child" 2>/dev/null)" "$sentence" 'top says that memory of the parent is missing'
like "$("$cairn" leaks "$child" 2>/dev/null)" "$sentence" 'leaks says the same'
"$cairn" top --json "$child" >"$scratch/top.json" 2>/dev/null
"$cairn" rss --json "$child" >"$scratch/rss.json" 2>/dev/null
holds 'so do JSON and the bill, with the numbers' python3 - "$scratch/top.json" "$scratch/rss.json" <<'P'
import json, sys
top, bill = (json.load(open(name)) for name in sys.argv[1:])
lines = {line["key"]: line["bytes"] for line in bill["lines"]}
print(top["partial"], top.get("allocated_before"), top["total"], lines)
assert top["partial"] is True and 45e6 < top["allocated_before"] < 60e6
assert 26e6 < top["total"] < 35e6 # its own, and no page of them more
assert 20e6 < lines["before"] < 31e6 and sum(lines.values()) == bill["total"]
P
like "$("$cairn" top "$parent" 2>/dev/null)" '*live memory: * MiB in total*' 'the parent has all of its own'
holds 'and says nothing of the kind' bash -c "! '$cairn' top $parent 2>/dev/null | grep -q 'sampling began'"

"$cairn" dump -o "$scratch/child.heap" "$child" >/dev/null 2>&1
like "$("$cairn" top "$scratch/child.heap" 2>/dev/null)" "$sentence" 'a dump says it, too'
done_testing
