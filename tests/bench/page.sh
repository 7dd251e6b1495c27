#!/usr/bin/env bash
# The one-file page and the call graph: how long they take to make, how large they are, and how fast the page of a million stacks and the live
# page are in a browser.
. tests/bench/lib.sh
heading 'The page (wanted: a million stacks under 20 MB, a zoom within 100 ms) and the call graph'
[ -s "$bench/million.heap" ] || python3 tests/bench/make-dump.py "$bench/million.heap" 1000000 12
read_only=$(seconds 3 "$cairn" top -n 1 "$bench/million.heap")
printf '%-44s %9.3f s, %s MB (cairn top: %.3f s)\n' 'cairn html on a million stacks' "$(seconds 3 "$cairn" html "$bench/million.heap" -o "$scratch/million.html")" \
	"$(peak_mb "$cairn" html "$bench/million.heap" -o "$scratch/million.html")" "$read_only"
size=$(stat -c %s "$scratch/million.html")
printf '%-44s %9s bytes  (wanted 20000000: %s)\n' 'size of the page' "$size" "$([ "$size" -lt 20000000 ] && echo met || echo NOT MET)"
printf '%-44s %9.3f s\n' 'cairn graph to dot on a million stacks' "$(seconds 3 "$cairn" graph "$bench/million.heap" -o "$scratch/million.dot")"
modules=$PWD/$build/node
browser=$(command -v chromium || command -v chromium-browser || command -v google-chrome)
if [ -n "$browser" ] && [ -d "$modules/node_modules/playwright-core" ]; then
	cp tests/bench/page.mjs "$modules/bench-page.mjs"
	node "$modules/bench-page.mjs" "$browser" "$scratch/million.html"
	mkdir "$scratch/live"
	python3 tests/bench/make-dump.py "$scratch/live/a.heap" 18000 20
	"$cairn" serve --idle 10m "$scratch/live" >"$scratch/live.out" &
	server=$!
	until [ -s "$scratch/live.out" ]; do sleep 0.1; done
	cp tests/bench/live.mjs "$modules/bench-live.mjs"
	node "$modules/bench-live.mjs" "$browser" "$(head -n 1 "$scratch/live.out")"
	kill $server
else
	without 'in a browser' 'no chromium or playwright-core here; make check-all fetches it'
fi
