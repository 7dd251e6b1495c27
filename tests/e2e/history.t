#!/usr/bin/env bash
# The history in the ledger: a row a second, and the way to the kill as a picture, against a program that knows the truth.
. tests/e2e/lib.sh
need cc python3
. tests/e2e/agent.sh
${CC:-cc} -O1 -g -w -D_GNU_SOURCE tests/e2e/history-host.c -o "$scratch/host" -pthread || broken 'the test host does not build'
# start CONF: the host, sampled; sets pid
start() {
	: >"$scratch/out"
	LD_PRELOAD=$library CAIRN_CONF=enable_heap_profiling:true,engine:cairn,period:16K$1 "$scratch/host" >"$scratch/out" 2>&1 &
	pid=$!
	children+=($pid)
}
start ,ledger:$scratch/left
has_grown() { [ "$(tail -n 1 "$scratch/out" | cut -d ' ' -f 3)" -gt 100000000 ]; }
wait_for 60 has_grown
kill -9 $pid
wait $pid 2>/dev/null

# rows: the history, with each row against what the host held at that time
rows() {
	python3 - "$1" "$scratch/out" "$2" <<'P'
import bisect, json, sys
rows = json.load(open(sys.argv[1]))["history"]
truth = [tuple(map(int, line.split()[1:])) for line in open(sys.argv[2]) if line.startswith("at ") and line.endswith("\n")]
times = [t for t, _ in truth]
print(len(rows), "rows,", len(truth), "truths")
assert len(rows) > int(sys.argv[3]), "about a row a second"
for row in rows[1:]:
    at = bisect.bisect(times, row["time"] * 1000) - 1
    # On a busy machine whoever writes down either may be interrupted before it looks at the clock.
    earlier, later = truth[max(at - 5, 0)][1], truth[min(at + 5, len(truth) - 1)][1]
    print(row, earlier, later)
    assert 0.9 * earlier - 3e6 < row["live"] < 1.1 * later + 5e6, "live bytes at that time"
    assert row is rows[-1] or row["resident"] > 0.9 * earlier, "and what was resident"
    assert row["limit"] > 0
rates = [row["allocated_per_second"] for row in rows[2:-1]]
assert min(rates) > 10e6, "some 75 MB are allocated each second, less on a slow machine"
assert rows[-1]["live"] > 0.9 * truth[-1][1], "the last row is the last moment"
P
}
"$cairn" timeline --json "$scratch/left" >"$scratch/history.json" 2>"$scratch/err"
is "$? $(cat "$scratch/err")" "0 " "timeline of a ledger that a killed process left"
holds "has what was live, resident and allocated each second" rows "$scratch/history.json" 3
holds "as a picture" "$cairn" timeline -o "$scratch/history.svg" "$scratch/left"
like "$(cat "$scratch/history.svg")" \
	'<?xml*<path class="live"*<path class="resident"*class="rate"*Live memory, as sampled [0-9]*</svg>*' "with its lines"
holds "which is well-formed" python3 -c 'import sys, xml.dom.minidom; xml.dom.minidom.parse(sys.argv[1])' "$scratch/history.svg"
holds "and as a page" "$cairn" timeline -o "$scratch/history.html" "$scratch/left"
like "$(cat "$scratch/history.html")" '<!doctype html>*<svg*</html>*' "of one file"
"$cairn" timeline --format text "$scratch/left" >"$scratch/history.txt"
like "$(cat "$scratch/history.txt")" \
	"host, process $pid
the last * s before * UTC; at most * MiB resident*
Before the end    Resident        Live     Allocated  Resident
*
*MiB *MiB *MiB/s  █*
       the end           - *MiB *MiB/s" "and as a table"
is "$(on_terminal "$cairn" timeline "$scratch/left")" "$(cat "$scratch/history.txt")" "which a terminal shows"
table() { # its figures against those of the JSON
	python3 - "$scratch/history.json" "$scratch/history.txt" <<'P'
import json, sys
rows = json.load(open(sys.argv[1]))["history"]
table = [line.split() for line in open(sys.argv[2])][4:]
end = rows[-1]["time"]
assert len(table) >= 3 and table[-1][:3] == ["the", "end", "-"], table
for line in table[:-1]:
    before = float(line[0]) / {"s": 1, "ms": 1000}[line[1]]
    row = min(rows, key=lambda row: abs(end - row["time"] - before))
    assert abs(end - row["time"] - before) < 0.06, line
    assert line[3] == "MiB" and abs(row["resident"] / 2**20 - float(line[2])) < 0.06, (line, row)
assert abs(rows[-1]["live"] / 2**20 - float(table[-1][3])) < 0.06, table[-1]
P
}
holds "with the figures of the JSON" table
"$cairn" timeline --last 2s --json "$scratch/left" >"$scratch/short.json" 2>/dev/null
is "$(python3 -c 'import json, sys
rows = json.load(open(sys.argv[1]))["history"]; print(rows[-1]["time"] - rows[0]["time"] <= 2, len(rows) >= 2)' "$scratch/short.json")" \
	"True True" "--last shows less of it"
for format in text svg html json; do
	"$cairn" timeline --last 1ms --format $format "$scratch/left" >"$scratch/least" 2>"$scratch/err"
	is "$? $([ -s "$scratch/least" ] && cat "$scratch/err")" "0 " "a span without a row shows the newest: $format"
done
is "$("$cairn" timeline --last 1ms --json "$scratch/left" | python3 -c 'import json, sys; print(len(json.load(sys.stdin)["history"]) in (1, 2))')" True \
	"and the end"
"$cairn" timeline --last fish --json "$scratch/left" >/dev/null 2>"$scratch/err"
is "$? $(cat "$scratch/err")" "2 cairn: --last takes a time such as 30s, 10m or 2h, not 'fish'" "a time that is none is refused"

# With a keeper: the dump of the last moment has it, too, and the cause
start ''
mkdir "$scratch/kept"
"$cairn" watch --grow 1T -o "$scratch/kept" $pid >/dev/null 2>&1 &
watcher=$!
children+=($watcher)
wait_for 60 has_grown
has_dump() { ls "$scratch/kept"/*.heap; }
wait_for 30 has_dump # the first of all, which is looked at below
kill -9 $pid
wait $pid 2>/dev/null
wait $watcher
"$cairn" timeline --history --json "$scratch/kept" >"$scratch/kept.json" 2>"$scratch/err"
is $? 0 "--history takes the newest dump of a folder"
like "$("$cairn" timeline --history --format text "$scratch/kept")" "host, process $pid: killed by signal 9 (Killed)*" "as a table, too"
"$cairn" timeline --format text "$scratch/kept" >/dev/null 2>"$scratch/err"
is "$? $(cat "$scratch/err")" "2 cairn: several dumps are drawn: name a file that ends in .html, .svg or .json with -o; as text there is the history of one dump (--history), and 'cairn leaks' for several" \
	"several dumps have none"
: >"$scratch/empty.heap"
"$cairn" timeline --format text "$scratch/empty.heap" >/dev/null 2>"$scratch/err"
like "$? $(cat "$scratch/err")" "1 cairn: $scratch/empty.heap: it is empty*" "and of an empty one that is said"
mkdir "$scratch/none"
for source in missing.heap none; do
	"$cairn" timeline --format text "$scratch/$source" >/dev/null 2>"$scratch/err"
	text="$? $(cat "$scratch/err")"
	"$cairn" timeline --format svg "$scratch/$source" >/dev/null 2>"$scratch/err"
	is "$text" "$? $(cat "$scratch/err")" "$source: the reason is the same as for a picture"
	like "$text" "1 cairn: $scratch/$source*" "and names it"
done
holds "the dump of a last moment has the same" rows "$scratch/kept.json" 3
like "$(cat "$scratch/kept.json")" '*"ended":"killed by signal 9 (Killed)"*' "and says how the process ended"
first=$(ls "$scratch/kept"/*.heap | grep -v last | head -n 1)
"$cairn" timeline --history --json "$first" >/dev/null 2>"$scratch/err"
is $? 1 "another dump has none"
like "$(cat "$scratch/err")" "*has no history*" "and the message says which do"
done_testing
