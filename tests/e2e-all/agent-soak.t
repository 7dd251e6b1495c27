#!/usr/bin/env bash
# SOAK seconds (60) of load with snapshots, activations, drawings and slow clients at once: no descriptor, thread or memory is left over.
. tests/e2e/lib.sh
need redis-server redis-benchmark curl python3
. tests/e2e/agent.sh
seconds=${SOAK:-60}
MALLOC=prof:true,lg_prof_sample:16 start_redis soak || { ok 1 "redis-server starts"; done_testing; }
end=$((SECONDS + seconds))
running() { [ $SECONDS -lt $end ]; }
(while running; do redis-benchmark -p "$port_soak" -n 20000 -r 20000 -d 100 -t set,lpush,lpop -q; done) >/dev/null 2>&1 &
load=$!
children+=($load)
sleep 3
count() { ls "/proc/$pid_soak/$1" | wc -l; }
curl -s -o /dev/null "$url_soak/pprof/heap" && curl -s -o /dev/null -X POST "$url_soak/debug/prof/mem?output=proto"
threads_of_ours() { cat "/proc/$pid_soak"/task/*/comm | grep -c '^cairn'; }
fds=$(count fd) threads=$(threads_of_ours)
asked=0 wrong=0
(while running; do curl -s -X POST "$url_soak/debug/prof/mem/deactivate"; sleep 0.2; curl -s -X POST "$url_soak/debug/prof/mem/activate"; sleep 0.5; done) >/dev/null &
children+=($!)
(while running; do curl -s -X POST "$url_soak/debug/prof/mem?output=flamegraph" -o /dev/null; curl -s -o /dev/null "$url_soak/debug/pprof/heap?seconds=1"; done) &
children+=($!)
timeout $((seconds + 20)) python3 - "$url_soak" "$seconds" <<'P' &
import random, socket, sys, time
host, port = sys.argv[1].split("//")[1].split(":")
end, open_ones = time.time() + int(sys.argv[2]) - 5, []
while time.time() < end:
    try:
        s = socket.create_connection((host, int(port)), 5)
        s.sendall(random.choice([b"GET / HT", b"POST /debug/prof/mem HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nab", b"\0\1\2", b"GET /pprof/heap HTTP/1.1\r\nHost: localhost\r\n\r\n"]))
        open_ones.append(s)
    except OSError: pass
    if len(open_ones) > 30: open_ones.pop(0).close()
    time.sleep(0.1)
P
children+=($!)
while running; do
	asked=$((asked + 1))
	[ "$(curl -s --max-time 10 "$url_soak/pprof/heap" | head -c 8)" = heap_v2/ ] || wrong=$((wrong + 1))
	sleep 0.2
done
kill "$load" 2>/dev/null
sleep 15 # for the last of the slow clients to be shown out
has_samples "$url_soak" "after $seconds s the service is sampled"
[ $wrong -le $((asked / 20)) ]
ok $? "$asked snapshots were asked for, $wrong not answered"
[ "$(count fd)" -le $((fds + 4)) ]
ok $? "descriptors: $fds, then $(count fd)"
[ "$(threads_of_ours)" -le $((threads + 1)) ] # the second worker starts when the first is busy
ok $? "threads of the agent: $threads, then $(threads_of_ours)"
is "$(redis-cli -p "$port_soak" ping)" PONG "the service goes on"
status=$(curl -s "$url_soak/cairn/status?format=text")
like "$status" "*snapshots: *" "and so does its agent"
echo "# $(grep -E '^snapshots|^dropped' <<<"$status" | tr '\n' ' ')"
# What the agent itself has mapped: private pages named by nobody that are not the allocator's are hard to tell apart, so the
# whole process is compared with what jemalloc says it holds.
resident=$(awk '/^VmRSS/{printf "%.0f", $2 * 1024}' "/proc/$pid_soak/status")
held=$(curl -s "$url_soak/metrics" | awk '/^jemalloc_resident_bytes/{print $2}')
awk "BEGIN {exit !($resident < $held + 64e6)}"
ok $? "resident memory is the allocator's, and little else ($resident and $held bytes)"
done_testing
