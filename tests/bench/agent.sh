#!/usr/bin/env bash
# What the agent costs its host, against the same host without it, in one run: CPU time per request of redis-server, the longest
# stall during a snapshot of 24,000 stacks, and how fast and how long the status is answered. AGENT_PAIRS (15) and AGENT_SECONDS (60).
set -u
. tests/bench/lib.sh
library=$PWD/${CAIRN_BUILD:-build}/libcairn.so
pairs=${AGENT_PAIRS:-15} seconds=${AGENT_SECONDS:-60} requests=${AGENT_REQUESTS:-100000}
export XDG_RUNTIME_DIR=$scratch
declare -A pid port socket
trap 'kill "${pid[@]}" 2>/dev/null; wait 2>/dev/null; rm -rf "$scratch"' EXIT
cc=${CC:-cc}
$cc -O2 -w -fPIC -shared tests/bench/dumper.c -o "$scratch/dumper.so" -pthread
$cc -O2 -w -fno-optimize-sibling-calls tests/bench/stall.c -o "$scratch/stall" -ljemalloc -pthread

# serve NAME VARIABLE=VALUE...: a redis-server of that name
serve() {
	local name=$1
	shift
	port[$name]=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
	env "$@" redis-server --port "${port[$name]}" --save "" --dir "$scratch" >/dev/null 2>&1 &
	pid[$name]=$!
	socket[$name]=$scratch/cairn/${pid[$name]}.sock
	until redis-cli -p "${port[$name]}" ping >/dev/null 2>&1; do sleep 0.1; done
}
# spent PID: CPU time of all its threads, in nanoseconds
spent() { cat "/proc/$1/task/"*/schedstat | awk '{sum += $1} END {printf "%.0f", sum}'; }
# cost NAME: CPU time of one load
cost() {
	local before after
	before=$(spent "${pid[$1]}")
	redis-benchmark -p "${port[$1]}" -n "$requests" -r 100000 -d 100 -t set -q >/dev/null 2>&1
	after=$(spent "${pid[$1]}")
	echo $((after - before)) >>"$scratch/cost.$1"
}
middle() { sort -g "$1" | awk '{a[NR] = $1} END {print a[int((NR + 1) / 2)]}'; }
# compare A B: the median over the pairs of B / A
compare() { paste "$scratch/cost.$1" "$scratch/cost.$2" | awk '$1 > 0 {print $2 / $1}' | sort -g | awk '{a[NR] = $1} END {printf "%.3f", a[int((NR + 1) / 2)]}'; }

profiling=MALLOC_CONF=prof:true,lg_prof_sample:19
serve plain A=B
serve stock $profiling
serve agent $profiling CAIRN_CONF=listen:unix LD_PRELOAD="$library"
serve dumping $profiling LD_PRELOAD="$scratch/dumper.so" DUMP_TO="$scratch/stock.heap"
serve snapshots $profiling CAIRN_CONF=listen:unix LD_PRELOAD="$library"
(while sleep 1; do curl -s -o "$scratch/ours.heap" --unix-socket "${socket[snapshots]}" http://localhost/pprof/heap; done) &
pid[poller]=$!
for _ in $(seq "$pairs"); do for name in plain stock agent dumping snapshots; do cost $name; done; done
per() { awk "BEGIN {printf \"%.3f\", $(middle "$scratch/cost.$1") / 1000 / $requests}"; }
printf 'agent: CPU us per request: plain %s, profiling %s, with the idle agent %s; a dump a second: stock %s, agent %s (medians of %s)\n' \
	"$(per plain)" "$(per stock)" "$(per agent)" "$(per dumping)" "$(per snapshots)" "$pairs"
printf 'agent: idle agent / profiling without it: %s (at most 1.02); a snapshot a second / stock dumps: %s (at most 1.03)\n' "$(compare stock agent)" "$(compare dumping snapshots)"
awk '/^Rss|^Private_Dirty/ {sum[$1] += $2} END {printf "agent: idle redis with it %d kB, ", sum["Rss:"]}' "/proc/${pid[agent]}/smaps"
awk '/^Rss/ {sum += $2} END {printf "without it %d kB resident\n", sum}' "/proc/${pid[stock]}/smaps"

# Stalls.
export MALLOC_CONF=prof:true,lg_prof_sample:0
stall() { timeout 9 env "${@:2}" >"$scratch/stall.$1" 2>/dev/null; }
stall stock "$scratch/stall" stock "$scratch/stall.heap"
(sleep 1; for _ in 1 2 3 4 5 6; do curl -s -o "$scratch/many.heap" --unix-socket "$(ls -t "$scratch"/cairn/*.sock | head -n 1)" http://localhost/pprof/heap; sleep 1; done) &
stall agent CAIRN_CONF=listen:unix LD_PRELOAD="$library" "$scratch/stall" agent
stall none "$scratch/stall" none
printf 'agent: longest stall of an allocation during a snapshot of %s stacks: agent %s us, stock prof.dump %s us, without either %s us (medians of seconds)\n' \
	"$(grep -c '^@' "$scratch/many.heap")" "$(middle "$scratch/stall.agent")" "$(middle "$scratch/stall.stock")" "$(middle "$scratch/stall.none")"
unset MALLOC_CONF

# The status, a thousand times a second.
python3 - "${socket[agent]}" "$seconds" "${pid[agent]}" <<'P'
import socket, sys, time
path, seconds, pid = sys.argv[1], int(sys.argv[2]), sys.argv[3]
def resident(): return int(next(l for l in open(f"/proc/{pid}/status") if l.startswith("VmRSS")).split()[1])
s = socket.socket(socket.AF_UNIX); s.connect(path)
request = b"GET /cairn/status HTTP/1.1\r\nHost: x\r\n\r\n"
times, begin = [], time.perf_counter()
def ask():
    s.sendall(request); data = s.recv(65536)
    head, _, body = data.partition(b"\r\n\r\n")
    length = int(head.lower().split(b"content-length: ")[1].split(b"\r\n")[0])
    while len(body) < length: body += s.recv(65536)
for _ in range(1000): ask()
before = resident()
for i in range(seconds * 1000):
    due = begin + i / 1000
    while time.perf_counter() < due: time.sleep(0.0002)
    start = time.perf_counter(); ask(); times.append(time.perf_counter() - start)
times.sort()
taken = time.perf_counter() - begin
print(f"agent: status {len(times) / taken:.0f} times a second for {taken:.0f} s: median {times[len(times) // 2] * 1e6:.0f} us, 99th percentile {times[len(times) * 99 // 100] * 1e6:.0f} us; memory {before} kB, then {resident()} kB")
P
