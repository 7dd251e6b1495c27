#!/usr/bin/env bash
# All that one dump of Cairn's engine knows, in the page of one file and in what doctor says: each number is the one that its own command
# prints. And what the service mapped itself, in every picture.
. tests/e2e/lib.sh
need cc python3
. tests/e2e/agent.sh
${CC:-cc} -O1 -g -w -D_GNU_SOURCE -Iinclude tests/e2e/kinds-host.c -o "$scratch/host" -pthread -Wl,--no-as-needed -ljemalloc ||
	broken 'the test host does not build'
LD_PRELOAD=$library CAIRN_CONF=enable_heap_profiling:true,listen:unix,engine:cairn,period:8K "$scratch/host" 4000 >"$scratch/out" 2>&1 &
pid=$!
children+=($pid)
mkdir "$scratch/kept"
wait_for 30 has_agent $pid
"$cairn" watch --start false --grow 1T -o "$scratch/kept" $pid >"$scratch/watch" 2>&1 &
watcher=$!
children+=($watcher)
wait_for 120 grep -q ready "$scratch/out"
"$cairn" dump -o "$scratch/one.heap" $pid >/dev/null 2>"$scratch/err"
"$cairn" html -o "$scratch/live.html" $pid 2>"$scratch/live.err"
kill -9 $pid
wait $pid 2>/dev/null
wait $watcher
last=$(ls "$scratch"/kept/*-last.heap)
one=$scratch/one.heap

# page SOURCE...: makes the page and reads it back
page() {
	rm -f "$scratch/page.html"
	"$cairn" html -o "$scratch/page.html" "$@" 2>"$scratch/said" && python3 tests/e2e/read-page.py "$scratch/page.html" >"$scratch/page.json"
}
# says EXPRESSION: of the page just read, P, and its facts, F
says() {
	python3 -c "import json, sys; P = json.load(open('$scratch/page.json')); F = P['facts']
sys.exit(not ($1))" || { cat "$scratch/said"; python3 -c "import json; F = json.load(open('$scratch/page.json'))['facts']; print({k: F[k] for k in F if k not in ('churn', 'bill')})"; return 1; }
}
total() { "$cairn" top --json -n 1 "$@" "$source" 2>/dev/null | python3 -c 'import json, sys; print(json.load(sys.stdin)["total"])'; }

for source in "$one" "$last"; do
	name=a\ dump
	[ "$source" = "$one" ] || name='the last moment'
	holds "$name: the page is whole" page "$source"
	holds "$name: it has all that was allocated" says "abs(P['values']['alloc_space'] - $(total --alloc)) <= 8 and P['values']['alloc_space'] > 5 * P['total']"
	holds "$name: what was live at the peak" says "abs(P['values']['peak_space'] - $(total --peak)) <= 8 and P['values']['peak_space'] > 30e6"
	holds "$name: slack" says "abs(P['values']['slack_space'] - $(total --slack)) <= 8 and P['values']['slack_space'] > 0"
	holds "$name: and what the service mapped itself" says "P['values']['mapped_space'] == $(total --mappings anonymous) == 24 << 20 and P['values']['mapped_objects'] == 1"
	"$cairn" churn --fold-wrappers --json "$source" >"$scratch/churn.json" 2>/dev/null
	holds "$name: its churn is that of cairn churn" says "F['churn']['rows'] == json.load(open('$scratch/churn.json'))['rows'] and {'open_request', 'hand_over', 'hold_spike'} <= {r['name'] for r in F['churn']['rows']}"
	"$cairn" rss --json "$source" >"$scratch/rss.json" 2>/dev/null
	holds "$name: its bill is that of cairn rss" says "all(F['bill'][k] == json.load(open('$scratch/rss.json'))[k] for k in ('total', 'lines', 'unexplained', 'notes')) and F['bill']['total'] > 40e6"
	"$cairn" leaks --fold-wrappers --json "$source" >"$scratch/leaks.json" 2>/dev/null
	holds "$name: and the verdict that of cairn leaks" says "(L := json.load(open('$scratch/leaks.json'))) and F['series']['summary'] == L['summary'] and [g['name'] for g in F['series']['growth']] == [r['name'] for r in L['rows'] if r['verdict'] == 'growing'] and F['series']['observed'] > 3"
	"$cairn" tags --json "$source" >"$scratch/tags.json" 2>/dev/null
	holds "$name: ages and sizes add up to the whole" says "F['aged'] and all(abs(sum(P[k].values()) - P['total']) <= 8 for k in ('ages', 'sizes', 'threads')) and max(P['ages'].values()) < P['total'] and P['sizes']['12'] > 0.9 * P['total']"
done
holds 'the last moment has its cause' says 'F["ended"] == "killed by signal 9 (Killed)"'
holds 'and how memory got there' says '(H := F["history"]) and len(H["live"]) == len(H["seconds"]) > 2 and H["live"][-1] > 0 and max(H["resident"]) > 30e6 and max(H["rate"]) > 0 and sorted(H["seconds"]) == H["seconds"]'
source=$one
holds 'a page of another dump' page "$one"
holds 'has fragmentation, where the allocator knows it' says "abs(P['values']['fragmentation_space'] - $(total --fragmentation)) <= 8 and P['values']['fragmentation_space'] > 5e6"
holds 'and no history' says '"history" not in F'
holds 'a page of a process has all of this, too' python3 tests/e2e/read-page.py "$scratch/live.html"
like "$(cat "$scratch/live.html")" '*"mapped_space"*"churn":{*"bill":{*' 'among its facts'

holds 'a part of a dump' page --older 1s "$one"
holds 'has neither churn nor bill nor verdict' says '"churn" not in F and "bill" not in F and "series" not in F and "peak_space" not in P["values"]'
holds 'nor has a change' page --base "$one" "$last"
holds 'but it has the other values' says '"churn" not in F and "bill" not in F and "series" not in F and {"peak_space", "slack_space"} <= set(P["values"]) and "hold_loose" in P["functions"]'
printf 'heap_v2/524288\n  t*: 1: 100 [0: 0]\n@ 0x1 0x2\n  t*: 1: 100 [0: 0]\n\nMAPPED_LIBRARIES:\n' >"$scratch/jemalloc.heap"
holds 'a dump of jemalloc' page "$scratch/jemalloc.heap"
holds 'has none of it' says 'not F["aged"] and not {"churn", "bill", "series"} & set(F)'
# A leak that is one on any machine: of one call path as many objects live of every age, of the other all were freed within a millisecond.
python3 - "$scratch/leak.heap" <<'P'
import sys
with open(sys.argv[1], "w") as out:
    print("heap_v2/1\n  t*: 1000: 2000000 [6000: 12000000]\n@ 0x1000\n  t*: 1000: 2000000 [1000: 2000000]\n  t1: 1000: 2000000 [0: 0]\n@ 0x2000\n  t*: 0: 0 [5000: 10000000]", file=out)
    print("\nMAPPED_LIBRARIES:\n00400000-00401000 r-xp 00000000 08:01 99   /opt/service\n# cairn section samples 1", file=out)
    for i in range(1000): print("# cairn live 0 2000 0 1 1 %d 0" % (i * 100000), file=out)
    print("# cairn freed 1 5000 5000 10000000 0 6:5000", file=out)
    print("# cairn trailer 1\n# cairn pid 7\n# cairn start 1700000000.0\n# cairn time 1700000101.0\n# cairn engine cairn\n# cairn active_since 1700000000.5\n# cairn end", file=out)
P
holds 'a page of one dump with a leak' page "$scratch/leak.heap"
holds 'names it' says "[g['name'] for g in F['series']['growth']] == ['0x1000'] and F['series']['summary'].startswith('0x1000 keeps growing') and F['series']['observed'] == 100.5"
like "$("$cairn" doctor "$scratch/leak.heap" 2>/dev/null)" '*note*leaks*0x1000 keeps growing, by *' 'and so does doctor'
python3 - "$scratch/many.heap" <<'P'
import sys
with open(sys.argv[1], "w") as out:
    print("heap_v2/1\n  t*: 500: 500 [500: 500]", file=out)
    for i in range(500): print("@ 0x%x\n  t*: 1: 1 [1: 1]" % (4096 + i), file=out)
    print("\nMAPPED_LIBRARIES:\n00400000-00401000 r-xp 00000000 08:01 99   /opt/service\n# cairn section samples 1", file=out)
    for i in range(500): print("# cairn live %d 1 0 1 1 5 0" % i, file=out)
    for i in range(500): print("# cairn freed %d 9 9 %d 0 3:9" % (i, 1000 - i), file=out)
P
holds 'a page of 500 call paths' page "$scratch/many.heap"
holds 'has the 60 largest of what was freed' says "[r['bytes'] for r in F['churn']['rows']] == list(range(1000, 940, -1)) and F['churn']['seconds'] is None"

# The ledger that a killed process leaves in a file is a source like any other.
LD_PRELOAD=$library CAIRN_CONF=enable_heap_profiling:true,engine:cairn,period:8K,ledger:$scratch/left "$scratch/host" 3000 >"$scratch/left.out" 2>&1 &
pid=$!
children+=($pid)
wait_for 120 grep -q ready "$scratch/left.out"
kill -9 $pid
wait $pid 2>/dev/null
source=$scratch/left
holds 'a page of a ledger' page "$source"
holds 'has all but the bill' says "abs(P['values']['alloc_space'] - $(total --alloc)) <= 8 and P['values']['peak_space'] > 30e6 and P['values']['mapped_space'] == 24 << 20 and F['churn']['rows'] and F['series']['summary'] and 'bill' not in F"
holds 'and its history' says 'len(F["history"]["live"]) > 2'

# The C API: the service asks its own agent.
mkdir "$scratch/asked"
targets=(top?peak=true top?slack=true top?fragmentation=true top?mappings=all tags top?older=1s churn leaks rss churn?format=text flame?mappings=all html
	collapsed?younger=1h 'top?peak=true&older=1s' top?older=soon)
(
	cd "$scratch/asked" && LD_PRELOAD=$library CAIRN_CONF=enable_heap_profiling:true,engine:cairn,period:8K \
		exec "$scratch/host" 4000 "${targets[@]/#//cairn/report/}" >"$scratch/asked.out" 2>&1
) &
pid=$!
children+=($pid)
wait_for 240 grep -q ready "$scratch/asked.out"
kill -9 $pid
wait $pid 2>/dev/null
# answered NUMBER TYPE EXPRESSION NAME: the answer to that target, of that type, as JSON D or else as text T
answered() {
	holds "cairn_answer: $4" python3 - "$scratch/asked/$1" "$2" "$3" <<'P'
import json, sys
head, T = open(sys.argv[1]).read().split("\n", 1)
D = json.loads(T) if head.endswith("json") else {}
rows = {row["name"]: row for row in D.get("rows", [])}
print(head, T[:400])
sys.exit(not (head == sys.argv[2] and eval(sys.argv[3])))
P
}
json='200 application/json'
answered 1 "$json" 'D["peak"] and rows["hold_spike"]["flat"] > 25e6' 'what was live at the peak'
answered 2 "$json" 'D["slack"] and rows["hold_loose"]["flat"] > 0' 'slack'
answered 3 "$json" 'D["fragmentation"] and rows["hold_sparse"]["flat"] > 5e6' 'fragmentation'
answered 4 "$json" 'D["mappings"] and rows["map_cache"]["flat"] == 24 << 20' 'mappings'
answered 5 "$json" 'any(tag["key"] == "age" for tag in D["tags"])' 'ages'
answered 6 "$json" 'rows["hold_loose"]["flat"] > 0 and 0 < D["total"] < 12e6' 'what is old'
answered 7 "$json" 'rows["hand_over"]["other_thread"] > 0.9' 'churn'
answered 8 "$json" 'rows["forget_request"]["evidence"] == "ages" and D["summary"]' 'leaks'
answered 9 "$json" 'D["total"] > 40e6 and D["unexplained"] < 0.05 * D["total"]' 'the bill'
answered 10 '200 text/plain; charset=utf-8' '"Median life" in T and "hand_over" in T' 'text'
answered 11 '200 image/svg+xml' '"map_cache" in T and "<svg" in T' 'a picture'
answered 12 '200 text/html; charset=utf-8' "'\"churn\":{' in T and '\"bill\":{' in T" 'a page'
answered 13 '200 text/plain; charset=utf-8' '";main;forget_request " in T' 'stacks'
answered 14 '400 application/json' '"--peak" in D["error"]' 'what does not go together is refused'
answered 15 '400 application/json' '"soon" in D["error"]' 'and so is a time that is none'

# Doctor.
says_doctor() { "$cairn" doctor "$1" 2>/dev/null >"$scratch/doctor"; like "$(cat "$scratch/doctor")" "$2" "$3"; }
says_doctor "$one" "*ages and lifetimes are known: *--older, --younger, --peak, --slack, --fragmentation, --mappings and 'cairn churn' show the rest*" 'doctor says what a dump knows'
says_doctor "$one" '* leaks  *' 'and what leaks'
says_doctor "$one" '*right*resident memory*MiB were resident, *% of that unexplained*' 'and whether its resident memory is explained'
is "$(grep -c 'last moment\|sampling was off' "$scratch/doctor")" 0 'that sampling was on, and of no end'
says_doctor "$source" "*right*trailer*whole, of process [0-9]* on *, by Cairn's engine*leaks  *" 'of a ledger, too'
says_doctor "$last" '*note*last moment*killed by signal 9 (Killed)*cairn timeline*' 'how the process ended'
is "$(grep -c '^wrong' "$scratch/doctor")" 0 'and nothing is wrong with the dump of a last moment'
is "$("$cairn" doctor --json "$last" | python3 -c 'import json, sys
print([f["check"] for f in json.load(sys.stdin)["findings"] if f["check"] in ("last moment", "ages", "leaks", "resident memory")])')" \
	"['last moment', 'ages', 'leaks', 'resident memory']" 'in JSON, too'

# Mappings in every view: the caller of mmap is what they name, and the thread's stack, which libc mapped, is not among them.
for view in top tree traces 'peek map_cache' 'list map_cache' collapsed raw flame graph 'export --format speedscope'; do
	"$cairn" $view --mappings all "$one" >"$scratch/view" 2>/dev/null
	holds "cairn ${view%% *} --mappings shows who mapped" grep -q map_cache "$scratch/view"
	[[ $view == list* || $view == raw || $view == export* ]] || # which have the source, or all frames
		is "$(grep -c 'mmap\|pthread_create\|allocate_stack' "$scratch/view")" 0 '... and neither mmap itself nor stacks of threads'
done
"$cairn" top --mappings all --json "$one" 2>/dev/null >"$scratch/top.json"
is "$(python3 -c 'import json, sys; T = json.load(open(sys.argv[1])); print(T["mappings"], T["rows"][0]["name"], T["rows"][0]["flat"])' "$scratch/top.json")" \
	"True map_cache $((24 << 20))" 'in JSON the caller holds what it mapped'
"$cairn" pprof --mappings all -o "$scratch/mapped.pb.gz" "$one" 2>/dev/null
is "$("$cairn" collapsed "$scratch/mapped.pb.gz" 2>/dev/null | sed 's/.*;//')" "map_cache $((24 << 20))" 'and for pprof'
holds 'a page of them alone' page --mappings all "$one"
holds 'says what it is' says 'F["columns"][0]["title"] == "memory mapped by the service itself" and P["total"] == 24 << 20 and P["functions"]["map_cache"]["self"] == 24 << 20 and not F["aged"]'
like "$("$cairn" rss "$one" 2>/dev/null)" '* stacks*mapped by the service itself, by call path:*24.0 MiB *map_cache < main*' 'cairn rss names the caller, and has stacks apart'
done_testing
