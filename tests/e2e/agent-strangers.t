#!/usr/bin/env bash
# What strangers may do to a service that listens: it goes on, in the memory it had, and answers those who behave. STRANGERS_HOST names
# a program as tests/e2e/served.c to do it to instead: scripts/sanitize has one under each sanitizer; STRANGERS_TOOL is its cairn command.
. tests/e2e/lib.sh
need curl python3 cc
. tests/e2e/agent.sh
cc=${CC:-cc}
export MALLOC_CONF=prof:true,lg_prof_sample:12 CAIRN_TOOL=${STRANGERS_TOOL-$stand_in}

$cc -O2 -w tests/e2e/host.c -o "$scratch/host" -ljemalloc -pthread || { ok 1 "the test host builds"; done_testing; }
mkdir "$scratch/dumps"
{ echo heap_v2/524288 && head -c 100000000 /dev/zero | tr '\0' x; } >"$scratch/dumps/large.heap"

# start NAME [CONF [HOST-ARGUMENT...]]: an idle host that listens on $port
start() {
	local mode=("${@:3}")
	port=$(free_port)
	if [ -n "${STRANGERS_HOST:-}" ]; then
		CAIRN_CONF=${2:-} "$STRANGERS_HOST" "$port" "$scratch/dumps" ${mode[1]:+"${mode[1]}"} >"$scratch/$1.out" 2>&1 &
	else
		LD_PRELOAD=$library CAIRN_CONF=listen:127.0.0.1:$port,dumps:$scratch/dumps${2:+,$2} "$scratch/host" "${mode[@]:-idle}" >"$scratch/$1.out" 2>&1 &
	fi
	pid=$! url=http://127.0.0.1:$port
	children+=($pid)
	wait_for 10 curl -sf --max-time 5 "$url/cairn/status"
}
stranger() { timeout 600 python3 tests/e2e/stranger.py "$1" "$port" "${@:2}"; }
code() { curl -s --max-time 100 -o "$scratch/body" -w '%{http_code}' "$@"; }
near() { code --unix-socket "$sockets/$pid.sock" "http://localhost$1"; }
peak_mb() { awk '/VmHWM/ {print int($2 / 1024)}' "/proc/$pid/status"; }
# finish: ends the host, whose output a sanitizer may have something to say in
finish() {
	kill $pid
	wait $pid 2>/dev/null
	is "$(grep -h -A 20 -E 'Sanitizer|runtime error' "$scratch"/*.out)" "" "the host has nothing to complain about"
	rm -f "$scratch"/*.out
}
# begin_stranger MODE...: one that stays until end_stranger; says what it printed first
begin_stranger() {
	coproc STRANGER { stranger "$@"; }
	read -r -t 600 said <&"${STRANGER[0]}"
}
end_stranger() {
	local job=$STRANGER_PID
	exec {STRANGER[1]}>&-
	wait "$job" 2>/dev/null
}
# nothing_held NAME: all that calls held is given back
has_nothing() { [ "$(field "$url" agent memory)" = 0 ] && [ "$(field "$url" agent descriptors)" -le "$descriptors" ]; }
nothing_held() { wait_for 20 has_nothing; ok $? "$1"; has_nothing || echo "#   $(field "$url" agent memory) bytes, $(field "$url" agent descriptors) descriptors, $descriptors before"; }

start uploads
descriptors=$(field "$url" agent descriptors)
like "$(stranger uploads 6 40)" "*503*" "of six large uploads at once some are refused, for memory"
is "$(code "$url/cairn/status") $(near /pprof/heap)" "200 200" "and the host goes on"
like "$(stranger idle 40)" "*503*" "uploads that use up what there is, and bytes on connections that are kept"
is "$(code "$url/cairn/status") $(near /pprof/heap)" "200 200" "the host goes on"
is "$(stranger uploads 1 60)" 413 "a body that could never fit is refused as too long"
nothing_held "nothing is kept of them"

for how in close reset; do
	is "$(stranger waits 64 $how)" left "64 clients ask for an hour and $how"
	wait_for 20 eval '[ "$(code "$url/pprof/heap")" = 200 ]' # their places are free once it is seen that they have left
	is "$(code "$url/pprof/heap") $(near /pprof/heap)" "200 200" "others are answered"
	nothing_held "nothing is held for those who left ($how)"
done
is "$(stranger waits 8 reset 1.0)" left "clients of HTTP/1.0 too"
nothing_held "nothing is held for them"
is "$(stranger leave '/debug/pprof/profile?seconds=600' 1)" left "one leaves in the middle of a CPU profile"
nothing_held "it ends"
drawn=$([ -x "$CAIRN_TOOL" ] && echo 200 || echo 501)
is "$(stranger half)" "100 $drawn" "who only closes its own side is asked whether it is there, and answered"

stranger attacks >"$scratch/attacks"
while IFS= read -r line; do like "$line" "*, then 200" "$line"; done <"$scratch/attacks"
is "$(wc -l <"$scratch/attacks")" 10 "all of them were tried"
nothing_held "nothing is kept of those"

finish

start readers
before=$(peak_mb)
begin_stranger slow 25 /cairn/dumps/large.heap
is "$said" 200 "25 clients take a file of 100 MB and do not read it"
peak=$(peak_mb)
[ "$peak" -lt $((before + 24)) ]
ok $? "the host has had $peak MB at most, $before before"
is "$(code "$url/cairn/status") $(code "$url/pprof/heap") $(near /pprof/heap)" "200 200 200" "and answers"
end_stranger
curl -s --max-time 60 "$url/cairn/dumps/large.heap" | cmp - "$scratch/dumps/large.heap"
ok $? "the file arrives as it is"
like "$(curl -sI --max-time 20 "$url/cairn/dumps/large.heap")" "*Content-Length: 100000015*" "HEAD says how long it is"
finish

if [ -x "$CAIRN_TOOL" ]; then
	printf '#!/bin/sh\n: >"%s"\nexec sleep 1000\n' "$scratch/drawn" >"$scratch/sleeper" && chmod +x "$scratch/sleeper"
	CAIRN_TOOL=$scratch/sleeper start drawing
	is "$(stranger leave '/debug/pprof/heap?jeprof=true' "$scratch/drawn") $(field "$url" agent children)" "left 1" "one leaves while a picture is drawn"
	wait_for 20 eval '[ "$(field "$url" agent children_failed)" = 1 ]'
	ok $? "and the child is stopped"
	finish
fi

# Those who stay have their share and no more.
start stay "time:1s,distance:1s"
descriptors=$(field "$url" agent descriptors)
begin_stranger waits 64 stay
wait_for 20 eval '[ "$(code "$url/pprof/heap")" = 503 ]'
ok $? "with an hour's wait in every place for strangers, they wait their turn"
like "$(curl -si --max-time 20 "$url/pprof/heap")" "*503*Retry-After: 1*try again*" "which is said, and when to come back"
is "$(code "$url/cairn/status") $(near /pprof/heap) $(near /cairn/status)" "200 200 200" "a status, and all that comes through the socket, is answered"
before=$(field "$url" dumps by_rule time)
wait_for 20 eval '[ "$(field "$url" dumps by_rule time)" -gt "$before" ]'
ok $? "and rules have their dumps written"
end_stranger
wait_for 20 eval '[ "$(code "$url/pprof/heap")" = 200 ]'
ok $? "when they have left, strangers are answered again"
finish

start small memory:4M stacks 2000
[ -n "${STRANGERS_HOST:-}" ] || wait_for 10 grep -q held "$scratch/small.out" # the agent answers before the host has done its work
begin_stranger slow 20 /cairn/snapshot
read -r -t 100 refusal <&"${STRANGER[0]}"
is "$said" "200 503" "of 20 snapshots that nobody reads some do not fit in 4 MB"
like "$refusal" "*Retry-After: 1*use all of the memory for answers*try again*" "which is said"
held=$(field "$url" agent memory)
[ "$held" -gt 0 ] && [ "$held" -le $((4 << 20)) ]
ok $? "$held bytes are held"
is "$(near /pprof/heap)" 200 "the socket has memory of its own"
end_stranger
finish
done_testing
