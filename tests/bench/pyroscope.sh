#!/usr/bin/env bash
# The question of `fleet leaks` asked of Pyroscope: both get the same profiles by the same call, INSTANCES (100) of STACKS (3000) each hour for HOURS
# (23). Pyroscope has no verdict; what comes nearest is the difference of the first hour and the last, of all instances together, which does not tell on
# how many of them a path grows, and of each for itself.
. tests/bench/lib.sh
instances=${INSTANCES:-100} stacks=${STACKS:-3000} hours=${HOURS:-23}
what='the same question asked of Pyroscope'
pyroscope=${PYROSCOPE:-$(command -v pyroscope)}
[ -n "$pyroscope" ] || { without "$what" 'no pyroscope here; PYROSCOPE may name the program'; exit 0; }
free_port() { python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'; }
cpu() { awk '{ sub(/.*\) /, ""); print ($12 + $13) / 100 }' "/proc/$1/stat"; }
server= collector=
trap 'kill $server $collector 2>/dev/null; wait; rm -rf "$scratch"' EXIT
end=$(($(date +%s) - 60))

port=$(free_port) grpc=$(free_port) raft=$(free_port) gossip=$(free_port) theirs=http://127.0.0.1:$port
mkdir "$scratch/theirs"
own_addresses=()
for flag in compactor.ring.instance distributor.ring.instance overrides-exporter.ring.instance query-frontend.instance query-scheduler.ring.instance store-gateway.sharding-ring.instance; do
	own_addresses+=("-$flag-addr=127.0.0.1")
done
(cd "$scratch/theirs" && exec "$pyroscope" -target=all -architecture.storage=v2 -server.http-listen-address=127.0.0.1 -server.http-listen-port="$port" \
	-server.grpc-listen-address=127.0.0.1 -server.grpc-listen-port="$grpc" -metastore.address="127.0.0.1:$grpc" -query-backend.address="127.0.0.1:$grpc" -metastore.raft.bind-address="127.0.0.1:$raft" \
	-metastore.raft.advertise-address="127.0.0.1:$raft" -metastore.raft.server-id="127.0.0.1:$raft" -memberlist.bind-addr=127.0.0.1 -memberlist.bind-port="$gossip" \
	-ingester.lifecycler.addr=127.0.0.1 -segment-writer.lifecycler.addr=127.0.0.1 "${own_addresses[@]}" -validation.reject-older-than=0 \
	-distributor.ingestion-rate-limit-mb=100000 -distributor.ingestion-burst-size-mb=100000 -querier.max-flamegraph-nodes-max=0 \
	-usage-stats.enabled=false -self-profiling.disable-push=true -log.level=error) >"$scratch/pyroscope.log" 2>&1 &
server=$!
for _ in $(seq 300); do curl -sf -m 5 "$theirs/ready" >/dev/null && break; sleep 0.5; done
curl -sf -m 5 "$theirs/ready" >/dev/null || { without "$what" 'pyroscope does not start:'; tail -n 3 "$scratch/pyroscope.log"; exit 1; }
port=$(free_port) ours=http://127.0.0.1:$port store=sqlite:$scratch/ours.db
"$cairn" store init -q "$store"
"$cairn" collect --store "$store" --listen "127.0.0.1:$port" --spool "$scratch/spool" >"$scratch/collect.log" 2>&1 &
collector=$!
for _ in $(seq 100); do curl -sf "$ours/health" >/dev/null && break; sleep 0.1; done

heading "The same profiles pushed to a collector with SQLite and to Pyroscope: $instances instances of $stacks stacks, each hour for $hours hours"
read -r seconds sent size < <(python3 tests/bench/pyroscope.py push "$ours" "$instances" "$stacks" "$hours" "$end")
[ -n "$sent" ] || { echo 'the collector does not take them'; exit 1; }
until [ "$(curl -s "$ours/metrics" | awk '$1 == "cairn_collect_spool_files" { print $2 }')" = 0 ]; do kill -0 $collector || exit 1; sleep 0.2; done
own=$(cpu $collector)
read -r their_seconds their_sent _ < <(python3 tests/bench/pyroscope.py push "$theirs" "$instances" "$stacks" "$hours" "$end")
[ -n "$their_sent" ] || { echo 'Pyroscope does not take them:'; tail -n 3 "$scratch/pyroscope.log"; exit 1; }
sleep 15 # Pyroscope puts its segments together
their_own=$(cpu $server)
printf '%d profiles of %.0f KiB; CPU time a profile, all work until it is stored: Cairn %.1f ms, Pyroscope %.1f ms\n' "$sent" "$(awk "BEGIN { print $size / 1024 }")" \
	"$(awk "BEGIN { print 1000 * $own / $sent }")" "$(awk "BEGIN { print 1000 * $their_own / $sent }")"
printf 'on disk: Cairn %s MB, Pyroscope %s MB\n' "$(du -sm "$scratch/ours.db" | cut -f1)" "$(du -sm "$scratch/theirs" | cut -f1)"
kill $collector; wait $collector 2>/dev/null; collector=

asking=("$cairn" fleet leaks --store "$store" --service api --from "-$((hours + 1))h")
"${asking[@]}" --json >"$scratch/leaks.json" 2>"$scratch/notes"
python3 -c 'import json, sys
for row in json.load(open(sys.argv[1]))["rows"]:
    if row["verdict"] == "growing":
        print("Cairn finds %s growing since release %s on %d instances" % (row["name"], row["version"], row["instances"]))' "$scratch/leaks.json"
time=$(seconds 3 "${asking[@]}")
read -r together each found alike < <(python3 tests/bench/pyroscope.py ask "$theirs" "$instances" "$hours" "$end")
echo "Pyroscope finds $found to have grown most; it is so on $alike of $instances instances, asked one by one"
row 'what grows, on how many instances' "$time" "Pyroscope, $instances Diffs" "$each"
row 'against what has grown on all together' "$time" 'Pyroscope, one Diff' "$together"
