#!/usr/bin/env bash
# A collector and ClickHouse on this machine: INSTANCES (1000) of STACKS (3000) each a minute, MINUTES (3) of them, as fast as they are taken;
# then `fleet leaks` over LEAK_INSTANCES (1000) and LEAK_HOURS (24) in ClickHouse, and a tenth of the instances in SQLite, which are filled
# directly with whole snapshots of LEAK_STACKS (100).
. tests/bench/lib.sh
instances=${INSTANCES:-1000} stacks=${STACKS:-3000} minutes=${MINUTES:-3}
command -v clickhouse-server >/dev/null || { without 'the fleet in ClickHouse' 'no clickhouse-server here'; exit 0; }
free_port() { python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'; }
http=$(free_port) tcp=$(free_port) inter=$(free_port)
mkdir -p "$scratch/ch/data" "$scratch/ch/tmp"
cat >"$scratch/ch/config.xml" <<X
<yandex><logger><level>warning</level><log>$scratch/ch/log</log><errorlog>$scratch/ch/err</errorlog></logger><listen_host>127.0.0.1</listen_host>
<http_port>$http</http_port><tcp_port>$tcp</tcp_port><interserver_http_port>$inter</interserver_http_port><path>$scratch/ch/data/</path>
<tmp_path>$scratch/ch/tmp/</tmp_path><users_config>users.xml</users_config><default_profile>default</default_profile>
<default_database>default</default_database><mark_cache_size>67108864</mark_cache_size></yandex>
X
cat >"$scratch/ch/users.xml" <<'X'
<yandex><profiles><default><max_memory_usage>4000000000</max_memory_usage></default></profiles><users><default><password></password>
<networks><ip>127.0.0.1</ip></networks><profile>default</profile><quota>default</quota></default></users><quotas><default></default></quotas></yandex>
X
(cd "$scratch/ch" && exec clickhouse-server --config-file=config.xml) >"$scratch/ch/out" 2>&1 &
server=$!
trap 'kill $server $collector 2>/dev/null; wait; rm -rf "$scratch"' EXIT
collector=
ask() { curl -s "http://127.0.0.1:$http/?database=$1" -d "$2"; }
for _ in $(seq 300); do curl -sf "http://127.0.0.1:$http/ping" >/dev/null && break; sleep 0.2; done
cpu() { awk '{ sub(/.*\) /, ""); print ($12 + $13) / 100 }' "/proc/$1/stat"; }

# run INSTANCES: prints a line of the table
run() {
	local database=fleet$1 port url before_server after_server seconds sent refused rows bytes all
	port=$(free_port) url=http://127.0.0.1:$port
	"$cairn" store init -q "clickhouse://127.0.0.1:$http/$database"
	"$cairn" collect --store "clickhouse://127.0.0.1:$http/$database" --listen "127.0.0.1:$port" --spool "$scratch/spool$1" >"$scratch/collect.log" 2>&1 &
	collector=$!
	for _ in $(seq 100); do curl -sf "$url/health" >/dev/null && break; sleep 0.1; done
	before_server=$(cpu $server)
	local start=$EPOCHREALTIME
	read -r seconds sent refused < <(python3 tests/bench/make-fleet.py send "$url" "$1" "$stacks" "$minutes")
	until [ "$(curl -s "$url/metrics" | awk '$1 == "cairn_collect_spool_files" { print $2 }')" = 0 ]; do sleep 0.2; done
	seconds=$(awk "BEGIN { print $EPOCHREALTIME - $start }")
	after_server=$(cpu $server)
	ask "$database" 'OPTIMIZE TABLE samples' >/dev/null
	rows=$(ask "$database" "SELECT sum(rows) FROM system.parts WHERE active AND database = '$database' AND table = 'samples'")
	bytes=$(ask "$database" "SELECT sum(bytes) FROM system.parts WHERE active AND database = '$database' AND table = 'samples'")
	all=$(ask "$database" "SELECT sum(bytes) FROM system.parts WHERE active AND database = '$database'")
	awk -v instances="$1" -v seconds="$seconds" -v sent="$sent" -v stacks="$stacks" -v rows="$rows" -v bytes="$bytes" -v all="$all" -v minutes="$minutes" \
		-v ours="$(cpu $collector)" -v server="$(awk "BEGIN { print $after_server - $before_server }")" 'BEGIN {
		printf "%9d %8d %10.1f %12.0f %12d %9.1f %11.0f %9.1f %% %9.1f %%  %s\n", instances, sent, sent / seconds, sent * stacks / seconds, rows,
			bytes / rows, all / instances / minutes * 60 / 1024, 100 * ours / sent * instances / 60, 100 * server / sent * instances / 60,
			sent / seconds >= instances / 60 ? "keeps up" : "FALLS BEHIND" }'
	kill $collector; wait $collector 2>/dev/null
	collector=
}
heading "A collector with ClickHouse on this machine: instances of $stacks stacks each a minute, $minutes minutes of them sent at once"
printf '%9s %8s %10s %12s %12s %9s %11s %11s %11s\n' instances sent 'sent a s' 'stacks a s' 'rows stored' 'bytes/row' 'KiB/inst/h' 'collector' ClickHouse
for count in $((instances / 100)) $((instances / 10)) "$instances"; do [ "$count" -gt 0 ] && run "$count"; done
echo 'collector, ClickHouse: share of one core that one snapshot of each instance a minute takes. Bytes a row are those of samples (wanted: 30).'

heading "fleet leaks: ${LEAK_STACKS:-100} stacks, whole snapshots ten minutes apart (wanted: 2 s)"
leaks() { # STORE INSTANCES HOURS WHAT
	local time verdict='finds the leak'
	"$cairn" fleet leaks --store "$1" --service big --from "-$(($3 + 1))h" 2>/dev/null | grep -q 'growing.*function_0' || verdict='DOES NOT FIND the leak'
	time=$(seconds 3 "$cairn" fleet leaks --store "$1" --service big --from "-$(($3 + 1))h")
	printf '%-12s %6d instances %4d hours %9.3f s  %s\n' "$4" "$2" "$3" "$time" "$verdict"
}
hours=${LEAK_HOURS:-24} many=${LEAK_INSTANCES:-1000}
for size in "$((many / 10)) $((hours / 4 > 0 ? hours / 4 : 1))" "$((many / 10)) $hours" "$many $hours"; do
	read -r count span <<<"$size"
	[ "$count" -gt 0 ] || continue
	for engine in clickhouse sqlite; do
		[ $engine = sqlite ] && [ "$count" = "$many" ] && [ "$count" -gt 100 ] && continue # it is for one machine
		database=leaks${count}x$span
		if [ $engine = clickhouse ]; then
			store=clickhouse://127.0.0.1:$http/$database place="http://127.0.0.1:$http/?database=$database"
		else
			store=sqlite:$scratch/$database.db place=$scratch/$database.db
		fi
		"$cairn" store init -q "$store"
		# The number of the only tenant is the one that a snapshot put by the program has.
		"$cairn" pprof --taken 1790000000 - <<<$'heap_v2/524288\n  t*: 1: 4096 [0: 0]\n@ 0x1 0x2\n  t*: 1: 4096 [0: 0]\n\nMAPPED_LIBRARIES:\n' >"$scratch/one.pb.gz" 2>/dev/null
		port=$(free_port)
		"$cairn" collect --store "$store" --listen "127.0.0.1:$port" --spool "$scratch/spool-$engine-$database" >"$scratch/collect.log" 2>&1 &
		collector=$!
		for _ in $(seq 100); do curl -sf "http://127.0.0.1:$port/health" >/dev/null && break; sleep 0.1; done
		curl -s --data-binary "@$scratch/one.pb.gz" "http://127.0.0.1:$port/v1/pprof?service=one" >/dev/null
		until [ "$(curl -s "http://127.0.0.1:$port/metrics" | awk '$1 == "cairn_collect_spool_files" { print $2 }')" = 0 ]; do sleep 0.2; done
		kill $collector; wait $collector 2>/dev/null; collector=
		if [ $engine = clickhouse ]; then tenant=$(ask "$database" 'SELECT tenant FROM processes LIMIT 1'); else
			tenant=$(python3 -c 'import sqlite3, sys; print(sqlite3.connect(sys.argv[1]).execute("SELECT tenant FROM processes").fetchone()[0])' "$place"); fi
		python3 tests/bench/make-fleet.py rows "$count" "${LEAK_STACKS:-100}" "$span" "$tenant" $engine "$place"
		leaks "$store" "$count" "$span" $engine
	done
done
