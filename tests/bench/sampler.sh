#!/usr/bin/env bash
# What Cairn's own engine costs, on each allocator and beside its peers: a malloc and free, a program that does little but allocate, a
# sampled allocation under many frames. SAMPLER_RUNS (7) is how often the program runs.
. tests/bench/lib.sh
library=$PWD/$build/libcairn.so
cc=${CC:-cc} cxx=${CXX:-c++}
on=CAIRN_CONF=engine:cairn,enable_heap_profiling:true
library_of() { ldconfig -p | awk -v name="$1" '$1 ~ "^" name { print $NF; exit }'; }
heading "Cairn's own engine"

# A malloc and free of 64 bytes.
$cc -O2 tests/bench/pair.c -o "$scratch/pair" -D_GNU_SOURCE -ldl
for allocator in glibc libjemalloc.so.2 libtcmalloc_minimal.so; do
	path=$([ $allocator = glibc ] || library_of $allocator)
	[ $allocator = glibc ] || [ -n "$path" ] || { without "malloc and free on $allocator" 'not installed'; continue; }
	for live in 0 32000; do
		env LD_PRELOAD="$library $path" $on "$scratch/pair" $live >"$scratch/pairs" ||
			{ without "$live live samples on $allocator" 'it could not hold them'; continue; }
		awk -v what="malloc and free, $allocator, $live live" '{
			printf "%-52s %+6.2f ns over %6.2f ns  (wanted at most 1.5: %s); frees in a hostile order %+6.2f ns over %6.2f ns\n", what,
				$2 - $1, $1, $2 - $1 <= 1.5 ? "met" : "NOT MET", $4 - $3, $3 }' "$scratch/pairs"
	done
done

# A map of strings: CPU time, in turn with the bare program.
cat >"$scratch/map.cc" <<'C'
#include <cstdio>
#include <map>
#include <string>
#include <vector>
int main()
{
	unsigned random = 1;
	size_t count = 0;
	for (int round = 0; round < 2; round++) {
		std::map<std::string, std::vector<int>> map;
		for (int i = 0; i < 300000; i++) {
			random = random * 1664525 + 1013904223;
			map[std::to_string(random >> 4) + "-and-some-more-text"].push_back(i);
		}
		count += map.size();
	}
	std::printf("%zu\n", count);
}
C
$cxx -O2 -g "$scratch/map.cc" -o "$scratch/map"
cpu() { python3 -c 'import resource, subprocess, sys
subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
used = resource.getrusage(resource.RUSAGE_CHILDREN); print(used.ru_utime + used.ru_stime)' "$@"; }
# compare NAME WANTED BARE... -- COMMAND...: the median of the ratios
compare() {
	local name=$1 wanted=$2 bare=()
	shift 2
	while [ "$1" != -- ]; do bare+=("$1"); shift; done
	shift
	for _ in $(seq "${SAMPLER_RUNS:-7}"); do
		before=$(cpu "${bare[@]}") with=$(cpu "$@") after=$(cpu "${bare[@]}")
		awk -v a="$before" -v b="$with" -v c="$after" 'BEGIN { print 2 * b / (a + c) }'
	done | sort -g | awk -v name="$name" -v wanted="$wanted" '{ value[NR] = $1 } END { median = value[int((NR + 1) / 2)]
		verdict = wanted == "" ? "" : sprintf("  (wanted at most %s: %s)", wanted, median <= wanted ? "met" : "NOT MET")
		printf "%-52s %6.3f of bare%s\n", name, median, verdict }'
}
cd "$scratch"
compare 'map of strings, a sample every 512 KiB' 1.02 ./map -- env LD_PRELOAD="$library" $on,period:512K ./map
compare 'map of strings, a sample every 16 KiB' 1.10 ./map -- env LD_PRELOAD="$library" $on,period:16K ./map
jemalloc=$(library_of libjemalloc.so.2) tcmalloc=$(library_of libtcmalloc.so)
# peer NAME LIBRARY VARIABLE: the library with that variable set, against the library alone
peer() { [ -z "$2" ] || compare "$1" '' env LD_PRELOAD="$2" ./map -- env LD_PRELOAD="$2" "$3" ./map; }
peer "  jemalloc's profiler, 512 KiB" "$jemalloc" MALLOC_CONF=prof:true
peer "  jemalloc's profiler, 16 KiB" "$jemalloc" MALLOC_CONF=prof:true,lg_prof_sample:14
peer "  tcmalloc's sampling, 512 KiB" "$tcmalloc" TCMALLOC_SAMPLE_PARAMETER=524288
SAMPLER_RUNS=1 peer "  gperftools' heap profiler" "$tcmalloc" HEAPPROFILE="$scratch/gperf"
if command -v heaptrack >/dev/null; then
	SAMPLER_RUNS=1 compare '  heaptrack' '' ./map -- heaptrack ./map
else
	without '  heaptrack' 'not installed'
fi
without '  ddprof' 'not packaged'
cd "$OLDPWD"

# A sampled malloc and free under many frames: every allocation is sampled.
$cc -O2 -g tests/bench/stack.c -o "$scratch/stack"
for depth in 20 60; do
	for _ in 1 2 3 4 5; do
		[ -z "$jemalloc" ] || (cd "$scratch" && LD_PRELOAD=$jemalloc MALLOC_CONF=prof:true,lg_prof_sample:0 ./stack $depth) >>"$scratch/stock"
		LD_PRELOAD=$library env $on,period:1 "$scratch/stack" $depth >>"$scratch/ours"
	done
	ours=$(sort -g "$scratch/ours" | head -n 1) stock=$(sort -g "$scratch/stock" | head -n 1)
	awk -v what="a sampled malloc and free under $depth frames" -v ours="$ours" -v stock="$stock" 'BEGIN { ratio = ours / stock
		printf "%-52s %6.0f ns, stock jemalloc %.0f ns: %.3f  (wanted at most 0.10: %s)\n", what, ours, stock, ratio,
			ratio <= 0.1 ? "met" : "NOT MET" }'
	rm -f "$scratch/ours" "$scratch/stock"
done

# How the cost grows with the depth of the stack, every allocation sampled.
printf '%-52s' 'depth of the stack: ns for a sampled pair'
for depth in 2 10 20 40 80 160; do printf ' %s: %s' $depth "$(LD_PRELOAD=$library env $on,period:1 "$scratch/stack" $depth)"; done
echo
