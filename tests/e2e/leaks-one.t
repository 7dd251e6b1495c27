#!/usr/bin/env bash
# cairn leaks on one dump of Cairn's own engine: what leaks is named from the ages of what lives, and too early is said where it is.
. tests/e2e/lib.sh
need cc python3
. tests/e2e/agent.sh
${CC:-cc} -O1 -g -w tests/e2e/leaks-one-host.c -o "$scratch/host" || broken 'the test host does not build'
# dump NAME LIFETIME-MS MILLISECONDS [leak]: one dump of a service that ran for so long, and another a little later
dump() {
	local name=$1
	shift
	LD_PRELOAD=$library CAIRN_CONF=enable_heap_profiling:true,engine:cairn,period:16K "$scratch/host" "$@" >"$scratch/$name.out" 2>&1 &
	children+=($!)
	wait_for 120 grep -q ready "$scratch/$name.out"
	"$cairn" dump -o "$scratch/$name.heap" $! >/dev/null 2>"$scratch/err" || sed 's/^/# /' "$scratch/err"
	pid=$!
}
# says NAME EXPRESSION: of the ranking, D, its rows R by name and what grows G
says() {
	"$cairn" leaks --json "$scratch/$1.heap" >"$scratch/leaks.json" 2>"$scratch/err"
	python3 -c "import json, sys; D = json.load(open('$scratch/leaks.json')); R = {r['name']: r for r in D['rows']}; G = [r['name'] for r in D['rows'] if r['verdict'] == 'growing']
sys.exit(not ($2))" || { head -c 600 "$scratch/leaks.json"; cat "$scratch/err"; echo; return 1; }
}
dump leak 20 4000 leak
holds 'the leak alone grows' says leak 'G == ["forget_request"]'
holds 'by the ages of its objects, and surely' says leak 'R["forget_request"]["evidence"] == "ages" and R["forget_request"]["confidence"] > 0.95'
# All that was lost is still there, and came evenly.
holds 'at its rate' says leak '0.8 < R["forget_request"]["bytes_per_hour"] * D["observed_hours"] / R["forget_request"]["now"] < 1.25 and R["forget_request"]["now"] > 14e6'
holds 'what is held from the start is steady, and so is what is freed' says leak 'R["load_settings"]["verdict"] == R["open_request"]["verdict"] == "steady"'
holds 'how long ordinary objects live is said' says leak '10e-3 < D["longest_lifetime_hours"] * 3600 < 200e-3'
like "$("$cairn" leaks "$scratch/leak.heap" 2>/dev/null | head -n 1)" 'forget_request keeps growing, by * MiB/s (* sure)' 'the first line is the verdict'
like "$("$cairn" leaks "$scratch/leak.heap" 2>/dev/null)" *', 1 dump after *judged by the ages of objects: ordinary ones live *, leaked ones stay*' 'and what it rests on follows'
holds 'a process is one dump, too' sh -c "'$cairn' leaks $pid 2>/dev/null | head -n 1 | grep -q '^forget_request keeps growing'"
"$cairn" leaks --objects --json "$scratch/leak.heap" >"$scratch/leaks.json" 2>/dev/null
holds '--objects counts objects' python3 -c "import json; r = json.load(open('$scratch/leaks.json'))['rows'][0]; assert r['name'] == 'forget_request' and r['verdict'] == 'growing' and r['now'] > 7000, r"
mkdir "$scratch/several"
for i in 1 2 3; do
	"$cairn" dump -o "$scratch/several/host.$i.heap" $pid >/dev/null 2>&1
	sleep 0.3
done
"$cairn" leaks --json "$scratch/several" >"$scratch/leaks.json" 2>/dev/null
holds 'of several dumps the ages of the newest count as well' python3 -c "import json; D = json.load(open('$scratch/leaks.json')); r = D['rows'][0]
assert D['dumps'] == 3 and r['name'] == 'forget_request' and r['verdict'] == 'growing' and r['evidence'] in ('ages', 'both'), D"
kill $pid

dump steady 20 4000
holds 'without a leak nothing grows' says steady 'G == [] and "nothing keeps growing" in D["summary"]'
dump early 2500 4000 leak
holds 'where objects live nearly as long as it ran, it is too early' says early 'G == [] and R["forget_request"]["verdict"] == "too early" and R["forget_request"]["more_hours"] > 0'
like "$("$cairn" leaks "$scratch/early.heap" 2>/dev/null)" 'too early to tell*(* more may tell)*' 'and that is said'
is "$("$cairn" leaks "$scratch/early.heap" 2>/dev/null | grep -c ' too early .*%  ')" 0 'what is too early to tell is not called sure'

printf 'heap_v2/524288\n  t*: 1: 100 [0: 0]\n@ 0x1 0x2\n  t*: 1: 100 [0: 0]\n\nMAPPED_LIBRARIES:\n' >"$scratch/jemalloc.heap"
"$cairn" leaks "$scratch/jemalloc.heap" >/dev/null 2>"$scratch/err"
is $? 1 'one dump that knows no ages is not enough'
like "$(cat "$scratch/err")" '*1 usable dump, but at least 3 are needed*' 'which is said'
"$cairn" leaks --older 1ms "$scratch/leak.heap" >/dev/null 2>"$scratch/err"
is $? 1 'a part of one dump by age says nothing of ages'
# Ages are of live memory: slack and the like need several dumps.
for value in --slack --peak; do
	"$cairn" leaks $value "$scratch/leak.heap" >"$scratch/out" 2>"$scratch/err"
	like "$? $(cat "$scratch/err")" '1 *1 usable dump, but at least 3 are needed*' "$value: ages say nothing of it"
	is "$(cat "$scratch/out")" '' 'and there is no verdict'
done
done_testing
