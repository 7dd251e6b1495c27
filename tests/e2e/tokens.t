#!/usr/bin/env bash
# Where tokens go: never through a unix socket, which anybody can create, not to another server than the one that was named, and that of
# agents not to collectors. Who answers on a socket is checked.
. tests/e2e/lib.sh
need curl python3 cc
. tests/e2e/agent.sh
unset http_proxy HTTP_PROXY https_proxy HTTPS_PROXY all_proxy ALL_PROXY no_proxy NO_PROXY
root_user=$([ "$(id -u)" = 0 ] && echo yes)
chmod 711 "$scratch"
mkdir -m 1777 "$scratch/anyone"

# A process that looks as if it had an agent: it writes down each request and answers nothing of use. As root it belongs to nobody, or with
# "becomes" it listened as nobody and runs as root.
cat >"$scratch/fake.py" <<'END'
import os, socket, sys, threading
path, log, kind = sys.argv[1:4]
if os.getuid() == 0 and kind == "nobody":
    os.setgid(65534); os.setuid(65534)
if kind == "becomes":
    os.seteuid(65534)
path = path.replace("UID", str(os.geteuid())).replace("PID", str(os.getpid()))
os.makedirs(os.path.dirname(path), 0o700, exist_ok=True)
def answer(connection):
    request = connection.recv(65536)
    if request:
        descriptor = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
        os.write(descriptor, request)
        os.close(descriptor)
        connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{}")
    connection.close()
listener = socket.socket(socket.AF_UNIX)
listener.bind(path)
listener.listen(64)
if kind == "becomes":
    os.setresuid(0, 0, 0)
os.write(1, path.encode() + b"\n")
while True:
    threading.Thread(target=answer, args=(listener.accept()[0],), daemon=True).start()
END
# fake KIND [PATH]: starts one; its process is $fake, its socket $path, and $log has what it was asked
fakes=0
fake() {
	fakes=$((fakes + 1))
	log=$scratch/anyone/asked.$fakes
	python3 "$scratch/fake.py" "${2:-/tmp/cairn-UID/PID.sock}" "$log" "$1" >"$scratch/fake.$fakes" 2>&1 &
	fake=$!
	children+=($fake)
	wait_for 20 test -s "$scratch/fake.$fakes" || broken 'a process that looks as if it had an agent'
	path=$(cat "$scratch/fake.$fakes")
}
gone() {
	kill $fake
	wait $fake 2>/dev/null
	rm -f "$path"
}

fake nobody
for command in status top rss activate cpu; do
	(cd "$scratch" && CAIRN_TOKEN=secret-one timeout 60 "$cairn" $command --token secret-two $fake >/dev/null 2>&1
		CAIRN_TOKEN=secret-one timeout 60 "$cairn" $command $fake >/dev/null 2>&1)
done
CAIRN_TOKEN=secret-one timeout 60 "$cairn" status "$path" >/dev/null 2>&1
CAIRN_TOKEN=secret-one CAIRN_COLLECTOR_TOKEN=secret-three timeout 60 "$cairn" watch --once --for 3s --interval 1M -o "$scratch/watched" \
	--push "http://127.0.0.1:$(free_port)" $fake >/dev/null 2>&1
holds 'a process that looks as if it had an agent is asked' grep -q '^GET /cairn/' "$log"
is "$(grep -ciE 'secret|authorization' "$log")" 0 'and gets no token, by whichever command'
gone

if [ "$root_user" ]; then
	fake becomes
	timeout 60 "$cairn" status $fake >"$scratch/out" 2>&1
	is $? 1 'a process whose socket another user listens on'
	like "$(cat "$scratch/out")" "cairn: process $fake: the socket $path is answered as user 65534, which is neither root nor a user of the process; it is not asked" \
		'is not asked, which is said'
	[ -e "$log" ]
	is $? 1 'nothing was sent to it'
	gone
	fake nobody "$scratch/anyone/own.sock"
	timeout 60 "$cairn" status "$path" >"$scratch/out" 2>&1
	holds 'a socket by its path is asked where its owner answers' grep -q '^GET /cairn/status' "$log"
	rm -f "$log"
	chown 1 "$path"
	timeout 60 "$cairn" status "$path" >"$scratch/out" 2>&1
	like "$(cat "$scratch/out")" "cairn: $path is answered as user 65534, which is neither root nor its owner; it is not asked" \
		'and where somebody else does, nothing of the answer is taken'
	gone
else
	skip 'sockets of other users' 'root creates them'
fi

# Redirections, and proxies.
cat >"$scratch/servers.py" <<'END'
import http.server, sys, threading
folder = sys.argv[1]
class Handler(http.server.BaseHTTPRequestHandler):
    def answer(self):
        length = int(self.headers.get("Content-Length") or 0)
        self.rfile.read(length)
        name = self.server.name
        with open(f"{folder}/{name}.asked", "a") as file: file.write(self.requestline + "\n" + str(self.headers))
        if name == "first" and "/here/" in self.path:
            self.send_response(307); self.send_header("Location", self.path.replace("/here/", "/there/"))
        elif name == "first" and self.path.startswith("/v1"):
            self.send_response(401)
        elif name == "first":
            self.send_response(307); self.send_header("Location", f"http://localhost:{second.server_port}{self.path}")
        else:
            self.send_response(404)
        self.send_header("Content-Length", "0"); self.end_headers()
    do_GET = do_POST = do_PUT = answer
    def log_message(self, *words): pass
def serve(name):
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.name = name
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server
second, first, proxy = serve("second"), serve("first"), serve("proxy")
print(first.server_port, second.server_port, proxy.server_port, flush=True)
threading.Event().wait()
END
python3 "$scratch/servers.py" "$scratch" >"$scratch/ports" 2>&1 &
children+=($!)
wait_for 20 test -s "$scratch/ports" || broken 'three servers'
read -r first second proxy <"$scratch/ports"
CAIRN_TOKEN=secret-one timeout 60 "$cairn" top "http://127.0.0.1:$first/heap" >/dev/null 2>&1
like "$(cat "$scratch/first.asked")" '*Authorization: Bearer secret-one*' 'the server that was named gets the token'
holds 'the redirection is followed' grep -q '^GET /heap' "$scratch/second.asked"
is "$(grep -ciE 'secret|authorization' "$scratch/second.asked")" 0 'but not with the token'
rm -f "$scratch"/*.asked
CAIRN_TOKEN=secret-one timeout 60 "$cairn" top "http://127.0.0.1:$first/here/heap" >/dev/null 2>&1
like "$(grep -A 9 '^GET /there/heap' "$scratch/first.asked")" '*Authorization: Bearer secret-one*' 'a redirection within the server keeps it'
is "$(grep -ciE 'secret|authorization' "$scratch/second.asked")" 0 'until it leads elsewhere'
rm -f "$scratch"/*.asked
http_proxy=http://127.0.0.1:$proxy CAIRN_TOKEN=secret-one timeout 60 "$cairn" top "http://127.0.0.1:$first/heap" >/dev/null 2>&1
[ -e "$scratch/proxy.asked" ]
is $? 1 'a loopback address is not asked for through a proxy'
holds 'but directly' grep -q '^GET /heap' "$scratch/first.asked"
http_proxy=http://127.0.0.1:$proxy timeout 60 "$cairn" top "http://name.invalid/heap" >/dev/null 2>&1
holds 'another is' grep -q '^GET http://name.invalid/heap' "$scratch/proxy.asked"

# The collector has a variable of its own.
rm -f "$scratch"/*.asked
printf 'int main(void) { return 0; }\n' >"$scratch/app.c"
${CC:-cc} -g -Wl,--build-id "$scratch/app.c" -o "$scratch/app" || broken 'a program'
CAIRN_TOKEN=secret-one timeout 60 "$cairn" symbols push --to "http://127.0.0.1:$first" "$scratch/app" >"$scratch/out" 2>&1
is "$? $(grep -ci authorization "$scratch/first.asked")" '1 0' 'a collector does not get the token of agents'
like "$(cat "$scratch/out")" '*the collector answers 401; CAIRN_TOKEN is set, which is for agents only and was not sent*' 'which is said'
CAIRN_COLLECTOR_TOKEN=secret-two timeout 60 "$cairn" symbols push --to "http://127.0.0.1:$first" "$scratch/app" >"$scratch/out" 2>&1
like "$(cat "$scratch/first.asked")" '*Authorization: Bearer secret-two*' 'but its own'
unlike() { [[ $1 != $2 ]]; ok $? "$3"; }
unlike "$(cat "$scratch/out")" '*CAIRN_TOKEN*' 'about which nothing is added'
rm -f "$scratch"/*.asked
start_redis kept 2>/dev/null
CAIRN_TOKEN=secret-one CAIRN_COLLECTOR_TOKEN=secret-two timeout 60 "$cairn" watch --once -o "$scratch/kept" --push "http://127.0.0.1:$first" "$pid_kept" >"$scratch/out" 2>&1
like "$(cat "$scratch/first.asked")" 'POST /v1/snapshots*Authorization: Bearer secret-two*' 'cairn watch --push sends it, too'
is "$(grep -c secret-one "$scratch/first.asked")" 0 'and not the one of agents'

# Headers of other systems go nowhere else, either.
rm -f "$scratch"/*.asked
printf 'X-Api-Key: secret-four\n' >"$scratch/headers"
timeout 60 "$cairn" watch --once -o "$scratch/forwarded" --forward "pyroscope:http://127.0.0.1:$first" --forward-headers "$scratch/headers" "$pid_kept" \
	>"$scratch/out" 2>&1
like "$(cat "$scratch/first.asked")" 'POST /*X-Api-Key: secret-four*' 'the system that was named gets its headers'
like "$(cat "$scratch/second.asked")" 'POST /*Content-Type: *' 'and the one that it redirects to the profile'
is "$(grep -c secret "$scratch/second.asked")" 0 'alone'
done_testing
