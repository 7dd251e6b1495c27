#!/usr/bin/env bash
# The same fleet in today's ClickHouse: chdb from PyPI, which is that engine in a library, behind a small server. Answers are those of SQLite, and the
# views that are shaped like Coroot's tables take questions as Coroot asks them.
. tests/e2e/lib.sh
. tests/e2e/collector.sh
need curl python3 gcc
. tests/e2e/views.sh
python3 -m venv "$scratch/venv" && "$scratch/venv/bin/pip" install -q chdb >"$scratch/pip" 2>&1 || broken "no chdb: $(tail -n 1 "$scratch/pip")"
port=$(free_port)
"$scratch/venv/bin/python" tests/e2e-all/chdb-server.py "$port" "$scratch/ch" >"$scratch/ch.log" 2>&1 &
children+=($!)
server=127.0.0.1:$port
wait_for 60 curl -sf "http://$server/ping" -o "$scratch/ping" || broken "chdb does not start: $(tail -n 1 "$scratch/ch.log")"
in_database() { curl -s "http://$server/?database=$1" --data-binary "$2"; }
echo "# ClickHouse $(in_database default 'SELECT version()')"

clickhouse=clickhouse://$server/cairn sqlite=sqlite:$scratch/fleet.db
like "$("$cairn" fleet services --store "$clickhouse" 2>&1)" "*'cairn store init STORE' makes its tables*" 'without tables it says how to make them'
for store in "$clickhouse" "$sqlite"; do
	holds 'tables' "$cairn" store init "$store" --keep-days 10000
	holds 'and again' "$cairn" store init "$store" --keep-days 10000
done
for i in 1 2 3; do
	python3 tests/e2e/make-series.py "$scratch/1$i" healthy "$i" 24
	python3 tests/e2e/make-series.py "$scratch/2$i" weighed "$i" 24
done
for store in "$clickhouse" "$sqlite"; do
	spool=$scratch/spool-${store%%:*} collect
	for i in 11 12 13 21 22 23 11; do # one of them twice
		post_all "service=api&version=${i:0:1}&host=host-$i" "$scratch/$i"/*.heap
	done
	wait_for 120 stored 168
	ok $? 'all of it is stored'
	stop
done
for question in 'services' 'leaks --service api' 'top --service api -n 0' 'top --service api --version 2 --instance host-21' 'diff --version 1..2 -n 0' 'bill --service api' 'timeline --service api' 'kills'; do
	for store in clickhouse sqlite; do
		"$cairn" fleet $question --store "${!store}" --from 1789000000 --json >"$scratch/$store.json" 2>"$scratch/$store.notes"
	done
	holds "$question: an answer" test -s "$scratch/sqlite.json"
	holds "$question: the same from both" cmp "$scratch/sqlite.json" "$scratch/clickhouse.json"
done
is "$(in_database cairn 'SELECT count() FROM snapshots FINAL')" 144 'sent twice, there once'
. tests/e2e/changes.sh
store=clickhouse://$server/minutes
rows() { in_database minutes 'SELECT count() FROM samples FINAL'; }
"$cairn" store init -q "$store"
check_changes
. tests/e2e/retention.sh
store=clickhouse://$server/kept cluster=()
sql() { in_database kept "$1"; }
merge_frames() { sql 'OPTIMIZE TABLE frames FINAL'; }
"$cairn" store init -q "$store"
check_names
check_retention

store=clickhouse://$server/shown folded="arrayStringConcat(arrayReverse(Stack), ';')"
sql() { in_database shown "$1"; }
"$cairn" store init -q "$store"
check_views
is "$(sql "SELECT DISTINCT Labels FROM profiling_samples WHERE ServiceName = 'shown' AND Labels['pod'] = 'p1'")" "{'instance':'h1:4242','version':'1','zone':'a b&c','pod':'p1'}" 'labels are a map'
columns() { sql "SELECT name, type FROM system.columns WHERE database = 'shown' AND table = '$1' AND name NOT IN ('Instance', 'Tenant') ORDER BY position" | tr '\t\n' ' ;'; }
is "$(columns profiling_stacks)" 'ServiceName LowCardinality(String);Hash UInt64;LastSeen DateTime64(9);Stack Array(String);' 'stacks: columns and types are those of Coroot'
is "$(columns profiling_samples)" \
	'ServiceName LowCardinality(String);Type LowCardinality(String);Start DateTime64(9);End DateTime64(9);Labels Map(LowCardinality(String), String);StackHash UInt64;Value Int64;' 'samples, too'
is "$(columns profiling_profiles)" 'ServiceName LowCardinality(String);Type LowCardinality(String);LastSeen DateTime64(9);' 'and profiles'
# The way Coroot asks: the heaviest stacks of some services and a span of time, by label; then what they are, and how many profiles each pod has.
answer=$(sql "WITH heavy AS (SELECT StackHash AS hash, sum(Value) AS value FROM profiling_samples WHERE ServiceName IN ('shown', 'other')
	AND Type = 'go:heap_inuse_space:bytes' AND Start < toDateTime64('2030-01-01 00:00:00', 9) AND End > toDateTime64('2026-01-01 00:00:00', 9)
	AND (empty([]) OR has(['x'], Labels['container.id'])) AND Labels['pod'] = 'p2' GROUP BY StackHash HAVING value > 0 ORDER BY value DESC LIMIT 5000),
	known AS (SELECT Hash AS hash, any(Stack) AS stack FROM profiling_stacks WHERE ServiceName IN ('shown') AND LastSeen > toDateTime64('2026-01-01 00:00:00', 9)
	AND Hash GLOBAL IN (SELECT hash FROM heavy) GROUP BY Hash),
	counted AS (SELECT count(DISTINCT Start) / greatest(1, count(DISTINCT Labels['pod'], Labels['namespace'])) AS profiles FROM profiling_samples
	WHERE ServiceName IN ('shown') AND Labels['pod'] = 'p2')
	SELECT count(), countIf(empty(stack)), sum(toInt64(value / profiles)) FROM known JOIN heavy USING (hash), counted")
total=$("$cairn" fleet top --store "$store" --service shown --version 2 --from 1789000000 --json 2>"$scratch/notes" | python3 -c 'import json, sys; print(json.load(sys.stdin)["total"])')
holds "a pod's average over time, asked as Coroot asks" python3 -c 'import sys
count, empty, value, total = map(float, sys.argv[1:])
sys.exit(not (count > 40 and empty == 0 and abs(value - total) <= count))' $answer "$total"
done_testing
