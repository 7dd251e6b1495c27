#!/usr/bin/env bash
# On every sampled allocation the stack is libgcc's: redis, C++, Rust, Python, fibers.
. tests/e2e/lib.sh
need gcc g++ python3
differ=$PWD/${CAIRN_BUILD:-build}/tests/differ.so
jemalloc=$(ldconfig -p | awk '$1 == "libjemalloc.so.2" { print $NF; exit }')
[ -n "$jemalloc" ] || broken 'no libjemalloc.so.2 here'

# preload LIBRARIES SAMPLE COMMAND...: runs it with stacks taken twice
preload() {
	local libraries=$1 sample=$2
	shift 2
	rm -f "$scratch"/report.*
	env LD_PRELOAD="$libraries" DIFFER_REPORT="$scratch/report" MALLOC_CONF=prof:true,prof_active:true,lg_prof_sample:"$sample" "$@" >"$scratch/out" 2>&1
}

# compared NAME: at least 99.9 % of the stacks of the last run are the same
compared() {
	local stacks same complete frames
	read -r stacks same complete frames < <(cat "$scratch"/report.* 2>/dev/null | awk '/^[0-9]/ { a += $1; b += $2; c += $3; d += $4 } END { print a + 0, b + 0, c + 0, d + 0 }')
	[ "$stacks" -gt 100 ] && [ $((same * 1000)) -ge $((stacks * 999)) ]
	ok $? "$1: $same of $stacks stacks are libgcc's, $complete complete, $((frames / (stacks + !stacks))) frames on average"
	[ "$same" -eq "$stacks" ] || cat "$scratch"/report.* | grep -v '^[0-9]' | head -n 6 | cut -c 1-2000 | sed 's/^/#   /'
}

g++ -std=c++17 -O2 -fomit-frame-pointer -pthread tests/unwind/templates.cpp -o "$scratch/templates" && preload "$differ $jemalloc" 6 "$scratch/templates"
compared 'C++ with exceptions and deep templates'
gcc -O2 -fomit-frame-pointer -pthread tests/unwind/fibers.c -o "$scratch/fibers" && preload "$differ $jemalloc" 0 "$scratch/fibers"
compared 'ucontext fibers'
if is_long && command -v rustc >/dev/null && rustc -O --edition 2021 tests/unwind/service.rs -o "$scratch/service" 2>"$scratch/rustc"; then
	preload "$differ $jemalloc" 0 "$scratch/service"
	compared 'a Rust service'
elif is_long; then
	skip 'a Rust service' 'no rustc here'
fi
preload "$differ $jemalloc" 8 env PYTHONMALLOC=malloc python3 -c '
import json, re, threading
def nest(n): return [nest(n - 1), n] if n else []
def work():
    for i in range(5):
        json.loads(json.dumps({"a": [1, 2, {"b": "c" * 50}] * 20})); re.compile("a(b|c)*d%d" % i); nest(30); sorted("321", key=lambda x: str(x))
threads = [threading.Thread(target=work) for _ in range(3)]
for t in threads: t.start()
for t in threads: t.join()'
compared 'Python'
preload "$differ $jemalloc" 0 sh -c 'getent passwd root >/dev/null; date; ls -la / >/dev/null; printf "%s\n" b a | sort'
compared 'libc: getent, date, ls, sort'

if command -v redis-server >/dev/null && ldd "$(command -v redis-server)" | grep -q jemalloc; then
	port=$(free_port)
	preload "$differ" 8 redis-server --port "$port" --save '' --dir "$scratch" &
	children+=($!)
	wait_for 20 redis-cli -p "$port" ping
	redis-benchmark -p "$port" -n $(rounds 300 5000) -r 10000 -d 300 -t set,lpush,hset,zadd,lrange_100,mset -q >/dev/null
	redis-cli -p "$port" eval 'local t = {} for i = 1, 2000 do t[i] = tostring(i) .. "x" end redis.call("set", "k", table.concat(t)) return 1' 0 >/dev/null
	redis-cli -p "$port" debug reload >/dev/null
	redis-cli -p "$port" shutdown nosave >/dev/null 2>&1
	wait "${children[-1]}"
	compared 'redis-server'
else
	skip 'redis-server' 'no redis-server with jemalloc here'
fi
done_testing
