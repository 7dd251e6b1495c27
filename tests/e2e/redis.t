#!/usr/bin/env bash
# A real redis-server: every figure of its dumps is stock jeprof's, for each metric, with and without a base.
. tests/e2e/lib.sh
need redis-server redis-benchmark redis-cli jeprof python3

run() { # run NAME REQUESTS: a dump of a redis-server that served so many requests
	local port
	port=$(free_port)
	MALLOC_CONF=prof:true,prof_accum:true,lg_prof_sample:12,prof_final:true,prof_prefix:$scratch/je \
		redis-server --port "$port" --save '' --dir "$scratch" >"$scratch/redis.log" 2>&1 &
	local server=$!
	children+=($server)
	wait_for 10 redis-cli -p "$port" ping || return 1
	redis-benchmark -p "$port" -n "$2" -r 100000 -d 300 -t set,lpush,hset,zadd -q >/dev/null
	redis-cli -p "$port" shutdown nosave >/dev/null 2>&1
	wait $server
	mv "$scratch"/je.*.f.heap "$scratch/$1.heap"
}
run before 4000 && run after 8000
is $? 0 'redis-server ran under the profiler'
[ -s "$scratch/after.heap" ] || broken 'this redis-server has no jemalloc profiler'

quick_nm
program=$(command -v redis-server)
for metric in inuse_space inuse_objects alloc_space alloc_objects; do
	"$cairn" top --no-fold --addresses --json --value $metric "$scratch/after.heap" >"$scratch/ours" 2>/dev/null
	jeprof --text --addresses --show_bytes --$metric "$program" "$scratch/after.heap" >"$scratch/theirs" 2>/dev/null
	"$cairn" raw "$scratch/after.heap" >"$scratch/raw" 2>/dev/null
	holds "$metric: every address as jeprof has it" python3 tests/e2e/compare-jeprof.py "$scratch/ours" "$scratch/theirs" "$scratch/raw" $metric
done

# jeprof subtracts by absolute address, so its base must be a dump of the same process.
port=$(free_port)
MALLOC_CONF=prof:true,prof_accum:true,lg_prof_sample:12,lg_prof_interval:21,prof_final:true,prof_prefix:$scratch/one \
	redis-server --port "$port" --save '' --dir "$scratch" >"$scratch/redis.log" 2>&1 &
children+=($!)
wait_for 10 redis-cli -p "$port" ping
redis-benchmark -p "$port" -n 8000 -r 100000 -d 300 -t set,lpush -q >/dev/null
redis-cli -p "$port" shutdown nosave >/dev/null 2>&1
wait ${children[-1]}
first=$(ls -v "$scratch"/one.*.i0.heap) last=$(ls -v "$scratch"/one.*.f.heap)
for metric in inuse_space alloc_objects; do
	"$cairn" top --no-fold --addresses --json --value $metric --base "$first" "$last" >"$scratch/ours" 2>/dev/null
	jeprof --text --addresses --show_bytes --$metric --base "$first" "$program" "$last" >"$scratch/theirs" 2>/dev/null
	"$cairn" raw --base "$first" "$last" >"$scratch/raw" 2>/dev/null
	holds "$metric less a base: every address as jeprof has it" python3 tests/e2e/compare-jeprof.py "$scratch/ours" "$scratch/theirs" "$scratch/raw" $metric
done
# Where jeprof is wrong: two runs lie at different addresses, so it finds nothing in common; ours must.
like "$("$cairn" top -n 3 "$scratch/after.heap" 2>/dev/null | sed -n 3p)" 'folded into their callers: *zmalloc* more (--no-fold shows them)' 'top says where zmalloc is'
is "$("$cairn" top -n 3 --no-fold "$scratch/after.heap" 2>/dev/null | grep -c 'folded into')" 0 'unless it shows it'
"$cairn" top --no-fold --json --base "$scratch/before.heap" "$scratch/after.heap" >"$scratch/ours" 2>/dev/null
holds 'two runs are compared by place in the file, not by address' python3 - "$scratch/ours" <<'E'
import json, sys
profile = json.load(open(sys.argv[1]))
negative = sum(-r["flat"] for r in profile["rows"] if r["flat"] < 0)
print("shrunk by", negative, "of", profile["total"])
sys.exit(not (profile["total"] > 0 and negative < 0.2 * profile["total"]))
E
done_testing
