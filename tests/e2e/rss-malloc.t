#!/usr/bin/env bash
# The bill of services on glibc's malloc, tcmalloc and mimalloc, and on jemalloc with Cairn's own engine, against services that know what
# they hold; from dumps and of the last moment, too.
. tests/e2e/lib.sh
need c++ python3
. tests/e2e/agent.sh

# bill NAME PID LEAST LINE...: the bill of SOURCE (PID unless set) holds
bill() {
	local name=$1 pid=$2 words
	shift 2
	words=$("$cairn" rss --json "${SOURCE:-$pid}" 2>"$scratch/error" | python3 tests/e2e/check-bill.py "$pid" "$@" 2>&1)
	ok $? "$name: $words"
	sed 's/^/#   /' "$scratch/error"
}
# service ARGUMENT...: starts it, sampled; its number is in `pid`. Libraries whose calls are bound when they are first made are sampled a
# second later where libc is not the allocator: too late for a service that fills its memory at once.
service() {
	rm -f "$scratch/out"
	LD_BIND_NOW=1 LD_PRELOAD=$library CAIRN_CONF=enable_heap_profiling:true,listen:unix,engine:cairn,period:64K "$scratch/service" "$@" \
		>"$scratch/out" 2>&1 &
	pid=$!
	children+=("$pid")
	wait_for 60 grep -q ready "$scratch/out"
}
# held: what the service says that it holds, in MiB, as a range: it does not count the table of its strings, up to a tenth of them
held() { local bytes; bytes=$(sed -n 's/ready //p' "$scratch/out"); echo "$((bytes * 92 / 100 >> 20))-$((bytes * 120 / 100 >> 20))"; }
end() { kill -9 "$pid"; wait "$pid" 2>/dev/null; }

${CXX:-c++} -O2 -pthread -c tests/e2e/bill.cc -o "$scratch/service.o" 2>"$scratch/log" || broken 'the service does not compile'
for allocator in libc tcmalloc_minimal mimalloc jemalloc; do
	[ $allocator = libc ] && link= || link="-Wl,--no-as-needed -l$allocator"
	${CXX:-c++} -pthread "$scratch/service.o" -o "$scratch/service" $link 2>"$scratch/log" || broken "the service does not link with $allocator"
	service 300 1
	bill "$allocator, full" "$pid" 256 "live=$(held)" anonymous=0-12 heap=0-2
	"$cairn" dump -o "$scratch/$allocator.heap" "$pid" >/dev/null 2>&1
	SOURCE=$scratch/$allocator.heap bill "$allocator, from a dump" - 256 "live=$(held)"
	end
	[ $allocator = libc ] || is_long || continue
	service 300 1 anonymous file shared untouched brk
	# Some 5,000 live samples: the ledger grows in steps, of which the last may be just before or behind 2 MiB.
	bill "$allocator, with memory of other kinds" "$pid" 450 mapped=87-90 anonymous=0-12 files=90-110 shared=48-49 ledger=0-3 \
		"live=$(held)"
	holds "$allocator: the bill names who mapped it" python3 -c 'import json, subprocess, sys
paths = [(entry["resident"] >> 20, entry["stack"]) for entry in json.loads(subprocess.run(sys.argv[1:], capture_output=True).stdout)["mapped"]]
print(paths); sys.exit(not sum(size for size, stack in paths if "main" in stack) == 64 + 24)' \
		"$cairn" rss --json "$pid"
	like "$("$cairn" rss "$pid" 2>&1)" "*mapped by the service itself, by call path:*[68][48].0 MiB *main*" "$allocator: in text, too"
	end
	# What nobody can know of is not swallowed by a line of the allocator's.
	service 300 1 hidden
	bill "$allocator, with memory that nobody knows of" "$pid" 300 anonymous=50-78 mapped=0-1 "live=$(held)"
	end
	service 450 16 half
	bill "$allocator, 16 threads, half freed" "$pid" 256 "live=$(held)"
	[ $allocator = jemalloc ] || holds "$allocator: what it keeps of the freed half is a line" python3 -c 'import json, subprocess, sys
lines = {line["key"]: line["bytes"] >> 20 for line in json.loads(subprocess.run(sys.argv[1:], capture_output=True).stdout)["lines"]}
print(lines); sys.exit(not 100 < lines["free"] + lines["unused"] + lines["thread_caches"] < 300)' "$cairn" rss --json "$pid"
	[ $allocator = libc ] || [ $allocator = tcmalloc_minimal ] && holds "$allocator: what threads cache is told apart" python3 -c 'import json, subprocess, sys
bill = json.loads(subprocess.run(sys.argv[1:], capture_output=True).stdout)
cached = next(line["bytes"] for line in bill["lines"] if line["key"] == "thread_caches")
print(cached, bill["notes"]); sys.exit(not 0 < cached <= 34 << 20 or any("tcache" in note for note in bill["notes"]))' "$cairn" rss --json "$pid"
	end
done

# A service that forks while its malloc is asked: what the agent has of a stream then is not written by the child when that exits.
${CC:-cc} -O1 -g -shared -fPIC -DALLOCATOR tests/e2e/asked-host.c -o "$scratch/libasked.so" 2>"$scratch/log" &&
	${CC:-cc} -O1 -g tests/e2e/asked-host.c -o "$scratch/service" "$scratch/libasked.so" 2>"$scratch/log" || broken 'the service does not build'
service
wait_for 20 has_agent "$pid"
curl -s -m 60 --unix-socket "$sockets/$pid.sock" -o "$scratch/asked" http://localhost/cairn/memory
is "$(tail -n 1 "$scratch/out")" 'child 0' 'a child that is forked while the allocator is asked, and exits, does so in peace'
is "$(sed -n 's/^# cairn malloc[.]//p' "$scratch/asked" | tr '\n' ';')" \
	'kind glibc;system 900000;used 888000;free 5000;top 5000;fast 7000;mapped 0;arenas 1;' 'and the answer is whole'
end

# While sampling is off the profile estimates nothing.
LD_PRELOAD=$library CAIRN_CONF=enable_heap_profiling:false,engine:cairn python3 -c 'import time
kept = [bytearray(100000) for i in range(300)]
print("ready", flush=True)
time.sleep(300)' >"$scratch/out" 2>&1 &
pid=$!
children+=("$pid")
wait_for 60 grep -q ready "$scratch/out"
"$cairn" rss "$pid" >"$scratch/bill" 2>&1
like "$(cat "$scratch/bill")" '* MiB  *  live objects'$'\n''*note: the profile knows of 0 B of * MiB live: sampling began late or was off, *' \
	'without samples there is no estimate, and a note says so'
if [ "$(id -u)" = 0 ]; then
	chmod 755 "$scratch"
	cp "$cairn" "$scratch/cairn" # the clone may lie where other users cannot look
	is "$(setpriv --reuid=65534 --clear-groups "$scratch/cairn" rss "$pid" 2>&1)" \
		"cairn: only the user of process $pid and root may read its mappings: use sudo" 'another user is told who may look'
else
	skip 'another user is told who may look' 'only root can be another user'
fi
end
done_testing
