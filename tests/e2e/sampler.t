#!/usr/bin/env bash
# Cairn's own sampler: the truth on every allocator, hosts that make its life hard, and its ledger at its limits.
. tests/e2e/lib.sh
need cc c++ curl python3 jeprof
. tests/e2e/agent.sh
cc=${CC:-cc}
export CAIRN_TOOL=$cairn

$cc -O1 -g -w -D_GNU_SOURCE tests/e2e/sampler-truth.c -o "$scratch/truth" -pthread -ldl &&
	$cc -O1 -g -w -D_GNU_SOURCE tests/e2e/sampler-host.c -o "$scratch/host" -pthread -ldl || { ok 1 "the test hosts build"; done_testing; }
cat >"$scratch/plugin.c" <<'C'
#include <stdlib.h>
void *plugin_allocate(size_t size) { return malloc(size); }
void plugin_release(void *object) { free(object); }
__attribute__((constructor)) static void start(void) { free(malloc(700)); }
C
$cc -shared -fPIC -O1 "$scratch/plugin.c" -o "$scratch/plugin.so"

# ask PID PATH [curl options]
ask() { local pid=$1 path=$2; shift 2; curl -s --max-time 60 --unix-socket "$sockets/$pid.sock" "$@" "http://localhost$path"; }
# fact PID KEY...: a member of the status
fact() { local pid=$1; shift; ask "$pid" /cairn/status | python3 -c 'import json, sys
value = json.load(sys.stdin)
for key in sys.argv[1:]: value = value[key]
print("" if value is None else str(value).lower() if isinstance(value, bool) else value)' "$@"; }
# start CONF COMMAND...: preloaded, sampling; sets `pid`
start() {
	local conf=$1
	shift
	rm -f "$scratch/out"
	LD_PRELOAD=$library CAIRN_CONF=enable_heap_profiling:true,listen:unix,$conf "$@" >"$scratch/out" 2>&1 &
	pid=$!
	children+=($pid)
}
# until_ready: the host has said so, and the agent answers
until_ready() { wait_for 60 grep -q ready "$scratch/out" && wait_for 30 ask $pid /cairn/status; }

# The truth. A program that knows what it holds prints, for each call site, its name, the size of its objects and the live bytes; the
# estimate must lie
# within five standard deviations, on each allocator: a wrong estimator is wrong in all runs.
check_truth() {
	python3 - "$1" "$scratch/out" "$2" <<'P'
import json, math, sys
rows = {r["name"]: r for r in json.load(open(sys.argv[1]))["rows"]}
worst, text = 0, []
for line in open(sys.argv[2]):
    part = line.split()
    if part[:1] != ["site"]: continue
    name, size, true = part[1], float(part[2]), float(part[3])
    got, seen = rows.get(name, {}).get("cum", 0), 1 - math.exp(-size / float(sys.argv[3]))
    off = abs(got - true) / (math.sqrt(size * true * (1 - seen) / seen) + 0.001 * true)
    worst = max(worst, off); text.append("%s %.3f" % (name, got / true))
print("worst %.1f sigma: %s" % (worst, " ".join(text))); sys.exit(worst > 5 or len(text) < 6)
P
}
for allocator in libc tcmalloc_minimal mimalloc jemalloc; do
	if [ $allocator = libc ]; then program=$scratch/truth; else
		program=$scratch/truth-$allocator
		$cc -O1 -g -w tests/e2e/sampler-truth.c -o "$program" -D_GNU_SOURCE -pthread -ldl -Wl,--no-as-needed -l$allocator ||
			{ ok 1 "$allocator is there"; continue; }
	fi
	for round in $(seq "$(rounds 1 3)"); do
		start period:16K "$program"
		until_ready
		"$cairn" top --json -n 0 $pid >"$scratch/top.json" 2>"$scratch/err"
		result=$(check_truth "$scratch/top.json" 16384)
		ok $? "$allocator: every call site is as the program knows it ($result)"
		[ $round != 1 ] || is "$(fact $pid engine name)" cairn "$allocator: it is Cairn's engine that samples"
		[ $round != 1 ] || like "$(fact $pid engine allocator)" "*/lib*" "$allocator: on the allocator it has, $(fact $pid engine allocator)"
		is "$(fact $pid ledger replaced)" 0 "$allocator: no free was missed"
		kill -9 $pid; wait $pid 2>/dev/null
	done
done

# Dumps: stock jeprof finds the same total; frees and threads are told.
start period:4K "$scratch/truth"
until_ready
ask $pid /cairn/deactivate -X POST >/dev/null
"$cairn" dump -o "$scratch/one.heap" $pid >/dev/null
ours=$("$cairn" top --json -n 1 "$scratch/one.heap" | python3 -c 'import json, sys; print(round(json.load(sys.stdin)["total"]))')
theirs=$(jeprof --text --show_bytes "$scratch/truth" "$scratch/one.heap" 2>/dev/null | sed -n 's/^Total: \([0-9]*\) B$/\1/p')
awk -v a="$ours" -v b="${theirs:-0}" 'BEGIN{exit !(b > 0 && a / b > 0.999 && a / b < 1.001)}'
ok $? "stock jeprof's total is ours: $ours, $theirs"
holds "a dump lists its samples" grep -q '^# cairn live ' "$scratch/one.heap"
holds "and what was freed, with lifetimes" grep -qE '^# cairn freed [0-9]+ [0-9]+ [0-9]+ [0-9]+ [1-9][0-9]* .*:' "$scratch/one.heap"
# pprof has all of it.
"$cairn" pprof -q -o "$scratch/one.pb.gz" "$scratch/one.heap"
# total TYPE FILE
total() { "$cairn" top --json -n 1 --value "$1" "$2" 2>/dev/null | python3 -c 'import json, sys; print(round(json.load(sys.stdin)["total"]))'; }
live=$(total inuse_space "$scratch/one.pb.gz")
[ $((live - ours)) -ge -1 ] && [ $((live - ours)) -le 1 ]
ok $? "pprof has the same live bytes: $live"
freed=$(awk '$1 == "#" && $3 == "freed" { sum += $7 } END { printf "%.0f", sum }' "$scratch/one.heap")
is "$(total freed_space "$scratch/one.pb.gz")" "$freed" "the bytes that were freed"
usable=$(total inuse_usable "$scratch/one.pb.gz")
[ "$usable" -gt "$ours" ] && [ "$usable" -lt $((ours * 3 / 2)) ]
ok $? "usable bytes beside those requested: $usable of $ours"
[ "$(total freed_lifetime "$scratch/one.pb.gz")" -gt 0 ]
ok $? "lifetimes"
"$cairn" pprof -q --since "$scratch/one.heap" -o "$scratch/since.pb.gz" "$scratch/one.heap"
is "$(total inuse_space "$scratch/since.pb.gz") $(total inuse_usable "$scratch/since.pb.gz")" "$live $usable" "--since keeps what is live now, by every measure"
like "$("$cairn" tags "$scratch/one.pb.gz" 2>/dev/null)" "*age*" "and ages as a label"
taken=$(fact $pid ledger taken)
sleep 0.5
is "$(fact $pid ledger taken)" "$taken" "switched off, no sample is taken"
is "$(fact $pid active)" false "and the status says so"
churned() { "$cairn" top --json -n 0 $pid | python3 -c 'import json, sys
print(int(sum(r["cum"] for r in json.load(sys.stdin)["rows"] if r["name"] == "churn")))'; }
wait_for 30 eval '[ "$(churned)" = 0 ]'
ok $? "frees are still followed: what was sampled and has been freed since is gone"
ask $pid /cairn/reset -X POST >/dev/null
is "$(fact $pid engine relocations) $(fact $pid ledger live)" "0 0" "a reset while it is off puts every relocation back"
ask $pid /cairn/activate -X POST >/dev/null
wait_for 20 eval '[ "$(fact $pid ledger live)" -gt 0 ]'
ok $? "and it can be switched on again"
kill -9 $pid; wait $pid 2>/dev/null

# Nothing is touched before it is switched on.
rm -f "$scratch/out"
CAIRN_CONF=listen:unix LD_PRELOAD=$library "$scratch/host" hold >"$scratch/out" 2>&1 & pid=$!; children+=($pid)
until_ready
is "$(fact $pid state) $(fact $pid engine relocations)" "inactive 0" "preloaded and not switched on, no relocation is changed"
[ "$(grep -c cairn-ledger /proc/$pid/maps)" = 0 ]
ok $? "and there is no ledger"
ask $pid /cairn/activate -X POST >/dev/null
[ "$(grep -c cairn-ledger /proc/$pid/maps)" -gt 0 ] && [ "$(fact $pid engine relocations)" -gt 0 ]
ok $? "switched on later, there are both"
kill -9 $pid; wait $pid 2>/dev/null

# Hosts that make its life hard. Each checks its memory, and must end well.
for mode in plain threads forks child "loads $scratch/plugin.so" fibers signals close sandbox; do
	for period in $(rounds 256 '256 16K'); do
		LD_PRELOAD=$library CAIRN_CONF=enable_heap_profiling:true,period:$period timeout 600 "$scratch/host" $mode >"$scratch/out" 2>&1
		is "$? $(tail -n 1 "$scratch/out")" "0 well" "a host of ${mode%% *}, sampled every $period$(sed -n 's/^.* forks a second/, &/p' "$scratch/out")"
	done
done
for allocator in tcmalloc_minimal jemalloc; do
	$cc -O1 -g -w -D_GNU_SOURCE tests/e2e/sampler-host.c -o "$scratch/host-$allocator" -pthread -ldl -Wl,--no-as-needed -l$allocator
	LD_PRELOAD=$library CAIRN_CONF=enable_heap_profiling:true,period:256 timeout 600 "$scratch/host-$allocator" threads >"$scratch/out" 2>&1
	is "$? $(tail -n 1 "$scratch/out")" "0 well" "many threads on $allocator"
done

# A forked child that lives has a ledger of its own.
start period:4K "$scratch/host" child 120
child_samples() { child=$(pgrep -P $pid | head -n 1) && [ -n "$child" ] && [ "$(fact $child ledger taken)" -gt 0 ]; }
wait_for 60 child_samples
ok $? "a forked child samples on, for itself"
is "$(fact "$child" pid)" "$child" "and says who it is"
kill -9 $pid $child 2>/dev/null; wait $pid 2>/dev/null

# A ledger at its limits.
start period:64,ledger_bytes:1M "$scratch/host" hold
until_ready
wait_for 20 eval '[ "$(fact $pid ledger doublings)" -gt 0 ]'
ok $? "a ledger that fills up doubles the period, and says so ($(fact $pid period) from $(fact $pid ledger first_period))"
total=$("$cairn" top --json -n 1 $pid 2>/dev/null | python3 -c 'import json, sys; print(json.load(sys.stdin)["total"])')
awk -v t="$total" 'BEGIN{exit !(t > 0.8 * 2e7 && t < 1.2 * 2e7)}'
ok $? "and the total is right all the same: $total of 20000000"
kill -9 $pid; wait $pid 2>/dev/null

# An allocator of the host's own, in its program; a sanitizer's, which is left alone; both ways of loading at once.
cat >"$scratch/own.c" <<'C'
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
static void *(*next)(size_t);
void *malloc(size_t size) { if (!next) next = (void *(*)(size_t))dlsym(RTLD_NEXT, "malloc"); return next(size); }
int main(void)
{
	for (int i = 0; i < 100000; i++) { char *text = strdup("some text"); if (!text || text[0] != 's') return 1; free(text); }
	return puts("well"), 0;
}
C
$cc -O1 -w "$scratch/own.c" -o "$scratch/own" -ldl -rdynamic
LD_PRELOAD=$library CAIRN_CONF=enable_heap_profiling:true,period:256 timeout 300 "$scratch/own" >"$scratch/out" 2>&1
is "$? $(tail -n 1 "$scratch/out")" "0 well" "a host with a malloc of its own"
cat >"$scratch/linked.c" <<C
#include "$root/include/cairn.h"
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
int main(void)
{
	char error[256];
	struct cairn_options options = {.size = sizeof options, .heap_profiling = 1};
	if (!cairn_start(&options, error, sizeof error)) return puts(error), 1;
	unsigned heap = cairn_heap("buffers");
	for (uint64_t i = 0; i < 20000; i++) { cairn_heap_allocated(heap, i, 4096); if (i % 2) cairn_heap_freed(heap, i); free(malloc(100)); }
	if (!cairn_snapshot_file("$scratch/linked.heap", error, sizeof error)) return puts(error), 1;
	int ledger = cairn_ledger(), copy = open("$scratch/linked.ledger", O_WRONLY | O_CREAT, 0600);
	static char piece[1 << 16];
	if (ledger < 0 || write(ledger, piece, 1) != -1) return puts("no ledger, or one that can be written"), 1;
	for (ssize_t length; (length = read(ledger, piece, sizeof piece)) > 0;)
		if (write(copy, piece, length) != length) return puts("the ledger cannot be copied"), 1;
	close(ledger);
	for (int number = 3; number < getdtablesize(); number++) { /* a daemon closes it, and has a file of its own with that number */
		char path[40], name[80] = "";
		snprintf(path, sizeof path, "/proc/self/fd/%d", number);
		if (readlink(path, name, sizeof name - 1) > 0 && strstr(name, "cairn-ledger")) dup2(copy, number);
	}
	if (cairn_ledger() != -1) return puts("a file of the host is given out as the ledger"), 1;
	return puts("well"), 0;
}
C
$cc -O1 -g -w "$scratch/linked.c" -o "$scratch/linked" -L"${library%/*}" -lcairn -Wl,-rpath,"${library%/*}"
CAIRN_CONF=period:16K timeout 300 "$scratch/linked" >"$scratch/out" 2>&1
is "$? $(tail -n 1 "$scratch/out")" "0 well" "a program that is linked with the agent and reports a heap of its own"
pool=$("$cairn" tags --json "$scratch/linked.heap" 2>/dev/null || "$cairn" tags "$scratch/linked.heap")
like "$pool" "*heap*buffers*" "shown by its name"
total=$("$cairn" top --json -n 1 "$scratch/linked.heap" | python3 -c 'import json, sys; print(json.load(sys.stdin)["total"])')
awk -v t="$total" 'BEGIN{exit !(t > 0.85 * 40960000 && t < 1.15 * 40960000)}'
ok $? "with what it holds: $total of 40960000"
same=$("$cairn" top --json -n 1 "$scratch/linked.ledger" | python3 -c 'import json, sys; print(json.load(sys.stdin)["total"])')
is "$same" "$total" "a copy of the ledger that cairn_ledger gives shows the same"
rm -f "$scratch/linked.heap" "$scratch/linked.ledger"
LD_PRELOAD=$library CAIRN_CONF=enable_heap_profiling:true,period:16K timeout 300 "$scratch/linked" >"$scratch/out" 2>&1
is "$? $(tail -n 1 "$scratch/out")" "0 well" "preloaded and linked at once"
if $cc -O1 -w -fsanitize=address "$scratch/own.c" -o "$scratch/asan" 2>/dev/null; then
	$cc -O1 -w -D_GNU_SOURCE -fsanitize=address tests/e2e/sampler-host.c -o "$scratch/asan" -pthread -ldl
	ASAN_OPTIONS=verify_asan_link_order=0:detect_leaks=0 start period:4K "$scratch/asan" hold
	until_ready
	like "$(fact $pid why)" "*AddressSanitizer*" "a host under AddressSanitizer is refused, with the reason"
	is "$(fact $pid state)" unavailable "and its state says no more than that"
	is "$(fact $pid engine relocations)" 0 "and left alone"
	kill -9 $pid; wait $pid 2>/dev/null
fi
holds "the probes of otel_memory are in the library" eval 'readelf -n "$library" 2>/dev/null | grep -q "Provider: otel_memory"'
is "$(readelf -n "$library" 2>/dev/null | sed -n 's/^ *Name: //p' | sort | tr '\n' ' ')" "alloc free " "alloc and free"
done_testing
