#!/usr/bin/env bash
# Ages: --older, --younger and the table of live bytes by age, against a program that knows the truth.
. tests/e2e/lib.sh
need cc python3
. tests/e2e/agent.sh
${CC:-cc} -O1 -g -w tests/e2e/ages-host.c -o "$scratch/host" || broken 'the test host does not build'
LD_PRELOAD=$library CAIRN_CONF=enable_heap_profiling:true,engine:cairn,period:4K "$scratch/host" >"$scratch/out" 2>&1 &
pid=$!
children+=($pid)
wait_for 60 grep -q ready "$scratch/out"
"$cairn" dump -o "$scratch/one.heap" $pid >/dev/null 2>"$scratch/err"
"$cairn" dump -o "$scratch/again.heap" $pid >/dev/null 2>>"$scratch/err"
# shares COMMAND...: the live megabytes of hold_old and hold_young, rounded to the nearest five
shares() {
	"$@" --json "$scratch/one.heap" 2>"$scratch/err" | python3 -c 'import json, sys
rows = {r["name"]: r["cum"] for r in json.load(sys.stdin)["rows"]}
print(*[int(round(rows.get(name, 0) / 5e6)) * 5 for name in ("hold_old", "hold_young")])'
}
is "$(shares "$cairn" top)" "20 10" "without a limit everything is there"
# The dump came less than a second, on a slow machine seconds, after the young ones: the limit lies between the two kinds.
read -r limit <<<"$(python3 - "$scratch/one.heap" <<'P'
import sys
ages = sorted(int(line.split()[8]) for line in open(sys.argv[1]) if line.startswith("# cairn live "))
gaps = [(b - a, (a + b) // 2) for a, b in zip(ages, ages[1:])]
print("%dms" % (max(gaps)[1] // 1000))
P
)"
is "$(shares "$cairn" top --older "$limit")" "20 0" "--older leaves the old"
is "$(shares "$cairn" top --younger "$limit")" "0 10" "--younger leaves the young"
is "$(shares "$cairn" top --older "$limit" --younger 1ms)" "0 0" "both leave nothing where nothing is between them"
like "$("$cairn" traces --older "$limit" "$scratch/one.heap" 2>/dev/null)" "*hold_old*" "it works on other views"
holds "and for pictures" "$cairn" flame --younger "$limit" -o "$scratch/young.svg" "$scratch/one.heap"
is "$(grep -c hold_old "$scratch/young.svg")" 0 "in which the old are not"
"$cairn" tags --json "$scratch/one.heap" >"$scratch/tags.json" 2>"$scratch/err"
holds "a table has live bytes by age" python3 - "$scratch/tags.json" <<'P'
import json, sys
d = json.load(open(sys.argv[1]))
age = next(t for t in d["tags"] if t["key"] == "age")
values = {v["text"]: v["value"] for v in age["values"]}
print(values, age["total"], d["total"])
assert abs(age["total"] - d["total"]) < 0.001 * d["total"], "the ages add up to the whole"
old = sum(value for name, value in values.items() if name != "under 1 s")
assert 18e6 < old and 27e6 < sum(values.values()) < 33e6, "as old as they are"
P
like "$("$cairn" tags "$scratch/one.heap" 2>/dev/null)" "*age: *s to *" "in text, too"
# The page in one file has them, as a picture and a table, with the sums that the dump knows.
"$cairn" html -o "$scratch/page.html" "$scratch/one.heap" 2>"$scratch/err"
holds "the page is whole" python3 tests/e2e/read-page.py "$scratch/page.html"
holds "and has a table of ages that adds up, with a bar each, the peak and slack" python3 - "$scratch/page.html" "$scratch/tags.json" <<'P'
import json, re, sys
text = open(sys.argv[1]).read()
part = text[text.index('<details id="by-age">'):text.index("</details>", text.index('<details id="by-age">'))]
rows = re.findall(r'<tr><th scope="row">([^<]*)</th><td>([0-9.]+) ([KMG]i)?B</td><td>([0-9.]+) %</td><td><svg.*?<rect width="([0-9.]+)"', part)
units = {"": 1, "Ki": 1 << 10, "Mi": 1 << 20, "Gi": 1 << 30}
bytes_of = {name: float(number) * units[unit] for name, number, unit, _, _ in rows}
age = {v["text"]: v["value"] for v in next(t for t in json.load(open(sys.argv[2]))["tags"] if t["key"] == "age")["values"]}
print(rows, age)
assert len(rows) == 8 and abs(sum(float(share) for *_, share, _ in rows) - 100) < 0.5
assert all(abs(bytes_of[name] - value) < 0.02 * value + 2000 for name, value in age.items())
assert max(float(width) for *_, width in rows) == 200.0
assert "At the highest point" in part and "Slack" in part
P
holds "a label of age filters" sh -c "'$cairn' top --tagfocus 'age= to ' '$scratch/one.heap' | grep -q hold_old"
"$cairn" top --older fish "$scratch/one.heap" >/dev/null 2>"$scratch/err"
is "$? $(cat "$scratch/err")" "2 cairn: --older takes a time such as 30s, 10m or 2h, not 'fish'" "a time that is none is refused"
printf 'heap_v2/524288\n  t*: 1: 100 [0: 0]\n@ 0x1 0x2\n  t*: 1: 100 [0: 0]\n\nMAPPED_LIBRARIES:\n' >"$scratch/jemalloc.heap"
"$cairn" top --older 1m "$scratch/jemalloc.heap" >/dev/null 2>"$scratch/err"
is $? 1 "a dump without times of birth is refused"
"$cairn" html -o "$scratch/plain.html" "$scratch/jemalloc.heap" 2>"$scratch/other"
is "$(grep -c 'id="by-age"' "$scratch/plain.html")" 0 "and its page has no ages"
like "$(cat "$scratch/err")" "*does not say when its objects were allocated*" "with the reason"
done_testing
