#!/usr/bin/env bash
# `cairn attach` is killed with SIGKILL at random points: the process lives on, none of its waits returns, its registers stay, and it can be
# attached to afterwards. ATTACH_KILLS sets how many points (default: 30).
. tests/e2e/lib.sh
. tests/e2e/agent.sh
need cc python3
. tests/e2e/attach.sh
kills=${ATTACH_KILLS:-30}

# How long an attach takes here at best, in milliseconds: the points are spread over all of that.
start measured 3 waits
took=1000000
for _ in 1 2 3 4 5; do
	began=$(date +%s%N)
	attach -q "$pid"
	now=$((($(date +%s%N) - began) / 1000000))
	[ "$now" -ge "$took" ] || took=$now
	detach "$pid" >/dev/null
done
end
for kind in "3 waits" "1 registers"; do
	name=${kind#* }
	start "$name" $kind
	unharmed=0 began_call=0
	for i in $(seq "$kills"); do
		"$cairn" attach -q --period 64K "$pid" >/dev/null 2>&1 &
		tool=$!
		sleep "$(awk -v most="$took" -v seed="$RANDOM$i" 'BEGIN { srand(seed); print rand() * most / 1000 }')"
		kill -9 $tool 2>/dev/null
		wait $tool 2>/dev/null
		works "$scratch/$name" && [ "$(number "$scratch/$name" 8)" = 0 ] && unharmed=$((unharmed + 1))
		"$cairn" status "$pid" >/dev/null 2>&1 && began_call=$((began_call + 1)) && detach "$pid" >/dev/null 2>&1
	done
	is $unharmed "$kills" "$name: killed at $kills points within $took ms, the command leaves the process as it was"
	echo "#   in $began_call of them the agent had started, or did so by itself"
	sleep 0.5
	timeout 60 "$cairn" attach -q "$pid"
	holds "$name: afterwards it can be attached to" "$cairn" status "$pid"
	is "$(grep -c 'memfd:libcairn' <(readlink "/proc/$pid"/fd/*))" 0 "$name: what a killed command left is used up"
	end
done
done_testing
