#!/usr/bin/env bash
# A store on a ClickHouse cluster: two shards with two replicas each and ZooKeeper, all of Debian and on loopback. What is put through one node is
# found through any other, also while a replica is away, and as it is in SQLite.
. tests/e2e/lib.sh
. tests/e2e/agent.sh
. tests/e2e/collector.sh
. tests/e2e/clickhouse.sh
need curl python3 clickhouse-server java
[ -f /usr/share/java/zookeeper.jar ] || broken 'no zookeeper.jar: the Debian package zookeeper has it'
keeper=$(free_port)
mkdir -p "$scratch/zk"
printf 'tickTime=2000\ndataDir=%s\nclientPort=%d\nclientPortAddress=127.0.0.1\nadmin.enableServer=false\n' "$scratch/zk" "$keeper" >"$scratch/zoo.cfg"
java -Xmx256m -cp /etc/zookeeper/conf:/usr/share/java/zookeeper.jar org.apache.zookeeper.server.quorum.QuorumPeerMain "$scratch/zoo.cfg" >"$scratch/zk.log" 2>&1 &
children+=($!)
listens() { (exec 3<>"/dev/tcp/127.0.0.1/$1") 2>/dev/null; }
wait_for 60 listens "$keeper" || broken 'ZooKeeper does not start'

for node in 11 12 21 22; do
	declare "http_$node=$(free_port)" "tcp_$node=$(free_port)" "inter_$node=$(free_port)"
done
replica() { local tcp=tcp_$1; echo "<replica><host>127.0.0.1</host><port>${!tcp}</port></replica>"; }
cluster="<fleet><shard><internal_replication>true</internal_replication>$(replica 11)$(replica 12)</shard><shard><internal_replication>true</internal_replication>$(replica 21)$(replica 22)</shard></fleet>"
start() { # start NODE: sets pid_NODE
	local http=http_$1 tcp=tcp_$1 inter=inter_$1 started
	clickhouse_start "$scratch/n$1" 1000000000 default '' "${!http}" "${!tcp}" "${!inter}" "<remote_servers>$cluster</remote_servers>
<zookeeper><node><host>127.0.0.1</host><port>$keeper</port></node></zookeeper><distributed_ddl><path>/clickhouse/ddl</path></distributed_ddl>
<macros><shard>${1:0:1}</shard><replica>n$1</replica></macros>"
	started=$?
	declare -g "pid_$1=$clickhouse_pid"
	children+=("$clickhouse_pid")
	return $started
}
for node in 11 12 21 22; do start $node || broken "clickhouse-server $node does not start"; done
at() { local http=http_$1; echo "clickhouse://127.0.0.1:${!http}/cairn"; }
query() { local http=http_$1; curl -s "http://127.0.0.1:${!http}/?database=cairn" --data-binary "$2"; }

holds 'tables on the whole cluster' "$cairn" store init "$(at 11)" --cluster fleet --keep-days 10000
is "$(query 22 'SHOW TABLES' | grep -c _local)" "$(query 11 'SHOW TABLES' | grep -c _local)" 'are on every node'
holds 'and again' "$cairn" store init -q "$(at 21)" --cluster fleet --keep-days 10000
"$cairn" store init "$(at 11)" --cluster "x' DROP" >"$scratch/out" 2>&1
is $? 2 'the name of a cluster is no text for a statement'
sqlite=sqlite:$scratch/fleet.db
"$cairn" store init -q "$sqlite" --keep-days 10000

send() { # send URL HOST VERSION FOLDER
	url=$1 post_all "service=api&version=$3&host=$2" "$scratch/$4"/*.heap
}
for i in 1 2 3; do
	python3 tests/e2e/make-series.py "$scratch/old$i" healthy "$i" 24
	python3 tests/e2e/make-series.py "$scratch/new$i" weighed "$i" 24
done
store=$sqlite spool=$scratch/spool-sqlite collect; single=$url
store=$(at 11) spool=$scratch/spool-cluster collect; many=$url
for to in "$single" "$many"; do
	for i in 1 2; do
		send "$to" "old-$i" 1 "old$i" && send "$to" "new-$i" 2 "new$i" || broken 'a snapshot was not accepted'
	done
	url=$to wait_for 120 emptied
done
# Rows for the other shard are passed on a moment later.
snapshots() { "$cairn" fleet services --store "$1" --from 1789000000 --json 2>"$scratch/notes" | of_json 'sum(s["snapshots"] for s in r["services"])' 2>/dev/null; }
has() { [ "$(snapshots "$1")" = "$2" ]; }
wait_for 60 has "$(at 22)" 96
ok $? 'all snapshots are found through another node'
rows=$(query 11 'SELECT count() FROM samples')
settled() { [ "$(query 12 'SELECT count() FROM samples')" = "$rows" ] && [ "$(query 21 'SELECT count() FROM samples')" = "$rows" ]; }
wait_for 60 settled
ok $? 'every node counts the same rows'
# Through the views, too, which join what lies on both shards.
like "$(query 12 "SELECT ServiceName, count(), sum(Value) FROM profiling_samples WHERE Type = 'go:heap_inuse_space:bytes' GROUP BY ServiceName")" 'api	*' 'the view of samples'
for view in 'sum(Value) FROM profiling_samples' 'count(), sum(length(Stack)), min(length(Stack)) FROM profiling_stacks' 'count() FROM profiling_profiles'; do
	is "$(query 22 "SELECT $view")" "$(query 11 "SELECT $view")" "the same through every node: $view"
done
is "$(query 11 "SELECT sum(Value) FROM profiling_samples WHERE Type = 'go:heap_inuse_space:bytes'")" \
	"$(python3 -c 'import sqlite3, sys; print(sqlite3.connect(sys.argv[1]).execute(sys.argv[2]).fetchone()[0])' "$scratch/fleet.db" "SELECT sum(Value) FROM profiling_samples WHERE Type = 'go:heap_inuse_space:bytes'")" 'and what SQLite says'
is "$(($(query 11 'SELECT count() FROM samples_local') + $(query 21 'SELECT count() FROM samples_local')))" "$rows" 'which lie on two shards'
ok $(($(query 11 'SELECT count() FROM stacks_local') == 0 || $(query 21 'SELECT count() FROM stacks_local') == 0)) 'both of which have some stacks'
copied() { [ "$(query $1 'SELECT count() FROM samples_local')" = "$(query $2 'SELECT count() FROM samples_local')" ]; }
wait_for 60 copied 11 12 && wait_for 60 copied 21 22
ok $? 'and twice each'
for question in "leaks --service api --json" "diff --service api --version 1..2 --json" "timeline --service api -n 3" "bill --json"; do
	is "$("$cairn" fleet $question --store "$(at 12)" --from 1789000000 2>&1 | md5sum)" \
		"$("$cairn" fleet $question --store "$sqlite" --from 1789000000 2>&1 | md5sum)" "the cluster says what SQLite says: $question"
done

# A replica goes away, and comes back.
kill -9 "$pid_22"; wait "$pid_22" 2>/dev/null
is "$(snapshots "$(at 11)")" 96 'with a replica away, nothing is missing'
send "$many" new-3 2 new3 || broken 'a snapshot was not accepted'
url=$many wait_for 120 emptied
wait_for 60 has "$(at 11)" 120
ok $? 'and more is taken'
start 22
wait_for 120 has "$(at 22)" 120
ok $? 'the replica, back again, has it all'
wait_for 60 copied 21 22
ok $? 'in its own tables too'
send "$many" new-3 2 new3
url=$many wait_for 120 emptied
is "$(snapshots "$(at 12)")" 120 'what is sent twice counts once'

# What is old goes from every node. A replica that was killed may have led its shard: until another one does, rows cannot be removed.
leaders() { query "$1" 'SELECT count() FROM system.replicas WHERE is_leader'; }
led() { [ "$(($(leaders 11) + $(leaders 12)))" = "$tables" ] && [ "$(($(leaders 21) + $(leaders 22)))" = "$tables" ]; }
tables=$(query 11 'SELECT count() FROM system.replicas')
wait_for 90 led
ok $? 'every table of both shards has a leader again'
. tests/e2e/retention.sh
cluster=(--cluster fleet)
store=$(at 12)
sql() { curl -s "http://127.0.0.1:$http_21/?database=cairn&insert_distributed_sync=1" --data-binary "$1"; }
merge_frames() { query 11 'OPTIMIZE TABLE frames_local FINAL'; query 21 'OPTIMIZE TABLE frames_local FINAL'; }
check_names
check_retention
for node in 11 12 21 22; do
	local_rows() { [ "$(query $node 'SELECT count() FROM samples_local WHERE instance = 77')$(query $node 'SELECT count() FROM frames_local WHERE frame = 77')" = 00 ]; }
	wait_for 60 local_rows
	ok $? "and from node $node"
done
done_testing
