#!/usr/bin/env bash
# `cairn attach` is killed with SIGKILL at points all over the injection: the process lives on, none of its waits returns, its registers
# stay, and it can be attached to afterwards. The points are the beginnings and ends of system calls, since nothing else of the command
# can be seen by the process: first each of those that change another process (ptrace and pwrite), then others at random from the first
# ptrace on. ATTACH_KILLS sets how many points (default: 30).
. tests/e2e/lib.sh
. tests/e2e/agent.sh
need cc python3
. tests/e2e/attach.sh
kills=${ATTACH_KILLS:-30}
$cc -O1 -w -D_GNU_SOURCE tests/e2e/kill-at.c -o "$scratch/kill-at" || broken "kill-at.c does not build"

for kind in "3 waits" "1 registers"; do
	name=${kind#* }
	start "$name" $kind
	# Twice: first it loads the library, which takes two calls in the process, then it starts one that is loaded.
	points=()
	for round in first second; do
		read -r all touching <<<"$("$scratch/kill-at" all 0 "$cairn" attach -q --period 64K "$pid")"
		"$cairn" status "$pid" >/dev/null 2>&1 || broken "attach under kill-at fails"
		detach "$pid" >/dev/null
		echo "#   $name, $round attach: $all beginnings and ends of system calls from the first ptrace on, $touching touch the process"
		[ $round = first ] && loading=$touching
	done
	[ "${loading:-0}" -ge 10 ] && [ "$touching" -ge 5 ] && [ "$all" -gt "$touching" ]
	ok $? "$name: the calls of the command are seen"
	end

	unharmed=0 began_call=0 killed=0 fresh=0
	start "$name" $kind
	for i in $(seq "$kills"); do
		# Half of the points in order, of a process that has not loaded the library where there are that many; the others at random.
		way=all point=$((RANDOM % all + 1))
		if [ "$i" -le $((kills / 2)) ]; then
			way=touching point=$((1 + (i - 1) * loading / (kills / 2)))
			grep -q libcairn "/proc/$pid/maps" && { end; start "$name" $kind; }
			fresh=$((fresh + 1))
		fi
		"$scratch/kill-at" $way $point "$cairn" attach -q --period 64K "$pid" >"$scratch/ended" 2>/dev/null
		[ -s "$scratch/ended" ] || killed=$((killed + 1))
		works "$scratch/$name" && [ "$(number "$scratch/$name" 8)" = 0 ] && unharmed=$((unharmed + 1))
		[ "$unharmed" = "$i" ] || { echo "#   harmed by a kill at $way $point"; break; }
		"$cairn" status "$pid" >/dev/null 2>&1 && began_call=$((began_call + 1)) && detach "$pid" >/dev/null 2>&1
	done
	is $unharmed "$kills" "$name: killed at $kills points, the command leaves the process as it was"
	echo "#   $killed of them before the command had ended, $fresh in a process without the library; $began_call agents started all the same"
	[ "$killed" -ge $((kills * 3 / 4)) ]
	ok $? "$name: most points are within the injection ($killed of $kills)"
	sleep 0.5
	timeout 60 "$cairn" attach -q "$pid"
	holds "$name: afterwards it can be attached to" "$cairn" status "$pid"
	is "$(grep -c 'memfd:libcairn' <(readlink "/proc/$pid"/fd/*))" 0 "$name: what a killed command left is used up"
	end
done
done_testing
