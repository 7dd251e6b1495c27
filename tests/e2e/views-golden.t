#!/usr/bin/env bash
# Every view of the fixture, as text and as JSON, compared with what it printed when somebody last looked it over.
# GOLDEN=write tests/e2e/views-golden.t writes them anew; look at the difference before committing it.
. tests/e2e/lib.sh
need python3
fixtures=tests/fixtures/views
now=$fixtures/now.pb base=$fixtures/base.pb

golden() {
	local name=$1
	shift
	"$cairn" "$@" >"$scratch/out" 2>"$scratch/err" || echo "exit code $?" >>"$scratch/out"
	cat "$scratch/err" >>"$scratch/out"
	if [ "${GOLDEN:-}" = write ]; then cp "$scratch/out" "$fixtures/golden/$name"; fi
	holds "cairn $*" diff -u "$fixtures/golden/$name" "$scratch/out"
}

for view in top tree traces tags; do
	golden $view.txt $view $now
	golden $view.json $view --json $now
done
golden peek.txt peek 'json|put' $now
golden peek.json peek 'json|put' --json $now
golden list.txt list 'json|put|main' --source-path $fixtures $now
golden list.json list 'json|put|main' --source-path $fixtures --json $now
golden list-without-source.txt list 'cache' --source-path /nonexistent $now
golden diff.txt diff $base $now
golden diff.json diff --json $base $now
golden diff-cum.txt diff --cum --bytes $base $now
golden collapsed.txt collapsed $now

golden top-base.txt top --base $base $now
golden top-base-positive.txt top --base $base --drop-negative $now
golden top-base-normalized.txt top --base $base --normalize --bytes $now
golden top-relative.txt top --focus json --relative-percentages $now
golden top-focus.txt top --focus json $now
golden top-lines.txt top --lines --bytes $now
golden top-files.txt top --files --objects $now
golden top-addresses.txt top --addresses --no-inlines $now
golden top-few.txt top --cum -n 2 $now
golden top-fraction.txt top --nodefraction 0.05 $now
golden top-exclude.txt top --exclude 'grow|put' --alloc-objects $now
golden top-retain.txt top --retain 'main|put' --alloc-space $now
golden tree-few.txt tree -n 3 --edgefraction 0.5 $now
golden traces-from.txt traces --show-from handle --hide put --tagignore idle $now
golden tags-large.txt tags --tagfocus bytes=4K: $now

# Pictures: where their shapes lie, and not how they are written.
picture() {
	local name=$1
	shift
	holds "cairn $* is drawn" "$cairn" "$@" -o "$scratch/$name"
	if [ "${GOLDEN:-}" = write ]; then sed '/<script>/,/<\/script>/d' "$scratch/$name" >"$fixtures/golden/$name"; fi
	holds "$name has the shapes of its golden picture" python3 tests/e2e/geometry.py "$fixtures/golden/$name" "$scratch/$name"
}
picture flame.svg flame $now
picture flame-inverted.svg flame --inverted $now
picture flame-change.svg flame --base $base $now
python3 tests/e2e/make-series.py "$scratch/series" leak 1 8
TZ=UTC picture timeline.svg timeline -n 3 "$scratch/series"

# Of a jemalloc dump only mean sizes are known: threads at one place differ by a few bytes, which a person reads as one size.
printf 'heap_v2/1\n  t*: 20: 168490 [0: 0]\n  t1: 10: 84240 [0: 0]\n  t2: 10: 84250 [0: 0]\n@ 0x1000 0x2000\n  t*: 20: 168490 [0: 0]\n  t1: 10: 84240 [0: 0]\n  t2: 10: 84250 [0: 0]\n' >"$scratch/means.heap"
is "$("$cairn" tags "$scratch/means.heap" 2>/dev/null | grep -c 'KiB 100.00%  8.2 KiB$')" 1 'tags: what reads the same is one line'
is "$("$cairn" tags --bytes "$scratch/means.heap" 2>/dev/null | sed -n 's/^ .*%  \(842. bytes\)$/\1/p' | sort | tr '\n' ' ')" '8424 bytes 8425 bytes ' 'tags --bytes: and to the last byte two'
done_testing
