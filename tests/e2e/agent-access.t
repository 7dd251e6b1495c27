#!/usr/bin/env bash
# Who may ask, and limits: token, Host and Origin, slow and greedy clients, crowds, requests that share a snapshot.
. tests/e2e/lib.sh
need redis-server curl python3
. tests/e2e/agent.sh

CONF=token:hush,seconds:2 start_redis secret 2>/dev/null
wait_for 5 curl -sf -H 'Authorization: Bearer hush' "$url_secret/cairn/status"
table "$url_secret" <<'T'
GET /cairn/status | 401 | text/plain* | * |
GET /cairn/status | 401 | text/plain* | * | -H "Authorization: Bearer hus"
GET /cairn/status | 200 | application/json | {* | -H "Authorization: Bearer hush"
GET /nothing      | 401 | text/plain* | * |
T
socket=$(ls "$sockets"/*.sock | head -n 1)
like "$(curl -s --unix-socket "$socket" http://localhost/cairn/status)" '{*' "the unix socket needs no token"
like "$("$cairn" status --token hush "$url_secret")" "pid: $pid_secret*" "the command sends one"
"$cairn" status "$url_secret" >/dev/null 2>"$scratch/err"
is $? 1 "and fails without"
like "$(cat "$scratch/err")" "*401: the token is missing or wrong; cairn takes it from --token TOKEN or CAIRN_TOKEN*" "with the agent's words"
timeout 20 "$cairn" watch --token hus -o "$scratch/watched" "$url_secret" >/dev/null 2>"$scratch/err"
is $? 1 "watching ends there too: a wrong token does not get right by waiting"
like "$(cat "$scratch/err")" "*401*token*" "with the same words"

CONF=seconds:2,connections:8 start_redis open
table "$url_open" <<'T'
GET /cairn/status | 403 | text/plain* | * | -H Host:evil.example
GET /cairn/status | 403 | text/plain* | * | -H Host:0.0.0.0
GET /cairn/status | 403 | text/plain* | * | -H 'Host: [::]:4000'
GET /cairn/status | 403 | text/plain* | * | -H Sec-Fetch-Site:same-site
GET /cairn/status | 200 | application/json | {* | -H Sec-Fetch-Site:none
GET /debug/pprof/heap_activate | 403 | text/plain* | * | -A 'Mozilla/5.0'
GET /debug/pprof/heap_deactivate | 403 | text/plain* | * | -A 'Mozilla/5.0'
GET /api/monitor/dump_heap_profile/0 | 403 | text/plain* | * | -A 'Mozilla/5.0'
GET /cairn/status | 200 | application/json | {* | -H Host:localhost
POST /cairn/activate | 403 | text/plain* | * | -H Origin:http://evil.example
GET /api/monitor/dump_heap_profile/0 | 403 | text/plain* | * | -H Sec-Fetch-Site:cross-site
POST /cairn/activate | 413 | text/plain* | * | -H Content-Length:100000
T
port=$(free_port)
LD_PRELOAD=$library CAIRN_CONF=listen:0.0.0.0:$port MALLOC_CONF=prof:true redis-server --port "$(free_port)" --save "" --dir "$scratch" >/dev/null 2>&1 &
children+=($!)
wait_for 5 has_agent "$!"
like "$(curl -s --unix-socket "$sockets/$!.sock" 'http://localhost/cairn/status?format=text')" '*listen problem: *set a token*' "an address that is not loopback needs a token"
curl -s --max-time 2 "http://127.0.0.1:$port/cairn/status" >/dev/null
ok $((! $?)) "and is not listened on"

cat >"$scratch/clients.py" <<'P'
import socket, sys, time
host, port = sys.argv[2].split("//")[1].split(":")
address = (host, int(port))
def connect():
    s = socket.create_connection(address); s.settimeout(100); return s
def ask(s, path):
    s.sendall(b"GET " + path + b" HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
def answer(s):
    data = b""
    while True:
        part = s.recv(65536)
        if not part: return data
        data += part
def get(path):
    s = connect(); ask(s, path); return answer(s)
what = sys.argv[1]
if what == "slow":       # half a request, for longer than allowed
    s = connect(); s.sendall(b"GET / HTTP/1.1\r\nHo"); began = time.time(); data = s.recv(1000)
    print(data.split(b"\r\n")[0].decode(), "late" if time.time() - began > 30 else "in time")
elif what == "drip":     # a byte now and then does not buy more time
    s = connect(); began = time.time()
    try:
        for byte in b"GET /" + b"x" * 500: s.sendall(bytes([byte])); time.sleep(0.2)
        print("kept")
    except OSError: print("dropped", "late" if time.time() - began > 60 else "in time")
elif what == "crowd":    # more idle connections than there is room for; a real request still gets through
    idle = [connect() for _ in range(40)]; time.sleep(0.3); print(get(b"/cairn/status").split(b"\r\n")[0].decode())
elif what == "lazy":     # asks for a lot and does not read it
    s = socket.socket(); s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096); s.connect(address)
    for _ in range(200): s.sendall(b"GET /pprof/heap HTTP/1.1\r\nHost: localhost\r\n\r\n")
    time.sleep(1); print(get(b"/cairn/status").split(b"\r\n")[0].decode())
elif what == "pipeline": # three requests in one packet, answered in order on one connection
    s = connect(); s.sendall(b"GET /pprof/symbol HTTP/1.1\r\nHost: localhost\r\n\r\n" * 2 + b"GET /nothing HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
    data = b""
    while True:
        part = s.recv(65536)
        if not part: break
        data += part
    print(data.count(b"200 OK"), data.count(b"404 Not Found"))
elif what == "chunked":
    s = connect(); s.sendall(b"POST /debug/prof/mem/gdump HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/x-www-form-urlencoded\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n")
    for part in (b"8\r\nactivate\r\n", b"6\r\n=false\r\n", b"0\r\n\r\n"): s.sendall(part); time.sleep(0.05)
    print(s.recv(4096).split(b"\r\n\r\n")[1].decode())
elif what == "share":    # many at once: while the host is stopped they all gather
    import os, signal
    clients = [connect() for _ in range(6)]
    os.kill(int(sys.argv[3]), signal.SIGSTOP)
    for s in clients: ask(s, b"/pprof/heap")
    os.kill(int(sys.argv[3]), signal.SIGCONT)
    print(sum(answer(s).count(b"heap_v2/") for s in clients))
elif what == "garbage":
    import os
    for _ in range(300):
        s = connect()
        try: s.sendall(os.urandom(500) + b"\r\n\r\n"); s.recv(1000)
        except OSError: pass
        s.close()
    print(get(b"/cairn/status").split(b"\r\n")[0].decode())
P
client() { timeout 200 python3 "$scratch/clients.py" "$1" "$url_open" "$pid_open"; }
load "$port_open"
has_samples "$url_open" "it is sampled"
is "$(client slow)" "HTTP/1.1 408 Request Timeout in time" "half a request is given up"
is "$(client drip)" "dropped in time" "one that drips in too"
is "$(client crowd)" "HTTP/1.1 200 OK" "idle connections make room for a real request"
is "$(client lazy)" "HTTP/1.1 200 OK" "a client that does not read what it asked for keeps nobody waiting"
is "$(client pipeline)" "2 1" "requests behind one another in one packet"
is "$(client chunked)" "gdump deactivated" "a body in chunks"
is "$(client garbage)" "HTTP/1.1 200 OK" "noise"
is "$(client share)" 6 "six requests at once all get a snapshot"
# A request shares a snapshot that began after it arrived; on a busy machine the six may arrive one by one.
shares() { [ "$(field "$url_open" snapshots shared)" -ge 1 ] || { client share >/dev/null; false; }; }
wait_for 30 shares
ok $? "some of them the same one"
before=$(field "$url_open" agent descriptors)
no_more() { [ "$(field "$url_open" agent descriptors)" -le "$before" ]; }
holds "and nothing stays open" wait_for 30 no_more
is "$(redis-cli -p "$port_open" ping)" PONG "the host goes on"
done_testing
