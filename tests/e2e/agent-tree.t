#!/usr/bin/env bash
# Trees of processes: what a forked child costs before it is sampled, one port for all of them, and the commands that take a tree.
. tests/e2e/lib.sh
need curl python3 cc
. tests/e2e/agent.sh
${CC:-cc} -O1 -g -w tests/e2e/forks.c -o "$scratch/forks" -ljemalloc
port=$(free_port) url=http://127.0.0.1:$port
mkfifo "$scratch/stop"
start_tree() {
	LD_PRELOAD=$library CAIRN_CONF=listen:127.0.0.1:$port CAIRN_TOOL=$cairn MALLOC_CONF=prof:true,lg_prof_sample:14$1 \
		"$scratch/forks" tree 2 30 <"$scratch/stop" >"$scratch/out" 2>&1 &
	parent=$!
	children+=($parent)
	exec 7>"$scratch/stop"
	wait_for 30 grep -q idle "$scratch/out"
	set -- $(sed -n 's/child //p' "$scratch/out")
	one=$1 two=$2 idle=$(sed -n 's/idle //p' "$scratch/out")
	children+=($one $two $idle)
	wait_for 30 test -S "$sockets/$one.sock" && wait_for 30 test -S "$sockets/$two.sock"
}
start_tree ""
ok $? "children have an agent once they were sampled"
sleep 0.5
threads() { awk '/^Threads:/ {print $2}' "/proc/$1/status"; }
is "$(threads $idle)" 1 "a child that allocates nothing has no thread of ours"
[ ! -e "$sockets/$idle.sock" ] && [ -z "$(ls /proc/$idle/fd | awk '$1 >= 10')" ]
ok $? "no socket and no descriptor"
ls -l /proc/$idle/fd | sed "s/^/# /"
is "$(LD_PRELOAD=$library MALLOC_CONF=prof:true "$scratch/forks" unshare)" unshared "and may make a user namespace"
is "$(LD_PRELOAD=$library MALLOC_CONF=prof:true,prof_active:false "$scratch/forks" unshare)" unshared "also while profiling is not active"

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
is "$(curl -s -o "$scratch/body" -w '%{http_code}' "$url/cairn/status?pid=$idle")" 409 "a child without an agent"
like "$(cat "$scratch/body")" "process $idle has no agent: if it was forked and has not been sampled since*" "is explained"
for other in 1 $$ 4194999 -1 x 99999999999; do
	is "$(curl -s -o "$scratch/body" -w '%{http_code}' "$url/cairn/status?pid=$other")" 404 "a process that is not of the tree: $other"
done
kill -STOP $one
is "$(curl -s --max-time 2 -o /dev/null -w '%{http_code}' "$url/cairn/status?pid=$one")" 000 "one that does not answer is given up with its client"
is "$(member "$url/cairn/status" pid)" "$parent" "and holds nobody else up"
kill -CONT $one
exec 7>&-
done_testing
