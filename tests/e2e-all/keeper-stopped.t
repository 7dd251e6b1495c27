#!/usr/bin/env bash
# A keeper that is stopped in the moment in which it finds the ledger, while the process ends: it has its last moment all the same. The process
# has so many descriptors that the moment is long.
. tests/e2e/lib.sh
need cc python3
. tests/e2e/agent.sh
rounds=${KEEPER_ROUNDS:-10}
ulimit -Sn 1024
${CC:-cc} -O1 -g -w -D_GNU_SOURCE tests/e2e/keeper-host.c -o "$scratch/host" -pthread || broken 'the test host builds'
has_many() { [ "$(ls "/proc/$pid/fd" | wc -l)" -gt 5000 ]; }
missing=0
for round in $(seq "$rounds"); do
	rm -rf "$scratch/truth" "$scratch/truth.go" "$scratch/kept" && mkdir "$scratch/kept"
	LD_PRELOAD=$library CAIRN_CONF=enable_heap_profiling:true,engine:cairn,period:4K "$scratch/host" "$scratch/truth" crowd 3 >/dev/null 2>&1 </dev/null &
	pid=$!
	children+=($pid)
	wait_for 30 test -s "$scratch/truth"
	wait_for 30 has_many
	"$cairn" watch --start false --grow 1T -o "$scratch/kept" "$pid" >"$scratch/out" 2>"$scratch/err" &
	watcher=$!
	children+=($watcher)
	# As soon as the descriptor is there, which is in the middle of the look that finds it, or soon after.
	python3 - "$watcher" "$scratch/truth.go" <<'P'
import os, signal, sys, time
watcher, deadline = int(sys.argv[1]), time.time() + 120
folder = f"/proc/{watcher}/fd"
while time.time() < deadline:
    try:
        if any("cairn-ledger" in os.readlink(f"{folder}/{name}") for name in os.listdir(folder)):
            os.kill(watcher, signal.SIGSTOP)
            break
    except OSError:
        pass
open(sys.argv[2], "w")
P
	wait $pid
	kill -CONT $watcher
	wait $watcher
	grep -q '^# cairn ended .*ended\|^# cairn ended exited with code 3' "$scratch"/kept/*-last.heap 2>/dev/null ||
		{ missing=$((missing + 1)); sed 's/^/#   /' "$scratch/err"; }
done
is $missing 0 "of $rounds processes that end while the keeper finds their ledger none is without a last moment"
done_testing
