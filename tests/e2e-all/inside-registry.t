#!/usr/bin/env bash
# Programs from the registries with allocators of their own: polars, pyarrow with each of its pools, and a service on the mimalloc crate, under
# `cairn run` and attached to. What Cairn says they hold is within 2 % of what they count, or within four times the
# error that Cairn itself states, which is about one percent here.
. tests/e2e/lib.sh
need cargo python3
. tests/e2e-all/inside-registry.sh

begin() {
	coproc host { exec "$@" 2>"$scratch/err"; }
	children+=("$host_PID")
	read -r -t 60 base <&"${host[0]}"
}
profile() { "$cairn" rss --json "$1" 2>/dev/null | python3 -c 'import json, sys; p = json.load(sys.stdin)["profile"]; print(p["bytes"], p["error"])'; }
# check PID WHAT: two rounds, each against what was there before the first
check() {
	local before count now round
	before=$(profile "$1")
	for round in 1 2; do
		echo >&"${host[1]}"
		read -r -t 100 count <&"${host[0]}"
		now=$(profile "$1")
		like "$(python3 -c '
import sys
before, before_error, now, error, base, count = map(float, sys.argv[1:])
held, truth = now - before, count - base
print("%s: %.1f MiB of %.1f, %+.2f %%, stated error %.2f %%" % ("good" if abs(held - truth) <= max(0.02 * truth, 4 * error) else "off",
	held / 2**20, truth / 2**20, 100 * (held / truth - 1), 100 * error / truth))' $before $now "$base" "$count" | tee "$scratch/said")" "good: *" "$2, round $round"
		sed 's/^/# /' "$scratch/said"
	done
}
# both NAME COMMAND...
both() {
	local name=$1 pid
	shift
	begin "$@" || broken "$name starts"
	pid=$host_PID
	like "$(timeout 100 "$cairn" attach --period 64K "$pid" 2>&1)" "*attached, sampling*" "$name: attached to"
	check "$pid" "$name, attached to"
	kill -9 "$pid"
	wait "$host_PID" 2>/dev/null
	begin "$cairn" run -q --engine cairn --period 64K -o "$scratch/left.heap" -- "$@" || broken "$name starts under cairn run"
	pid=$(pgrep -P "$host_PID")
	check "$pid" "$name, under cairn run"
	is "$(cat "$scratch/err")" "" "$name: nothing is said"
	kill -9 "$pid"
	wait "$host_PID" 2>/dev/null
}
for kind in polars jemalloc mimalloc system; do
	both "$([ $kind = polars ] || echo "pyarrow's pool ")$kind" "$python" tests/e2e-all/inside-registry.py "$kind"
done
both "Rust on mimalloc" "$service"
done_testing
