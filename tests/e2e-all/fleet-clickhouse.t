#!/usr/bin/env bash
# The same fleet in ClickHouse: Debian's server, started on loopback; answers are those of SQLite, row by row.
. tests/e2e/lib.sh
need curl python3 gcc clickhouse-server
http=$(free_port) tcp=$(free_port) inter=$(free_port)
mkdir -p "$scratch/ch/data" "$scratch/ch/tmp"
cat >"$scratch/ch/config.xml" <<X
<yandex><logger><level>warning</level><log>$scratch/ch/log</log><errorlog>$scratch/ch/err</errorlog></logger><listen_host>127.0.0.1</listen_host>
<http_port>$http</http_port><tcp_port>$tcp</tcp_port><interserver_http_port>$inter</interserver_http_port><path>$scratch/ch/data/</path>
<tmp_path>$scratch/ch/tmp/</tmp_path><users_config>users.xml</users_config><default_profile>default</default_profile>
<default_database>default</default_database><mark_cache_size>67108864</mark_cache_size></yandex>
X
cat >"$scratch/ch/users.xml" <<'X'
<yandex><profiles><default><max_memory_usage>2000000000</max_memory_usage></default></profiles><users><cairn><password>sesame</password>
<networks><ip>127.0.0.1</ip></networks><profile>default</profile><quota>default</quota></cairn></users><quotas><default></default></quotas></yandex>
X
(cd "$scratch/ch" && exec clickhouse-server --config-file=config.xml) >"$scratch/ch/out" 2>&1 &
children+=($!)
wait_for 60 curl -sf "http://127.0.0.1:$http/ping" -o "$scratch/ping" || broken 'clickhouse-server does not start'

server=127.0.0.1:$http
like "$("$cairn" store init "clickhouse://cairn:wrong@$server/cairn" 2>&1)" '*ClickHouse*answers*assword*' 'a wrong password, in the words of the server'
like "$("$cairn" store init "clickhouse://127.0.0.1:$(free_port)/cairn" 2>&1)" '*127.0.0.1*' 'no server'
for wrong in "clickhouse://$server" "clickhouse://$server/no-such-name" "clickhouse:///x"; do
	"$cairn" store init "$wrong" >"$scratch/out" 2>&1
	is $? 2 "no name of a store: $wrong"
done
clickhouse=clickhouse://cairn:sesame@$server/cairn sqlite=sqlite:$scratch/fleet.db
holds 'tables in ClickHouse' "$cairn" store init "$clickhouse" --keep-days 10000
holds 'and again' "$cairn" store init "$clickhouse" --keep-days 10000
holds 'by the environment' env CAIRN_STORE_USER=cairn CAIRN_STORE_PASSWORD=sesame "$cairn" store init "clickhouse://$server/cairn" --keep-days 10000
holds 'and in SQLite' "$cairn" store init "$sqlite"

for i in 1 2 3; do
	python3 tests/e2e/make-series.py "$scratch/1$i" healthy "$i" 24
	python3 tests/e2e/make-series.py "$scratch/2$i" weighed "$i" 24
done
stored() { curl -s "$url/metrics" | grep -qx "cairn_collect_stored_total $1"; }
for store in "$clickhouse" "$sqlite"; do
	port=$(free_port) url=http://127.0.0.1:$port
	"$cairn" collect --store "$store" --listen "127.0.0.1:$port" --spool "$scratch/spool-$port" >"$scratch/collect.log" 2>&1 &
	collector=$!
	children+=("$collector")
	wait_for 20 curl -sf "$url/health" -o "$scratch/health"
	for again in 1 2; do # all of it twice
		for i in 11 12 13 21 22 23; do
			for file in "$scratch/$i"/*.heap; do
				curl -s -o "$scratch/answer" --data-binary "@$file" "$url/v1/snapshots?service=api&version=${i:0:1}&host=host-$i"
			done
		done
	done
	wait_for 120 stored 288
	kill "$collector"; wait "$collector" 2>/dev/null
done
for question in 'services' 'leaks --service api' 'top --service api -n 0' 'top --service api --version 2 --instance host-21' 'diff --version 1..2 -n 0' 'kills'; do
	for store in clickhouse sqlite; do
		"$cairn" fleet $question --store "${!store}" --from 1789000000 --json >"$scratch/$store.json" 2>"$scratch/$store.notes"
	done
	holds "$question: an answer" test -s "$scratch/sqlite.json"
	holds "$question: the same from both" cmp "$scratch/sqlite.json" "$scratch/clickhouse.json"
done
is "$(curl -s -H 'X-ClickHouse-User: cairn' -H 'X-ClickHouse-Key: sesame' "http://$server/?database=cairn" -d 'SELECT count() FROM snapshots FINAL')" 144 'sent twice, there once'
. tests/e2e/changes.sh
store=clickhouse://cairn:sesame@$server/minutes
rows() { curl -s -H 'X-ClickHouse-User: cairn' -H 'X-ClickHouse-Key: sesame' "http://$server/?database=minutes" -d 'SELECT count() FROM samples FINAL'; }
"$cairn" store init -q "$store"
check_changes
sql() { curl -s -H 'X-ClickHouse-User: cairn' -H 'X-ClickHouse-Key: sesame' "http://$server/?database=minutes" -d "$1"; }
sql 'ALTER TABLE snapshots DROP COLUMN base_ns'; sql 'INSERT INTO settings VALUES (1, 1)'
holds 'tables of an earlier version are brought up to date' "$cairn" store init -q "$store"
is "$("$cairn" fleet services --store "$store" --from 1789000000 --json | python3 -c 'import json, sys; print(json.load(sys.stdin)["services"][0]["snapshots"])')" 25 'with what they hold'
# Names that come later than what they are of.
cat >"$scratch/app.c" <<'C'
#include <stdlib.h>
void *volatile held;
__attribute__((noinline)) void first_function(void) { held = malloc(1000); held = malloc(1001); }
int main(void) { first_function(); }
C
gcc -g -O1 -Wl,--build-id=sha1 -o "$scratch/app" "$scratch/app.c"
port=$(free_port) url=http://127.0.0.1:$port
"$cairn" collect --store "$clickhouse" --listen "127.0.0.1:$port" --spool "$scratch/spool-late" >"$scratch/collect.log" 2>&1 &
collector=$!
children+=("$collector")
wait_for 20 curl -sf "$url/health" -o "$scratch/health"
python3 tests/e2e/make-dump.py "$scratch/app" first_function >"$scratch/dump"
curl -s -o "$scratch/answer" --data-binary "@$scratch/dump" "$url/v1/snapshots?service=late&host=h1"
wait_for 60 stored 1
late() { "$cairn" fleet top --store "$clickhouse" --service late --from 1789000000 2>"$scratch/notes"; }
like "$(late)" '*app+0x*' 'a snapshot whose program nobody has'
"$cairn" symbols push --to "$url" "$scratch/app" >"$scratch/out"
named() { late | grep -q first_function; }
wait_for 60 named
ok $? 'has its names once the program is uploaded'
kill -KILL "$collector"; wait "$collector" 2>/dev/null
rm -r "$scratch/spool-late"
"$cairn" collect --store "$clickhouse" --listen "127.0.0.1:$port" --spool "$scratch/spool-late" >"$scratch/collect.log" 2>&1 &
collector=$!
children+=("$collector")
wait_for 20 curl -sf "$url/health" -o "$scratch/health"
"$cairn" symbols push --to "$url" "$scratch/app" >"$scratch/out"
passed() { [ "$(curl -s "$url/metrics" | awk '$1 == "cairn_collect_naming_passes_total" { print $2 }')" -ge 2 ]; }
wait_for 20 passed
is "$(curl -s "$url/metrics" | awk '$1 == "cairn_collect_named_total" { print $2 }')" 0 'and is not named again by another collector'
kill "$collector"; wait "$collector" 2>/dev/null
done_testing
