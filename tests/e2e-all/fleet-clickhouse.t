#!/usr/bin/env bash
# The same fleet in ClickHouse: Debian's server, started on loopback; answers are those of SQLite, row by row.
. tests/e2e/lib.sh
. tests/e2e/collector.sh
need curl python3 gcc clickhouse-server
. tests/e2e/clickhouse.sh
clickhouse_start "$scratch/ch" 2000000000 cairn sesame || broken 'clickhouse-server does not start'
children+=("$clickhouse_pid")

server=127.0.0.1:$clickhouse_http
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
for store in "$clickhouse" "$sqlite"; do
	spool=$scratch/spool-${store%%:*} collect
	for again in 1 2; do # all of it twice
		for i in 11 12 13 21 22 23; do
			post_all "service=api&version=${i:0:1}&host=host-$i" "$scratch/$i"/*.heap
		done
	done
	wait_for 120 stored 288
	stop
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
for column in base_ns since_ns before_bytes own_bytes; do sql "ALTER TABLE snapshots DROP COLUMN $column"; done; sql 'INSERT INTO settings VALUES (1, 1)'
holds 'tables of an earlier version are brought up to date' "$cairn" store init -q "$store"
is "$("$cairn" fleet services --store "$store" --from 1789000000 --json | python3 -c 'import json, sys; print(json.load(sys.stdin)["services"][0]["snapshots"])')" 25 'with what they hold'
# Names that come later than what they are of.
make_app
store=$clickhouse spool=$scratch/spool-late
collect
python3 tests/e2e/make-dump.py "$scratch/app" first_function >"$scratch/dump"
post_all 'service=late&host=h1' "$scratch/dump"
wait_for 60 stored 1
late() { "$cairn" fleet top --store "$clickhouse" --service late --from 1789000000 2>"$scratch/notes"; }
like "$(late)" '*app+0x*' 'a snapshot whose program nobody has'
"$cairn" symbols push --to "$url" "$scratch/app" >"$scratch/out"
named() { late | grep -q first_function; }
wait_for 60 named
ok $? 'has its names once the program is uploaded'
stop -KILL
rm -r "$spool"
collect
"$cairn" symbols push --to "$url" "$scratch/app" >"$scratch/out"
passed() { [ "$(metric naming_passes_total)" -ge 2 ]; }
wait_for 20 passed
is "$(metric named_total)" 0 'and is not named again by another collector'
stop

# Many instances: the statements by which a store chooses call paths.
. tests/e2e/large.sh
FLEET_NOW=$(date +%s)
export FLEET_NOW
"$cairn" store init -q "clickhouse://cairn:sesame@$server/large"
"$cairn" store init -q "sqlite:$scratch/large.db"
store=clickhouse://cairn:sesame@$server/large
check_large clickhouse "http://$server/?user=cairn&password=sesame&database=large"
store=sqlite:$scratch/large.db
check_large sqlite "$scratch/large.db"
for service in day short; do holds "$service: the same from both" cmp "$scratch/sqlite-$service.json" "$scratch/clickhouse-$service.json"; done

. tests/e2e/retention.sh
cluster=()
merge_frames() { sql 'OPTIMIZE TABLE frames FINAL'; }
store=clickhouse://cairn:sesame@$server/kept
sql() { curl -s -H 'X-ClickHouse-User: cairn' -H 'X-ClickHouse-Key: sesame' "http://$server/?database=kept" -d "$1"; }
"$cairn" store init -q "$store"
check_names
check_retention

# In the shape of Coroot's tables.
. tests/e2e/views.sh
store=clickhouse://cairn:sesame@$server/shown folded="arrayStringConcat(arrayReverse(Stack), ';')"
sql() { curl -s -H 'X-ClickHouse-User: cairn' -H 'X-ClickHouse-Key: sesame' "http://$server/?database=shown" -d "$(sed 's/) AS x JOIN (/) AS x ANY INNER JOIN (/' <<<"$1")"; }
"$cairn" store init -q "$store"
check_views
is "$(sql "SELECT DISTINCT \`Labels.keys\`, \`Labels.values\` FROM profiling_samples WHERE ServiceName = 'shown' AND \`Labels.values\`[indexOf(\`Labels.keys\`, 'pod')] = 'p1'")" \
	"['instance','version','zone','pod']	['h1:4242','1','a b&c','p1']" 'labels are two arrays'

# Tables of version 2, with a frame that has a name and one that has none.
store=clickhouse://cairn:sesame@$server/second
sql() { curl -s -H 'X-ClickHouse-User: cairn' -H 'X-ClickHouse-Key: sesame' "http://$server/?database=second" -d "$1"; }
"$cairn" store init -q "$store"
for table in frames stacks processes; do
	sql "DROP TABLE $table"
done
sql 'CREATE TABLE frames (frame UInt64, build_id String, module String, place UInt64, names String) ENGINE = ReplacingMergeTree ORDER BY (frame)'
sql 'CREATE TABLE stacks (stack UInt64, frames Array(UInt64)) ENGINE = ReplacingMergeTree ORDER BY (stack)'
sql 'CREATE TABLE processes (instance UInt64, tenant UInt64, service String, version String, host String, pid UInt64, program String, build_id String, start_ns UInt64, labels String) ENGINE = ReplacingMergeTree ORDER BY (instance)'
sql "INSERT INTO frames VALUES (1, 'b', 'm', 1, 'one'), (2, 'b', 'm', 2, '')"
sql "INSERT INTO stacks VALUES (1, [1, 2])"
sql 'INSERT INTO settings VALUES (1, 2)'
holds 'tables of the second version are brought up to date' "$cairn" store init -q "$store"
is "$(sql 'SELECT frame, names, nameless, used_ns > 1000000000000000000 FROM frames ORDER BY frame' | tr '\n\t' ';,')" '1,one,0,1;2,,0,1;' 'their rows are of now'
check_names
done_testing
