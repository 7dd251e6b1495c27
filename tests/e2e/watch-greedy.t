#!/usr/bin/env bash
# `cairn watch` beside agents that mean no good: that answer drop by drop, without end, or with what unpacks to far more. They belong to nobody
# where root runs the test.
. tests/e2e/lib.sh
need python3 cc
. tests/e2e/agent.sh
cat >"$scratch/fake.py" <<'END'
import os, socket, sys, threading, time, zlib
kind, count = sys.argv[1], int(sys.argv[2])
def answer(connection):
    try:
        request = connection.recv(65536)
        if b"/cairn/status" in request and kind != "drip":
            connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{}")
        elif kind == "drip":
            connection.sendall(b"HTTP/1.1 200 OK\r\n\r\n")
            while True:
                connection.sendall(b"x" * 1500)
                time.sleep(1)
        elif kind == "failing":
            connection.sendall(b"HTTP/1.1 500 No\r\n\r\n")
            while True: connection.sendall(b"because " * 8192)
        elif kind == "gzip":
            pack = zlib.compressobj(9, zlib.DEFLATED, 31)
            connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\n\r\n" + pack.compress(b"heap_v2/524288\n"))
            while True: connection.sendall(pack.compress(b" " * (1 << 20)))
        else:
            connection.sendall(b"HTTP/1.1 200 OK\r\n\r\nheap_v2/524288\n  t*: 1: 1 [0: 0]\n")
            while True: connection.sendall(b"@ 0x1 0x2\n  t*: 1: 524288 [0: 0]\n" * 2000)
    except OSError:
        pass
    connection.close()
def fake():
    if os.getuid() == 0:
        os.setgid(65534); os.setuid(65534)
    folder = "/tmp/cairn-%d" % os.getuid()
    os.makedirs(folder, 0o700, exist_ok=True)
    listener = socket.socket(socket.AF_UNIX)
    listener.bind("%s/%d.sock" % (folder, os.getpid()))
    listener.listen(64)
    os.write(1, b"%d\n" % os.getpid())
    while True:
        threading.Thread(target=answer, args=(listener.accept()[0],), daemon=True).start()
for _ in range(count - 1):
    if os.fork() == 0: fake()
fake()
END
# fake KIND COUNT: starts as many processes; their numbers are in $fakes
fake() {
	python3 "$scratch/fake.py" "$1" "$2" >"$scratch/fakes" 2>&1 &
	children+=($!)
	all() { [ "$(grep -c . "$scratch/fakes")" = "$1" ]; }
	wait_for 20 all "$2" || broken 'processes that look as if they had agents'
	mapfile -t fakes <"$scratch/fakes"
	children+=("${fakes[@]}")
}
gone() {
	kill -KILL "${fakes[@]}"
	rm -f "${fakes[@]/#//tmp/cairn-65534/}"
	for fake in "${fakes[@]}"; do rm -f /tmp/cairn-*/"$fake.sock"; done
}
# watch ARGUMENTS...: $watcher
watch() {
	"$cairn" watch --time 1s --distance 1s -o "$scratch/dumps" "$@" >"$scratch/out" 2>"$scratch/err" &
	watcher=$!
	children+=($watcher)
}
has_dumps() { [ "$(ls "$scratch/dumps"/*"$1"*.heap 2>/dev/null | wc -l)" -ge "$2" ]; }
start_redis honest 2>/dev/null || broken 'redis-server'

if [ "$(id -u)" = 0 ]; then
	fake drip 8
	watch "${fakes[@]}" "$pid_honest"
	wait_for 15 has_dumps "-$pid_honest-" 5
	ok $? 'eight agents of another user that drip keep nobody waiting'
	is "$(grep -c 'sends too slowly' "$scratch/err")" 0 'while they are still waited for'
	kill -INT $watcher
	wait $watcher
	gone
else
	skip 'agents of another user' 'root starts them'
fi

rm -rf "$scratch/dumps"
fake drip 3
CAIRN_HTTP_TIMEOUT=2 watch "${fakes[@]}"
wait_for 20 grep -q 'sends too slowly' "$scratch/err"
ok $? 'one that drips for longer than an agent may take is given up'
kill -INT $watcher
wait $watcher
gone

for kind in endless gzip failing; do
	rm -rf "$scratch/dumps"
	fake $kind 4
	CAIRN_HTTP_TIMEOUT=5 watch "${fakes[@]}"
	problem() { grep -qE "${fakes[0]}.*(larger than|too slowly|did not answer|answers 500|written to disk)" "$scratch/err"; }
	wait_for 20 problem
	ok $? "an answer that does not end ($kind) is given up"
	memory=$(awk '/^VmHWM/ { print int($2 / 1024) }' /proc/$watcher/status)
	[ "${memory:-9999}" -lt 100 ]
	ok $? "it takes little memory meanwhile: $memory MiB"
	is "$(find "$scratch/dumps" -type f -size +1M | wc -l)" 0 'and leaves no file'
	kill -INT $watcher
	wait $watcher
	gone
done
done_testing
