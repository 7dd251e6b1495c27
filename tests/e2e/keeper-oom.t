#!/usr/bin/env bash
# A real OOM kill, with the keeper outside the control group and with the ledger in a file inside: the last moment shows what filled the
# memory, at 20 MB/s, as fast as four threads can fill it, and in one burst of 500 MB.
. tests/e2e/lib.sh
need cc python3
. tests/e2e/agent.sh
. tests/e2e/group.sh
${CC:-cc} -O1 -g -w -D_GNU_SOURCE tests/e2e/keeper-host.c -o "$scratch/host" -pthread || broken 'the growing host does not build'
make_group 192
trap 'end_children; rmdir "$group"; rm -rf "$scratch"' EXIT
holds_ledger() { ls -l "/proc/$watcher/fd" 2>/dev/null | grep -q 'memfd:cairn-ledger'; }

# start CONF MODE [ARGUMENT]: the host in the group, sampled; sets pid
start() {
	local conf=$1
	shift
	rm -f "$scratch/truth" "$scratch/truth.go"
	LD_PRELOAD=$library CAIRN_CONF=enable_heap_profiling:true,engine:cairn,period:64K$conf bash -c 'echo $$ >"$0/cgroup.procs"; exec "$@"' \
		"$group" "$scratch/host" "$scratch/truth" "$@" >/dev/null 2>&1 &
	pid=$!
	children+=($pid)
	wait_for 30 test -s "$scratch/truth"
}
# shows SOURCE: what filled the memory, within 15 %
shows() {
	"$cairn" top --json "$1" >"$scratch/top.json" 2>"$scratch/said" || { cat "$scratch/said"; return 1; }
	python3 - "$scratch/top.json" "$scratch/truth" <<'P'
import json, struct, sys
rows, had = json.load(open(sys.argv[1]))["rows"], struct.unpack("=q", open(sys.argv[2], "rb").read(8))[0]
got = sum(r["cum"] for r in rows if r["name"] in ("hold", "hold_fast", "hold_burst"))
print(got, had); sys.exit(not (abs(got - had) < 0.15 * had and had > 60e6))
P
}
# rate NAME: prints how fast it grew until it was killed; a burst is one step, whose time nobody has taken
rate() {
	python3 - "$1" "$scratch/truth" <<'P'
import struct, sys
now, before, start, end = struct.unpack("=4q", open(sys.argv[2], "rb").read(32))
if end > start:
    print("# %s: %.0f MB in %.0f ms, %.0f MB/s" % (sys.argv[1], (now - before) / 1e6, (end - start) / 1e6, (now - before) / 1e6 / ((end - start) / 1e9)))
P
}
# go MODE: lets it go on
go() {
	[ "$1" != fast ] || "$scratch/host" "$scratch/unused" warm $((800 << 20))
	touch "$scratch/truth.go"
}
# kill_kept NAME MODE [ARGUMENT]: with the keeper outside; its last moment is in a folder of that name
kill_kept() {
	local name=$1 folder=$scratch/$2
	mkdir -p "$folder"
	start '' "${@:2}"
	"$cairn" watch --start false --grow 1T -o "$folder" "$pid" >"$scratch/out" 2>"$scratch/err" &
	watcher=$!
	children+=($watcher)
	wait_for 30 holds_ledger
	go "$2"
	wait $pid 2>/dev/null
	is $? 137 "$name: the kernel kills it"
	rate "$name"
	wait $watcher
	is $? 0 "$name: the watcher has its last moment"
	is "$(sed -n 's/^# cairn ended //p' "$folder"/*.heap)" "killed by signal 9 (Killed), by the OOM killer (inferred)" "with the cause"
	is "$(sed -n 's/^# cairn ended.oom //p' "$folder"/*.heap)" inferred "which is marked as inferred"
	like "$("$cairn" dumps "$folder")" \
		"*last moment of process $pid, killed by signal 9 (Killed), by the OOM killer (inferred)*out of memory*" "cairn dumps says so"
	holds "$name: it shows what filled the memory" shows "$folder"
}
# kill_alone NAME MODE [ARGUMENT]: without a keeper, the ledger in a file
kill_alone() {
	start ",ledger:$scratch/ledger-$2" "${@:2}"
	go "$2"
	wait $pid 2>/dev/null
	is $? 137 "$1, without a keeper: the kernel kills it"
	rate "$1"
	holds "$1: the ledger that it left shows what filled the memory" shows "$scratch/ledger-$2"
}
for way in kill_kept kill_alone; do
	[ $way = kill_alone ] && ! is_long || $way '20 MB/s' grow 15000
	if is_long; then
		limit_group $((768 << 20)) # room enough to tell how fast it is: near its limit the kernel makes every page wait
		$way 'as fast as it can' fast
		limit_group $((192 << 20))
	fi
	[ $way = kill_kept ] && ! is_long || $way 'a burst of 500 MB' burst
done
rows=$("$cairn" timeline --history --json "$scratch/grow" 2>/dev/null | python3 -c 'import json, sys
rows = json.load(sys.stdin)["history"]
print(len(rows) > 3, all(r["limit"] == 192 << 20 for r in rows), max(r.get("group_usage", 0) for r in rows) > 100e6)')
is "$rows" "True True True" "the history of the slow one shows the way to the limit of the group"
like "$("$cairn" rss --json "$scratch/grow" 2>/dev/null)" '*"limit":201326592*"key":"live"*' "and its last bill is there"
done_testing
