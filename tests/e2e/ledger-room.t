#!/usr/bin/env bash
# What the ledger takes, and what it does when it is full: a process that samples little has little, 64 workers live where there is no room for
# 64 whole ledgers, and neither samples nor call paths are lost without a word.
. tests/e2e/lib.sh
need cc python3
. tests/e2e/agent.sh
. tests/e2e/group.sh
export CAIRN_TOOL=$cairn
${CC:-cc} -O1 -g -w -fno-optimize-sibling-calls -D_GNU_SOURCE tests/e2e/ledger-host.c -o "$scratch/host" ||
	broken 'the host does not build'
ready() { grep -q ready "$scratch/out" && [ -S "$sockets/$1.sock" ]; }
# start CONF ARGUMENT...: the host, sampled, once it is ready; sets pid
start() {
	local conf=$1
	shift
	rm -f "$scratch/out" "$scratch/in"
	mkfifo "$scratch/in"
	LD_PRELOAD=$library CAIRN_CONF=enable_heap_profiling:true,listen:unix,engine:cairn$conf "$scratch/host" "$@" <"$scratch/in" >"$scratch/out" 2>&1 &
	pid=$!
	children+=($pid)
	exec 9>"$scratch/in"
	wait_for 60 ready $pid
}
stop() { exec 9>&-; wait $pid; }
# ledger PID KEY: a number of its status
ledger() { "$cairn" status --json "$1" | python3 -c 'import json, sys; print(json.load(sys.stdin)["ledger"][sys.argv[1]])' "$2"; }
# taken PID: bytes of its ledger
taken() {
	local entry
	for entry in /proc/"$1"/fd/*; do
		case $(readlink "$entry") in
		*memfd:cairn-ledger*) echo $(($(stat -L -c %b "$entry") * 512)) && return ;;
		esac
	done
}

LD_PRELOAD=$library CAIRN_CONF=enable_heap_profiling:true,listen:unix,engine:cairn,period:1G sleep 600 &
sleeper=$!
children+=($sleeper)
wait_for 30 [ -S "$sockets/$sleeper.sock" ]
bytes=$(taken $sleeper)
[ "${bytes:-0}" -gt 0 ] && [ "$bytes" -le $((24 << 10)) ]
ok $? "a program without samples has a ledger of $bytes bytes"
is "$(ledger $sleeper live)" 0 'which is an empty profile'
"$cairn" dump -o "$scratch/empty.heap" $sleeper >"$scratch/top" 2>&1
is "$? $(grep -c '^@' "$scratch/empty.heap")" '0 0' 'and can be dumped'
kill $sleeper

start '' workers 4
worker=$(pgrep -P $pid | head -n 1)
bytes=$(taken "$worker")
[ "${bytes:-0}" -gt 0 ] && [ "$bytes" -le $((256 << 10)) ]
ok $? "a worker with thirty samples has one of $bytes bytes"
"$cairn" rss --json "$worker" >"$scratch/rss.json" 2>"$scratch/err"
python3 - "$scratch/rss.json" "$bytes" <<'P'
import json, sys
text = open(sys.argv[1]).read()
line = [l for l in json.loads(text)["lines"] if "ledger" in l["name"].lower()]
print(line); sys.exit(not (line and 0 < line[0]["bytes"] <= int(sys.argv[2])))
P
ok $? "which is in its bill"
stop

start ,period:1 stacks 100000 1000
is "$(ledger $pid stacks_lost)" 0 'of 100,000 call paths, 1,000 live at once, none is lost'
"$cairn" top --json $pid >"$scratch/top.json" 2>"$scratch/err"
python3 - "$scratch/top.json" <<'P'
import json, sys
rows = {r["name"]: r for r in json.load(open(sys.argv[1]))["rows"]}
print(rows["leaf"]); sys.exit(not (rows["leaf"]["flat"] == 100000 and "0x0" not in rows))
P
ok $? 'and each object has its name'
recycled=$(ledger $pid stacks_recycled)
"$cairn" doctor $pid >"$scratch/doctor" 2>&1
like "$(tr -s ' ' <"$scratch/doctor")" "*note allocator *; $recycled call paths without live memory made room *ledger_bytes:64M*" \
	"doctor says whose sums have no name: $recycled"
"$cairn" churn $pid >"$scratch/churn" 2>&1
like "$(cat "$scratch/churn")" "*: $recycled call paths without live memory made room for others; what they allocated and freed is shown without a stack*" \
	'and so does the command that shows such sums'
"$cairn" top $pid >"$scratch/top" 2>&1
is "$(grep -c 'made room' "$scratch/top")" 0 'not one that shows live memory only'
stop

start ,period:1 stacks 100000 100000
lost=$(ledger $pid stacks_lost)
[ "$lost" -gt 0 ] && [ "$lost" -lt 10000 ] && [ "$(ledger $pid doublings)" -gt 0 ]
ok $? "of 100,000 that all live, $lost are lost until the period is long enough"
"$cairn" doctor $pid >"$scratch/doctor" 2>&1
like "$(cat "$scratch/doctor")" "*no room for the call paths of $lost samples*ledger_bytes:64M*" 'as doctor says, with the fix'
"$cairn" top --json $pid >"$scratch/top.json" 2>"$scratch/err"
python3 - "$scratch/top.json" <<'P'
import json, sys
rows = {r["name"]: r for r in json.load(open(sys.argv[1]))["rows"]}
print(rows["leaf"], rows.get("0x0")); sys.exit(not (8.5e6 < rows["leaf"]["flat"] < 11.5e6))
P
ok $? 'and nearly all objects have their name'
stop

# A ledger that is full again and again: of 2 MiB, in which there is room for 8,192 samples.
start ,period:4K,ledger_bytes:2M fill 400
[ "$(ledger $pid doublings)" -ge 3 ]
ok $? "a full ledger doubles its period: $(ledger $pid doublings) times"
"$cairn" top --json --errors $pid >"$scratch/top.json" 2>"$scratch/err"
dropped=$(ledger $pid dropped)
python3 - "$scratch/top.json" "$dropped" <<'P'
import json, sys
top, dropped = json.load(open(sys.argv[1])), int(sys.argv[2])
print({k: v for k, v in top.items() if not isinstance(v, (list, dict))}, dropped)
# Four standard errors: a true interval misses one in 16,000 times.
low, high, total = top["shown_low"], top["shown_high"], top["total"]
sys.exit(not (total - 2 * (total - low) < 400e6 < total + 2 * (high - total) and dropped < 100))
P
ok $? "and drops next to nothing: $dropped"
stop

if try_group 600; then
	in_group env LD_PRELOAD="$library" CAIRN_CONF=enable_heap_profiling:true,engine:cairn bash -c 'sleep 8 | exec "$0" workers 64' "$scratch/host" \
		>"$scratch/out" 2>&1
	is $? 0 '64 idle workers live in a group of 600 MB'
	most=$(cat "$group"/memory.peak "$group"/memory.max_usage_in_bytes 2>/dev/null)
	[ "$most" -lt $((200 << 20)) ]
	ok $? "and take $((most >> 20)) MiB at most"
	wait_for 10 rmdir "$group"
else
	skip 'no memory cgroup can be made here'
fi
done_testing
