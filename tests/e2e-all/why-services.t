#!/usr/bin/env bash
# cairn why on programs that nobody here wrote: redis after most keys were deleted, Python after a large list of small objects, nginx under
# load.
. tests/e2e/lib.sh
need python3 redis-server
check() { # check EXPRESSION: of JSON in the file one, as j
	python3 -c "import json, sys; j = json.load(open(sys.argv[1])); print({k: j[k] for k in j if k.endswith('bytes') or k in ('cause', 'sentence')}); sys.exit(not ($1))" "$scratch/one"
}
redis-server --port 0 --unixsocket "$scratch/redis.sock" --save '' --appendonly no --dir "$scratch" >/dev/null 2>&1 &
redis=$!
children+=($redis)
wait_for 60 test -S "$scratch/redis.sock"
cat >"$scratch/load.py" <<'P'
import socket, sys, time
connection = socket.socket(socket.AF_UNIX)
connection.connect(sys.argv[1])
answers = connection.makefile("rb")
for word in (b"SET key:%d " + b"x" * 300, b"DEL key:%d"):
    for start in range(0, 300000, 2000):
        numbers = [i for i in range(start, start + 2000) if word.startswith(b"SET") or i % 10]
        connection.sendall(b"".join(word % i + b"\r\n" for i in numbers))
        for _ in numbers:
            answers.readline()
time.sleep(3) # its tables shrink, and it counts ten times a second
connection.sendall(b"MEMORY STATS\r\n")
# What redis knows of its allocator itself.
wanted, name = {b"allocator.allocated": 0, b"allocator.active": 0}, None
while not all(wanted.values()):
    line = answers.readline().strip()
    if name and line.startswith(b":"):
        wanted[name] = int(line[1:])
    name = line if line in wanted else None
print(wanted[b"allocator.allocated"], wanted[b"allocator.active"])
P
read -r allocated active < <(python3 "$scratch/load.py" "$scratch/redis.sock")
"$cairn" why --json $redis >"$scratch/one" 2>"$scratch/err"
holds "redis: memory that its few keys keep, as it says itself ($allocated of $active bytes)" check "j['cause'] == 'retention' and abs(j['live_bytes'] / $allocated - 1) < 0.05 and abs((j['pinned_bytes'] + j['live_bytes'] + j['cached_bytes']) / $active - 1) < 0.05"
cat >"$scratch/list.py" <<'P'
import time
objects = [str(i) * 3 for i in range(1500000)]
kept = objects[::50]
del objects
print("ready", flush=True)
time.sleep(1000)
P
python3 "$scratch/list.py" >"$scratch/ready" &
children+=($!)
wait_for 60 grep -q ready "$scratch/ready"
"$cairn" why --json ${children[-1]} >"$scratch/one" 2>"$scratch/err"
holds "Python: the arenas of its own allocator, which it maps itself" check 'j["cause"] == "mappings" and j["mapped_bytes"] > 0.7 * j["resident_bytes"]'
PYTHONMALLOC=malloc python3 "$scratch/list.py" >"$scratch/ready" &
children+=($!)
wait_for 60 grep -q ready "$scratch/ready"
"$cairn" why --json ${children[-1]} >"$scratch/one" 2>"$scratch/err"
holds 'and with malloc in its place: free memory of glibc' check 'j["cause"] == "retention" and j["pinned_bytes"] + j["returnable_bytes"] > 0.5 * j["resident_bytes"]'
done_testing
