#!/usr/bin/env bash
# cairn watch against redis and the demo service: what dump.sh does, every rule, deaths, restarts, full disks and signals.
. tests/e2e/lib.sh
need redis-server redis-cli python3
. tests/e2e/agent.sh
cd "$scratch"
${CC:-cc} -O1 -g -pthread "$root/examples/leaky/leaky.c" -o leaky -ljemalloc 2>"$scratch/log" || broken 'no jemalloc to link with'
export MALLOC=prof:true,lg_prof_sample:14

# watch NAME OPTION...: runs it in the background in a folder of that name; sets watcher. Its output is in NAME.out and NAME.err.
watch() {
	local name=$1
	shift
	mkdir -p "$scratch/$name"
	(cd "$scratch/$name" && exec "$cairn" watch "$@") >"$scratch/$name.out" 2>"$scratch/$name.err" &
	watcher=$!
	children+=($watcher)
}
# looks: waits until the watcher has slept eight times more, each time until it looks at memory again or has something to take down
slept() { awk '/^voluntary/ { print $2 }' "/proc/$watcher/status"; }
has_slept() { [ "$(slept)" -ge "$1" ]; }
looks() { wait_for 20 has_slept $(($(slept) + 8)); }
lines() { wc -l <"$scratch/$1.out"; }
has_lines() { [ "$(lines "$1")" -ge "$2" ]; }
# ends CODE NAME: the watcher ends, with that code
ends() {
	wait_for 20 sh -c "! kill -0 $watcher 2>/dev/null || [ \"\$(sed 's/.*) //' /proc/$watcher/stat | cut -c1)\" = Z ]"
	wait $watcher
	is $? "$1" "$2"
}
# grow PORT KEY MEGABYTES: that much more in redis
grow() { head -c "$3"000000 /dev/zero | redis-cli -p "$1" -x set "$2" >/dev/null; }
# leak SECONDS: the demo service with the agent; sets leaky
leak() {
	LD_PRELOAD=$library MALLOC_CONF=$MALLOC "./${2:-leaky}" "$1" >/dev/null 2>&1 &
	leaky=$!
	children+=($leaky)
}

# One without an agent, which below is old enough not to be waited for. The last of its settings count.
MALLOC_CONF=prof:true,prof_prefix:$scratch/first,lg_prof_sample:14,lg_prof_interval:28,prof_prefix:$scratch/own ./leaky 300 >/dev/null &
bare=$! bare_since=$SECONDS
children+=($bare)
older_than() { [ $((SECONDS - bare_since)) -gt "$1" ]; }

# dump.sh's own use
start_redis db || broken 'redis does not start with the agent'
watch script --grow 20M --every 10m --file-name 'greptime-%t.gprof' "$pid_db"
wait_for 10 has_lines script 1
is "$(ls script | grep -cE '^greptime-[0-9]{14}\.gprof$')" 1 "a dump at the start, under the script's name"
grow "$port_db" a 6 && looks
is "$(lines script)" 1 "6 MB more is none"
grow "$port_db" b 25
wait_for 10 has_lines script 2
like "$(tail -n 1 script.out)" "20*redis-server $pid_db * MiB  grow: [2-9]?.? MiB more in * greptime-*.gprof" "25 MB more is one, and says so"
redis-cli -p "$port_db" flushall >/dev/null && looks
is "$(lines script)" 2 "memory that falls is none"
sizes=$(for file in $(ls -v script/*.gprof); do "$cairn" top --json "$file" | python3 -c 'import json, sys; print(json.load(sys.stdin)["total"])'; done)
holds "the second shows what came" python3 -c 'import sys; a, b = map(float, sys.argv[1:]); assert b - a > 15e6, (a, b)' $sizes
like "$(cat script/*.gprof)" "heap_v2/*" "they are what the endpoint returns"
kill -INT "$watcher"
ends 0 "Ctrl-C ends it with 0"
is "$(cat script.err)" "" "without a word"
is "$(ls -A script | grep -vE '^(greptime-.*\.gprof|\.cairn-index)$')" "" "and nothing else is left in the folder"

# Who cannot be watched
"$cairn" watch 4194999 >out 2>err
is $? 1 "a PID that never was"
is "$(cat err)" "cairn: no process 4194999" "is told"
wait_for 10 older_than 5
wait_for 10 sh -c "ls '$scratch'/own.*.heap"
"$cairn" watch $bare >out 2>err
is $? 1 "a process without an agent"
like "$(cat err)" "cairn: process $bare has no agent; 'cairn attach $bare' gives it one now, or start it with '*cairn run -- *' (jemalloc itself has written * dump*own.$bare.*.heap)" \
	"is told, with what to do and the dumps there are"
kill $bare
CONF=engine:jemalloc MALLOC=prof:false start_redis off
"$cairn" watch "$pid_off" >out 2>err
is $? 1 "a process that cannot be profiled"
like "$(cat err)" "cairn: $pid_off: *prof:true*" "is told, with the line that changes it"
MALLOC=prof:true,prof_active:false start_redis idle
"$cairn" watch --once -o idle-dumps "$pid_idle" >out 2>err
is "$? $(ls idle-dumps | wc -l)" "0 1" "a process that does not sample"
like "$(cat err)" "cairn: note: $pid_idle: sampling is off*'cairn activate $pid_idle' turns it on" "is told of, and dumped"
(exec sleep 4) & # for less than a young process is waited for
short=$!
wait_for 1 runs $short sleep
"$cairn" watch $short >out 2>err
is "$?" 1 "a process that ends before an agent was found"
like "$(cat err)" "*process $short (sleep) exited with code 0; at most*no dump of it was taken" "is told so"
"$cairn" watch --once "$pid_off" 4194999 "$pid_db" >out 2>err
is "$? $(grep -c ' start: ' out) $(grep -c cairn: err)" "1 1 2" "one that can is watched though two others cannot"
for bad in "--grow x" "--share 200%" "--every 5q" "--for 0" "--for soon" "--file-name a/b" "--file-name %q" "--keep-age x" "--start maybe" "--start false --grow 0"; do
	"$cairn" watch $bad "$pid_db" >out 2>err
	is "$? $(wc -l <err)" "2 1" "$bad is a usage error: $(cat err)"
done
"$cairn" watch >out 2>err
is $? 2 "so is nothing at all"
"$cairn" watch -o "$scratch/none/here" "$pid_db" >out 2>err
is "$? $(grep -c 'none/here' err)" "1 1" "a folder that cannot be made"
"$cairn" watch nonsense >out 2>err
is "$? $(grep -c 'not a TARGET: give a PID' err)" "2 1" "what is no target is a usage error"

# Other names for it
"$cairn" watch --once -o named "$sockets/$pid_db.sock" >out 2>err
is "$? $(ls named | grep -cE "^redis-server-$pid_db-.*-[0-9]{8}T[0-9]{6}Z-start.heap$")" "0 1" "by its socket; the usual name says program, PID, host, time and reason"
"$cairn" watch --once -o named --file-name '%r-%n.heap' "$url_db" >out 2>err
is "$? $(ls named | grep -c 'start-127.0.0.1_')" "0 1" "by a URL, its memory from the metrics"
"$cairn" watch --once -o named --file-name 'mem.gprof' "$url_db/debug/prof/mem" >out 2>err
is "$? $(head -c 8 named/mem.gprof)" "0 heap_v2/" "by GreptimeDB's own route, which takes POST alone"

# A thread that ends while the program does would use what its libraries have cleaned up
${CC:-cc} -D_GNU_SOURCE -shared -fPIC "$root/tests/e2e/late.c" -o late.so -ldl -pthread
LD_PRELOAD=$scratch/late.so "$cairn" watch --once -o named "$pid_db" >out 2>err
is "$? $(cat err)" "0 0 threads at the end" "no thread is left behind at the end"

# The other rules
watch rules --high 30M --distance 0 --json "$pid_db"
wait_for 10 has_lines rules 1
grow "$port_db" c 40 && wait_for 10 has_lines rules 2
redis-cli -p "$port_db" flushall >/dev/null && looks
grow "$port_db" c 40 && looks
is "$(lines rules)" 2 "a new high is one dump, the same again is none"
kill $watcher
ends 0 "SIGTERM ends it with 0"
is "$(python3 -c 'import json, sys
for line in sys.stdin:
    event = json.loads(line)
    print(event["event"], event["pid"], event["reason"], event["memory"] > 1e6, event["bytes"] > 100)' <rules.out | tr '\n' ';')" \
	"dump $pid_db start True True;dump $pid_db high True True;" "--json has a line for each"
began=$SECONDS
watch time --time 1s --distance 0 --quiet "$pid_db"
timed() { ls time | grep -c time.heap; }
has_two() { [ "$(timed)" -ge 2 ]; }
wait_for 10 has_two
kill $watcher
ends 0 "a dump each second"
holds "--time 1s: not more than one a second, and the first" sh -c "[ $(timed) -ge 2 ] && [ $(timed) -le $((SECONDS - began + 1)) ] && [ $(ls time | grep -c start.heap) = 1 ]"
watch brief --time 1s --distance 0 --for 2s --quiet "$pid_db"
ends 0 "--for ends it"
is "$(cat time.out time.err)" "" "--quiet says nothing"
watch interval --interval 20M --distance 0 "$pid_db"
wait_for 10 has_lines interval 1
timeout 60 redis-benchmark -p "$port_db" -n 40000 -d 10000 -r 10 -t set -q >/dev/null
wait_for 40 has_lines interval 2
like "$(cat interval.out)" "*interval: * allocated *" "--interval counts what was freed, too"
kill $watcher
ends 0 "and ends"
watch thin --time 50ms --distance 0 --start true --keep-count 5 "$pid_db"
wait_for 20 has_lines thin 8
kill $watcher
ends 0 "a dump every moment"
holds "is thinned to five" sh -c "[ \$(ls thin | wc -l) -le 5 ] && [ $(lines thin) -gt 6 ]"

# Death
leak 8
watch death --grow 1M --distance 500ms "$leaky"
ends 0 "it ends with the process"
like "$(tail -n 1 death.err)" "cairn: note: process $leaky (leaky) exited with code 0; at most * MiB were seen, * dumps, the last is $(ls -t death | head -n 1)" "and tells how that ended, and the last dump"
leak 900
watch killed --grow 1G "$leaky"
wait_for 10 has_lines killed 1
kill -9 "$leaky" && wait "$leaky" 2>/dev/null
ends 0 "a process that is killed"
like "$(cat killed.err)" "*was killed by signal 9 (Killed); at most*1 dump, the last is*" "is told as such"

# A dump that comes whole though the process does not outlive it
"$cairn" dump "$pid_db" -o "$scratch/whole.heap" >/dev/null 2>&1
python3 "$root/tests/e2e/last-words.py" "$sockets" "$scratch/whole.heap" &
last=$!
children+=($last)
wait_for 10 has_agent "$last"
"$cairn" watch -o words $last >out 2>err
is "$? $(ls words 2>/dev/null | wc -l)" "0 1" "the last words of a process are kept"
like "$(cat err)" "*process $last (python3) exited with code 0;*1 dump, the last is*" "and told"
# A process that ended and that nobody has asked for its end, as in a container whose first process does not care
python3 -c 'import subprocess, sys, time
child = subprocess.Popen(sys.argv[1:])
print(child.pid, flush=True)
time.sleep(600)' env LD_PRELOAD="$library" MALLOC_CONF=$MALLOC CAIRN_CONF=dumps:$scratch/zombie,start:true ./leaky 60 >zombie.pid &
children+=($!)
wait_for 20 sh -c 'grep -q . zombie.pid && ls zombie/*.heap' && kill -9 "$(cat zombie.pid)"
# Its first thread may end before the others: as long as one of them is there, the process is not dead.
wait_for 20 sh -c 'grep -q "^State:.Z" "/proc/$(cat zombie.pid)/status" && [ "$(ls "/proc/$(cat zombie.pid)/task" | wc -l)" -le 1 ]'
like "$("$cairn" dumps zombie)" "*process $(cat zombie.pid), gone*last of a dead process*" "a dead process that is still in the list of processes is dead"

# A number that is another's by now: the watcher sleeps while that happens.
reuse() {
	leak 900
	watch reused --time 300ms --distance 0 "$leaky"
	wait_for 10 has_lines reused 2
	kill -STOP $watcher
	wait_for 5 is_stopped $watcher
	kill -9 "$leaky" && wait "$leaky" 2>/dev/null
	local old=$leaky
	for _ in $(seq 50); do
		echo $((old - 1)) >/proc/sys/kernel/ns_last_pid 2>/dev/null || break
		leak 900
		[ "$leaky" = "$old" ] && break
		kill -9 "$leaky" && wait "$leaky" 2>/dev/null
	done
	[ "$leaky" = "$old" ] && wait_for 10 is_loaded "$old" && sleep 0.5
	kill -CONT $watcher
	[ "$leaky" = "$old" ]
}
if reuse; then
	ends 0 "a process whose number was given to another has ended"
	like "$(cat reused.err)" "*killed*; its PID now belongs to another process; at most*" "which is told"
	is "$(sed -n 's/^# cairn process //p' reused/*.heap | sort -u | wc -l)" 1 "and no dump of the other is taken for its own"
	kill -9 "$leaky"
else
	skip "a number that is another's" "no way to get a process number again here"
	kill $watcher
fi

# A service across its restarts
cp leaky svc-$$
watch service --service svc-$$ --grow 1G
wait_for 10 grep -q "is not running" service.err
is "$(cat service.err)" "cairn: note: service svc-$$ is not running" "a service that does not run is waited for, and told once"
leak 900 svc-$$
first=$leaky
wait_for 10 has_lines service 1
kill -9 "$first" && wait "$first" 2>/dev/null
leak 900 svc-$$
wait_for 10 has_lines service 2
like "$(cat service.out)" "*svc-$$ $first *start:*svc-$$ $leaky *start:*" "it is followed across a restart"
like "$(cat service.err)" "*process $first (svc-$$) was killed by signal 9*" "of which it tells"
kill -INT $watcher
ends 0 "and by Ctrl-C it ends"
kill -9 "$leaky" && wait "$leaky" 2>/dev/null
unit=
for mount in /sys/fs/cgroup /sys/fs/cgroup/systemd; do
	[ -z "$unit" ] && [ -e $mount/cgroup.procs ] && mkdir -p $mount/system.slice/cairn-test-$$.service 2>/dev/null && unit=$mount/system.slice/cairn-test-$$.service
done
sleep 60 &
outer=$!
children+=($outer)
if [ -n "$unit" ] && echo $outer >"$unit/cgroup.procs" 2>/dev/null; then
	leak 900
	echo "$leaky" >"$unit/cgroup.procs"
	wait_for 10 is_loaded "$leaky"
	"$cairn" watch --once --service cairn-test-$$ -o unit >out 2>err
	like "$? $(cat out)" "0 *leaky $leaky *start:*" "a unit is found by its group, and in it the process with an agent"
	kill -9 "$leaky" $outer
	wait "$leaky" $outer 2>/dev/null
	rmdir "$unit"
else
	skip "a systemd unit" "no control group can be made here"
fi

# Limits. Each version of groups where it is.
group=
if mkdir /sys/fs/cgroup/memory/cairn-test-$$ 2>/dev/null; then
	group=/sys/fs/cgroup/memory/cairn-test-$$ limit=memory.limit_in_bytes
elif [ -e /sys/fs/cgroup/cgroup.controllers ] && mkdir /sys/fs/cgroup/cairn-test-$$ 2>/dev/null; then
	group=/sys/fs/cgroup/cairn-test-$$ limit=memory.max
fi
if [ -n "$group" ] && echo 120M >"$group/$limit" 2>/dev/null; then
	[ ! -e "$group/memory.swap.max" ] || echo 0 >"$group/memory.swap.max"
	leak 900
	echo "$leaky" >"$group/cgroup.procs"
	watch limit --share 60% "$leaky"
	ends 0 "a process that grows into the limit of its group"
	like "$(cat limit.out)" "*share: [67]?% of the group's limit of 120.0 MiB*" "is dumped at the share"
	is "$(grep -c share: limit.out)" 1 "once"
	like "$(cat limit.err)" "*was killed by signal 9 (Killed): killed by the OOM killer; at most 1* MiB were seen, 2 dumps, the last is $(ls limit | grep share)" \
		"and its death is told for what it is"
	wait "$leaky" 2>/dev/null
	rmdir "$group"
else
	skip "a group's limit" "no memory group can be made here"
fi

# A disk that is full, and not any more
mkdir full
if mount -t tmpfs -o size=1m tmpfs full 2>/dev/null; then
	head -c 1000000 /dev/zero >full/other
	(exec "$cairn" watch --time 200ms --distance 0 -o full "$pid_db") >full.out 2>full.err &
	watcher=$!
	children+=($watcher)
	wait_for 10 grep -q "no space left" full.err && looks
	is "$(grep -c . full.err)" 1 "a full disk is told once: $(head -n 1 full.err | cut -c 1-60)"
	is "$(lines full) $(ls -A full | grep -cv '^other$')" "0 0" "and nothing is left on it"
	rm full/other
	wait_for 10 has_lines full 1
	kill -INT $watcher
	ends 0 "once there is room it goes on"
	holds "what is there is whole" sh -c "for file in full/*.heap; do '$cairn' top \$file >/dev/null || exit 1; tail -n 1 \$file | grep -q '^# cairn end' || exit 1; done"
	umount full
else
	skip "a full disk" "nothing can be mounted here"
fi
# A folder that is taken away, and a server that does not answer
watch gone --time 200ms --distance 0 -o inner "$pid_db"
wait_for 10 has_lines gone 2
is_made_again() { [ -n "$(ls gone/inner 2>&-)" ]; }
until rm -rf gone/inner 2>&-; do :; done # a dump may come while it is emptied
wait_for 10 is_made_again
kill -INT $watcher
ends 0 "a folder that was removed"
holds "is made again" is_made_again
leak 900
wait_for 10 is_loaded "$leaky"
kill -STOP "$leaky"
wait_for 5 is_stopped "$leaky"
watch stuck --time 300ms --distance 0 "$leaky" "$pid_db"
wait_for 10 has_lines stuck 5
holds "an agent that does not answer keeps nobody else waiting" has_lines stuck 5
kill -INT $watcher
ends 0 "nor the end"
kill -9 "$leaky"

# Servers that send a few bytes a second, more of them than are asked at once, and in front of the healthy one
drip=$(free_port)
python3 -c 'import http.server, sys, time
class Drip(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        try:
            self.wfile.write(b"HTTP/1.0 200 OK\r\nContent-Length: 1000000\r\n\r\n")
            while True:
                self.wfile.write(b"x")
                time.sleep(.1)
        except OSError: pass
    def log_message(self, *words): pass
http.server.ThreadingHTTPServer.request_queue_size = 64
http.server.ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Drip).serve_forever()' "$drip" &
children+=($!)
wait_for 10 bash -c ": </dev/tcp/127.0.0.1/$drip"
CAIRN_HTTP_TIMEOUT=2 watch slow $(seq -f "http://127.0.0.1:$drip/%g" 40) "$url_db"
wait_for 30 has_lines slow 1
like "$(cat slow.out)" "*${url_db#http://}*start: *" "servers that drip keep nobody else waiting for ever"
wait_for 10 grep -q 'the server sends too slowly' slow.err
like "$(cat slow.err)" "cairn: http://127.0.0.1:$drip*: the server sends too slowly, or stopped in the middle of its answer, after *" "and are told of"
kill -INT $watcher
ends 1 "nor do they hold up the end"

# The unit that is shipped
if command -v systemd-analyze >/dev/null; then
	mkdir units && sed "s#^ExecStart=[^ ]*#ExecStart=$cairn#" "${cairn%/*}/data/cairn-watch@.service" >units/cairn-watch@redis-server.service
	holds "systemd takes the unit" systemd-analyze verify --man=no units/cairn-watch@redis-server.service
else
	skip "the unit" "no systemd-analyze here"
fi
done_testing
