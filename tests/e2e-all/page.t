#!/usr/bin/env bash
# The one-file page in headless Chromium: zoom, search, keyboard, filters, address, dark mode, colours of change, phone, twice the size, a
# million stacks, hostile names, a film of many dumps. And the types of its scripts.
. tests/e2e/lib.sh
need node npm python3 flock
browser=$(command -v chromium || command -v chromium-browser || command -v google-chrome) || skip_all 'no chromium here'
modules=$PWD/${CAIRN_BUILD:-build}/node
mkdir -p "$modules"
(
	flock 9
	[ -d "$modules/node_modules/playwright-core" ] && [ -d "$modules/node_modules/typescript" ] ||
		(cd "$modules" && npm install --silent --no-fund --no-audit playwright-core@1 typescript@5 >/dev/null 2>&1)
) 9>"$modules/.lock" || skip_all 'npm cannot fetch playwright-core'

printf 'main;serve;cache 600\nmain;serve;session 300\nmain;serve;parse;buffer 80\nmain;log;buffer 20\n' >"$scratch/small.folded"
"$cairn" html "$scratch/small.folded" -o "$scratch/small.html"
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
cp "$scratch/hostile.folded" "$scratch/later.folded"
touch -d '+1 hour' "$scratch/later.folded"
"$cairn" timeline "$scratch/hostile.folded" "$scratch/later.folded" -o "$scratch/hostile-film.html" 2>/dev/null
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
sed 's/^/# /' "$scratch/error" | head -n 5
holds 'the scripts of the page have the types their comments say' "$modules/node_modules/.bin/tsc" --noEmit --allowJs --checkJs --strict --target es2022 \
	--lib es2022,dom,dom.iterable src/page/*.js
done_testing
