#!/usr/bin/env bash
# The bill of real services of hundreds of megabytes: redis and a C++ service, full, half freed, with many threads, huge pages, and
# memory of every other kind; from dumps, and of processes without an agent.
. tests/e2e/lib.sh
need redis-server redis-cli python3 curl
. tests/e2e/agent.sh

# bill NAME PID LEAST LINE...: the bill of SOURCE (PID unless set) holds
bill() {
	local name=$1 pid=$2 words
	shift 2
	words=$("$cairn" rss --json "${SOURCE:-$pid}" 2>"$scratch/error" | python3 tests/e2e/check-bill.py "$pid" "$@" 2>&1)
	ok $? "$name: $words"
	sed 's/^/#   /' "$scratch/error"
}

MALLOC=prof:true start_redis full --enable-debug-command yes || MALLOC=prof:true start_redis full || broken 'redis does not start'
keys=$(rounds 800000 2500000)
part() { echo $(($1 * keys / 2500000)); } # part MEGABYTES: of what 2,500,000 keys take
redis-cli -p "$port_full" debug populate "$keys" key 60 >/dev/null
bill 'redis, full' "$pid_full" "$(part 256)" "live=$(part 250)" metadata=1-30 stacks=0-2
"$cairn" dump "$pid_full" -o "$scratch/full.heap" >/dev/null
seq 0 2 $((keys - 1)) | sed 's/^/DEL key:/' | redis-cli -p "$port_full" --pipe >/dev/null
bill 'redis, half deleted' "$pid_full" "$(part 256)" "unused=$(part 100)" "live=$(part 120)-$(part 250)"
SOURCE=$scratch/full.heap bill 'from the dump made before that' - "$(part 256)" "live=$(part 250)"
is "$("$cairn" rss --json "$scratch/full.heap")" "$(gzip -k "$scratch/full.heap" && "$cairn" rss --json "$scratch/full.heap.gz")" 'a packed dump gives the same'
like "$("$cairn" rss "$pid_full")" '*live objects  (the profile estimates * ± *)*unexplained*retained*prof_stats:true*' 'the text has the estimate, what is not resident, and what cannot be known'
"$cairn" rss "$pid_full" -o "$scratch/bill.svg" && "$cairn" rss "$pid_full" -o "$scratch/bill.html"
holds 'the picture is XML whose bars are the bill' python3 - "$scratch/bill.svg" <<'P'
import sys, xml.etree.ElementTree as tree
bars = [(r.get("data-line"), int(r.get("data-bytes")), float(r.get("x")), float(r.get("width"))) for r in tree.parse(sys.argv[1]).iter("{http://www.w3.org/2000/svg}rect")]
whole = bars[:len(bars) // 2]
assert len(whole) > 6 and [b[:2] for b in whole] == [b[:2] for b in bars[len(whole):]]
assert abs(sum(b[3] for b in whole) - 960) < 0.5 and all(abs(a[2] + a[3] - b[2]) < 0.1 for a, b in zip(whole, whole[1:]))
P
like "$(head -c 300 "$scratch/bill.html")" '<!DOCTYPE html>*<svg *' 'and there is a page'
kill "$pid_full"

if ${CXX:-c++} -O2 -pthread tests/e2e/bill.cc -o "$scratch/service" -ljemalloc 2>"$scratch/log"; then
	# service MALLOC_CONF ARGUMENT...: starts it; its number is in `pid`
	service() {
		local conf=$1
		shift
		: >"$scratch/out"
		LD_PRELOAD=$library MALLOC_CONF=$conf "$scratch/service" "$@" >"$scratch/out" 2>&1 &
		pid=$!
		children+=("$pid")
		wait_for 60 grep -q ready "$scratch/out"
	}
	service prof:true 300 1 anonymous file shared untouched brk && bill 'C++, with every other kind of memory' "$pid" 500 anonymous=64-66 files=96-110 shared=48-49 heap=24-25 untouched=195 live=290-345
	"$cairn" dump "$pid" -o "$scratch/untouched.heap" >/dev/null
	SOURCE=$scratch/untouched.heap bill 'a dump of it' - 500 untouched=195 live=290-345
	is "$("$cairn" rss --json "$scratch/untouched.heap" | python3 -c 'import json, sys; print(json.load(sys.stdin)["not_resident"]["untouched_estimated"])')" False \
		'which has recorded what was touched'
	sed -i '/^# cairn smaps.holes/d' "$scratch/untouched.heap"
	like "$("$cairn" rss "$scratch/untouched.heap")" '*never written (estimated)*' 'one that has not is said to be an estimate'
	kill "$pid"
	service prof:true 450 64 half && bill 'C++, 64 threads, half freed' "$pid" 256 thread_caches=5 stacks=0.5-5
	kill "$pid"
	if is_long; then
		service prof:true 300 1 && bill 'C++, full' "$pid" 256 live=290
		kill "$pid"
		service prof:true 97 2000 && bill 'C++, 2,000 threads: what they hold and have touched is not taken off' "$pid" 150 live=$(($(sed -n 's|ready ||p' "$scratch/out") * 95 / 100 >> 20))-300
		"$cairn" dump "$pid" -o "$scratch/threads.heap" >/dev/null
		SOURCE=$scratch/threads.heap bill 'nor in a dump of it' - 150 live=$(($(sed -n 's|ready ||p' "$scratch/out") * 95 / 100 >> 20))-300
		kill "$pid"
		service prof:true,thp:always 300 4 half && bill 'C++, in huge pages, half freed' "$pid" 256 live=100
		kill "$pid"
		service prof:true,dirty_decay_ms:100000 300 4 half && bill 'C++, dirty pages kept' "$pid" 256 dirty=50
		kill "$pid"
		service prof:true,prof_stats:true 300 1 && bill 'C++, slack known' "$pid" 256 slack=5-80
		kill "$pid"
		service prof:true,dss:primary 300 1 && bill 'C++, with jemalloc on the heap' "$pid" 256 live=290 heap=0-1
		kill "$pid"
	fi
	CAIRN_CONF=engine:jemalloc service prof:false 300 1 && bill 'C++, not profiled' "$pid" 256 live=290
	like "$("$cairn" rss "$pid")" '*note: no profile: *MALLOC_CONF=prof:true*' 'and why there is no estimate'
	kill "$pid"
	rm -f "$scratch/out" # it says that the one before is ready
	"$scratch/service" 300 1 >"$scratch/out" 2>&1 &
	pid=$!
	children+=("$pid")
	wait_for 60 grep -q ready "$scratch/out"
	bill 'without an agent' "$pid" 256 anonymous=290 live=0-0
	like "$("$cairn" rss "$pid")" "*without an agent, only the kernel's figures are known*" 'it says what is missing'
else
	skip 'a C++ service' 'no jemalloc to link with'
fi

like "$("$cairn" rss 999999999 2>&1)" '*no process 999999999*' 'a process that is not there'
like "$("$cairn" rss tests/fixtures/small.heap 2>&1)" "*no trailer of Cairn's*" 'a dump without a trailer'
head -c -40 "$scratch/full.heap" >"$scratch/cut.heap"
like "$("$cairn" rss "$scratch/cut.heap" 2>&1)" '*the trailer is cut short*' 'a trailer that is cut short'
: >"$scratch/empty.heap"
like "$("$cairn" rss "$scratch/empty.heap" 2>&1)" '*empty.heap: the file is empty' 'an empty dump'
mkdir "$scratch/names"
cp "$scratch/full.heap" "$scratch/names/plain.heap"
cp "$scratch/full.heap" "$scratch/names/"$'z\e[31m\nred.heap'
touch "$scratch/names/"z*
is "$("$cairn" rss "$scratch/names" 2>&1 >/dev/null)" "cairn: note: 2 dumps; showing the newest, $scratch/names/z?[31m?red.heap" 'a name that would play with the terminal'
# What a process leaves when it ends says nothing about resident memory.
mkdir "$scratch/ended"
cp "$scratch/full.heap" "$scratch/ended/a.heap"
sed '/^# cairn smaps/d; s/^# cairn time .*/# cairn time 4000000000.000000000/' "$scratch/full.heap" >"$scratch/ended/b.heap"
"$cairn" rss --json "$scratch/ended" >"$scratch/out" 2>"$scratch/said"
is "$(cat "$scratch/out")" "$("$cairn" rss --json "$scratch/full.heap")" 'a folder: the newest dump that measured resident memory'
like "$(cat "$scratch/said")" 'cairn: note: skipping 1 newer dump without figures for resident memory*' 'and a note says that a newer one was skipped'
rm "$scratch/ended/a.heap"
"$cairn" rss "$scratch/ended" >/dev/null 2>"$scratch/said"
is $? 1 'a folder without such a dump is an error'
"$cairn" rss >/dev/null 2>&1
is $? 2 'a missing operand is a usage error'

# Whose limit it is. A machine's memory is no limit of one process.
printf 'heap_v2/4096\n  t*: 1: 4096 [0: 0]\n@ 0x1000\n  t*: 1: 4096 [0: 0]\n\nMAPPED_LIBRARIES:\n# cairn trailer 1\n# cairn smaps.rss 1048576\n# cairn limit 8589934592\n# cairn available 1073741824\n# cairn end\n' >"$scratch/machine.heap"
sed 's/^# cairn available.*/&\n# cairn group.usage 2097152/' "$scratch/machine.heap" >"$scratch/group.heap"
like "$("$cairn" rss "$scratch/machine.heap" 2>/dev/null)" $'*\n1.0 MiB resident, while the machine has 1.0 GiB available\n*' 'without a limit of its group, what the machine has available'
like "$("$cairn" rss "$scratch/group.heap" 2>/dev/null)" $'*\n1.0 MiB resident, of a 8.0 GiB limit\n*' 'with one, that'
done_testing
