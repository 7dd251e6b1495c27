#!/usr/bin/env bash
# The bill of twelve services on four allocators. What is unexplained is at most 5 % of the resident memory, where "unexplained" is counted
# strictly: the bill's own line of that name, and anonymous memory that neither the allocator counts nor anybody is known to have mapped.
# Every line that the kernel can tell is held against smaps as tests/e2e-all/check-services.py reads it.
. tests/e2e/lib.sh
. tests/e2e/agent.sh
need python3 curl node java javac rustc c++ nginx memcached haproxy named mariadbd mariadb-install-db mariadb redis-server
[ "$(id -u)" = 0 ] || skip_all 'not root: several services change their user'
postgres=$(ls -d /usr/lib/postgresql/*/bin 2>/dev/null | tail -n 1)
[ -n "$postgres" ] || broken 'no PostgreSQL here'
unset XDG_RUNTIME_DIR
chmod 755 "$scratch"
rows=$scratch/rows
: >"$rows"

declare -A libraries=([glibc]=libc.so.6 [jemalloc]=libjemalloc.so.2 [tcmalloc]=libtcmalloc_minimal.so.4 [mimalloc]=libmimalloc.so.2)
# family PID: it and all its descendants
family() { local child; echo "$1"; for child in $(ps -o pid= --ppid "$1"); do family "$child"; done; }
# heaviest PID...: the one with the most anonymous memory, which is what the bill is about
heaviest() { for member; do awk -v pid="$member" '/^RssAnon/ { print $2, pid }' "/proc/$member/status" 2>/dev/null; done | sort -rn | sed -n '1s/.* //p'; }
# service NAME READY LOAD COMMAND...: on $allocator; READY succeeds once it serves, LOAD gives it something to hold
service() {
	local name=$1 ready=$2 load=$3 pid members member words
	shift 3
	[[ $name =~ ${SERVICES:-.} ]] || return # SERVICES=pattern: only those, while working on one
	# libc.so.6 in front makes it the allocator of programs that are linked with another one, too.
	LD_PRELOAD="${libraries[$allocator]} $library" CAIRN_CONF=enable_heap_profiling:true,engine:cairn,period:64K LD_BIND_NOW=1 \
		"$@" >"$scratch/out" 2>&1 < <(exec sleep 600) &
	pid=$!
	children+=("$pid")
	if wait_for 60 eval "$ready"; then
		eval "$load" >"$scratch/load" 2>&1
		sleep 1.2
		member=$(heaviest $(family $pid))
		words=$("$cairn" rss --json "$member" 2>"$scratch/error" |
			python3 tests/e2e-all/check-services.py "$member" "$name" "$allocator" "$rows" 2>&1)
		ok $? "$name on $allocator: $words"
		[ -z "${SHOW:-}" ] || "$cairn" rss "$member" 2>&1 | sed 's/^/#   /'
	else
		ok 1 "$name starts on $allocator"
		tail -n 5 "$scratch/out" | sed 's/^/#   /'
	fi
	members=$(family $pid)
	kill -KILL $members 2>/dev/null
	wait $pid 2>/dev/null
}
said_ready='grep -q ready "$scratch/out"'
port=$(free_port) other=$(free_port)
serves="curl -s -o /dev/null http://127.0.0.1:$port/"
many="seq 200 | xargs -P 4 -I{} curl -s -o /dev/null http://127.0.0.1:$port/"

install -d -o postgres "$scratch/pg"
runuser -u postgres -- "$postgres/initdb" -D "$scratch/pg" >/dev/null 2>&1
mkdir "$scratch/www"
head -c 100000 /dev/urandom >"$scratch/www/index.html"
cat >"$scratch/nginx.conf" <<CONF
daemon off; pid $scratch/nginx.pid; error_log $scratch/nginx.log; worker_processes 1; user root;
events {} http { access_log off; gzip on; gzip_types *; client_body_temp_path $scratch; server { listen 127.0.0.1:$port; root $scratch/www; } }
CONF
mariadb-install-db --no-defaults --user=mysql --datadir="$scratch/maria" >/dev/null 2>&1
sql="mariadb --no-defaults -uroot -S $scratch/maria/s"
install -d -o bind "$scratch/bind"
cat >"$scratch/bind/named.conf" <<CONF
options { directory "$scratch/bind"; listen-on port $port { 127.0.0.1; }; listen-on-v6 { none; }; recursion no; pid-file none; session-keyfile none; };
zone "example" { type primary; file "zone"; };
CONF
{ echo '$TTL 60'; echo '@ SOA ns h 1 1 1 1 1'; echo '@ NS ns'; echo 'ns A 127.0.0.1'; seq 50000 | sed 's/.*/h& A 127.0.0.1/'; } >"$scratch/bind/zone"
ask="python3 -c 'import socket, struct; s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); s.settimeout(2)
for i in range(500): s.sendto(struct.pack(\">6H\", i, 0, 1, 0, 0, 0) + b\"\\x02ns\\x07example\\x00\\x00\\x01\\x00\\x01\", (\"127.0.0.1\", $port)); s.recv(512)'"
(cd "$scratch/www" && exec python3 -m http.server --bind 127.0.0.1 "$other" >/dev/null 2>&1) & children+=($!)
cat >"$scratch/haproxy.cfg" <<CONF
defaults
 mode http
 timeout connect 5s
 timeout client 5s
 timeout server 5s
listen a
 bind 127.0.0.1:$port
 server b 127.0.0.1:$other
CONF
store="python3 -c 'import socket; s = socket.create_connection((\"127.0.0.1\", $port))
for i in range(6000): s.sendall(b\"set k%d 0 0 5000\\r\\n\" % i + b\"x\" * 5000 + b\"\\r\\n\"); s.recv(100)'"
javac -d "$scratch" tests/hosts/Hold.java
rustc -O -g -o "$scratch/hold-rust" tests/hosts/hold.rs 2>"$scratch/log" || broken 'the Rust program builds'
${CXX:-c++} -O2 -pthread tests/e2e/bill.cc -o "$scratch/bill" 2>"$scratch/log" || broken 'the C++ program builds'
psql="psql -h $scratch/pg -U postgres"
sort_rows="begin; declare c cursor for select * from t order by s, i; fetch 1 from c; select pg_sleep(600)"

for allocator in ${ALLOCATORS:-glibc jemalloc tcmalloc mimalloc}; do
	service redis "redis-cli -p $port ping" "redis-benchmark -p $port -n 60000 -r 100000 -d 300 -t set,lpush -q" \
		redis-server --port "$port" --save '' --dir "$scratch"
	service nginx "$serves" "$many --compressed" nginx -c "$scratch/nginx.conf"
	service PostgreSQL "$psql -c 'select 1'" \
		"$psql -c 'drop table if exists t; create table t as select i, repeat(chr(65 + i % 26), 100) as s from generate_series(1, 200000) i'
		PGOPTIONS='-c work_mem=200MB' $psql -c '$sort_rows' & sleep 5" \
		runuser -u postgres -- "$postgres/postgres" -D "$scratch/pg" -k "$scratch/pg" -c listen_addresses=
	service MariaDB "$sql -e 'select 1'" "$sql -e 'create or replace database d; create table d.t (i int primary key auto_increment, s text) as select seq, repeat(char(65 + seq % 26), 200) s from seq_1_to_50000; select count(distinct s) from d.t'" \
		mariadbd --no-defaults --user=mysql --datadir="$scratch/maria" --socket="$scratch/maria/s" --skip-networking
	service memcached "$store" "$store" memcached -u nobody -l 127.0.0.1 -p "$port"
	service named "$ask" "$ask" named -g -u bind -c "$scratch/bind/named.conf"
	service HAProxy "$serves" "$many" haproxy -db -f "$scratch/haproxy.cfg"
	service Python "$said_ready" true /usr/bin/python3 tests/hosts/hold.py
	service Node "$said_ready" true node tests/hosts/hold.js
	service JVM "$said_ready" true java -cp "$scratch" Hold
	service Rust "$said_ready" true "$scratch/hold-rust"
	service C++ "$said_ready" true "$scratch/bill" 200 8 half anonymous file shared brk
done

echo '# resident, its parts by the bill in per cent, and what is unexplained strictly:'
sed 's/^/# /' "$rows"
is "$(wc -l <"$rows")" "$((12 * 4))" 'twelve services on four allocators'
done_testing
