#!/usr/bin/env bash
# Hosts of every kind: jemalloc in a library or inside the program, exported or not, C and C++, daemons, pre-forking servers; and
# programs without jemalloc, which must not notice.
. tests/e2e/lib.sh
need redis-server curl python3 cc c++
. tests/e2e/agent.sh
cc=${CC:-cc}
jemalloc_a=$($cc -print-file-name=libjemalloc.a)
export MALLOC_CONF=prof:true,lg_prof_sample:12 CAIRN_TOOL=$stand_in

# ask PID PATH [curl options]: over the socket of the process
ask() { local pid=$1 path=$2; shift 2; curl -s --unix-socket "$sockets/$pid.sock" "$@" "http://localhost$path"; }
socket_field() { ask "$1" "/cairn/status?format=text" | sed -n "s/^$2: //p"; }
# rests PID: it sleeps, and so has been loaded; meanwhile the loader had files open
rests() { grep -q '^State:.S' "/proc/$1/status"; }
sampled() { snapshot_has_samples "$2" --unix-socket "$sockets/$1.sock" http://localhost/pprof/heap; }
has_sample() { ask "$1" /pprof/heap | grep -q '^ *t\*: [1-9]'; }
# start NAME COMMAND...: sets `pid`
start() { local name=$1; shift; LD_PRELOAD=$library CAIRN_CONF=${CAIRN_CONF-listen:unix} "$@" >"$scratch/$name.out" 2>&1 & pid=$!; children+=($pid); }

$cc -O2 -w tests/e2e/host.c -o "$scratch/dynamic" -ljemalloc -pthread || { ok 1 "the test host builds"; done_testing; }
$cc -O2 -w tests/e2e/host.c -o "$scratch/static" "$jemalloc_a" -lstdc++ -lm -pthread
$cc -O2 -w tests/e2e/host.c -o "$scratch/plain" -pthread

start dynamic "$scratch/dynamic"
wait_for 30 ask $pid /cairn/status
sampled $pid "jemalloc in a library"
is "$(stat -c '%a %F' "$sockets" "$sockets/$pid.sock" | tr '\n' ' ')" "700 directory 600 socket " "the socket and its folder are for us alone"
is "$(ls /proc/$pid/task | wc -l)" 3 "one thread more for requests, one for the work it had" # the host's own, cairn, cairn-work
grep -h SigBlk /proc/$pid/task/*/status | sort | uniq -c >"$scratch/masks"
is "$(grep -c 'f[0-9a-f]*$' "$scratch/masks")" 1 "all signals are blocked in them"
kill $pid; wait $pid 2>/dev/null
start swept "$scratch/dynamic"
wait_for 30 ask $pid /cairn/status
is "$(ls "$sockets" | wc -l)" 1 "a socket left behind by a killed process is swept away by the next"
kill $pid

start static "$scratch/static"
wait_for 30 ask $pid /cairn/status
sampled $pid "jemalloc inside the program, not exported"
like "$(socket_field $pid module)" "$scratch/static" "found in .symtab of the program"
kill $pid
cp "$scratch/static" "$scratch/stripped" && strip "$scratch/stripped"
CAIRN_CONF=engine:jemalloc start stripped "$scratch/stripped"
sleep 0.5
[ ! -e "$sockets/$pid.sock" ]
ok $? "a stripped one cannot be found, and nothing is opened"
kill $pid
# Debian's jemalloc with all its public names changed, as a build with a prefix has them.
nm -g --defined-only "$jemalloc_a" 2>/dev/null | awk '$2 ~ /[TW]/ && $3 !~ /^(je_|_Z)/ {print $3, "odd_" $3}' | sort -u >"$scratch/names"
objcopy --redefine-syms="$scratch/names" "$jemalloc_a" "$scratch/libodd.a"
cat >"$scratch/prefixed.c" <<'C'
#include <stdlib.h>
#include <unistd.h>
void *odd_malloc(size_t);
int main(void) { while (access("go", F_OK) != 0) usleep(1000); for (int i = 0; i < 200000; i++) { odd_malloc(2000); usleep(1000); } }
C
$cc -O2 -w "$scratch/prefixed.c" -o "$scratch/prefixed" "$scratch/libodd.a" -lstdc++ -lm -pthread
cd "$scratch"
start prefixed "$scratch/prefixed"
sleep 0.3
[ ! -e "$sockets/$pid.sock" ]
ok $? "a jemalloc that nothing was allocated from yet is not in use"
touch go
cd "$root"
wait_for 30 ask $pid /cairn/status
is "$(socket_field $pid prefix)" "odd_" "an unknown prefix is found by its suffix once it is used"
wait_for 10 has_sample $pid
sampled $pid "a jemalloc with a prefix"
kill $pid; wait $pid 2>/dev/null
MALLOC_CONF= start unseen "$scratch/prefixed"
wait_for 30 ask $pid /cairn/status
like "$(socket_field $pid 'engine warning')" "memory allocated through odd_malloc is not seen: *ODD_MALLOC_CONF=prof:true" \
	"Cairn's own engine says that it does not see memory of a jemalloc with a prefix"
kill $pid

cat >"$scratch/host.cc" <<'C'
#include <chrono>
#include <map>
#include <string>
#include <thread>
int main() { std::map<int, std::string> kept; for (int i = 0; i < 200000; i++) { kept[i % 5000] = std::string(2000, 'x'); try { if (i % 7 == 0) throw i; } catch (int) {} std::this_thread::sleep_for(std::chrono::milliseconds(1)); } }
C
c++ -O2 "$scratch/host.cc" -o "$scratch/cxx" -ljemalloc -pthread
start cxx "$scratch/cxx"
wait_for 30 ask $pid /cairn/status
wait_for 10 has_sample $pid
sampled $pid "a C++ program with exceptions"
kill $pid

# Without jemalloc: Cairn's own sampler is there, off; and nothing at all where only jemalloc's profiler is wanted.
MALLOC_CONF= start plain "$scratch/plain"
wait_for 30 ask $pid /cairn/status
is "$(socket_field $pid engine) $(socket_field $pid state)" "cairn inactive" "a program without jemalloc has Cairn's own engine, which waits"
kill $pid; wait $pid 2>/dev/null
start plain "$scratch/plain"
wait_for 30 ask $pid /cairn/status
is "$(socket_field $pid engine) $(socket_field $pid state) $(socket_field $pid period)" "cairn active 4096" "unless MALLOC_CONF says that it samples"
kill $pid; wait $pid 2>/dev/null
export CAIRN_CONF=engine:jemalloc
start plain "$scratch/plain"
wait_for 4 runs $pid "$scratch/plain" && wait_for 4 rests $pid
sleep 0.5
descriptors=$(ls /proc/$pid/fd | wc -l)
[ ! -e "$sockets/$pid.sock" ] && [ "$(ls /proc/$pid/task | wc -l)" = 1 ]
ok $? "a program without jemalloc has no socket and no thread more"
"$scratch/plain" >/dev/null 2>&1 &
children+=($!)
wait_for 4 runs $! "$scratch/plain" && wait_for 4 rests $!
is "$descriptors" "$(ls /proc/$!/fd | wc -l)" "nor a descriptor"
is "$(LD_PRELOAD=$library sh -c 'echo hello; ls /proc/self/fd | wc -l' | tr '\n' ' ')" "$(sh -c 'echo hello; ls /proc/self/fd | wc -l' | tr '\n' ' ')" "a shell passes the variable on and takes nothing"
unset CAIRN_CONF

# Forking.
start prefork "$scratch/dynamic" prefork
has_forked() { [ "$(grep -c child "$scratch/prefork.out")" = 3 ]; }
wait_for 30 has_forked
for child in $pid $(sed -n 's/child //p' "$scratch/prefork.out"); do
	children+=($child)
	wait_for 30 ask $child /cairn/status
	is "$(socket_field $child pid)" $child "each process of a pre-forking server has a socket of its own"
	sampled $child "process $child of it"
done
kill $pid $(sed -n 's/child //p' "$scratch/prefork.out")
(cd "$scratch" && start daemon "$scratch/dynamic" daemon)
wait_for 30 test -s "$scratch/daemon.pid"
daemon=$(cat "$scratch/daemon.pid")
children+=($daemon)
wait_for 30 ask "$daemon" /cairn/status
sampled "$daemon" "a daemon that closes all descriptors"
kill "$daemon"

port=$(free_port) agent=$(free_port)
LD_PRELOAD=$library CAIRN_CONF=listen:127.0.0.1:$agent redis-server --port $port --save "" --dir "$scratch" --daemonize yes --pidfile "$scratch/redis.pid" >/dev/null
wait_for 30 test -s "$scratch/redis.pid"
redis=$(cat "$scratch/redis.pid")
children+=($redis)
has_port() { [ "$(field "http://127.0.0.1:$agent" pid)" = "$redis" ]; }
wait_for 30 has_port
ok $? "redis-server --daemonize yes: the port goes over to the daemon"
load $port
is "$(field "http://127.0.0.1:$agent" pid)" "$redis" "which keeps it"
has_samples "http://127.0.0.1:$agent" "and it is sampled"
redis-cli -p $port bgsave >/dev/null
wait_for 30 test -s "$scratch/dump.rdb"
ok $? "redis saves in the background with the agent inside"
redis-cli -p $port shutdown nosave 2>/dev/null
wait_for 30 test ! -e "$sockets/$redis.sock"
ok $? "a process that ends by itself removes its socket"

# What an idle agent takes, all of it: text, tables, stacks of its threads. How much of other libraries is resident is the page cache's whim.
mkdir "$scratch/empty"
resident() { # resident LIBRARY: kB of the anonymous memory of a redis-server that has answered and rests, and of the text of its agent, which waits
	local port pid
	port=$(free_port)
	MALLOC_CONF=prof:true LD_PRELOAD=$1 redis-server --port "$port" --save "" --dir "$scratch/empty" >/dev/null 2>&1 &
	pid=$!
	wait_for 30 redis-cli -p "$port" ping
	[ -z "$1" ] || wait_for 30 is_loaded "$pid"
	sleep 1
	awk '/^[0-9a-f]+-/ {ours = /libcairn/} /^Rss:/ {rss = $2} /^Anonymous:/ {sum += ours ? rss : $2} END {print sum}' "/proc/$pid/smaps"
	kill $pid
}
plain=$(resident "") with=$(resident "$library")
[ $((with - plain)) -lt 1024 ]
ok $? "an idle agent in redis-server takes less than 1 MB: $((with - plain)) kB"

# A host that writes 1,5 for 1.5. A locale of few characters is made in no time.
if localedef -i de_DE -f ISO-8859-1 "$scratch/de_DE" 2>/dev/null || [ -d "$scratch/de_DE" ]; then
	LOCPATH=$scratch LC_ALL=de_DE start comma "$scratch/dynamic"
	wait_for 30 ask $pid /cairn/status
	sampled $pid "in a locale with commas in its numbers"
	ask $pid /cairn/status | python3 -c 'import json, sys, time; print(abs(json.load(sys.stdin)["start"] - time.time()) < 3600)' >"$scratch/comma" 2>&1
	is "$(cat "$scratch/comma")" True "the status is JSON nevertheless"
	is "$(ask $pid /metrics | grep -cE '^[^#].* [0-9]+,')" 0 "and there is no comma in a metric"
	kill $pid
else
	skip "a locale with commas in its numbers" "no localedef here"
fi

# Two at once on one port.
CONF=seconds:5 start_redis first
LD_PRELOAD=$library CAIRN_CONF=listen:${url_first#http://} redis-server --port "$(free_port)" --save "" --dir "$scratch" >/dev/null 2>&1 &
second=$!
children+=($second)
wait_for 30 ask $second /cairn/status
like "$(socket_field $second 'listen problem')" "*in use*" "a port that is taken is shown"
kill "$pid_first"
wait "$pid_first" 2>/dev/null
wait_for 30 curl -sf "$url_first/cairn/status"
is "$(field "$url_first" pid)" $second "and tried again until it is free"
done_testing
