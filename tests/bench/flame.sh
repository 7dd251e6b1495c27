#!/usr/bin/env bash
# Folded text to SVG: cairn flame against flamegraph.pl and inferno-flamegraph, in time, memory and size of the picture; and a million
# stacks to pprof. FLAMEGRAPH_PL and INFERNO name the peers where they are not found.
. tests/bench/lib.sh
perl_script=${FLAMEGRAPH_PL:-$bench/flamegraph.pl}
[ -s "$perl_script" ] || git --git-dir="$PWD/../.mirror/brendangregg+FlameGraph/repo" show HEAD:flamegraph.pl >"$perl_script" 2>/dev/null
inferno=${INFERNO:-$(command -v inferno-flamegraph || echo "$bench/inferno/bin/inferno-flamegraph")}
if [ ! -x "$inferno" ] && command -v cargo >/dev/null; then
	cargo install --quiet --root "$bench/inferno" inferno >/dev/null 2>&1
fi

# compare WHAT FILE RUNS: one row a peer, then memory and size
compare() {
	local what=$1 file=$2 runs=$3 ours
	ours=$(seconds "$runs" "$cairn" flame --color=mem --countname=bytes "$file" -o /dev/null)
	"$cairn" flame --color=mem --countname=bytes "$file" -o "$scratch/ours.svg"
	if [ -s "$perl_script" ] && command -v perl >/dev/null; then
		row "$what" "$ours" flamegraph.pl "$(seconds 3 perl "$perl_script" --color=mem --countname=bytes "$file")" 20
		perl "$perl_script" --color=mem --countname=bytes "$file" >"$scratch/perl.svg" 2>/dev/null
		memory_and_size flamegraph.pl "$scratch/perl.svg" perl "$perl_script" --color=mem --countname=bytes "$file"
	else
		without "$what against flamegraph.pl" 'no flamegraph.pl here; FLAMEGRAPH_PL may name one'
	fi
	if [ -x "$inferno" ]; then
		row "$what" "$ours" inferno-flamegraph "$(seconds "$runs" "$inferno" --colors mem --countname bytes "$file")" 3
		"$inferno" --colors mem --countname bytes "$file" >"$scratch/inferno.svg" 2>/dev/null
		memory_and_size inferno-flamegraph "$scratch/inferno.svg" "$inferno" --colors mem --countname bytes "$file"
	else
		without "$what against inferno-flamegraph" 'neither inferno-flamegraph nor cargo here'
	fi
}

# memory_and_size PEER PICTURE COMMAND...: of ours and the peer's, for the FILE of compare
memory_and_size() {
	local peer=$1 picture=$2
	shift 2
	printf '%-44s %9s MB %-22s %9s MB   SVG %s and %s KB\n' '  peak memory' "$(peak_mb "$cairn" flame --color=mem --countname=bytes "$file" -o /dev/null)" \
		"$peer" "$(peak_mb "$@")" "$(($(stat -c %s "$scratch/ours.svg") / 1024))" "$(($(stat -c %s "$picture") / 1024))"
}

heading 'Flame graphs (folded text to SVG)'
real=${CAIRN_BENCH_FOLDED:-$PWD/../.lab/big.folded}
if [ -s "$real" ]; then
	compare "ceph-osd, $(($(stat -c %s "$real") / 1000000)) MB" "$real" 15
else
	without 'the folded text of a real ceph-osd' 'make it with jeprof --collapsed and name it in CAIRN_BENCH_FOLDED'
fi
[ -s "$bench/large.folded" ] || python3 tests/bench/make-folded.py 200 >"$bench/large.folded"
compare 'generated, 200 MB' "$bench/large.folded" 5

heading 'pprof (a million stacks: writing within three times the time of reading)'
[ -s "$bench/million.heap" ] || python3 tests/bench/make-dump.py "$bench/million.heap" 1000000 12
row 'cairn pprof on a million stacks' "$(seconds 3 "$cairn" pprof --no-symbols "$bench/million.heap" -o "$scratch/million.pb.gz")" 'reading, three times' \
	"$(awk "BEGIN { print 3 * $(seconds 3 "$cairn" top --no-symbols -n 1 "$bench/million.heap") }")" 1
