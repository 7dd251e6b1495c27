#!/usr/bin/env bash
# A real redis-server, stripped: jeprof's figures for each address. Names are left out, since it takes the nearest exported symbol.
. tests/e2e/lib.sh
need redis-server redis-benchmark redis-cli jeprof python3 curl
cd "$scratch" || exit 1
quick_nm
port=$(free_port)
MALLOC_CONF=prof:true,prof_accum:true,lg_prof_sample:12,lg_prof_interval:21,prof_final:true,prof_prefix:$scratch/je \
	redis-server --port "$port" --save '' --dir "$scratch" >redis.log 2>&1 &
children+=($!)
wait_for 10 redis-cli -p "$port" ping
redis-benchmark -p "$port" -n 5000 -r 100000 -d 300 -t set,lpush -q >/dev/null
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

# A live one with the agent, whose symbol endpoint names the addresses: stock jeprof removes the frames of a stripped libjemalloc too.
agent=$(free_port) port=$(free_port)
LD_PRELOAD=$library CAIRN_CONF=listen:127.0.0.1:$agent CAIRN_TOOL=$cairn MALLOC_CONF=prof:true,lg_prof_sample:12 \
	redis-server --port "$port" --save '' --dir "$scratch" >redis.log 2>&1 &
children+=($!)
wait_for 10 redis-cli -p "$port" ping && wait_for 10 curl -s "http://127.0.0.1:$agent/cairn/status" || broken 'redis does not start'
redis-benchmark -p "$port" -n 5000 -r 100000 -d 300 -t set,lpush -q >/dev/null
HOME=$scratch jeprof --text "http://127.0.0.1:$agent/pprof/heap" >theirs 2>log || broken 'stock jeprof reads a live redis'
is "$(sed -n 2,4p theirs | grep -cE ' z(re|m|c)alloc(_usable)?$')" 3 "live: the first rows are redis's functions"
python3 - "/proc/${children[-1]}/maps" theirs >inner <<'E'
import re, sys
ranges = [(int(m[1], 16), int(m[2], 16)) for m in re.finditer(r"^([0-9a-f]+)-([0-9a-f]+) r-xp .*libjemalloc", open(sys.argv[1]).read(), re.M)]
names = [line.split()[-1] for line in open(sys.argv[2]) if len(line.split()) == 6]
print(len(ranges) > 0, len(names) > 20, [n for n in names if n.startswith("0x") and any(low <= int(n, 16) < high for low, high in ranges)])
E
is "$(cat inner)" 'True True []' 'live: no frame of libjemalloc is left'
done_testing
