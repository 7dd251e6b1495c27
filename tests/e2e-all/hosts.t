#!/usr/bin/env bash
# Real services under `cairn run`, those among them that drop their privileges, fork a process for each connection or start others: they work, they
# say nothing they would not say alone, and one profile of all their processes is left when they are told to end.
. tests/e2e/lib.sh
PATH=$PATH:$(ls -d /usr/lib/postgresql/*/bin | tail -n 1)
need postgres mariadbd named varnishd nginx memcached node npm curl python3
[ "$(id -u)" = 0 ] || skip_all 'services that change their user need root'
export XDG_RUNTIME_DIR=
chmod 755 "$scratch"
mkdir -m 777 "$scratch/work"
cd "$scratch/work"

# serve NAME SIGNAL READY LOAD COMMAND...: starts the service under cairn run, waits until READY succeeds, does LOAD, ends it.
serve() {
	local name=$1 signal=$2 ready=$3 load=$4 runner status code held
	shift 4
	rm -f cairn.*
	"$cairn" run -- "$@" >"$scratch/$name.out" 2>"$scratch/$name.err" &
	runner=$!
	children+=($runner)
	wait_for 60 eval "$ready"
	ok $? "$name starts"
	eval "$load" >"$scratch/$name.load" 2>&1
	ok $? "$name works"
	processes=$("$cairn" ps --json | python3 -c 'import json, sys; print(len(json.load(sys.stdin)["processes"]))')
	[ "$processes" -ge 1 ]
	ok $? "$name is seen by cairn ps ($processes processes)"
	eval "${while_running:-:}"
	kill "-$signal" $runner
	timeout 60 tail --pid=$runner -f /dev/null
	wait $runner
	status=$?
	[ $status -eq 0 ] || [ $status -eq "${expected:-0}" ]
	ok $? "$name ends with $status"
	grep -hv '^cairn: note:' "$scratch/$name.out" "$scratch/$name.err" | grep 'jemalloc>\|libjemalloc\|libcairn\|cairn:' | sed 's/^/# /' | grep .
	ok $((! $?)) "$name says nothing of ours"
	# A service that holds little may have had no live sample, and then nothing held it.
	held='held by '
	[ -z "${holds_little:-}" ] || ! grep -q '^cairn: note: live at .*: 0 B in ' "$scratch/$name.err" || held=
	is "$(sed -n 's/^cairn: note: \(live at\|held by\|highest\|profile\).*/\1/p' "$scratch/$name.err" | tr '\n' ' ')" "live at ${held}highest profile " "$name has a summary"
	is "$(ls | grep -v peak | grep -c '^cairn\..*\(heap\|pb.gz\)$')" 1 "$name leaves one profile"
	ls | grep '^cairn\.' | sed 's/^/# /'
	"$cairn" top -n 3 "$(ls -S cairn.* | head -n 1)" 2>/dev/null | sed 's/^/#   /'
	grep 'live at\|highest' "$scratch/$name.err" | sed 's/^/# /'
}

# PostgreSQL: a process for each connection, none of which leaves a dump of its own.
mkdir "$scratch/pg"
chown nobody "$scratch/pg"
as_nobody=(setpriv --reuid=65534 --regid=65534 --clear-groups env "HOME=$scratch")
"${as_nobody[@]}" initdb -D "$scratch/pg" -A trust >/dev/null 2>&1
port=$(free_port)
query() { psql -U nobody -h "$scratch/work" -p $port postgres -Atc "$1"; }
connect_often() { for _ in $(seq 60); do query 'select 1' || return 1; done; }
holds_little=1 serve postgres INT 'query "select 1"' connect_often "${as_nobody[@]}" postgres -D "$scratch/pg" -p $port -k "$scratch/work" -c listen_addresses=

# MariaDB: becomes mysql.
mkdir "$scratch/maria"
chown mysql "$scratch/maria"
mariadb-install-db --user=mysql --datadir="$scratch/maria" --auth-root-authentication-method=normal >/dev/null 2>&1
ask_maria() { mariadb -u root -S "$scratch/work/maria.sock" -e "$1"; }
fill_maria() { ask_maria 'create table test.t as select seq from mysql.seq_1_to_1000' || ask_maria 'select version()'; }
serve mariadbd TERM 'ask_maria "select 1"' fill_maria \
	mariadbd --no-defaults --user=mysql --datadir="$scratch/maria" --socket="$scratch/work/maria.sock" --skip-networking --pid-file="$scratch/maria/pid"

# named: becomes bind.
mkdir -m 777 "$scratch/bind"
dns=$(free_port)
cat >"$scratch/bind/named.conf" <<C
options { directory "$scratch/bind"; listen-on port $dns { 127.0.0.1; }; listen-on-v6 { none; }; pid-file none; recursion no; session-keyfile none; };
controls { };
zone "example" { type primary; file "example.zone"; };
C
printf '$TTL 60\n@ IN SOA ns.example. root.example. 1 60 60 60 60\n@ IN NS ns.example.\nns IN A 127.0.0.1\n' >"$scratch/bind/example.zone"
ask_named() {
	python3 - "$dns" <<'P'
import socket, struct, sys
question = struct.pack(">6H", 7, 0, 1, 0, 0, 0) + b"\2ns\7example\0" + struct.pack(">2H", 1, 1)
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.settimeout(2)
s.sendto(question, ("127.0.0.1", int(sys.argv[1])))
sys.exit(0 if bytes([0, 4, 127, 0, 0, 1]) in s.recv(512) else 1)
P
}
serve named TERM ask_named ask_named named -f -u bind -c "$scratch/bind/named.conf"

# Varnish: a manager and a worker, which become two other users.
web=$(free_port) front=$(free_port)
(cd "$scratch" && echo hello >page && exec python3 -m http.server -b 127.0.0.1 $web) >/dev/null 2>&1 &
children+=($!)
ask_varnish() { curl -sf "http://127.0.0.1:$front/page"; }
mkdir -m 777 "$scratch/varnish"
holds_little=1 serve varnishd TERM ask_varnish ask_varnish varnishd -F -n "$scratch/varnish" -a 127.0.0.1:$front -b 127.0.0.1:$web -s malloc,32m

# nginx: workers of another user, and none of our requests among theirs.
site=$(free_port)
cat >"$scratch/nginx.conf" <<C
daemon off; user www-data; worker_processes 3; pid $scratch/work/nginx.pid; error_log $scratch/nginx.log;
events { } http { access_log off; client_body_temp_path $scratch/work/b; proxy_temp_path $scratch/work/p; fastcgi_temp_path $scratch/work/f;
uwsgi_temp_path $scratch/work/u; scgi_temp_path $scratch/work/s; server { listen 127.0.0.1:$site; location / { return 200 hello; } } }
C
ask_nginx() { for _ in $(seq 50); do curl -sf "http://127.0.0.1:$site/" || return 1; done; }
holds_little=1 serve nginx TERM ask_nginx ask_nginx nginx -c "$scratch/nginx.conf"

# memcached: becomes memcache.
cache=$(free_port)
fill_memcached() {
	python3 - "$cache" <<'P'
import socket, sys
s = socket.create_connection(("127.0.0.1", int(sys.argv[1])))
for i in range(200):
    s.sendall(b"set key%d 0 0 100000\r\n" % i + b"x" * 100000 + b"\r\n")
    if s.recv(100) != b"STORED\r\n": sys.exit(1)
P
}
serve memcached TERM "python3 -c 'import socket; socket.create_connection((\"127.0.0.1\", $cache))'" fill_memcached memcached -u memcache -l 127.0.0.1 -p $cache

# npm: starts a shell, which starts the service.
mkdir "$scratch/npm"
cat >"$scratch/npm/package.json" <<'J'
{ "name": "service", "version": "1.0.0", "scripts": { "start": "node service.js" } }
J
cat >"$scratch/npm/service.js" <<'J'
const kept = [];
for (let i = 0; i < 400; i++) kept.push(Buffer.alloc(100000, 1));
require('http').createServer((request, response) => response.end('hello ' + kept.length)).listen(+process.env.PORT, '127.0.0.1');
process.on('SIGTERM', () => process.exit(0));
J
export PORT=$(free_port)
ask_node() { curl -sf "http://127.0.0.1:$PORT/"; }
expected=143 serve npm TERM ask_node ask_node npm --prefix "$scratch/npm" --no-update-notifier start
like "$("$cairn" tags cairn.npm.*.pb.gz 2>/dev/null)" "*node*" "and its profile has the service that npm started"

done_testing
