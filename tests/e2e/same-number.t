#!/usr/bin/env bash
# One function, one number: every view of a dump prints the same figure for a function, as text, as JSON and in pictures.
. tests/e2e/lib.sh
need python3 cc

cc -O2 -g -pthread examples/leaky/leaky.c -o "$scratch/leaky" -ljemalloc 2>"$scratch/log" || broken 'the demo service links with jemalloc'
mkdir "$scratch/dumps"
# A busy machine may leave a short run little to show, so it is tried again, longer.
for seconds in 2 4 8 16 32; do
	rm -f "$scratch"/dumps/*
	MALLOC_CONF=prof:true,lg_prof_sample:13,lg_prof_interval:25,prof_final:true,prof_prefix:$scratch/dumps/leaky "$scratch/leaky" $seconds >/dev/null 2>&1
	[ "$(ls "$scratch/dumps" | wc -l)" -lt 8 ] || break
done
first=$(ls -v "$scratch"/dumps/*.heap | head -n 1) newest=$(ls -v "$scratch"/dumps/*.heap | tail -n 1)
[ "$(ls "$scratch"/dumps | wc -l)" -ge 4 ] || broken 'the demo service leaves dumps'

show() { local name=$1; shift; "$cairn" "$@" >"$scratch/$name" 2>>"$scratch/log" || broken "cairn $*"; }
show top top -n 0 "$newest"
show tree tree -n 0 "$newest"
show diff diff -n 0 "$first" "$newest"
show leaks leaks -n 0 "$scratch/dumps"
show flame.svg flame "$newest"
show timeline.svg timeline -n 0 "$scratch/dumps" --format svg
show graph.dot graph "$newest"
show top.json top --json "$newest"
show tree.json tree --json "$newest"
show traces.json traces --json "$newest"
show diff.json diff --json "$first" "$newest"
show leaks.json leaks --json "$scratch/dumps"
show timeline.json timeline -n 0 --json "$scratch/dumps"
show collapsed collapsed "$newest"
show pprof.pb.gz pprof "$newest"
show pprof.json top --json "$scratch/pprof.pb.gz"
show page.html html "$newest"
show film.html timeline -n 0 "$scratch/dumps"
for page in page film; do python3 tests/e2e/read-page.py "$scratch/$page.html" >"$scratch/$page.json" || broken "$page.html"; done

python3 - "$scratch" >"$scratch/results" <<'E'
import json, re, sys
folder = sys.argv[1]
text = lambda name: open(f"{folder}/{name}", encoding="utf-8").read()
read = lambda name: json.loads(text(name))
number = r"([0-9.]+ [KMG]?i?B)"
def found(pattern, where):
    match = re.search(pattern, text(where))
    return match and match[1]
def total(items):
    return sum(items)
for name in ("remember_session", "load_page"):
    exact = {
        "top --json": next(r["flat"] for r in read("top.json")["rows"] if r["name"] == name),
        "tree --json": next(r["flat"] for r in read("tree.json")["rows"] if r["name"] == name),
        "traces --json": total(t["value"] for t in read("traces.json")["traces"] if t["stack"][0]["name"] == name),
        "diff --json": next(r["after"] for k in ("grown", "new", "shrunk") for r in read("diff.json")[k]["rows"] if r["name"] == name),
        "leaks --json": total(r["now"] for r in read("leaks.json")["rows"] if r["name"] == name),
        "timeline --json": total(l["values"][-1] for l in read("timeline.json")["layers"] if l["stack"][:1] == [name]),
        "collapsed": total(int(line.rsplit(" ", 1)[1]) for line in text("collapsed").splitlines() if line.rsplit(" ", 1)[0].endswith(";" + name)),
        "pprof": next(r["flat"] for r in read("pprof.json")["rows"] if r["name"] == name),
        "html": read("page.json")["functions"][name]["self"],
    }
    wanted = exact["top --json"]
    for view, value in exact.items():
        print(int(abs(value - wanted) > 4), f"{name}: {view} has {value}, top has {wanted}")
    shown = {
        "top": found(rf"\n +{number} .* {name}\n", "top"),
        "tree": found(rf"\n +{number} .*\| {name}\n", "tree"),
        "diff": found(rf"\n +\S+ [KMG]?i?B +[0-9.]+ [KMG]?i?B +{number}  {name}", "diff"),
        "leaks": found(rf"% +{number}  \w+ .* {name}\b", "leaks"),
        "flame": found(rf">{name} \({number}, ", "flame.svg"),
        "timeline": found(rf">{name}: [^<]*, {number} at the end", "timeline.svg"),
        "graph": found(rf'label="{name}\\nSelf {number} ', "graph.dot"),
    }
    for view, value in shown.items():
        print(int(value is None or value != shown["top"]), f"{name}: {view} shows {value}, top shows {shown['top']}")
# The page over time ends with the same dump.
last = read("film.json")["facts"]["film"]
print(int(abs(last["totals"][-1] - read("top.json")["total"]) > 4), f"the timeline page ends with {last['totals'][-1]}")
E
ok $? 'the views can be compared'
while read -r status words; do ok "$status" "$words"; done <"$scratch/results"
is "$(wc -l <"$scratch/results")" 33 'all of them were'

# -n 0 shows all layers of a timeline, as it shows all rows of a table.
python3 tests/e2e/make-series.py "$scratch/many" leak 1
layers() { "$cairn" timeline --json "$@" "$scratch/many" 2>/dev/null | python3 -c 'import json, sys; print(len(json.load(sys.stdin)["layers"]))'; }
is "$(layers) $(layers -n 3) $(layers -n 0)" '9 4 43' 'timeline -n 0 shows every call path'
"$cairn" leaks "$scratch/many" -o "$scratch/out.json" 2>/dev/null
holds 'leaks -o out.json writes JSON' python3 -c 'import json, sys; json.load(open(sys.argv[1]))["rows"][0]' "$scratch/out.json"
"$cairn" leaks "$scratch/many" -o "$scratch/out.svg" 2>"$scratch/said"
is "$? $(cat "$scratch/said")" "2 cairn: 'cairn leaks' does not write .svg files; 'cairn timeline' writes .html and .svg" 'and no picture'
is "$(ls "$scratch"/out.svg 2>&1 | grep -c cannot)" 1 'and leaves no file'
for ending in pdf png; do
	"$cairn" rss "$newest" -o "$scratch/out.$ending" 2>/dev/null
	is "$?" 2 "rss does not write .$ending files"
done

# A note about missing names is about what is shown.
cat >"$scratch/two.heap" <<'E'
heap_v2/1
  t*: 0: 0 [0: 0]
@ 0x10100 0x10200
  t*: 1: 9000 [0: 0]
@ 0x20100 0x20200
  t*: 1: 1000 [0: 0]

MAPPED_LIBRARIES:
00010000-00011000 r-xp 00000000 00:00 0    /nowhere/libalpha.so
00020000-00021000 r-xp 00000000 00:00 0    /nowhere/libbeta.so
E
notes() { "$cairn" "$@" "$scratch/two.heap" 2>&1 >/dev/null; }
like "$(notes top)" '*libalpha.so: *90.0 % of bytes*; names are missing from 1 more file, *' 'all is shown: the note names the heaviest file and counts the other'
is "$(notes top | wc -l)" 1 'in one line'
like "$(notes top --focus libbeta)" 'cairn: note: libbeta.so: *: 2 of 2 frames without a name, in 100.0 % of bytes' '--focus: the note is about what it leaves'
like "$(notes top -n 1)" '*libalpha.so: *without a name*' '-n: and about the rows that are printed'
like "$(notes top --files -n 1)" '*libalpha.so: *without a name*' 'by file too'
like "$(notes collapsed)" '*libalpha.so*1 more file*' 'formats without rows show everything'
is "$(notes top -q)$(notes top --quiet)" '' '-q: no note'
done_testing
