#!/usr/bin/env bash
# The one-file page in headless Chromium: zoom, search, keyboard, filters, address, values, downloads, dark mode, colours, phone, twice the size, a
# million stacks, hostile names, a film of many dumps. And the types of its scripts.
. tests/e2e/lib.sh
need node npm python3 flock go cc
. tests/e2e-all/browser.sh
node_modules playwright-core@1 typescript@5

printf 'main;serve;cache 600\nmain;serve;session 300\nmain;serve;parse;buffer 80\nmain;log;buffer 20\n' >"$scratch/small.folded"
"$cairn" html "$scratch/small.folded" -o "$scratch/small.html"
# The same functions under other numbers, with others before them.
printf 'aa;bb 5\nab 7\nmain;log;zz 20\nmain;serve;cache 60\nmain;serve;parse;buffer 8\nmain;serve;parse;word 9\n' >"$scratch/other.folded"
"$cairn" html "$scratch/other.folded" -o "$scratch/other.html"
cc -O2 -g -pthread examples/leaky/leaky.c -o "$scratch/leaky" -ljemalloc
MALLOC_CONF=prof:true,lg_prof_sample:13,prof_accum:true,prof_final:true,prof_prefix:$scratch/values "$scratch/leaky" 1 2>/dev/null
values=$(ls "$scratch"/values*.heap)
"$cairn" html "$values" -o "$scratch/values.html" 2>/dev/null
for value in inuse_space inuse_objects alloc_space alloc_objects; do
	"$cairn" top --json -n 0 --value "$value" "$values" 2>/dev/null # as pages do
done | python3 -c 'import json, sys; print(json.dumps({top["type"]: top for top in map(json.loads, filter(str.strip, sys.stdin))}))' >"$scratch/values.json"
# Sampling that began half an hour after the process.
{
	printf 'heap_v2/4096\n  t*: 1: 314572800 [0: 0]\n@ 0x1000\n  t*: 1: 314572800 [0: 0]\n\nMAPPED_LIBRARIES:\n# cairn trailer 1\n# cairn pid 7\n# cairn start 1700000000.0\n'
	printf '# cairn time 1700003600.0\n# cairn active_since 1700001800.5\n# cairn stats.allocated 1395864371\n# cairn end\n'
} >"$scratch/late.heap"
"$cairn" html "$scratch/late.heap" -o "$scratch/late.html" 2>/dev/null
sed 's/^# cairn stats.allocated .*/# cairn active_before 189267968/' "$scratch/late.heap" >"$scratch/attached.heap"
"$cairn" html "$scratch/attached.heap" -o "$scratch/attached.html" 2>/dev/null
# Sizes at and beside every place where rounding may differ.
python3 - "$scratch/rounding.heap" <<'EOF'
import sys
parts = (0, .04, .05, .15, .2499, .25, .35, .75, .85, .949, .95)
sizes = sorted({int(unit * (n + part)) + off for unit in (1024, 1024**2, 1024**3) for n in (1, 9, 31, 99, 1023) for part in parts for off in (-1, 0, 1)} | set(range(1, 1100)))
with open(sys.argv[1], "w") as out:
    print("heap_v2/1\n  t*: %d: %d [0: 0]" % (len(sizes), sum(sizes)), file=out)
    for i, size in enumerate(sizes):
        print("@ %#x\n  t*: 1: %d [0: 0]" % (4096 + 16 * i, size), file=out)
    print("\nMAPPED_LIBRARIES:", file=out)
EOF
"$cairn" html "$scratch/rounding.heap" -o "$scratch/rounding.html" 2>/dev/null
"$cairn" top -n 0 "$scratch/rounding.heap" 2>/dev/null |
	python3 -c 'import json, re, sys; print(json.dumps([[m[2], m[1]] for m in (re.match(r" *([\d.]+ \w+) .* (0x\w+)$", line) for line in sys.stdin) if m]))' \
		>"$scratch/rounding.json"
printf 'main;serve;cache 590\nmain;serve;session 30\nmain;old 100\nmain;same 50\n' >"$scratch/before.folded"
printf 'main;serve;cache 600\nmain;serve;session 300\nmain;same 50\n' >"$scratch/after.folded"
"$cairn" html --base "$scratch/before.folded" "$scratch/after.folded" -o "$scratch/change.html"
printf 'r;<script>pwned=1</script> 5\nr;"onclick="pwned=1 5\nr;</script><script>pwned=1</script> 5\nr;<img src=x onerror=pwned=1> 5\n' >"$scratch/hostile.folded"
"$cairn" html --title '<img src=x onerror=pwned=1>' "$scratch/hostile.folded" -o "$scratch/hostile.html"
printf 'heap_v2/1\n  t*: 3: 3072 [0: 0]\n  t0: 1: 1024 [0: 0] main\n  t1: 2: 2048 [0: 0] worker\n@ 0x1001 0x2001\n  t*: 3: 3072 [0: 0]\n  t0: 1: 1024 [0: 0]\n  t1: 2: 2048 [0: 0]\n\nMAPPED_LIBRARIES:\n' >"$scratch/threads.heap"
"$cairn" html "$scratch/threads.heap" -o "$scratch/threads.html" 2>/dev/null
python3 -c 'print(";".join("f%d" % i for i in range(4000)), 5)' >"$scratch/deep.folded"
"$cairn" html "$scratch/deep.folded" -o "$scratch/deep.html"
python3 tests/e2e/make-series.py "$scratch/film" leak 1
"$cairn" timeline "$scratch/film" -o "$scratch/film.html" 2>/dev/null
python3 tests/e2e/make-series.py "$scratch/ended" weighed 1
sed -i '/^# cairn smaps.rss/d' "$(ls -v "$scratch"/ended/* | tail -n 1)"
"$cairn" timeline "$scratch/ended" -o "$scratch/ended.html" 2>/dev/null
cp "$scratch/hostile.folded" "$scratch/later.folded"
touch -d '+1 hour' "$scratch/later.folded"
"$cairn" timeline "$scratch/hostile.folded" "$scratch/later.folded" -o "$scratch/hostile-film.html" 2>/dev/null
# The last moment of a service that Cairn's engine sampled, of which there is more to see than stacks.
cc -O1 -g -w -D_GNU_SOURCE -Iinclude tests/e2e/kinds-host.c -o "$scratch/kinds" -pthread -Wl,--no-as-needed -ljemalloc
mkdir "$scratch/kept" "$scratch/run"
export XDG_RUNTIME_DIR=$scratch/run
LD_PRELOAD=$PWD/${CAIRN_BUILD:-build}/libcairn.so CAIRN_CONF=enable_heap_profiling:true,engine:cairn,period:8K "$scratch/kinds" 3000 >"$scratch/kinds.out" 2>&1 &
pid=$!
children+=($pid)
wait_for 30 "$cairn" status $pid
"$cairn" watch --start false --grow 1T -o "$scratch/kept" $pid >/dev/null 2>&1 &
watcher=$!
children+=($watcher)
wait_for 120 grep -q ready "$scratch/kinds.out"
"$cairn" html $pid -o "$scratch/alive.html" 2>/dev/null
kill -9 $pid
wait $pid 2>/dev/null
wait $watcher
"$cairn" html "$(ls "$scratch"/kept/*-last.heap)" -o "$scratch/known.html" 2>/dev/null
million=$PWD/${CAIRN_BUILD:-build}/bench/million.heap
mkdir -p "${million%/*}"
[ -s "$million" ] || python3 tests/bench/make-dump.py "$million" 1000000 12
"$cairn" html "$million" -o "$scratch/million.html" 2>/dev/null
size=$(stat -c %s "$scratch/million.html")
[ "$size" -lt 20000000 ]
ok $? "the page of a million stacks is under 20 MB: $size bytes"

cp tests/e2e-all/page.mjs "$modules/page.mjs"
node "$modules/page.mjs" "$browser" "$scratch" "$tap_count" >"$scratch/tap" 2>"$scratch/error"
sed '/^1\.\./d' "$scratch/tap"
tap_count=$((tap_count + $(grep -c '^\(not \)\?ok' "$scratch/tap"))) tap_failed=$((tap_failed + $(grep -c '^not ok' "$scratch/tap")))
grep -q '^1\.\.' "$scratch/tap"
ok $? 'the browser test came to its end'
sed 's/^/# /' "$scratch/error" | head -n 12
# What was kept from the page, read by others.
top_of() {
	"$cairn" top --json -n 0 --value "${2:-inuse_space}" "$1" 2>/dev/null |
		python3 -c 'import json, sys; T = json.load(sys.stdin); print(T["total"], [(r["name"], r["flat"], r["cum"]) for r in T["rows"] if r["cum"]])'
}
same_top() { # same_top ONE OTHER: within what rounding leaves
	python3 - "$1" "$2" <<-'EOF'
		import ast, sys
		(one, a), (two, b) = ((float(t), dict((n, (f, c)) for n, f, c in ast.literal_eval(rows))) for t, rows in (text.split(" ", 1) for text in sys.argv[1:]))
		bad = [n for n in a.keys() | b.keys() if max(abs(x - y) for x, y in zip(a.get(n, (0, 0)), b.get(n, (0, 0)))) > 16]
		print(one, two, len(a), bad[:5])
		sys.exit(bool(bad) or abs(one - two) > 16 or len(a) < 4)
	EOF
}
holds 'the profile kept from the page is the one it was made of' same_top "$(top_of "$values")" "$(top_of "$scratch/kept.pb.gz")"
holds 'in what was allocated too' same_top "$(top_of "$values" alloc_space)" "$(top_of "$scratch/kept.pb.gz" alloc_space)"
holds 'so is the folded text' same_top "$(top_of "$values")" "$(top_of "$scratch/kept.folded" samples)"
go tool pprof -top -nodecount=3 -sample_index=inuse_space "$scratch/kept.pb.gz" >"$scratch/go-top" 2>"$scratch/go-error"
is $? 0 'go tool pprof accepts it'
is "$(sed -n 's/^.* \(remember_session\|load_page\).*$/\1/p' "$scratch/go-top" | sort | xargs)" 'load_page remember_session' 'with the functions that hold most'
go tool pprof -top -nodecount=3 -sample_index=inuse_space "$scratch/kept-filtered.pb.gz" >"$scratch/go-filtered" 2>>"$scratch/go-error"
like "$(cat "$scratch/go-filtered")" '*100%*remember_session*' 'and takes what a filter left'
holds 'the scripts of the page have the types their comments say' "$modules/node_modules/.bin/tsc" --noEmit --allowJs --checkJs --strict --noUnusedLocals --target es2022 --module es2022 \
	--lib es2023,dom,dom.iterable src/page/*.mjs
done_testing
