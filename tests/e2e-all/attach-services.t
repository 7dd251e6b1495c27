#!/usr/bin/env bash
# Attaching to real services under load, several rounds each: no client sees an error, and the service goes on.
# ATTACH_ROUNDS sets how many rounds (default: 5).
. tests/e2e/lib.sh
. tests/e2e/agent.sh
PATH=$PATH:$(ls -d /usr/lib/postgresql/*/bin | tail -n 1)
need redis-server redis-benchmark nginx node java postgres mariadbd python3 curl
[ "$(id -u)" = 0 ] || skip_all 'services that change their user need root'
rounds=${ATTACH_ROUNDS:-5}
mkdir -m 777 "$scratch/work"
chmod 755 "$scratch"

# begin COMMAND...: in the background; sets `service`
begin() {
	"$@" >"$scratch/service.log" 2>&1 &
	service=$!
	children+=("$service")
}
# eventually COMMAND...: within a minute
eventually() { for _ in $(seq 300); do "$@" >/dev/null 2>&1 && return 0; sleep 0.2; done; return 1; }
# visit NAME PID CLIENT...: rounds of attach and detach while CLIENT runs again and again; it fails when it sees an error
visit() {
	local name=$1 pid=$2 done=0 load code began
	shift 2
	rm -f "$scratch/stop" "$scratch/errors"
	(while [ ! -e "$scratch/stop" ]; do "$@" >"$scratch/client.log" 2>&1 || { cp "$scratch/client.log" "$scratch/errors"; break; }; done) &
	load=$!
	for _ in $(seq "$rounds"); do
		began=$SECONDS
		timeout 60 "$cairn" attach --period 64K "$pid" >"$scratch/log" 2>&1
		code=$?
		[ $code = 0 ] || break
		timeout 60 "$cairn" status "$pid" >"$scratch/status" 2>&1 && grep -q 'state: active' "$scratch/status" || break
		timeout 60 "$cairn" detach "$pid" >>"$scratch/log" 2>&1 || break
		done=$((done + 1))
	done
	touch "$scratch/stop"
	wait $load
	is $done "$rounds" "$name: $rounds rounds of attach and detach"
	if [ $done != "$rounds" ]; then
		echo "#   attach: code $code, $((SECONDS - began)) s; threads: $(cat "/proc/$pid/task/"*/comm | tr '\n' ' ')"
		{ cat "$scratch/log"; grep -E 'state|problem' "$scratch/status"; } | sed 's/^/#   /' | head -n 5
	fi
	[ ! -e "$scratch/errors" ]
	ok $? "$name: no client saw an error"
	[ ! -e "$scratch/errors" ] || sed 's/^/#   /' "$scratch/errors" | head -n 4
	holds "$name: it serves afterwards" "$@"
}
port() { python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'; }

redis=$(port)
begin redis-server --port "$redis" --save '' --dir "$scratch/work"
eventually redis-cli -p "$redis" ping
load_redis() { redis-benchmark -p "$redis" -n 3000 -c 10 -q -e -t set,get,lpush; }
visit redis "$service" load_redis
kill "$service"

site=$(port)
mkdir "$scratch/html"
echo hello >"$scratch/html/index.html"
cat >"$scratch/nginx.conf" <<C
daemon off; worker_processes 1; pid $scratch/work/nginx.pid; error_log $scratch/nginx.log;
events {} http { access_log off; client_body_temp_path $scratch/work/b; proxy_temp_path $scratch/work/p; fastcgi_temp_path $scratch/work/f;
uwsgi_temp_path $scratch/work/u; scgi_temp_path $scratch/work/s; server { listen 127.0.0.1:$site; root $scratch/html; } }
C
begin nginx -c "$scratch/nginx.conf"
eventually curl -sf "http://127.0.0.1:$site/"
load_nginx() { curl -sf $(for _ in $(seq 50); do echo "http://127.0.0.1:$site/"; done); }
visit "nginx's worker" "$(pgrep -P "$service" | head -n 1)" load_nginx
kill "$service"

web=$(port)
begin python3 -m http.server "$web" --bind 127.0.0.1 --directory "$scratch/html"
service=$(eventually curl -sf "http://127.0.0.1:$web/" && { pgrep -P "$service" -x python3 || echo "$service"; })
load_python() { for _ in $(seq 20); do curl -sf "http://127.0.0.1:$web/" || return 1; done; }
visit python "$service" load_python
kill "$service"

web=$(port)
cat >"$scratch/service.js" <<J
const kept = [];
function answer(q, s) { kept.push(Buffer.alloc(5000)); if (kept.length > 1000) kept.shift(); s.end("hello"); }
require("http").createServer(answer).listen($web, "127.0.0.1");
J
begin node "$scratch/service.js"
eventually curl -sf "http://127.0.0.1:$web/"
visit node "$service" load_python
kill "$service"

web=$(port)
cat >"$scratch/Service.java" <<J
import com.sun.net.httpserver.*;
public class Service {
	public static void main(String[] a) throws Exception {
		HttpServer s = HttpServer.create(new java.net.InetSocketAddress("127.0.0.1", $web), 0);
		s.createContext("/", x -> { byte[] b = new byte[20000]; java.nio.ByteBuffer.allocateDirect(5000); x.sendResponseHeaders(200, b.length);
			x.getResponseBody().write(b); x.close(); });
		s.start();
	}
}
J
begin java "$scratch/Service.java"
eventually curl -sf "http://127.0.0.1:$web/"
visit java "$service" load_python
kill "$service"

database=$(port)
as_nobody=(setpriv --reuid nobody --regid nogroup --clear-groups)
install -d -o nobody "$scratch/pg"
"${as_nobody[@]}" "$(command -v initdb)" -D "$scratch/pg" -A trust >/dev/null 2>&1
begin "${as_nobody[@]}" "$(command -v postgres)" -D "$scratch/pg" -p "$database" -k "$scratch/work" -c listen_addresses=
query() { psql -U nobody -h "$scratch/work" -p "$database" postgres -Atc "$1"; }
eventually query "select 1"
load_postgres() { for _ in $(seq 5); do query "select count(*) from generate_series(1, 90000)" || return 1; done; }
visit "postgres' postmaster" "$service" load_postgres
mkfifo "$scratch/session"
psql -U nobody -h "$scratch/work" -p "$database" postgres -At <"$scratch/session" >"$scratch/session.out" 2>&1 &
exec 4>"$scratch/session"
echo "select pg_backend_pid();" >&4
eventually grep -q '[0-9]' "$scratch/session.out"
backend=$(head -n 1 "$scratch/session.out")
load_session() {
	local before
	before=$(wc -l <"$scratch/session.out")
	echo "select count(*) from generate_series(1, 50000);" >&4
	for _ in $(seq 600); do [ "$(wc -l <"$scratch/session.out")" -gt "$before" ] && break; sleep 0.05; done
	[ "$(tail -n 1 "$scratch/session.out")" = 50000 ]
}
visit "a backend of postgres" "$backend" load_session
exec 4>&-
kill -INT "$service"

database=$(port)
install -d -o nobody "$scratch/maria"
"${as_nobody[@]}" mariadb-install-db --datadir="$scratch/maria" --auth-root-authentication-method=normal >/dev/null 2>&1
begin "${as_nobody[@]}" mariadbd --no-defaults --datadir="$scratch/maria" --socket="$scratch/work/maria.sock" --skip-networking
maria() { mariadb -u root --socket="$scratch/work/maria.sock" -e "$1"; }
eventually maria "select 1"
load_maria() { for _ in $(seq 5); do maria "select benchmark(20000, md5('x')), repeat('y', 100000)" || return 1; done; }
visit mariadb "$service" load_maria
kill "$service"
done_testing
