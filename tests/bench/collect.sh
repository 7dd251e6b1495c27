#!/usr/bin/env bash
# A collector and ClickHouse on this machine: INSTANCES (1000) of STACKS (3000) each a minute. MINUTES (11) of them are sent as fast as they are
# taken: one whole cycle, a snapshot that is stored whole and the nine after it of which only changes are, and the next whole one. Then `fleet leaks`
# over LEAK_INSTANCES (1000) and LEAK_HOURS (24) in ClickHouse, and a tenth of the instances in SQLite, in stores that are filled by statements.
. tests/bench/lib.sh
. tests/e2e/clickhouse.sh
instances=${INSTANCES:-1000} stacks=${STACKS:-3000} minutes=${MINUTES:-11}
command -v clickhouse-server >/dev/null || { without 'the fleet in ClickHouse' 'no clickhouse-server here'; exit 0; }
free_port() { python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'; }
collector= clickhouse_pid=
trap 'kill $clickhouse_pid $collector 2>/dev/null; wait; rm -rf "$scratch"' EXIT
clickhouse_start "$scratch/ch" 4000000000 || { without 'the fleet in ClickHouse' 'clickhouse-server does not start'; exit 1; }
cpu() { awk '{ sub(/.*\) /, ""); print ($12 + $13) / 100 }' "/proc/$1/stat"; }
metric() { curl -s "$1/metrics" | awk -v name="cairn_collect_$2" '$1 == name { print $2 }'; }
parts() { clickhouse_ask "$1" "SELECT sum($2) FROM system.parts WHERE active AND database = '$1' AND $3"; }
# verdict VALUE WANTED: VALUE is at most WANTED
verdict() { awk -v value="$1" -v wanted="$2" 'BEGIN { print value <= wanted ? "met" : "NOT MET" }'; }

# run INSTANCES: prints a line of the table
run() {
	local database=fleet$1 port url before seconds sent refused size rows bytes all own server
	port=$(free_port) url=http://127.0.0.1:$port
	"$cairn" store init -q "clickhouse://127.0.0.1:$clickhouse_http/$database"
	"$cairn" collect --store "clickhouse://127.0.0.1:$clickhouse_http/$database" --listen "127.0.0.1:$port" --spool "$scratch/spool$1" >"$scratch/collect.log" 2>&1 &
	collector=$!
	for _ in $(seq 100); do curl -sf "$url/health" >/dev/null && break; sleep 0.1; done
	before=$(cpu "$clickhouse_pid")
	python3 tests/bench/make-fleet.py send "$url" "$1" "$stacks" "$minutes" >"$scratch/sent"
	read -r seconds sent refused size <"$scratch/sent"
	local start=$EPOCHREALTIME
	until [ "$(metric "$url" spool_files)" = 0 ]; do
		kill -0 "$collector" 2>/dev/null || { echo "the collector ended:"; cat "$scratch/collect.log"; exit 1; }
		sleep 0.2
	done
	seconds=$(awk "BEGIN { print $seconds + $EPOCHREALTIME - $start }")
	own=$(cpu "$collector") server=$(awk "BEGIN { print $(cpu "$clickhouse_pid") - $before }")
	kill "$collector"; wait "$collector" 2>/dev/null
	collector=
	for table in samples hourly; do clickhouse_ask "$database" "OPTIMIZE TABLE $table" >/dev/null; done
	rows=$(parts "$database" rows "table IN ('samples', 'hourly')") bytes=$(parts "$database" bytes "table IN ('samples', 'hourly')")
	all=$(parts "$database" bytes 1) hourly=$(parts "$database" rows "table = 'hourly'") hourly_bytes=$(parts "$database" bytes "table = 'hourly'")
	rate=$(awk "BEGIN { print $sent / $seconds }") per_row=$(awk "BEGIN { print $bytes / $rows }")
	awk -v instances="$1" -v rate="$rate" -v stacks="$stacks" -v rows="$rows" -v per_row="$per_row" -v all="$all" -v size="$size" \
		-v own="$own" -v server="$server" -v sent="$sent" 'BEGIN {
		printf "%9d %8d %9.1f %11.0f %11d %9.1f %10.0f %9.1f ms %9.1f ms %8.1f %%  %s\n", instances, sent, rate, rate * stacks, rows, per_row, size / 1024,
			1000 * own / sent, 1000 * server / sent, 100 * (own + server) / sent * instances / 60, rate >= instances / 60 ? "keeps up" : "FALLS BEHIND" }'
}
heading "A collector with ClickHouse on this machine: instances of $stacks stacks each a minute; $minutes minutes of them, sent as fast as they are taken"
printf '%9s %8s %9s %11s %11s %9s %10s %12s %12s %10s\n' instances sent 'a second' 'stacks/s' 'rows' 'bytes/row' 'KiB sent' collector ClickHouse 'of a core'
for count in $((instances / 100)) $((instances / 10)) "$instances"; do [ "$count" -gt 0 ] && run "$count"; done
echo 'collector, ClickHouse: CPU time a snapshot; of a core: what one snapshot of each instance a minute takes, both together'
printf '%-70s wanted %8s  measured %8.1f  %s\n' "snapshots a second, $instances instances each a minute, at least" "$(awk "BEGIN { printf \"%.1f\", $instances / 60 }")" "$rate" \
	"$(verdict "$(awk "BEGIN { print $instances / 60 }")" "$rate")"
printf '%-70s wanted %8s  measured %8.1f  %s\n' 'bytes a stored row on disk, at most' 30 "$per_row" "$(verdict "$per_row" 30)"
# Of the rows of samples, the first whole snapshots came before the cycle of ten minutes that is repeated. The table hourly has one an hour.
awk -v instances="$instances" -v stacks="$stacks" -v minutes="$minutes" -v rows="$rows" -v bytes="$bytes" -v hourly="$hourly" -v hourly_bytes="$hourly_bytes" 'BEGIN {
	cycle = (rows - hourly - instances * stacks) / instances * 10 / (minutes - 1); row = (bytes - hourly_bytes) / (rows - hourly)
	each = hourly / instances; course = hourly_bytes / hourly
	printf "calculated: an instance and hour takes 6 x %.0f rows of samples at %.1f bytes and %.0f rows of hourly at %.1f bytes: %.0f rows, %.0f KiB\n",
		cycle, row, each, course, 6 * cycle + each, (6 * cycle * row + each * course) / 1024
	printf "calculated: %d instances write %.0f rows a second and fill %.0f GB in 30 days\n", instances, (6 * cycle + each) * instances / 3600,
		(6 * cycle * row + each * course) * instances * 720 / 1e9 }'

hours=${LEAK_HOURS:-24} many=${LEAK_INSTANCES:-1000} paths=${LEAK_STACKS:-3000}
heading "fleet leaks: $paths stacks, a whole snapshot each ten minutes; how the time grows with instances and hours"
# leaks STORE SERVICE INSTANCES ENGINE [WANTED]: for half of the hours and all of them
leaks() {
	local span time found
	for span in $((hours / 2)) "$hours"; do
		"$cairn" fleet leaks --store "$1" --service "$2" --from "-${span}h" --json >"$scratch/leaks.json" 2>"$scratch/notes"
		found=$(python3 -c 'import json, sys
r = json.load(open(sys.argv[1]))
g = [x for x in r["rows"] if x["verdict"] == "growing"]
print("finds the leak" if len(g) == 1 and g[0]["name"] == "function_0" and g[0]["version"] == "2" else "FINDS %d: %s" % (len(g), [x["name"] for x in g][:3]))' "$scratch/leaks.json" 2>&1 | tail -n 1)
		time=$(seconds 3 "$cairn" fleet leaks --store "$1" --service "$2" --from "-${span}h")
		printf '%-11s %6d instances %4d hours %8.3f s%s  %s\n' "$4" "$3" "$span" "$time" \
			"$([ "$span" = "$hours" ] && [ -n "$5" ] && echo "  (wanted $5 s: $(verdict "$time" "$5"))")" "$found"
	done
}
store=clickhouse://127.0.0.1:$clickhouse_http/leaks
"$cairn" store init -q "$store"
for count in $((many / 10)) "$many"; do
	start=$EPOCHREALTIME
	python3 tests/bench/make-fleet.py rows "big$count" "$count" "$paths" "$hours" 600 clickhouse "http://127.0.0.1:$clickhouse_http/?database=leaks" || exit 1
	[ "$count" -eq "$many" ] && printf '(%d rows of hourly at %.1f bytes, filled in %.0f s)\n' "$(parts leaks rows "table = 'hourly'")" \
		"$(awk "BEGIN { print $(parts leaks bytes "table = 'hourly'") / $(parts leaks rows "table = 'hourly'") }")" "$(awk "BEGIN { print $EPOCHREALTIME - $start }")"
	leaks "$store" "big$count" "$count" ClickHouse "$([ "$count" -eq "$many" ] && echo 2)"
done
store=sqlite:$scratch/leaks.db
"$cairn" store init -q "$store"
python3 tests/bench/make-fleet.py rows big $((many / 10)) "$paths" "$hours" 600 sqlite "$scratch/leaks.db" || exit 1
leaks "$store" big $((many / 10)) SQLite 2
