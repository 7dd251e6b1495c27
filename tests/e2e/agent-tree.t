#!/usr/bin/env bash
# Trees of processes: what a forked child costs before it is sampled, one port for all of them, and the commands that take a tree.
. tests/e2e/lib.sh
need curl python3 cc
. tests/e2e/agent.sh
${CC:-cc} -O1 -g -w tests/e2e/forks.c -o "$scratch/forks" -ljemalloc
port=$(free_port) url=http://127.0.0.1:$port
mkfifo "$scratch/stop"
start_tree() {
	rm -f "$scratch/out" # the tree before may have said that it is idle
	LD_PRELOAD=$library CAIRN_CONF=listen:127.0.0.1:$port CAIRN_TOOL=$cairn MALLOC_CONF=prof:true,lg_prof_sample:14$1 \
		"$scratch/forks" tree 2 30 <"$scratch/stop" >"$scratch/out" 2>&1 &
	parent=$!
	children+=($parent)
	exec 7>"$scratch/stop"
	wait_for 30 grep -q idle "$scratch/out"
	set -- $(sed -n 's/child //p' "$scratch/out")
	one=$1 two=$2 idle=$(sed -n 's/idle //p' "$scratch/out")
	children+=($one $two $idle)
	wait_for 30 has_agent "$one" && wait_for 30 has_agent "$two"
}
start_tree ""
ok $? "children have an agent once they were sampled"
sleep 0.5
threads() { awk '/^Threads:/ {print $2}' "/proc/$1/status"; }
is "$(threads $idle)" 1 "a child that allocates nothing has no thread of ours"
[ ! -e "$sockets/$idle.sock" ] && ! ls -l "/proc/$idle/fd" | grep -q "socket:\|anon_inode:\|memfd:"
ok $? "no socket and no descriptor"
is "$(LD_PRELOAD=$library MALLOC_CONF=prof:true "$scratch/forks" unshare)" unshared "and may make a user namespace"
is "$(LD_PRELOAD=$library MALLOC_CONF=prof:true,prof_active:false "$scratch/forks" unshare)" unshared "also while profiling is not active"

# A child whose first sample and whose call of cairn_start come together has one agent.
${CC:-cc} -O1 -g -w -pthread tests/e2e/twice.c -o "$scratch/twice" -ldl
is "$(LD_PRELOAD=$library CAIRN_CONF=listen:unix,enable_heap_profiling:true,engine:cairn,period:4K "$scratch/twice" 2>&1)" 1 "a child that is started twice at once has one agent"

# One port for all.
member() { curl -s --max-time 20 "$1" | python3 -c 'import json, sys; print(json.load(sys.stdin)[sys.argv[1]])' "$2"; }
is "$(member "$url/cairn/status" pid)" "$parent" "the first process of a tree has the port"
is "$(member "$url/cairn/status?pid=$one" pid)" "$one" "and answers for a child"
is "$(member "$url/cairn/status?pid=$parent" pid)" "$parent" "and for itself"
like "$(curl -s "$url/metrics")" "*cairn_process_info{pid=\"$parent\"} 1*" "/metrics has the PID"
like "$(curl -s "$url/metrics?pid=$two")" "*cairn_process_info{pid=\"$two\"} 1*" "that of a child, too"
curl -s "$url/cairn/snapshot?pid=$one" >"$scratch/one.heap"
like "$("$cairn" top "$scratch/one.heap" 2>/dev/null)" "*process $one*keep*" "a snapshot of a child comes whole"
is "$(curl -s -o "$scratch/body" -w '%{http_code}' "$url/debug/pprof/heap?pid=$one")" 200 "so does a profile that its child draws"
like "$("$cairn" top "$scratch/body" 2>/dev/null)" "*keep*" "with names"
is "$(curl -s -X POST -o "$scratch/body" -w '%{http_code}' "$url/cairn/deactivate?pid=$two")" 200 "a command reaches a child"
is "$(member "$url/cairn/status?pid=$two" state) $(member "$url/cairn/status" state)" "inactive active" "and nobody else"
is "$(curl -s -X POST -o "$scratch/body" -w '%{http_code}' "$url/cairn/detach?pid=$two")" 403 "what takes the agent's own socket does not reach a child through the port"
like "$(cat "$scratch/body")" "*only the agent's own socket takes this*" "and is refused in the same words"
is "$(member "$url/cairn/status?pid=$two" pid)" "$two" "so the agent of the child goes on"
kill -STOP $idle
wait_for 5 is_stopped $idle
is "$(curl -s -o "$scratch/body" -w '%{http_code}' "$url/cairn/status?pid=$idle")" 409 "a child without an agent that cannot be started"
like "$(cat "$scratch/body")" \
	"process $idle has no agent yet: a forked process starts its agent with its first sample*'cairn attach $idle' *may not: *stopped*" \
	"is explained"
kill -CONT $idle
for other in 1 $$ 4194999 -1 x 99999999999; do
	is "$(curl -s -o "$scratch/body" -w '%{http_code}' "$url/cairn/status?pid=$other")" 404 "a process that is not of the tree: $other"
done
kill -STOP $one
wait_for 5 is_stopped $one
is "$(curl -s --max-time 2 -o /dev/null -w '%{http_code}' "$url/cairn/status?pid=$one")" 000 "one that does not answer is given up with its client"
is "$(member "$url/cairn/status" pid)" "$parent" "and holds nobody else up"
kill -CONT $one

# Profiles of two children take a while. There are as many workers, which answer others meanwhile.
is_profiled() { [ "$(field_of "$1" cpu running)" = true ]; }
field_of() { curl -s --max-time 20 --unix-socket "$sockets/$1.sock" http://localhost/cairn/status | python3 -c 'import json, sys
print(str(json.load(sys.stdin)[sys.argv[1]][sys.argv[2]]).lower())' "$2" "$3"; }
profiles=()
for process in $one $two; do
	curl -s --max-time 900 -o /dev/null "$url/pprof/profile?pid=$process&seconds=900" &
	profiles+=($!)
done
children+=("${profiles[@]}")
wait_for 10 is_profiled $one && wait_for 10 is_profiled $two
ok $? "two children take a CPU profile each for the port"
is "$(curl -s --max-time 100 -o "$scratch/body" -w '%{http_code}' "$url/cairn/snapshot")" 200 "meanwhile the port takes a snapshot of its own process"
is "$(curl -s --max-time 100 -o "$scratch/body" -w '%{http_code}' "$url/cairn/snapshot?pid=$one")" 200 "and passes one on"
kill -0 "${profiles[@]}"
ok $? "before the profiles have ended"
kill "${profiles[@]}"
wait "${profiles[@]}" 2>/dev/null
ends_profile() { ! is_profiled $one && ! is_profiled $two; }
wait_for 10 ends_profile
ok $? "they end with their clients"
is "$(curl -s --max-time 100 -o "$scratch/body" -w '%{http_code}' "$url/pprof/profile?pid=$one&seconds=1")" 200 "and one that is waited for comes"
[ -s "$scratch/body" ]
ok $? "with something in it"

# The commands that take a tree.
"$cairn" ps --tree >"$scratch/ps"
[[ $(awk -v a=$parent -v b=$one -v c=$two -v d=$idle '$1 == a || $1 == b || $1 == c || $1 == d {print $1}' "$scratch/ps" | tr '\n' ' ') == "$parent "* ]]
ok $? "ps --tree has the parent first"
like "$(grep " $one \|^ *$one " "$scratch/ps")" "*  */forks tree*" "and its children below it"
like "$(grep "^ *$idle " "$scratch/ps")" "*not sampled*forks tree*" "and a child that has not been sampled"
"$cairn" ps --tree --json >"$scratch/ps.json"
python3 - "$scratch/ps.json" $parent $one $two $idle <<'P'
import json, sys
rows = {row["pid"]: row for row in json.load(open(sys.argv[1]))["processes"]}
parent, *rest = map(int, sys.argv[2:])
assert all(rows[pid]["parent"] == parent for pid in rest), rows
assert rows[parent]["tree_resident_bytes"] == rows[parent]["resident_bytes"] + sum(rows[pid]["resident_bytes"] for pid in rest), rows
P
ok $? "the memory of a tree is the sum of its processes'"
total() { "$cairn" top --json "$@" 2>"$scratch/err" | python3 -c 'import json, sys; print(int(json.load(sys.stdin)["total"]))'; }
whole=$(total --tree $parent) parts=$(($(total $parent) + $(total $one) + $(total $two)))
[ "$whole" -gt $((parts * 95 / 100)) ] && [ "$whole" -lt $((parts * 105 / 100)) ]
ok $? "top --tree adds all processes up: $whole of $parts"
printf 'heap_v2/1\n  t*: 1: 1 [0: 0]\n@ 0x1000\n  t*: 1: 1 [0: 0]\n\nMAPPED_LIBRARIES:\n' >"$scratch/tiny.heap"
for others in 512 513; do
	more=$(total --tree $(for ((i = 0; i < others; i++)); do echo "$scratch/tiny.heap"; done) $parent)
	[ "${more:-0}" -gt $((parts * 95 / 100)) ] && [ "$more" -lt $((parts * 105 / 100)) ]
	ok $? "also behind $others other sources: $more"
done
out=$("$cairn" top --tree $parent 2>"$scratch/err")
like "$out" "*keep*forks $one*" "and shows how much is whose"
like "$(cat "$scratch/err")" "*1 process of the tree has not been sampled since the fork and is left out*" "with a note about the rest"
"$cairn" watch --tree --start true --time 1s --distance 1s -o "$scratch/watched" $parent >"$scratch/watch" 2>&1 &
watcher=$!
children+=($watcher)
all_seen() { for process in $parent $one $two; do grep -q "forks $process .* in 3 processes" "$scratch/watch" || return 1; done; }
wait_for 10 all_seen
kill -INT $watcher
wait $watcher
for process in $parent $one $two; do
	like "$(cat "$scratch/watch")" "*forks $process * of * in 3 processes*" "watch --tree: process $process"
done
ls "$scratch/watched" | grep -q -- "-$one-"
ok $? "each has its dumps"
is "$(threads $idle)" 1 "nobody has asked for the idle child yet"
is "$(member "$url/cairn/status?pid=$idle" pid)" $idle "it is started by the first who asks for it through its parent"
is "$(member "$url/cairn/status?pid=$idle" period)" "$(member "$url/cairn/status" period)" "with the settings of its parent"
like "$("$cairn" top $idle 2>/dev/null)" "*process $idle*" "and has a profile: what its parent had at the fork"
exec 7>&-
wait_for 10 test ! -e /proc/$parent

# Profiling that is not active: a child is reached once it allocates, and samples only until then.
start_tree ,prof_active:false
ok $? "children have an agent also while profiling is not active"
is "$(member "$url/cairn/status?pid=$one" state)" inactive "and it is not active in them either"
holds "it can be activated there" "$cairn" activate $one
is "$(threads $idle)" 1 "an idle child has one thread there, too"
like "$("$cairn" status $idle)" "*pid: $idle*state: inactive*" "and is started by a command that asks for it"
exec 7>&-
wait_for 10 test ! -e /proc/$parent

# The same on Cairn's engine, where the child has a ledger of its own from then on; and by hand.
for way in top attach; do
	rm -f "$scratch/out"
	LD_PRELOAD=$library CAIRN_CONF=engine:cairn,period:65536,enable_heap_profiling:true \
		"$scratch/forks" tree 1 30 <"$scratch/stop" >"$scratch/out" 2>&1 &
	parent=$!
	children+=($parent)
	exec 7>"$scratch/stop"
	wait_for 30 grep -q idle "$scratch/out"
	idle=$(sed -n 's/idle //p' "$scratch/out")
	children+=($idle)
	sleep 0.5
	is "$(threads $idle)" 1 "Cairn's engine: an idle child has one thread"
	if [ $way = top ]; then
		like "$("$cairn" top $idle 2>&1)" "*the profile has no samples*" "its own heap is empty, says top"
		[ "$(threads $idle)" -gt 1 ]
		ok $? "which has started its agent"
		like "$("$cairn" status $idle)" "*period: 65536*engine: cairn*" "with the settings of its parent"
	else
		holds "and by attach" "$cairn" attach -q --period 32K $idle
		"$cairn" detach $idle >/dev/null
		like "$("$cairn" top $idle 2>&1)" "cairn: no agent runs in process $idle: it was detached*" "detached it is left alone"
		is "$(threads $idle)" 1 "with one thread"
	fi
	exec 7>&-
	wait_for 10 test ! -e /proc/$parent
done
exec 7<>"$scratch/stop"
exec 7>&-
# A descendant whose agent has no profile is an error once, not at each look at the tree.
cat >"$scratch/hopeless.py" <<'P'
import os, subprocess, sys, time
held = [bytes(100000) for _ in range(400)]
subprocess.Popen([sys.executable, "-c", "import time; time.sleep(1000)"], env={**os.environ, "CAIRN_CONF": "engine:jemalloc", "MALLOC_CONF": "prof:false",
                 "LD_PRELOAD": os.environ["LD_PRELOAD"] + ":libjemalloc.so.2"})
time.sleep(1000)
P
LD_PRELOAD=$library CAIRN_CONF=enable_heap_profiling:true,engine:cairn python3 "$scratch/hopeless.py" &
parent=$!
children+=("$parent")
has_both() { child=$(pgrep -P "$parent") && "$cairn" status "$parent" && "$cairn" status "$child" | grep -q 'without prof:true'; }
wait_for 10 has_both
children+=("$child")
mkdir "$scratch/hopeless"
timeout 60 "$cairn" watch --tree --for 6s -o "$scratch/hopeless" "$parent" >"$scratch/out" 2>"$scratch/log"
is "$(grep -c "^cairn: $child: " "$scratch/log")" 1 "watch --tree reports a descendant without a profile once: $(head -n 1 "$scratch/log")"
holds "and keeps dumps of the others" ls "$scratch"/hopeless/*.heap
kill -9 "$parent" "$child"
wait "$parent" 2>/dev/null
done_testing
