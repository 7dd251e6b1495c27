#!/usr/bin/env bash
# --peak: what was live at the highest point, after it is gone, against a program that knows the truth.
. tests/e2e/lib.sh
need cc jeprof python3
. tests/e2e/agent.sh

# spike CONF PROGRAM MEGABYTES: starts it, and waits until the spike is over; sets pid
spike() {
	rm -f "$scratch/out"
	LD_PRELOAD=$library CAIRN_CONF=enable_heap_profiling:true,engine:cairn,$1 "$2" "$3" >"$scratch/out" 2>&1 &
	pid=$!
	children+=($pid)
	wait_for 60 grep -q ready "$scratch/out"
}
# right SOURCE TOLERANCE: the peak of each call site, and the total, within that share of the total
right() {
	"$cairn" top --peak --json "$1" >"$scratch/peak.json" 2>"$scratch/err" || { cat "$scratch/err"; return 1; }
	python3 - "$scratch/peak.json" "$scratch/out" "$2" <<'P'
import json, sys
data, allowed = json.load(open(sys.argv[1])), float(sys.argv[3])
rows = {r["name"]: r["cum"] for r in data["rows"]}
sites = [line.split()[1:] for line in open(sys.argv[2]) if line.startswith("site ")]
total = sum(int(bytes) for _, bytes in sites)
off = {name: (rows.get(name, 0) - int(bytes)) / total for name, bytes in sites}
off["total"] = (data["total"] - total) / total
print(off)
sys.exit(len(sites) != 3 or not data["peak"] or any(abs(part) > allowed for part in off.values()))
P
}

for allocator in libc $(rounds jemalloc 'tcmalloc_minimal mimalloc jemalloc'); do
	[ $allocator = libc ] && link= || link="-Wl,--no-as-needed -l$allocator"
	${CC:-cc} -O1 -g -w -D_GNU_SOURCE tests/e2e/peak-host.c -o "$scratch/host" -pthread $link ||
		broken "the test host does not build with $allocator"
	spike period:4K "$scratch/host" 100 # chance moves 100 MB by half a megabyte then; below it is rounded to five
	holds "$allocator: what was live during a spike of 50 ms, within five per cent" right $pid 0.05
	if [ $allocator = libc ]; then first=$pid; else
		kill -9 $pid
		wait $pid 2>/dev/null
	fi
done
"$cairn" dump -o "$scratch/one.heap" $first >/dev/null 2>&1
rows() { python3 -c 'import json, sys
rows = {r["name"]: r["cum"] for r in json.load(sys.stdin)["rows"]}
print(*[int(round(rows.get(name, 0) / 5e6)) * 5 for name in ("hold_before", "hold_spike", "hold_after")])'; }
is "$("$cairn" top --json "$scratch/one.heap" 2>/dev/null | rows)" "10 0 10" "without --peak it is what lives now"
is "$("$cairn" top --peak --json "$scratch/one.heap" 2>/dev/null | rows)" "20 100 0" "with it, what lived then"
like "$("$cairn" top --peak "$scratch/one.heap" 2>/dev/null)" "*its highest point: *before the dump*live memory at its highest point: *" \
	"the head says when that was"
like "$("$cairn" traces --peak "$scratch/one.heap" 2>/dev/null)" "*hold_spike*" "it works on other views"
like "$("$cairn" tags --peak "$scratch/one.heap" 2>/dev/null)" "*bytes*" "and where others split by thread"
holds "and for pictures" "$cairn" flame --peak -o "$scratch/peak.svg" "$scratch/one.heap"
like "$(cat "$scratch/peak.svg")" "*live memory at its highest point*hold_spike*" "which say what they show"
like "$("$cairn" diff --peak "$scratch/one.heap" "$scratch/one.heap" 2>/dev/null)" \
	"*live memory at its highest point: 0*" "and for differences"
holds "the call paths add up to the highest total" awk '/^# cairn peak/ { sum += $7 } /^# cairn sampler.highest/ { most = $4 }
	END { print sum, most; exit !(most > 0 && sum > 0.99 * most && sum < 1.01 * most) }' "$scratch/one.heap"
jeprof --show_bytes --text "$scratch/host" "$scratch/one.heap" >"$scratch/jeprof" 2>/dev/null
"$cairn" top --json "$scratch/one.heap" >"$scratch/one.json" 2>/dev/null
holds "stock jeprof reads the dump as before" python3 - "$scratch/jeprof" "$scratch/one.json" <<'P'
import json, sys
theirs, ours = int(open(sys.argv[1]).readline().split()[1]), json.load(open(sys.argv[2]))["total"]
print(theirs, ours); sys.exit(abs(theirs - ours) > 0.001 * ours)
P
# The ledger that a killed process leaves
spike period:16K,ledger:$scratch/left "$scratch/host" 100
kill -9 $pid
wait $pid 2>/dev/null
holds "of a ledger that a killed process left" right "$scratch/left" 0.05
# A ledger so small that it is thinned on the way up
spike period:1K,ledger_bytes:1M "$scratch/host" 100
"$cairn" dump -o "$scratch/thin.heap" $pid >/dev/null 2>&1
is "$(($(sed -n 's/^# cairn sampler.doublings //p' "$scratch/thin.heap") > 2))" 1 "a small ledger is thinned"
holds "and the highest point stays right" right "$scratch/thin.heap" 0.15
printf 'heap_v2/524288\n  t*: 1: 100 [0: 0]\n@ 0x1 0x2\n  t*: 1: 100 [0: 0]\n\nMAPPED_LIBRARIES:\n' >"$scratch/jemalloc.heap"
"$cairn" top --peak "$scratch/jemalloc.heap" >/dev/null 2>"$scratch/err"
is $? 1 "a dump that does not know it is refused"
like "$(cat "$scratch/err")" "*does not say what was live at the highest point*" "with the reason"
"$cairn" top --peak --older 1m "$scratch/one.heap" >/dev/null 2>"$scratch/err"
is $? 2 "and so is what it cannot be combined with"
done_testing
