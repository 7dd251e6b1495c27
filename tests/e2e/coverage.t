#!/usr/bin/env bash
# Sampling that began late: every total says what part of the live memory it covers.
. tests/e2e/lib.sh
# dump SINCE ALLOCATED: 300 MiB sampled from SINCE on, in a process that began at 1700000000 and has ALLOCATED bytes.
dump() {
	printf 'heap_v2/4096\n  t*: 1: 314572800 [0: 0]\n@ 0x1000\n  t*: 1: 314572800 [0: 0]\n\nMAPPED_LIBRARIES:\n'
	printf '# cairn trailer 1\n# cairn pid 7\n# cairn start 1700000000.0\n# cairn time 1700003600.0\n# cairn active_since %s\n# cairn stats.allocated %s\n# cairn end\n' "$1" "$2"
} >"$scratch/late.heap"
export TZ=UTC
dump 1700001800.5 1395864371
like "$("$cairn" top "$scratch/late.heap" 2>/dev/null)" '*300.0 MiB sampled since 22:43:20, of 1.3 GiB live*' 'top says so'
like "$("$cairn" top --json "$scratch/late.heap" 2>/dev/null)" '*"allocated":1395864371,"sampled_since":1700001800.5,"partial":true*' 'and its JSON'
like "$("$cairn" flame "$scratch/late.heap" 2>/dev/null)" '*300.0 MiB sampled since 22:43:20, of 1.3 GiB live*' 'and a flame graph'
like "$("$cairn" graph --format dot "$scratch/late.heap" 2>/dev/null)" '*300.0 MiB sampled since 22:43:20, of 1.3 GiB live*' 'and a call graph'
"$cairn" html "$scratch/late.heap" -o "$scratch/late.html" 2>/dev/null
like "$(cat "$scratch/late.html")" '*"allocated":1395864371,"sampled_since":1700001800.5,"partial":true*' 'and a page (page.t looks at its words)'
sed -e 's/ 1: 314572800/ 4000: 314572800/' -e 's/^# cairn end/# cairn stats.active 1395864371\n# cairn smaps.rss 1500000000\n&/' "$scratch/late.heap" >"$scratch/little.heap"
rest='less than half of the 1.4 GiB resident'
like "$("$cairn" top "$scratch/little.heap" 2>/dev/null)" "*of 1.3 GiB live; it shows $rest: cairn why says what the rest is*" 'if that is little, top points to cairn why'
like "$("$cairn" doctor "$scratch/little.heap" 2>/dev/null)" "*300.0 MiB of 1.3 GiB that are live*$rest*cairn why $scratch/little.heap says what the rest is*" 'and so does doctor'
dump 1700000000.5 1395864371
like "$("$cairn" top --json "$scratch/late.heap" 2>/dev/null)" '*"partial":false*' 'not where sampling began with the process'
dump 1700001800.5 314572800
like "$("$cairn" top --json "$scratch/late.heap" 2>/dev/null)" '*"partial":false*' 'nor where all that lives was sampled'
dump 1699000000.5 0
like "$("$cairn" top "$scratch/late.heap" 2>/dev/null)" '*live memory: 300.0 MiB in total*' 'nor without the count of an allocator'
# Without it: what was resident when sampling began, which may be live or not. That of a process that has just begun does not matter, unless
# it is its parent's.
dump 1700001800.5 0
sed -i 's/^# cairn stats.allocated .*/# cairn active_before 189267968/' "$scratch/late.heap"
before='sampling began at 22:43:20; 180.5 MiB were resident by then and are not in this profile (cairn rss explains them)'
like "$("$cairn" top "$scratch/late.heap" 2>/dev/null)" "*$before*" 'memory that was resident before: top says so'
like "$("$cairn" flame "$scratch/late.heap" 2>/dev/null)" "*$before*" 'and so does a flame graph'
early() { sed -e 's/^# cairn active_since .*/# cairn active_since 1700000000.5/' -e "s/^# cairn active_before .*/# cairn active_before $1/" "$scratch/late.heap" >"$scratch/early.heap"; }
partial() { "$cairn" top --json "$scratch/early.heap" 2>/dev/null | of_json 'r["partial"]'; }
early 189267968 && is "$(partial)" True 'also in the first second of a process'
early 40000000 && is "$(partial)" True 'and 40 MB of 340 matter'
early 12000000 && is "$(partial)" False '12 MB do not'
sed -i 's/314572800/31457280/' "$scratch/late.heap"
early 4000000 && is "$(partial)" False 'nor does what any process begins with'
sed -i 's/^# cairn active_before/# cairn sampler.inherited 1\n&/' "$scratch/early.heap"
is "$(partial)" True 'but a forked child has its parent’s'
done_testing
