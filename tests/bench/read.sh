#!/usr/bin/env bash
# Reading dumps: cairn top against stock jeprof, the parser alone, and a million stacks.
. tests/bench/lib.sh
heading 'Reading (cairn top against jeprof --text; a generated dump of the demo service, 24,000 stacks)'
program=$bench/leaky
[ -x "$program" ] || ${CC:-cc} -O2 -g -pthread examples/leaky/leaky.c -o "$program" -ljemalloc
[ -s "$bench/many.heap" ] || python3 tests/bench/make-dump.py "$bench/many.heap" 24000 24 "$program"
printf '%s bytes, %s stacks\n' "$(stat -c %s "$bench/many.heap")" "$(grep -c '^@' "$bench/many.heap")"
if command -v jeprof >/dev/null; then
	theirs=$(seconds 3 jeprof --text "$program" "$bench/many.heap")
	row 'top, empty cache' "$(seconds 5 env XDG_CACHE_HOME="$scratch/none" "$cairn" top --no-cache "$bench/many.heap")" 'jeprof --text' "$theirs" 100
	"$cairn" top "$bench/many.heap" >/dev/null
	row 'top, warm cache' "$(seconds 9 "$cairn" top "$bench/many.heap")" 'jeprof --text' "$theirs" 100
else
	without 'top against jeprof' 'no jeprof here'
fi

heading 'Parsing alone (wanted: 300 MB/s, at most 2.0 of the input)'
[ -s "$bench/large.heap" ] || python3 tests/bench/make-dump.py "$bench/large.heap" 250000 24
"$build/tests/parse" "$bench/large.heap"
[ -s "$bench/million.heap" ] || python3 tests/bench/make-dump.py "$bench/million.heap" 1000000 12
"$build/tests/parse" "$bench/million.heap"
printf '%-44s %9.3f s, %s MB\n' 'cairn top on the million stacks' "$(seconds 3 "$cairn" top "$bench/million.heap")" "$(peak_mb "$cairn" top "$bench/million.heap")"
printf '%-44s %9.4f s\n' 'cairn --version' "$(seconds 21 "$cairn" --version)"
