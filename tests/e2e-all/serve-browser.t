#!/usr/bin/env bash
# The live page in headless Chromium, and once in Firefox: following, freezing, base and range, tabs, search, actions, a server and a process that go away and come back, 18,000
# stacks, hostile names, a day of dumps in a minute, a telephone, the dark. And the units of its scripts, by Node.
. tests/e2e/lib.sh
need node npm python3 flock cc curl
. tests/e2e-all/browser.sh
node_modules playwright-core@1 typescript@5 puppeteer-core@24
node --test tests/unit/page/ >"$scratch/units.log" 2>&1
ok $? "the scripts' units: $(sed -n 's/^# pass //p' "$scratch/units.log") tests"
grep -E '^not ok|failed' "$scratch/units.log" | sed 's/^/# /' | head -n 8
holds 'the scripts of the live page have the types their comments say' "$modules/node_modules/.bin/tsc" --noEmit --allowJs --checkJs --strict --noUnusedLocals --target es2022 --module es2022 \
	--lib es2023,dom,dom.iterable src/page/*.mjs

cc -O1 -g -pthread -o "$scratch/leaky" examples/leaky/*.c
export CAIRN_PAGE_TOKEN=page-token # one for all, so that a page goes on when its server is started again
# serve NAME ARGUMENTS...: starts a server; its address is in $address, and without the token in $base
serve() {
	: >"$scratch/$1.out"
	"$cairn" serve "${@:2}" >"$scratch/$1.out" 2>"$scratch/$1.err" &
	server=$!
	children+=($server)
	wait_for 20 grep -q . "$scratch/$1.out"
	address=$(head -n 1 "$scratch/$1.out") base=${address%%\?*}
}
(cd "$scratch" && exec "$cairn" run -q --period 32K -- ./leaky 900) >/dev/null 2>&1 &
runner=$!
children+=($runner)
wait_for 20 pgrep -P $runner -x leaky
pid=$(pgrep -P $runner -x leaky)
children+=("$pid")
wait_for 20 "$cairn" status "$pid"
port=$(free_port)
serve live --listen "127.0.0.1:$port" --every 1s "$pid"
live=$address live_server=$server

mkdir "$scratch/large" "$scratch/hostile" "$scratch/day"
python3 tests/bench/make-dump.py "$scratch/large/a.heap" 18000 20
serve large "$scratch/large"
large=$address
{
	printf -- '--- symbol\nbinary=/tmp/x\n0x1001 <img src=x onerror=pwned=1>\n0x2001 "onclick="pwned=1\n0x3001 </script><script>pwned=1</script>\n---\n--- heap\n'
	printf 'heap_v2/1\n  t*: 2: 3072 [0: 0]\n  t1: 2: 3072 [0: 0] <img src=x onerror=pwned=1>\n@ 0x1001 0x2001 0x3001\n  t*: 2: 3072 [0: 0]\n  t1: 2: 3072 [0: 0]\n\nMAPPED_LIBRARIES:\n'
} >"$scratch/hostile/a.heap"
cp "$scratch/hostile/a.heap" "$scratch/hostile/b.heap"
touch -d '-1 hour' "$scratch/hostile/b.heap"
serve hostile "$scratch/hostile"
hostile=$address
serve token --token secret-1 "$scratch/hostile"
token=$address
# replay FIRST LAST: dumps of a day, one for every three minutes, of a process that leaks
replay() {
	python3 - "$scratch/day" "$1" "$2" "$scratch/day.last" <<-'EOF'
		import os, sys, time
		folder, first, last, note = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), sys.argv[4]
		for i in range(first, last):
		    leak, cache, when = 10000 * (i + 1), 5000000 + (i * 7919) % 1000, 1700000000 + 180 * i
		    text = "heap_v2/1\n  t*: 2: %d [0: 0]\n@ 0x1001 0x9001\n  t*: %d: %d [0: 0]\n@ 0x2001 0x9001\n  t*: 5000: %d [0: 0]\n\nMAPPED_LIBRARIES:\n" % (leak + cache, leak // 100, leak, cache)
		    text += "# cairn trailer 1\n# cairn pid 77\n# cairn exe /usr/bin/daily\n# cairn start 1700000000.0\n# cairn time %d.0\n# cairn end\n" % when
		    with open(folder + "/.part", "w") as out: out.write(text)
		    os.rename(folder + "/.part", "%s/%05d.heap" % (folder, i))
		    open(note, "w").write("%d %d" % (1000 * when, leak + cache))
		    time.sleep(0.08)
	EOF
}
replay 0 3
serve day "$scratch/day"
day=$address

# Redis, with jemalloc's profiler, and its agent on a port of its own.
agent_port=$(free_port) redis_port=$(free_port)
LD_PRELOAD=$PWD/${CAIRN_BUILD:-build}/libcairn.so MALLOC_CONF=prof:true,lg_prof_sample:14 CAIRN_TOOL=$cairn CAIRN_CONF=listen:127.0.0.1:$agent_port \
	redis-server --port "$redis_port" --save "" --dir "$scratch" >/dev/null 2>&1 &
redis=$!
children+=($redis)
wait_for 20 "$cairn" status "$redis"
redis-benchmark -p "$redis_port" -n 20000 -r 20000 -d 200 -t set -q >/dev/null 2>&1
serve redis --every 1s "$redis"
redis_page=$address redis_server=$server
# What the server costs while nobody looks and while a page follows a service under load, in time of the processor.
ticks() { awk '{print $14 + $15}' "/proc/$1/stat"; }
serve idle "$redis"
sleep 2
from=$(ticks $server)
sleep 20
cost=$(awk -v t=$(($(ticks $server) - from)) -v hz="$(getconf CLK_TCK)" 'BEGIN {printf "%.2f", 100 * t / hz / 20}')
awk -v c="$cost" 'BEGIN {exit !(c < 2)}'
ok $? "nobody looks: the server takes less than 2 % of a core: $cost %"
redis-benchmark -p "$redis_port" -c 2 -n 100000000 -r 100000 -d 200 -t set,get -q >/dev/null 2>&1 &
load=$!
children+=($load)
authorization="Authorization: Bearer $CAIRN_PAGE_TOKEN"
curl -sN -m 22 -H "$authorization" "${base}api/events" | while read -r line; do
	case $line in *'"id":'*) curl -s --compressed -H "$authorization" "${base}api/tree" -o /dev/null; curl -s -H "$authorization" "${base}api/series?since=0" -o /dev/null ;; esac
done &
from=$(ticks $server)
sleep 20
cost=$(awk -v t=$(($(ticks $server) - from)) -v hz="$(getconf CLK_TCK)" 'BEGIN {printf "%.2f", 100 * t / hz / 20}')
kill $load
awk -v c="$cost" 'BEGIN {exit !(c < 10)}'
ok $? "one page follows redis under load: less than 10 %: $cost %"
kill $server

# A process without an agent, one that a hundred look at, and the runs of a program.
"$scratch/leaky" 600 >/dev/null 2>&1 &
bare=$!
children+=($bare)
serve bare --every 1s "$bare"
bare_page=$address
(cd "$scratch" && exec "$cairn" run -q --period 64K -- ./leaky 600) >/dev/null 2>&1 &
other=$!
children+=($other)
wait_for 20 pgrep -P $other -x leaky
wait_for 20 "$cairn" status "$(pgrep -P $other -x leaky)"
serve crowd --every 1s "$(pgrep -P $other -x leaky)"
crowd=$address
children+=("$(pgrep -P $other -x leaky)")
mkdir "$scratch/runs"
python3 - "$scratch/runs" <<'EOF'
import sys
for i in range(3):
    for j in range(3):
        with open("%s/%d%d.heap" % (sys.argv[1], i, j), "w") as out:
            out.write("heap_v2/1\n  t*: 1: %d [0: 0]\n@ 0x1001 0x2001\n  t*: 1: %d [0: 0]\n\nMAPPED_LIBRARIES:\n" % (1000 * i + j, 1000 * i + j))
            out.write("# cairn trailer 1\n# cairn pid %d\n# cairn executable /usr/bin/worker\n# cairn start %d.0\n# cairn time %d.0\n" % (
                100 + i, 1700000000 + 1000 * i, 1700000100 + 1000 * i + 100 * j))
            out.write("# cairn ended killed by the OOM killer\n" if j == 2 and i < 2 else "")
            out.write("# cairn end\n")
EOF
serve runs "$scratch/runs"
runs=$address

cp tests/e2e-all/serve-browser.mjs tests/e2e-all/serve-firefox.mjs "$modules/"
node "$modules/serve-browser.mjs" "$browser" "$scratch" "$tap_count" live="$live" large="$large" hostile="$hostile" day="$day" redis="$redis_page" \
	agent="http://127.0.0.1:$agent_port/cairn/" bare="$bare_page" crowd="$crowd" runs="$runs" token="$token" >"$scratch/tap" 2>"$scratch/error" &
driver=$!
children+=($driver)
# What the page cannot do itself.
while kill -0 $driver 2>/dev/null; do
	if [ -s "$scratch/do" ]; then
		action=$(cat "$scratch/do")
		rm -f "$scratch/do"
		case $action in
		restart-server)
			kill -KILL $live_server
			wait $live_server 2>/dev/null
			sleep 4
			serve live --listen "127.0.0.1:$port" --every 1s "$pid"
			live_server=$server
			;;
		stop-server) kill -STOP $live_server ;;
		continue-server) kill -CONT $live_server ;;
		stop-process) kill -STOP "$pid" ;;
		continue-process) kill -CONT "$pid" ;;
		kill-process) kill -KILL "$pid" ;;
		replay-day) replay 3 480 ;;
		esac
		touch "$scratch/done"
	fi
	sleep 0.1
done
sed '/^1\.\./d' "$scratch/tap"
tap_count=$((tap_count + $(grep -c '^\(not \)\?ok' "$scratch/tap"))) tap_failed=$((tap_failed + $(grep -c '^not ok' "$scratch/tap")))
grep -q '^1\.\.' "$scratch/tap"
ok $? 'the browser test came to its end'
sed 's/^/# /' "$scratch/error" | head -n 12

if firefox=$(command -v firefox-esr || command -v firefox); then
	HOME=$scratch timeout 120 node "$modules/serve-firefox.mjs" "$firefox" "$scratch" "$redis_page" "$large" >"$scratch/firefox" 2>&1
	ok $? "Firefox shows the page and follows: $(tail -n 1 "$scratch/firefox")"
	sed 's/^/# /' "$scratch/firefox" | head -n 12
else
	skip 'the page in Firefox' 'no firefox here'
fi
done_testing
