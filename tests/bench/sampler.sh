#!/usr/bin/env bash
# What Cairn's own engine costs, on each allocator and beside its peers: a malloc and free, a program that does little but allocate,
# redis-server, a sampled allocation under many frames, the stall of a snapshot, memory. SAMPLER_RUNS (11) is how often programs run.
# Programs run in turn with the bare one.
. tests/bench/lib.sh
library=$PWD/$build/libcairn.so
cc=${CC:-cc} cxx=${CXX:-c++}
on=CAIRN_CONF=engine:cairn,enable_heap_profiling:true
library_of() { ldconfig -p | awk -v name="$1" '$1 ~ "^" name { print $NF; exit }'; }
heading "Cairn's own engine"

# A malloc and free of 64 bytes, in a loop; and frees in an order hostile to caches, where each waits for memory: hostile.c tells how that
# can be measured at all. Beside the difference of minima stand that of medians, and what bare against bare comes to.
$cc -O2 tests/bench/pair.c -o "$scratch/pair" -D_GNU_SOURCE -ldl -pthread
$cc -O2 tests/bench/hostile.c -o "$scratch/hostile" -D_GNU_SOURCE -ldl
# hostile NAME ARGUMENT...: one row of it, with the libraries in $preloaded
hostile() {
	env LD_PRELOAD="$preloaded" $on "$scratch/hostile" "${@:2}" >"$scratch/frees" || { without "$1" 'it could not hold them'; return; }
	awk -v what="$1" '{ printf "%-52s %+6.2f ns over %6.2f ns  (wanted at most 1.5: %s)  medians %+.2f; bare against bare %+.2f, medians %+.2f\n",
		what, $2, $1, $2 <= 1.5 ? "met" : "NOT MET", $4, $3, $5 }' "$scratch/frees"
}
for allocator in glibc libjemalloc.so.2 libtcmalloc_minimal.so; do
	path=$([ $allocator = glibc ] || library_of $allocator)
	[ $allocator = glibc ] || [ -n "$path" ] || { without "malloc and free on $allocator" 'not installed'; continue; }
	preloaded="$library $path"
	for live in 100 32000; do
		env LD_PRELOAD="$preloaded" $on "$scratch/pair" $live >"$scratch/pairs" ||
			{ without "$live live samples on $allocator" 'it could not hold them'; continue; }
		awk -v what="malloc and free, $allocator, $live live" '{
			printf "%-52s %+6.2f ns over %6.2f ns  (wanted at most 1.5: %s)\n", what, $2 - $1, $1, $2 - $1 <= 1.5 ? "met" : "NOT MET"
		}' "$scratch/pairs"
		hostile "  frees in an order hostile to caches" $live
		hostile "  the same, the pointers out of caches too" $live pointers
	done
done

# CPU time, in pairs with the bare program: what the start adds, as milliseconds for a program that does nothing; and what sampling adds to
# one that does little but allocate, for seconds, so that the start does not count.
echo 'int main(void) { return 0; }' >"$scratch/nothing.c"
$cc -O2 "$scratch/nothing.c" -o "$scratch/nothing"
$cxx -O2 -g tests/bench/map.cc -o "$scratch/map"
$cc -O2 -shared -fPIC tests/bench/thread.c -o "$scratch/thread.so" -pthread
pairs=$PWD/tests/bench/pairs.py
# least FILE: the smallest number in it
least() { sort -g "$1" | head -n 1; }
# ratio NAME WANTED BARE WITH: of two numbers, against what is wanted
ratio() {
	awk -v name="$1" -v wanted="$2" -v bare="$3" -v with="$4" 'BEGIN { ratio = with / bare
		printf "%-52s %6.3f of bare  (wanted at most %s: %s)\n", name, ratio, wanted, ratio <= wanted ? "met" : "NOT MET" }'
}
# compare NAME WANTED PAIRS BARE... -- COMMAND...: CPU time of the second against that of the first; WANTED is '' for a peer, of which
# nothing is
compare() {
	python3 "$pairs" "${@:3}" >"$scratch/ratio" || { without "$1" 'it failed'; return; }
	awk -v name="$1" -v wanted="$2" '{ printf "%-52s %6.3f of bare%s  (quartiles %.3f and %.3f; bare %.2f s)\n", name, $1,
		wanted == "" ? "" : sprintf("  (wanted at most %s: %s)", wanted, $1 <= wanted ? "met" : "NOT MET"), $2, $3, $4 / 1000 }' "$scratch/ratio"
}
# starts NAME COMMAND...: milliseconds of CPU time that the start of a program with COMMAND adds to that of the bare one
starts() {
	python3 "$pairs" $((${SAMPLER_RUNS:-11} * 4)) ./nothing -- "${@:2}" ./nothing >"$scratch/ratio" || { without "$1" 'it failed'; return; }
	awk -v name="$1" '{ printf "%-52s %+6.2f ms over %5.2f ms of CPU time\n", name, $5, $4 }' "$scratch/ratio"
}
cd "$scratch"
starts 'start of a program that does nothing' LD_PRELOAD="$library" $on
starts '  the same, not sampling' LD_PRELOAD="$library" CAIRN_CONF=engine:cairn
starts '  the same by cairn run' "$cairn" run -o nothing.heap --
runs=${SAMPLER_RUNS:-11} rounds=6
compare 'map of strings, a sample every 512 KiB' 1.02 "$runs" ./map $rounds -- LD_PRELOAD="$library" $on,period:512K ./map $rounds
compare 'map of strings, a sample every 16 KiB' 1.10 "$runs" ./map $rounds -- LD_PRELOAD="$library" $on,period:16K ./map $rounds
compare "  a thread that sleeps, and nothing else" '' "$runs" ./map $rounds -- LD_PRELOAD="$scratch/thread.so" ./map $rounds
compare '  512 KiB, of the program with such a thread' '' "$runs" LD_PRELOAD="$scratch/thread.so" ./map $rounds -- \
	LD_PRELOAD="$library" $on,period:512K ./map $rounds
jemalloc=$(library_of libjemalloc.so.2) tcmalloc=$(library_of libtcmalloc.so)
# peer NAME LIBRARY VARIABLE [PAIRS]: the library with that variable set, against the library alone
peer() { [ -z "$2" ] || compare "$1" '' "${4:-5}" LD_PRELOAD="$2" ./map 3 -- LD_PRELOAD="$2" "$3" ./map 3; }
peer "  jemalloc's profiler, 512 KiB" "$jemalloc" MALLOC_CONF=prof:true
peer "  jemalloc's profiler, 16 KiB" "$jemalloc" MALLOC_CONF=prof:true,lg_prof_sample:14
peer "  tcmalloc's sampling, 512 KiB" "$tcmalloc" TCMALLOC_SAMPLE_PARAMETER=524288
peer "  gperftools' heap profiler" "$tcmalloc" HEAPPROFILE="$scratch/gperf" 1
if command -v heaptrack >/dev/null; then
	compare '  heaptrack' '' 1 ./map -- heaptrack ./map
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

# And with live samples and threads: CPU time that is added to a pair.
printf '%-52s' 'live samples: ns added to a pair'
added() { env LD_PRELOAD="$library" $on "$scratch/pair" "$@" | awk '{ printf "%+.2f", $2 - $1 }'; }
for live in 0 1000 8000 32000; do printf ' %s: %s' $live "$(added $live)"; done
echo
printf '%-52s' 'threads: ns added to a pair'
for threads in 1 2 4 8 16; do printf ' %s: %s' $threads "$(added 1000 $threads)"; done
echo

# redis-server, as Debian has it: CPU time for a load, of a bare one and a sampled one in turn.
serve() {
	local setting=$1 pid before socket=$scratch/redis-$RANDOM.sock
	env "${@:2}" redis-server --port 0 --unixsocket "$socket" --save '' --dir "$scratch" >/dev/null 2>&1 &
	pid=$!
	until redis-cli -s "$socket" ping >/dev/null 2>&1; do sleep 0.05; done
	before=$(cut -d ' ' -f 1 "/proc/$pid/schedstat") # of the main thread, which does all the work
	redis-benchmark -s "$socket" -n 200000 -r 100000 -d 100 -P 16 -t set,lpush -q >/dev/null 2>&1
	echo $(($(cut -d ' ' -f 1 "/proc/$pid/schedstat") - before)) >>"$scratch/redis.$setting"
	redis-cli -s "$socket" shutdown nosave >/dev/null 2>&1
	wait $pid
}
if command -v redis-server >/dev/null; then
	for _ in $(seq "${SAMPLER_RUNS:-11}"); do
		serve bare A=B
		serve sampled LD_PRELOAD="$library" $on
	done
	ratio 'redis-server, a sample every 512 KiB' 1.01 "$(least "$scratch/redis.bare")" "$(least "$scratch/redis.sampled")"
else
	without 'redis-server' 'not installed'
fi

# The stall that a snapshot of 24,000 stacks causes in another thread: the longest allocation of each second. What else the machine does
# adds to it, and a second or two have no snapshot in them, so the lower quartile counts.
quartile() { sort -g "$1" | sed -n "$(($(wc -l <"$1") / 4 + 1))p"; }
$cc -O2 -w -fno-optimize-sibling-calls tests/bench/stall.c -o "$scratch/stall" -pthread
$cc -O2 -w -fno-optimize-sibling-calls tests/bench/stall.c -o "$scratch/stall-jemalloc" -pthread -ljemalloc
export XDG_RUNTIME_DIR=$scratch
ask() { curl -s -o "$scratch/many.heap" --unix-socket "$(ls -t "$scratch"/cairn/*.sock | head -n 1)" http://localhost/pprof/heap; }
(sleep 1; for _ in $(seq 75); do ask; sleep 0.2; done) &
timeout 20 env LD_PRELOAD="$library" $on,listen:unix,period:1,ledger_bytes:64M "$scratch/stall" agent >"$scratch/stall.ours" 2>/dev/null
wait
timeout 20 env LD_PRELOAD="$library" $on,period:1,ledger_bytes:64M "$scratch/stall" agent >"$scratch/stall.none" 2>/dev/null
MALLOC_CONF=prof:true,lg_prof_sample:0 timeout 20 "$scratch/stall-jemalloc" stock "$scratch/stall.heap" >"$scratch/stall.stock" 2>/dev/null
awk -v stacks="$(grep -c '^@' "$scratch/many.heap")" -v ours="$(quartile "$scratch/stall.ours")" -v none="$(quartile "$scratch/stall.none")" \
	-v stock="$(quartile "$scratch/stall.stock")" 'BEGIN {
	printf "%-52s %6.0f us, without a snapshot %.0f us, jemalloc'"'"'s own dump %.0f us  (wanted less than 1000: %s)\n",
		"longest stall by a snapshot of " stacks " stacks", ours, none, stock, ours < 1000 ? "met" : "NOT MET" }'

# Memory beyond the ledger: resident memory of a process that holds 20 MB, with the agent less its ledger, and without it. Pages of files
# that other processes share, such as libc's, are not counted.
$cc -O1 -w -D_GNU_SOURCE tests/e2e/sampler-host.c -o "$scratch/host" -pthread -ldl
# resident SETTING...: kilobytes beside the ledger
resident() {
	env "$@" "$scratch/host" hold >"$scratch/out" 2>&1 &
	local pid=$!
	until grep -q ready "$scratch/out"; do sleep 0.05; done
	sleep 2
	awk '/^[0-9a-f]+-/ { ledger = /cairn-ledger/; own = /libcairn/ } ledger { next }
		/^Rss:/ { sum += $2 } /^Shared_Clean:/ && !own { sum -= $2 } END { print sum }' "/proc/$pid/smaps"
	kill $pid
	wait $pid 2>/dev/null
}
bare=$(resident A=B)
for period in 512K 1K; do # the second has some 20,000 live samples
	with=$(resident LD_PRELOAD="$library" $on,period:$period)
	awk -v what="resident memory beyond the ledger, period $period" -v bare="$bare" -v with="$with" 'BEGIN {
		printf "%-52s %6d KiB  (wanted less than 1024: %s)\n", what, with - bare, with - bare < 1024 ? "met" : "NOT MET" }'
done
