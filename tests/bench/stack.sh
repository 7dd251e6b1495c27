#!/usr/bin/env bash
# What a sampled allocation costs with our unwinder and with jemalloc's own, what sampling costs a service, and CPU profiles.
. tests/bench/lib.sh
library=$PWD/$build/libcairn.so
jemalloc=$(ldconfig -p | awk '$1 == "libjemalloc.so.2" { print $NF; exit }')
heading 'Stacks (ns for a sampled malloc and free; every allocation sampled; stock is jemalloc with libgcc)'
if [ -z "$jemalloc" ] || [ ! -e "$library" ]; then
	without 'stacks' 'no libjemalloc.so.2 or no libcairn.so'
	exit 0
fi
conf=prof:true,prof_active:true,lg_prof_sample:0,prof_final:true,prof_prefix:$scratch/dump

# cost LIBRARIES PROGRAM DEPTH: one run
cost() { LD_PRELOAD=$1 MALLOC_CONF=$conf "$2" "$3"; }
least() { sort -g | head -n 1; }
# whole PROGRAM DEPTH: whether the last dump has all frames of the chain, by name
whole() {
	"$cairn" collapsed --binary "$1" "$scratch"/dump.*.heap 2>/dev/null | awk -v depth="$2" '/keep_under/ { n = gsub(/keep_under/, ""); if (n > depth && /main/) found = 1 } END { exit !found }'
}
for frames in omit no-omit; do
	program=$scratch/stack-$frames
	${CC:-cc} -O2 -g -f$frames-frame-pointer tests/bench/stack.c -o "$program"
	for depth in 20 60; do
		wanted=$([ $depth = 20 ] && echo 0.35 || echo 0.25)
		# Both in turn, and the best of each: what else the machine does only ever adds.
		for _ in 1 2 3 4 5; do
			cost "$jemalloc" "$program" $depth >>"$scratch/stock"
			rm -f "$scratch"/dump.*.heap
			cost "$library $jemalloc" "$program" $depth >>"$scratch/ours"
		done
		stock=$(least <"$scratch/stock") ours=$(least <"$scratch/ours")
		seen=$(whole "$program" $depth && echo 'the whole stack in the dump' || echo 'NOT the whole stack in the dump')
		awk -v what="-f$frames-frame-pointer, $depth frames" -v stock="$stock" -v ours="$ours" -v wanted="$wanted" -v seen="$seen" 'BEGIN {
			printf "%-44s %9.0f ns  stock %9.0f ns  %7.2f  (wanted at most %s: %s), %s\n", what, ours, stock, ours / stock, wanted, ours / stock <= wanted ? "met" : "NOT MET", seen }'
		rm -f "$scratch"/dump.*.heap "$scratch/stock" "$scratch/ours"
	done
done
"$build/tests/walk" | awk '{ printf "%-44s %9.1f ns cached, %.1f ns cold, libgcc %.1f ns\n", "per frame", $1, $2, $3 }'

# cpu_ms COMMAND...: CPU time it used, in milliseconds
cpu_ms() {
	/usr/bin/time -f '%U %S' -o "$scratch/time" "$@" >/dev/null 2>&1
	tail -n 1 "$scratch/time" | awk '{ printf "%d", ($1 + $2) * 1000 }'
}
# pairs WHAT WANTED WITHOUT WITH: the median ratio of what the command WITH prints to what WITHOUT prints. One pair of runs is off by
# several percent on a shared machine, so there are many, and either goes first in turn.
pairs() {
	local what=$1 wanted=$2 without with
	for pair in $(seq 25); do
		if ((pair % 2)); then
			without=$($3) with=$($4)
		else
			with=$($4) without=$($3)
		fi
		awk "BEGIN { print $with / $without }"
	done | sort -g | sed -n 13p | awk -v what="$what" -v wanted="$wanted" '{ printf "%-44s %9.3f of without  (wanted at most %s: %s)\n", what, $1, wanted, $1 <= wanted ? "met" : "NOT MET" }'
}
idle=MALLOC_CONF=prof:true,prof_active:false sampling=MALLOC_CONF=prof:true,prof_active:true,lg_prof_sample:19
${CXX:-c++} -std=c++17 -O2 -fomit-frame-pointer -pthread tests/unwind/templates.cpp -o "$scratch/templates" 2>/dev/null
allocate() { cpu_ms env LD_PRELOAD="$library $jemalloc" "$1" "$scratch/templates" 60000; }
if [ -x "$scratch/templates" ]; then
	pairs 'period 512 KiB, an allocating C++ program' 1.02 "allocate $idle" "allocate $sampling"
else
	without 'an allocating C++ program' 'no C++ compiler'
fi

# serve SETTING [profiled]: CPU nanoseconds of a redis-server, started with this variable, for a fixed number of requests; a CPU
# profile may be under way all the while
serve() {
	local port pid='' used
	until [ -n "$pid" ] && kill -0 "$pid" 2>/dev/null && redis-cli -p "$port" ping >/dev/null 2>&1; do
		if [ -z "$pid" ] || ! kill -0 "$pid" 2>/dev/null; then
			port=$((10000 + RANDOM % 20000))
			env LD_PRELOAD="$library" CAIRN_CONF=listen:127.0.0.1:$((port + 1)) "$1" redis-server --port $port --save '' --dir "$scratch" >/dev/null 2>&1 &
			pid=$!
		fi
		sleep 0.1
	done
	[ -z "${2:-}" ] || { curl -s "http://127.0.0.1:$((port + 1))/pprof/profile?seconds=3600" -o /dev/null & }
	redis-benchmark -p "$port" -n 200000 -r 100000 -d 300 -P 16 -t set,lpush -q >/dev/null 2>&1
	used=$(cut -d ' ' -f 1 "/proc/$pid/schedstat") # of the main thread, which does all the work
	redis-cli -p "$port" shutdown nosave >/dev/null 2>&1
	wait
	echo "$used"
}
if command -v redis-server >/dev/null; then
	pairs 'period 512 KiB, redis-server per request' 1.02 "serve $idle" "serve $sampling"
else
	without 'redis-server' 'not installed'
fi
if command -v redis-server >/dev/null && command -v curl >/dev/null; then
	pairs 'a CPU profile at 99 Hz, redis-server' 1.01 "serve $idle" "serve $idle profiled"
else
	without 'a CPU profile at 99 Hz' 'no redis-server or curl'
fi
