#!/usr/bin/env bash
# A real redis-server, stripped: jeprof's figures for each address. Names are left out, since it takes the nearest exported symbol.
. tests/e2e/lib.sh
need redis-server redis-benchmark redis-cli jeprof python3
cd "$scratch" || exit 1
port=$(free_port)
MALLOC_CONF=prof:true,prof_accum:true,lg_prof_sample:12,lg_prof_interval:23,prof_final:true,prof_prefix:$scratch/je \
	redis-server --port "$port" --save '' --dir "$scratch" >redis.log 2>&1 &
children+=($!)
wait_for 10 redis-cli -p "$port" ping
redis-benchmark -p "$port" -n 20000 -r 100000 -d 300 -t set,lpush -q >/dev/null
redis-cli -p "$port" shutdown nosave >/dev/null 2>&1
wait "${children[-1]}"
mv je.*.f.heap now.heap 2>/dev/null && mv "$(ls -v je.*.i*.heap | head -n 1)" before.heap || broken 'this redis-server has no jemalloc profiler'
program=$(command -v redis-server)

runs=()
while read -r kind arguments; do
	runs+=("$kind $arguments")
	jeprof $arguments >theirs.${#runs[@]} 2>/dev/null &
done <<END
addresses --addresses --show_bytes $program now.heap
addresses --addresses --inuse_objects --cum --base before.heap $program now.heap
addresses --addresses --alloc_objects $program now.heap before.heap
addresses --addresses --focus=sds --ignore=dict $program now.heap
END
wait
for i in "${!runs[@]}"; do
	read -r kind arguments <<<"${runs[$i]}"
	"$cairn" jeprof $arguments >ours 2>/dev/null
	holds "${arguments/$program/redis-server}" python3 "$root/tests/e2e/compare-jeprof-text.py" "$kind" theirs.$((i + 1)) ours
done
is "$("$cairn" jeprof --text "$program" now.heap 2>/dev/null | awk '$6 == "zmalloc_usable"')" "$(jeprof --text "$program" now.heap 2>/dev/null | awk '$6 == "zmalloc_usable"')" 'the first row is the same line'
done_testing
