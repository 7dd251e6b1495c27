#!/usr/bin/env bash
# CPU profiles of a program whose split of work is known, by every door, and what a run leaves behind.
. tests/e2e/lib.sh
need gcc curl python3
[ -e "$library" ] || broken 'no libcairn.so'
gcc -O2 -g -D_GNU_SOURCE -pthread tests/e2e/busy.c -o "$scratch/busy" -ljemalloc || broken 'no jemalloc to link with'
port=$(free_port)
url=http://127.0.0.1:$port

# begin ARGUMENTS...: the program with an agent
begin() {
	LD_PRELOAD=$library CAIRN_CONF=listen:127.0.0.1:$port CAIRN_TOOL=$cairn "$scratch/busy" "$@" >"$scratch/said" 2>&1 &
	pid=$!
	children+=("$pid")
	wait_for 10 curl -sf "$url/cairn/status" -o /dev/null && wait_for 4 has_begun
}
# has_begun: its last thread is there, and so are its handlers; the agent may answer before
has_begun() { cat "/proc/$pid/task"/*/comm | grep -qx idle; }
timers() { grep -c '^ID' "/proc/$pid/timers"; }
without_timers() { [ "$(timers)" -eq 0 ]; }
has_timers() { [ "$(timers)" -gt 0 ]; }
# share OF VALUE TOTAL LOW HIGH
between() { awk -v value="$1" -v total="$2" -v low="$3" -v high="$4" 'BEGIN { exit !(total > 0 && value / total >= low && value / total <= high) }'; }

begin
before=$(grep -h '^Sig' "/proc/$pid/status")
holds 'cairn cpu writes a file' "$cairn" cpu "$pid" --seconds 2 --frequency 999 -o "$scratch/busy.cpu"
# A busy machine gives the program less time, so that there are fewer samples: more runs then.
profiles=("$scratch/busy.cpu")
samples() { "$cairn" top --json --sum "${profiles[@]}" 2>/dev/null | python3 -c 'import json, sys; print(int(json.load(sys.stdin)["total"]) * 999 // 10**9)'; }
while [ ${#profiles[@]} -lt 30 ] && [ "$(samples)" -lt 1000 ]; do
	"$cairn" cpu "$pid" --seconds 2 --frequency 999 -o "$scratch/busy.${#profiles[@]}.cpu" >/dev/null && profiles+=("$scratch/busy.${#profiles[@]}.cpu")
done
like "$(on_terminal "$cairn" cpu "$pid" --for 1s -o "$scratch/one.cpu")" "*profiling for 1 second;*$scratch/one.cpu" 'a person is told how long it takes'
"$cairn" top --json --sum "${profiles[@]}" >"$scratch/top.json" 2>/dev/null
read -r total three one spin < <(python3 - "$scratch/top.json" <<'P'
import json, sys
top = json.load(open(sys.argv[1])); rows = {r["name"]: r for r in top["rows"]}
print(top["total"], *(rows.get(n, {"cum": 0})["cum"] for n in ("three", "one", "spin")))
P
)
# 3 to 1 with a thousand samples: the share of `three` has a standard error of 1.4 %.
between "$three" "$total" 0.66 0.84
ok $? "three of four parts are in three: $three of $total ns"
between $((three + one)) "$total" 0.98 1
ok $? 'and the rest in one'
between "$spin" "$total" 0.98 1
ok $? 'all under spin, which both call'
"$cairn" tags "$scratch/busy.cpu" >"$scratch/tags" 2>/dev/null
holds 'the threads are named' bash -c "grep -q alpha '$scratch/tags' && grep -q beta '$scratch/tags'"
holds 'the one that waits is not there' bash -c "! grep -q idle '$scratch/tags'"
# By one program that asks and looks at the clock: a program that has yet to start may take a while. And for so long that it matters little
# when the run begins and ends, which on a busy machine is some tenths of a second after it is asked for and before it is heard of.
spent=$(python3 - "$port" "$pid" "$scratch/raw.prof" "$(rounds 4 12)" <<'P'
import socket, sys
def used(): return sum(map(int, open("/proc/%s/stat" % sys.argv[2]).read().rsplit(")", 1)[1].split()[11:13]))
client = socket.create_connection(("127.0.0.1", int(sys.argv[1])))
before = used()
client.sendall(b"GET /pprof/profile?seconds=%s HTTP/1.0\r\nHost: localhost\r\n\r\n" % sys.argv[4].encode())
answer = client.recv(1)
after = used()
while part := client.recv(1 << 20): answer += part
open(sys.argv[3], "wb").write(answer.split(b"\r\n\r\n", 1)[1])
print(after - before)
P
)
sampled=$("$cairn" top --json "$scratch/raw.prof" 2>/dev/null | python3 -c 'import json, sys; print(json.load(sys.stdin)["total"])')
between "$sampled" $((spent * 10000000)) $(rounds '0.6 1.4' '0.85 1.15')
ok $? "the time sampled is the time spent: $sampled ns of $((spent * 10)) ms"
if command -v jeprof >/dev/null; then
	like "$(jeprof --text "$scratch/busy" "$scratch/raw.prof" 2>/dev/null)" '*three*' 'stock jeprof reads it'
else
	skip 'stock jeprof reads it' 'no jeprof here'
fi
holds 'as a flame graph' bash -c "'$cairn' flame '$scratch/raw.prof' 2>/dev/null | grep -q '<svg'"

like "$(curl -s -X POST "$url/debug/prof/cpu?seconds=1&output=flamegraph" | head -c 500)" '*<svg*' 'POST /debug/prof/cpu as a flame graph'
like "$(curl -s -X POST "$url/debug/prof/cpu?seconds=1&output=text")" '*three;spin*' 'and as text'
curl -s -X POST "$url/debug/prof/cpu?seconds=1" -o "$scratch/greptime.pb"
curl -s "$url/debug/pprof/profile?seconds=1" -o "$scratch/go.pb"
for file in greptime go; do
	like "$("$cairn" top "$scratch/$file.pb" 2>/dev/null)" '*spin*' "$file's profile is a pprof profile"
	if command -v go >/dev/null; then
		like "$(go tool pprof -top "$scratch/$file.pb" 2>/dev/null)" '*spin*' "go tool pprof reads $file's"
	else
		skip "go tool pprof reads $file's" 'no go here'
	fi
done
is "$(curl -s -o /dev/null -w '%{http_code}' -X POST "$url/debug/prof/cpu?seconds=0")" 400 'no seconds are refused'
is "$(curl -s -o /dev/null -w '%{http_code}' -X POST "$url/debug/prof/cpu?frequency=x")" 400 'and a frequency that is none'

curl -s "$url/pprof/profile?seconds=$(rounds 8 25)" -o "$scratch/first.prof" &
wait_for 4 has_timers
is "$(curl -s -w ' %{http_code}' "$url/debug/pprof/profile?seconds=1")" $'a CPU profile is already running\n 409' 'one run at a time'
like "$(curl -s -w ' %{http_code}' -X POST "$url/debug/prof/cpu?seconds=1")" '{"error":"Pprof error: *"} 409' "in GreptimeDB's words"
wait $!
holds 'the first goes on undisturbed' [ -s "$scratch/first.prof" ]

curl -s "$url/pprof/profile?seconds=600" -o /dev/null &
wait_for 20 has_timers
kill $!
holds 'a client that leaves ends the run' wait_for 4 without_timers
signals() { grep '^Sig[^Q]'; }
as_before() { [ "$(signals <"/proc/$pid/status")" = "$(signals <<<"$before")" ]; }
wait_for 4 as_before # the handler goes a moment after the timers
is "$(grep -h '^Sig[^Q]' "/proc/$pid/status")" "$(grep '^Sig[^Q]' <<<"$before")" 'no handler and no signal stays behind'
curl -s "$url/pprof/profile?seconds=600" -o /dev/null &
wait_for 20 has_timers
kill -TERM "$pid"
wait "$pid"
is "$?" 0 'a program that ends in a run ends as ever'
wait

begin
"$cairn" cpu "$pid" --for 1h 2>"$scratch/ended" &
asking=$!
wait_for 20 has_timers
kill -KILL "$pid"
wait "$pid" 2>/dev/null
wait "$asking"
is "$? $(cat "$scratch/ended")" "1 cairn: process $pid ended before its CPU profile of 3600 seconds was complete" 'one that is killed in a run: cairn cpu says so'

begin itself
holds 'a host that handles SIGPROF itself is profiled too' "$cairn" cpu "$pid" --seconds 2 -o "$scratch/own.cpu"
like "$("$cairn" top "$scratch/own.cpu" 2>/dev/null)" '*spin*' 'by another signal'
kill -TERM "$pid"
wait "$pid"
like "$(cat "$scratch/said")" '[1-9]* own, 0 foreign' 'and gets its own signals and no other'

# A service that does nothing is no failure: a scraper takes one for a service that is down.
printf '#include <unistd.h>\nint main(void) { for (;;) pause(); }\n' | gcc -x c - -o "$scratch/idle" -Wl,--no-as-needed -ljemalloc
LD_PRELOAD=$library CAIRN_CONF=listen:127.0.0.1:$port CAIRN_TOOL=$cairn "$scratch/idle" &
children+=($!)
wait_for 10 curl -sf "$url/cairn/status" -o /dev/null
for request in 'POST /debug/prof/cpu' 'GET /debug/pprof/profile'; do
	is "$(curl -s -o "$scratch/idle.pb" -w '%{http_code}' -X ${request% *} "$url${request##* }?seconds=1")" 200 "an idle process: ${request##* } is a profile"
	like "$("$cairn" top "$scratch/idle.pb" 2>&1)" '*no samples*' 'without samples'
done
like "$(curl -s -w ' %{http_code}' -X POST "$url/debug/prof/cpu?seconds=1&output=flamegraph")" '{"error":"Pprof error: *used almost no CPU time*"} 500' 'and nothing to draw has its reason'
done_testing
