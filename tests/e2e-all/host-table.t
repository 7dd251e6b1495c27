#!/usr/bin/env bash
# Hosts of many kinds under `cairn run`, as they are: do they start and serve, on which engine and allocator, are their stacks whole, what does
# it cost. Writes build/hosts.md, the table of doc/hosts.md with what was seen, and holds the columns `starts`, `engine` and `stacks` against it.
. tests/e2e/lib.sh
. tests/e2e/agent.sh
need cargo musl-gcc python3 curl chromium xvfb-run node java javac go rustc nginx memcached haproxy varnishd named mariadbd mariadb-install-db mariadb
[ "$(id -u)" = 0 ] || skip_all 'not root: several hosts change their user'
postgres=$(ls -d /usr/lib/postgresql/*/bin 2>/dev/null | tail -n 1)
[ -n "$postgres" ] || skip_all 'no PostgreSQL here'
unset XDG_RUNTIME_DIR
chmod 755 "$scratch"
rows=$scratch/rows
: >"$rows"

# family PID: it and all its descendants
family() { local child; echo "$1"; for child in $(ps -o pid= --ppid "$1"); do family "$child"; done; }
# seen PID...: of those that answer, the one with the most stacks: stacks, cut, share of CPU time, number, engine and allocator
seen() {
	for member; do "$cairn" status --json "$member" 2>/dev/null; done | python3 -c 'import json, os, sys
best, decoder, text = (0, 0, 0.0, 0, "none"), json.JSONDecoder(), sys.stdin.read().lstrip()
while text:
    status, end = decoder.raw_decode(text)
    text = text[end:].lstrip()
    unwinder = status["unwinder"]
    cut = unwinder["no_code"] + unwinder["no_rule"] + unwinder["unreadable"]
    stat = open("/proc/%d/stat" % status["pid"]).read().rsplit(")", 1)[1].split()
    used = (int(stat[11]) + int(stat[12])) / os.sysconf("SC_CLK_TCK")
    share = unwinder["stacks"] * unwinder["ns_per_stack"] / 1e9 / used if used else 0.0
    best = max(best, (unwinder["stacks"], cut, share, status["pid"],
        status["engine"]["name"] + "/" + (status["engine"]["allocator"] or "/itself").rpartition("/")[2].partition(".")[0]))
print(*best)'
}
# host NAME READY LOAD COMMAND...: runs it under `cairn run`; READY succeeds once it serves, LOAD gives it something to do
host() {
	local name=$1 ready=$2 load=$3 pid starts=no stacks=none percent=- top=- cost=- engine=none row=()
	shift 3
	[[ $name =~ ${HOSTS:-.} ]] || return # HOSTS=pattern: only those, while working on one
	"$cairn" run -q --active --period 16K -o /dev/null -- "$@" >"$scratch/out" 2>&1 < <(sleep 600) &
	pid=$!
	children+=($pid)
	if wait_for 60 eval "$ready"; then
		starts=yes
		eval "$load" >/dev/null 2>&1
		sleep 1
		read -r -a row < <(seen $(family $pid))
		if [ "${row[0]:-0}" -gt 0 ]; then
			engine=${row[4]/\//, }
			percent=$((100 - 100 * row[1] / row[0]))
			stacks=$([ $percent -ge 99 ] || [ "${row[1]}" -le 2 ] && echo whole || { [ $percent -ge 90 ] && echo most || echo part; })
			cost=$(awk -v share="${row[2]}" 'BEGIN { printf "%.2f %%", share * 100 }')
			top=$("$cairn" top --json "${row[3]}" 2>/dev/null | python3 -c 'import json, sys
rows = json.load(sys.stdin)
rows = rows.get("rows") or rows.get("functions") or rows.get("entries") or []
print(rows[0]["name"] if rows else "-")' 2>/dev/null)
		fi
	else
		sed 's/^/# /' "$scratch/out" | tail -n 5
	fi
	printf '%s\t%s\t%s\t%s\t%s\t%s\t%s\n' "$name" "$starts" "$engine" "$stacks" "$percent" "${top:--}" "$cost" >>"$rows"
	echo "# $name: starts $starts, engine $engine, stacks $stacks ($percent % of ${row[0]:-0}), ${top:--}, $cost"
	local members
	members=$(family $pid)
	kill $members 2>/dev/null
	timeout 20 tail --pid="$pid" -f /dev/null || kill -KILL $members 2>/dev/null
	wait $pid 2>/dev/null
}
said_ready='grep -q ready "$scratch/out"'
port=$(free_port) other=$(free_port)
serves="curl -s -o /dev/null http://127.0.0.1:$port/"
many="seq 300 | xargs -P 4 -I{} curl -s -o /dev/null http://127.0.0.1:$port/"

install -d -o postgres "$scratch/pg"
runuser -u postgres -- "$postgres/initdb" -D "$scratch/pg" >/dev/null 2>&1
host PostgreSQL "psql -h '$scratch/pg' -U postgres -c 'select 1'" \
	"psql -h '$scratch/pg' -U postgres -c 'create table t as select i, repeat(chr(65 + i % 26), 100) as s from generate_series(1, 200000) i; select count(distinct s) from t; select pg_sleep(2)' &" \
	runuser -u postgres -- "$postgres/postgres" -D "$scratch/pg" -k "$scratch/pg" -c listen_addresses=

mkdir "$scratch/www"
head -c 100000 /dev/urandom >"$scratch/www/index.html"
cat >"$scratch/nginx.conf" <<CONF
daemon off; pid $scratch/nginx.pid; error_log $scratch/nginx.log; worker_processes 1; user root;
events {} http { access_log off; gzip on; gzip_types *; client_body_temp_path $scratch; server { listen 127.0.0.1:$port; root $scratch/www; } }
CONF
host nginx "$serves" "$many --compressed" nginx -c "$scratch/nginx.conf"

mariadb-install-db --no-defaults --user=mysql --datadir="$scratch/maria" >/dev/null 2>&1
sql="mariadb --no-defaults -uroot -S $scratch/maria/s"
host MariaDB "$sql -e 'select 1'" "$sql -e 'create database d; create table d.t (i int primary key auto_increment, s text) as select seq, repeat(char(65 + seq % 26), 200) s from seq_1_to_50000; select count(distinct s) from d.t'" \
	mariadbd --no-defaults --user=mysql --datadir="$scratch/maria" --socket="$scratch/maria/s" --skip-networking

install -d -o bind "$scratch/bind"
cat >"$scratch/bind/named.conf" <<CONF
options { directory "$scratch/bind"; listen-on port $port { 127.0.0.1; }; listen-on-v6 { none; }; recursion no; pid-file none; session-keyfile none; };
zone "example" { type primary; file "zone"; };
CONF
{ echo '$TTL 60'; echo '@ SOA ns h 1 1 1 1 1'; echo '@ NS ns'; echo 'ns A 127.0.0.1'; seq 20000 | sed 's/.*/h& A 127.0.0.1/'; } >"$scratch/bind/zone"
ask="python3 -c 'import socket, struct; s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); s.settimeout(2)
for i in range(2000): s.sendto(struct.pack(\">6H\", i, 0, 1, 0, 0, 0) + b\"\\x02ns\\x07example\\x00\\x00\\x01\\x00\\x01\", (\"127.0.0.1\", $port)); s.recv(512)'"
host named "$ask" "$ask" named -g -u bind -c "$scratch/bind/named.conf"

mkdir "$scratch/varnish"
(cd "$scratch/www" && exec python3 -m http.server --bind 127.0.0.1 "$other" >/dev/null 2>&1) & children+=($!)
host Varnish "$serves" "$many" varnishd -F -a "127.0.0.1:$port" -b "127.0.0.1:$other" -n "$scratch/varnish" -s malloc,64m

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
host HAProxy "$serves" "$many" haproxy -db -f "$scratch/haproxy.cfg"

store="python3 -c 'import socket; s = socket.create_connection((\"127.0.0.1\", $port))
for i in range(3000): s.sendall(b\"set k%d 0 0 5000\\r\\n\" % i + b\"x\" * 5000 + b\"\\r\\n\"); s.recv(100)'"
host memcached "$store" "$store" memcached -u nobody -l 127.0.0.1 -p "$port"

host Node "$said_ready" true node --perf-basic-prof "--logfile=$scratch/v8.log" tests/hosts/hold.js
javac -d "$scratch" tests/hosts/Hold.java
host JVM "$said_ready" 'jcmd Hold Compiler.perfmap' java -XX:+PreserveFramePointer -cp "$scratch" Hold
host 'Python with numpy' "$said_ready" true /usr/bin/python3 tests/hosts/hold.py
export GOFLAGS=-mod=mod GOTOOLCHAIN=local
(cd tests/hosts/go && go build -o "$scratch/hold-go" .)
# Its threads are in code without unwind tables whenever they are looked at, so that no agent can be started from outside.
CAIRN_CONF=listen:unix host 'Go with cgo' "$said_ready" true "$scratch/hold-go"
rustc -O -g -o "$scratch/hold-rust" tests/hosts/hold.rs && rustc -O -g -C target-feature=+crt-static -o "$scratch/hold-static" tests/hosts/hold.rs
host 'Rust, dynamic' "$said_ready" true "$scratch/hold-rust"
host 'Rust, static' "$said_ready" true "$scratch/hold-static"

# Allocators inside. Each holds something for the line that it is sent, and says how much.
. tests/e2e-all/inside-registry.sh
musl-gcc -O1 -g -static -funwind-tables -o "$scratch/hold-musl" tests/hosts/hold-musl.c
registry() { host "$1" '[ "$(wc -l <"$scratch/out")" -ge 2 ]' true sh -c '(echo; exec sleep 600) | "$@"' sh "${@:2}"; }
registry polars "$python" tests/e2e-all/inside-registry.py polars
registry pyarrow "$python" tests/e2e-all/inside-registry.py mimalloc
registry 'Rust on mimalloc' "$service"
host 'C, static on musl' "$said_ready" true "$scratch/hold-musl"

# Chromium, and a program with Chromium inside, as Electron's are: the page has run once its title says so.
printf '<!doctype html><title>none</title><script>document.title = "it runs: " + 6 * 7</script>' >"$scratch/page.html"
host Chromium "curl -s http://127.0.0.1:$port/json/list | grep -q 'it runs: 42'" true chromium --headless --no-sandbox --disable-gpu --disable-quic --no-first-run \
	--disable-background-networking --disable-component-update --disable-sync --remote-debugging-port="$port" "--user-data-dir=$scratch/chromium" "file://$scratch/page.html"
export QTWEBENGINE_CHROMIUM_FLAGS='--no-sandbox --disable-gpu --disable-background-networking'
host QtWebEngine 'grep -q "^title it runs: 42" "$scratch/out"' true xvfb-run -a /usr/bin/python3 tests/hosts/page.py "$scratch/page.html"
rm -f /tmp/perf-*.map

python3 - "$rows" doc/hosts.md "${CAIRN_BUILD:-build}/hosts.md" >"$scratch/verdicts" <<'PYTHON'
import sys
seen = {row[0]: row for row in (line.rstrip("\n").split("\t") for line in open(sys.argv[1]))}
out, known = [], {}
for line in open(sys.argv[2]):
    cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
    if line.startswith("|") and cells[0] in seen:
        known[cells[0]] = cells
        _, starts, engine, stacks, percent, top, cost = seen[cells[0]]
        line = f"| {cells[0]} | {starts} | {engine} | {stacks}{'' if percent == '-' else f', {percent} %'} | {'-' if top == '-' else f'`{top}`'} | {cost} | {cells[6]} |\n"
    out.append(line)
open(sys.argv[3], "w").writelines(out)
for name, row in seen.items():
    cells = known.get(name)
    wanted = (cells[1], cells[2], cells[3].split(",")[0]) if cells else ("not in doc/hosts.md", "", "")
    good = wanted == (row[1], row[2], row[3])
    print(f"{int(not good)} {name}: starts {row[1]}, engine {row[2]}, stacks {row[3]}" + ("" if good else f"; doc/hosts.md says {wanted}"))
for name in known.keys() - seen.keys():
    print(f"1 {name} is in doc/hosts.md and was not run")
PYTHON
while read -r status words; do ok "$status" "$words"; done <"$scratch/verdicts"
is "$(wc -l <"$scratch/verdicts")" 19 'all hosts of the table were run'
done_testing
