#!/usr/bin/env bash
# A deploy replaces the program of a process that runs: its names stay, those that were found even when it has ended.
. tests/e2e/lib.sh
. tests/e2e/agent.sh
need cc curl objdump
program=$scratch/program
cc -O1 -g -rdynamic tests/e2e/finding.c -o "$program" && cc -O1 -g -rdynamic -DANOTHER -Wl,--hash-style=sysv tests/e2e/finding.c -o "$scratch/next" ||
	broken 'the program cannot be built'
FINDING_WAITS=1 LD_PRELOAD=$library CAIRN_CONF=enable_heap_profiling:true,engine:cairn,period:1K "$program" &
pid=$!
children+=($pid)
sampled() { "$cairn" top --no-cache "$pid" 2>/dev/null | grep -q hold_in_exported; }
wait_for 20 sampled || broken 'the program is not sampled'
mv "$scratch/next" "$program"

"$cairn" dump -q -o "$scratch/live.heap" "$pid" >/dev/null
folded() { "$cairn" collapsed --lines "$@" "$scratch/live.heap" 2>"$scratch/notes"; }
folded >"$scratch/before"
holds 'a dump of a process whose program was replaced has its names' grep -q 'hold_in_static .*finding.c:10' "$scratch/before"
said=$("$cairn" disasm hold_in_exported "$pid" 2>"$scratch/notes")
like "$said" "*hold_in_exported in $program"$'\n'"*" 'disasm shows where the program was, not the link by which it is read'
is "$("$cairn" disasm --json hold_in_exported "$pid" 2>"$scratch/notes" | of_json 'r["routines"][0]["module"]')" "$program" 'in JSON, too'
like "$("$cairn" doctor "$pid" 2>&1)" "*note*$program was replaced by another build while it runs*-> cp /proc/$pid/exe program.$pid*" 'doctor tells how to keep it'
cp "/proc/$pid/exe" "$scratch/program.$pid"

kill "$pid" && wait "$pid" 2>/dev/null
children=()
folded >"$scratch/after"
holds 'once it has ended, the names that were found are known' cmp "$scratch/after" "$scratch/before"
folded --no-cache >"$scratch/after"
is "$(grep -c hold_in_ "$scratch/after")" 0 'others are not'
folded --no-cache --binary "$scratch/program.$pid" >"$scratch/after"
holds 'but with the copy' cmp "$scratch/after" "$scratch/before"
done_testing
