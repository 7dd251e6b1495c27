#!/usr/bin/env bash
# Flame graphs and call graphs in headless Chromium: width, zoom, search, keyboard, address, dark mode, colours of change, pan, hostile names. And the types of
# our scripts.
. tests/e2e/lib.sh
need node npm python3 flock
. tests/e2e-all/browser.sh
node_modules playwright-core@1 typescript@5
printf 'alpha;beta;gamma 5\nalpha;beta 5\nalpha;delta 3\nalpha 3\n' | "$cairn" flame -o "$scratch/small.svg"
printf 'm;w;grow 100\nm;w;gone 300\n' >"$scratch/before"
printf 'm;w;grow 700\n' >"$scratch/after"
"$cairn" flame --base "$scratch/before" "$scratch/after" -o "$scratch/change.svg"
printf 'r;<script>pwned=1</script> 5\nr;"onclick="pwned=1 5\nr;</title><script>pwned=1</script> 5\n' | "$cairn" flame -o "$scratch/hostile.svg"
python3 tests/bench/make-folded.py 40 | "$cairn" flame --min-width 0.5 -o "$scratch/large.svg"
printf 'heap_v2/1\n  t*: 2: 33450598 [0: 0]\n@ 0x1001 0x2001\n  t*: 1: 33449574 [0: 0]\n@ 0x2001\n  t*: 1: 1024 [0: 0]\n\nMAPPED_LIBRARIES:\n' >"$scratch/sizes.heap"
"$cairn" flame "$scratch/sizes.heap" -o "$scratch/sizes.svg" 2>/dev/null
"$cairn" flame --width 900 "$scratch/before" -o "$scratch/fixed.svg"
"$cairn" graph --base "$scratch/before" "$scratch/after" -o "$scratch/graph.svg" || skip_all 'no Graphviz here'
cp tests/e2e-all/flame-browser.mjs "$modules/flame-browser.mjs"
node "$modules/flame-browser.mjs" "$browser" "$scratch" >"$scratch/tap" 2>"$scratch/error"
sed '/^1\.\./d' "$scratch/tap"
tap_count=$(grep -c '^\(not \)\?ok' "$scratch/tap") tap_failed=$(grep -c '^not ok' "$scratch/tap")
grep -q '^1\.\.' "$scratch/tap"
ok $? 'the browser test came to its end'
sed 's/^/# /' "$scratch/error" | head -n 5
holds 'the script of pictures has the types its comments say' "$modules/node_modules/.bin/tsc" --noEmit --allowJs --checkJs --strict --target es2022 --lib es2022,dom,dom.iterable src/report/flame.js src/report/graph.js
done_testing
