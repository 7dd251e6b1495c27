#!/usr/bin/env bash
# Real programs named: a stripped redis-server, and the demo service with its debug information.
. tests/e2e/lib.sh
need redis-server redis-benchmark redis-cli python3 nm cc

port=$(free_port)
MALLOC_CONF=prof:true,lg_prof_sample:12,prof_final:true,prof_prefix:$scratch/je \
	redis-server --port "$port" --save '' --dir "$scratch" >"$scratch/redis.log" 2>&1 &
children+=($!)
wait_for 10 redis-cli -p "$port" ping
redis-benchmark -p "$port" -n 20000 -r 100000 -d 300 -t set,lpush,hset -q >/dev/null
redis-cli -p "$port" shutdown nosave >/dev/null 2>&1
wait "${children[0]}"
children=()
mv "$scratch"/je.*.f.heap "$scratch/redis.heap" 2>/dev/null || broken 'this redis-server has no jemalloc profiler'

"$cairn" collapsed "$scratch/redis.heap" >"$scratch/folded" 2>"$scratch/notes"
holds 'redis: what it exports has its name' grep -q ';main;.*aeMain;.*processCommand' "$scratch/folded"
program=$(readlink -f "$(command -v redis-server)")
if nm "$program" 2>&1 | grep -q 'no symbols'; then
	holds 'redis: what it does not has its place' grep -q "$(basename "$program")+0x" "$scratch/folded"
	like "$(cat "$scratch/notes")" "*$(basename "$program"): no debug file for build-id ?* (stripped, dynamic symbols only): ?* of ?* frames without a name, in ?*% of bytes*" 'and the reason is given'
else
	skip 'redis: what it does not has its place' 'this redis-server is not stripped'
fi
! grep -qE 'libjemalloc|;(malloc|calloc|realloc) [0-9]' "$scratch/folded"
ok $? "redis: jemalloc's frames are gone from the leaf"
holds 'redis: zmalloc is a caller, not the allocator' grep -qE ';zmalloc|;ztrymalloc|;zrealloc' "$scratch/folded"
"$cairn" collapsed --all-frames "$scratch/redis.heap" >"$scratch/all" 2>/dev/null
holds '--all-frames keeps them' grep -q 'libjemalloc' "$scratch/all"
total() { awk '{sum += $NF} END {printf "%.0f", sum}' "$1"; }
is "$(total "$scratch/folded")" "$(total "$scratch/all")" 'and no byte is lost by cutting'

# Every name from a symbol table covers its address: compared with nm, which knows where each symbol ends.
"$cairn" collapsed --addresses --all-frames "$scratch/redis.heap" 2>/dev/null | tr ';' '\n' | sort -u >"$scratch/frames"
holds 'redis: no name reaches past the end of its symbol' python3 - "$scratch/frames" "$scratch/redis.heap" "$program" <<'E'
import re, subprocess, sys
frames, heap, program = sys.argv[1:]
start = offset = None
for line in open(heap, errors="replace"):
    found = re.match(r"([0-9a-f]+)-([0-9a-f]+) r-xp ([0-9a-f]+) \S+ \d+ +(\S+)$", line)
    if found and found[4] == program:
        start, limit, offset = (int(found[i], 16) for i in (1, 2, 3))
symbols = {}
for line in subprocess.run(["nm", "-D", "-S", "--defined-only", program], capture_output=True, text=True).stdout.splitlines():
    parts = line.split()
    if len(parts) == 4:
        symbols.setdefault(parts[3].split("@")[0], []).append((int(parts[0], 16), int(parts[1], 16)))
checked = wrong = 0
for line in open(frames):
    found = re.match(r"0x([0-9a-f]+) (\w+)", line)
    if not found or not start <= int(found[1], 16) - 1 < limit or found[2] not in symbols:
        continue
    address = int(found[1], 16) - 1 - start + offset
    checked += 1
    wrong += not any(begin <= address < begin + size for begin, size in symbols[found[2]])
print(checked, "checked,", wrong, "wrong")
sys.exit(wrong or checked < 20)
E

cc -O2 -g -pthread examples/leaky/leaky.c -o "$scratch/leaky" -ljemalloc 2>"$scratch/log" || broken 'the demo service is built against jemalloc'
MALLOC_CONF=prof:true,lg_prof_sample:12,prof_final:true,prof_prefix:$scratch/leaky "$scratch/leaky" 4 >/dev/null 2>&1
heap=$(ls "$scratch"/leaky.*.heap 2>/dev/null | tail -n 1)
[ -n "$heap" ] || broken 'the demo service leaves a dump'
"$cairn" collapsed --lines "$heap" >"$scratch/folded" 2>/dev/null
holds 'the demo service: functions with file and line' grep -qE 'leaky\.c:[0-9]+' "$scratch/folded"
! grep -q 'leaky+0x' "$scratch/folded"
ok $? 'the demo service: nothing of it is without a name'
done_testing
