#!/usr/bin/env bash
# Verdicts on real services under a steady load, SOAK seconds (60) each in 60 dumps: redis that replaces keys, PostgreSQL with pgbench, a JVM
# and a Node server. Nothing is called growing; with a leak of half a percent of the live bytes
# in each interval, the leak is.
. tests/e2e/lib.sh
need redis-server redis-cli redis-benchmark python3
. tests/e2e/agent.sh
seconds=${SOAK:-60}
dumps=60
interval=$(awk "BEGIN { print $seconds / $dumps }")
cd "$scratch"

# take PID FOLDER: the dumps, one each interval
take() {
	mkdir -p "$2"
	for _ in $(seq $dumps); do
		"$cairn" dump -o "$2" "$1" >/dev/null 2>>"$scratch/taking" || return 1
		sleep "$interval"
	done
}
# judge NAME FOLDER: what grows of all that holds a hundredth of it or more, and what the service grows by, into $grows and $rate
judge() {
	"$cairn" leaks --json "$2" >"$1.json" 2>/dev/null
	grows=$(python3 -c "import json
D = json.load(open('$1.json'))
print(*[f\"{r['name']}:{r['bytes_per_hour'] / 1e6:.1f}MB/h\" for r in D['rows'] if r['verdict'] == 'growing'])")
	rate=$(python3 -c "import json; D = json.load(open('$1.json')); print(int(D['bytes_per_hour'] * $interval / 3600))")
}
rests() { # rests NAME FOLDER
	judge "$1" "$2"
	is "$grows" '' "$1 under a steady load: nothing grows in $(ls "$2" | wc -l) dumps"
}
leaks() { # leaks NAME FOLDER BYTES: a leak of so many bytes an interval is found, at its rate to within a factor of two
	judge "$1" "$2"
	[ -n "$grows" ]
	ok $? "$1 with a leak: found ($grows)"
	[ "$rate" -gt $(($3 / 2)) ] && [ "$rate" -lt $(($3 * 2)) ]
	ok $? "and its rate: $rate bytes an interval of $3"
}
# every SECONDS COMMAND...: again and again until the test ends
every() {
	local wait=$1
	shift
	(while :; do
		"$@" >/dev/null 2>&1 || exit
		sleep "$wait"
	done) &
	children+=($!)
}
start() { # start NAME COMMAND...: on jemalloc with the agent, sampling from the start; its number is in $pid
	local name=$1
	shift
	LD_PRELOAD="$library libjemalloc.so.2" MALLOC_CONF=prof:true,lg_prof_sample:14 "$@" >"$name.log" 2>&1 &
	pid=$!
	children+=($pid)
	wait_for 20 "$cairn" status $pid
}

# Redis: 20,000 keys of a kilobyte, replaced by chance.
redis() { # redis NAME BYTES: a server, with a leak of so many bytes an interval
	local port
	port=$(free_port)
	start "$1" redis-server --port "$port" --save '' --dir "$scratch" || return 1
	redis-benchmark -p "$port" -n 200000 -r 20000 -d 1000 -t set -q >/dev/null
	every 0.2 redis-benchmark -p "$port" -n 500 -r 20000 -d 1000 -t set -q
	[ "$2" = 0 ] || every "$interval" redis-cli -p "$port" \
		eval "for i = 1, $2 / 1000 do redis.call('rpush', 'leaked', string.rep('x', 1000)) end" 0
	sleep 3
	take "$pid" "$1"
}
leak=120000 # of some 25 MB
redis redis-steady 0 && rests redis-steady redis-steady || ok 1 'redis starts'
redis redis-leaking $leak && leaks redis-leaking redis-leaking $leak || ok 1 'redis starts'
end_children
children=()

# PostgreSQL: the backend of one client that runs pgbench's transactions; the leak is prepared statements that are never used.
bin=$(ls -d /usr/lib/postgresql/*/bin 2>/dev/null | tail -n 1)
if [ -n "$bin" ] && id postgres >/dev/null 2>&1; then
	chmod 755 "$scratch" && mkdir -m 700 data && mkdir -m 777 socket && chown postgres data
	as_postgres() { setpriv --reuid postgres --regid postgres --clear-groups env HOME=/tmp "$@"; }
	as_postgres "$bin/initdb" -D "$scratch/data" -A trust >initdb.log 2>&1
	as_postgres LD_PRELOAD="$library libjemalloc.so.2" MALLOC_CONF=prof:true,lg_prof_sample:14 XDG_RUNTIME_DIR='' \
		"$bin/postgres" -D "$scratch/data" -k "$scratch/socket" -h '' >postgres.log 2>&1 &
	children+=($!)
	sql() { psql -h "$scratch/socket" -U postgres -qAt "$@"; }
	wait_for 30 sql -c 'select 1'
	pgbench -h "$scratch/socket" -U postgres -i -q postgres >pgbench.log 2>&1
	cat >steady.sql <<'S'
\set aid random(1, 100000)
UPDATE pgbench_accounts SET abalance = abalance + 1 WHERE aid = :aid;
SELECT abalance FROM pgbench_accounts WHERE aid = :aid;
\sleep 5 ms
S
	cat >leaking.sql <<'S'
\set aid random(1, 100000)
\set name random(1, 1000000000)
UPDATE pgbench_accounts SET abalance = abalance + 1 WHERE aid = :aid;
PREPARE leaked_:name AS SELECT * FROM pgbench_accounts a JOIN pgbench_tellers USING (bid) WHERE a.aid = $1;
\sleep 50 ms
S
	for kind in steady leaking; do
		pgbench -h "$scratch/socket" -U postgres -n -f $kind.sql -T $((seconds * 4 + 60)) postgres >>pgbench.log 2>&1 &
		client=$!
		children+=($client)
		sleep 4
		backend=$(sql -c "select pid from pg_stat_activity where application_name = 'pgbench' limit 1")
		if take "${backend:-0}" "postgres-$kind"; then
			if [ $kind = steady ]; then rests postgres-steady postgres-steady; else
				judge postgres-leaking postgres-leaking
				[ -n "$grows" ]
				ok $? "postgres with a leak: found ($grows)"
			fi
		else
			sed 's/^/# /' taking | tail -n 2
			ok 1 "dumps of a PostgreSQL backend can be taken"
		fi
		kill $client
	done
	end_children
	children=()
else
	skip 'PostgreSQL' 'no PostgreSQL here'
fi

# A JVM: threads that keep direct buffers and replace them; the leak is buffers that are kept.
if command -v java >/dev/null; then
	cat >Steady.java <<'J'
import java.nio.ByteBuffer;
import java.util.*;
public class Steady {
    static void keep(List<ByteBuffer> kept, java.util.zip.Deflater[] zips, int i) { kept.add(ByteBuffer.allocateDirect(2000)); }
    public static void main(String[] args) throws Exception {
        long every = Long.parseLong(args[0]), bytes = Long.parseLong(args[1]), last = System.nanoTime();
        Random random = new Random(1);
        List<ByteBuffer> leaked = new ArrayList<>();
        java.util.zip.Deflater[] zips = new java.util.zip.Deflater[64];
        for (long i = 0;; i++) {
            int at = random.nextInt(zips.length);
            if (zips[at] != null) zips[at].end();
            zips[at] = new java.util.zip.Deflater();
            if (bytes > 0 && System.nanoTime() - last > every * 1000000) {
                for (long b = 0; b < bytes; b += 2000) keep(leaked, zips, (int) i);
                last += every * 1000000;
            }
            Thread.sleep(5);
        }
    }
}
J
	for kind in steady leaking; do
		bytes=$([ $kind = leaking ] && echo $leak || echo 0)
		start jvm-$kind java -Xmx64m -XX:+UseSerialGC Steady.java "$(awk "BEGIN { printf \"%d\", 1000 * $interval }")" "$bytes"
		sleep 8
		if take "$pid" jvm-$kind; then
			if [ $kind = steady ]; then rests jvm-steady jvm-steady; else leaks jvm-leaking jvm-leaking $leak; fi
		else
			ok 1 'dumps of a JVM can be taken'
		fi
		kill "$pid"
	done
else
	skip 'a JVM' 'no java here'
fi

# A Node server that answers requests; the leak is buffers that it remembers.
if command -v node >/dev/null; then
	cat >server.js <<'N'
const [port, every, bytes] = process.argv.slice(2).map(Number), kept = [], cache = new Map()
require('http').createServer((request, response) => {
  const key = Math.floor(Math.random() * 300)
  cache.set(key, Buffer.allocUnsafeSlow(20000).fill(key))
  response.end(String(cache.size))
}).listen(port, '127.0.0.1')
if (bytes) setInterval(() => { for (let b = 0; b < bytes; b += 20000) kept.push(Buffer.allocUnsafeSlow(20000).fill(1)) }, every)
setInterval(() => global.gc(), 200)
N
	for kind in steady leaking; do
		port=$(free_port) bytes=$([ $kind = leaking ] && echo $leak || echo 0)
		start node-$kind node --expose-gc server.js "$port" "$(awk "BEGIN { printf \"%d\", 1000 * $interval }")" "$bytes"
		every 0.05 curl -s "http://127.0.0.1:$port/"
		sleep 15
		if take "$pid" node-$kind; then
			if [ $kind = steady ]; then rests node-steady node-steady; else leaks node-leaking node-leaking $leak; fi
		else
			ok 1 'dumps of a Node server can be taken'
		fi
		kill "$pid"
	done
else
	skip 'a Node server' 'no node here'
fi
done_testing
