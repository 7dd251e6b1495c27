#!/usr/bin/env bash
# A store as Grafana's Pyroscope data source reads it: asked with the client and the messages that the data source is built with, in protobuf and
# in JSON. Grafana itself is not to be had from Go's proxy, npm or Debian.
. tests/e2e/lib.sh
. tests/e2e/collector.sh
PATH=$PATH:/usr/local/go/bin
need curl python3 go
mkdir -p "$scratch/client"
cp tests/e2e-all/grafana.go "$scratch/client/main.go"
printf 'module client\ngo 1.25.0\nrequire (\n\tgithub.com/grafana/pyroscope/api v1.6.0\n\tconnectrpc.com/connect v1.19.2\n)\n' >"$scratch/client/go.mod"
(cd "$scratch/client" && GOFLAGS=-mod=mod GOSUMDB=off go build -o client .) >"$scratch/build" 2>&1 ||
	skip_all "Go's proxy does not give Pyroscope's API here: $(tail -n 1 "$scratch/build")"

"$cairn" store init -q "$store"
collect || broken 'no collector'
for i in 1 2; do
	python3 tests/e2e/make-series.py "$scratch/1-$i" healthy "$i" 12
	python3 tests/e2e/make-series.py "$scratch/2-$i" grouped "$i" 12
	for version in 1 2; do
		post_all "service=api&version=$version&host=host-$i" "$scratch/$version-$i"/*.heap || broken 'a snapshot was not accepted'
	done
done
wait_for 60 emptied
port=$(free_port) page=http://127.0.0.1:$port
"$cairn" serve --no-token --store "$store" --listen "127.0.0.1:$port" >"$scratch/serve.log" 2>&1 &
children+=("$!")
wait_for 20 curl -sf "$page/" -o "$scratch/page"

start=1790000000000 end=1790006600000
for way in proto json; do
	timeout 60 "$scratch/client/client" "$page" $way '{service_name="api"}' $start $end >"$scratch/$way" 2>"$scratch/error"
	ok $? "$way: every question is answered in a way that the client understands" || sed 's/^/# /' "$scratch/error"
done
is "$(cat "$scratch/json")" "$(cat "$scratch/proto")" 'both say the same'
is "$(of_json 'r["types"], r["hosts"], r["names"]' <"$scratch/proto")" \
	"(['memory:inuse_space:bytes:space:bytes', 'memory:inuse_objects:count:space:bytes'], ['host-1', 'host-2'], ['__name__', '__profile_type__', 'host', 'instance', 'service_name', 'version'])" \
	'profile types and labels'
fleet() { "$cairn" fleet "$@" --store "$store" --from $((start / 1000)) --to $((end / 1000)) --json 2>"$scratch/notes"; }
one=$(fleet services --version 1 | of_json 'r["services"][0]["live"]') two=$(fleet services --version 2 | of_json 'r["services"][0]["live"]')
is "$(of_json "r['points'], sorted(r['last']), abs(r['last']['version=1'] - $one) < 2, abs(r['last']['version=2'] - $two) < 2" <"$scratch/proto")" \
	"(24, ['version=1', 'version=2'], True, True)" 'a time series of each release, which ends with what it holds'
fleet top --service api -n 0 >"$scratch/top"
is "$(python3 - "$scratch/proto" "$scratch/top" <<'P'
import json, sys
flame, top = (json.load(open(p)) for p in sys.argv[1:])
print(abs(flame["total"] - top["total"]) < 40, {r["name"] for r in top["rows"] if r["flat"] > 2} == {n for n, own in flame["own"].items() if own > 2},
      all(abs(flame["own"].get(r["name"], 0) - r["flat"]) < 8 for r in top["rows"]))
P
)" 'True True True' 'a flame graph, in which each function holds what cairn fleet top says'
is "$(of_json "r['left'] > 0 and r['right'] > r['left'], r['error'], r['missing']" <"$scratch/proto")" "(True, 'invalid_argument', 'unimplemented')" \
	'a comparison; and errors have the codes of the protocol'
done_testing
