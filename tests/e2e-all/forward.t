#!/usr/bin/env bash
# Snapshots that are sent on to the OpenTelemetry Collector, the real program, and to the service of Pyroscope's own API. Parca, Pyroscope's server
# and Coroot are not to be had from Go's proxy; tests/e2e/receiver.py stands in for them.
. tests/e2e/lib.sh
. tests/e2e/collector.sh
PATH=$PATH:/usr/local/go/bin
need curl python3 gcc go readelf nm

# build NAME REQUIRE...: the program of tests/e2e-all/NAME.go; its modules come from this machine, else from Go's proxy
build() {
	local name=$1
	shift
	mkdir -p "$scratch/$name.src"
	cp "tests/e2e-all/$name.go" "$scratch/$name.src/main.go"
	{ printf 'module %s\ngo 1.25\n' "$name"; printf 'require %s\n' "$@"; } >"$scratch/$name.src/go.mod"
	(cd "$scratch/$name.src" && GOFLAGS=-mod=mod GOSUMDB=off go mod tidy && GOFLAGS=-mod=mod GOSUMDB=off go build -o "$scratch/$name" .) >"$scratch/build" 2>&1
}
"$cairn" store init -q "$store"
make_app

# forward KIND: two snapshots, sent on to the receiver at port $there
forward() {
	local i
	spool=$scratch/spool-$1 collect --forward "$1:http://127.0.0.1:$there"
	for i in 1 2; do
		python3 tests/e2e/make-dump.py "$scratch/app" first_function,second_function "$scratch/app" $((1790000000 + 60 * i)) $i >"$scratch/dump"
		post_all "service=$1&host=h1" "$scratch/dump"
	done
	sent() { curl -s "$url/metrics" | grep -q "^cairn_collect_forwarded_total{receiver=\"$1\",number=\"1\"} 2"; }
	wait_for 30 sent "$1"
	ok $? "$1: both snapshots are taken"
	sed 's/^/# /' "$scratch/collect.log"
	stop
}
listens() { : <"/dev/tcp/127.0.0.1/$there"; }
M=$((1 << 20))

if build otelcol 'go.opentelemetry.io/collector/otelcol v0.162.0' 'go.opentelemetry.io/collector/receiver/otlpreceiver v0.162.0' \
	'go.opentelemetry.io/collector/exporter/xexporter v0.162.0' 'go.opentelemetry.io/collector/pdata/pprofile v0.162.0'; then
	there=$(free_port)
	"$scratch/otelcol" "127.0.0.1:$there" >"$scratch/otelcol.lines" 2>"$scratch/otelcol.log" &
	children+=($!)
	wait_for 30 listens || { tail -n 3 "$scratch/otelcol.log" | sed 's/^/# /'; broken 'the collector does not start'; }
	forward otlp
	is "$(grep ' first_function ' "$scratch/otelcol.lines" | sed "s,$scratch/,," | sort)" "$(sort <<E
otlp inuse_space first_function app $M at 1790000060 for 0
otlp inuse_objects first_function app 1 at 1790000060 for 0
otlp inuse_space first_function app $((2 * M)) at 1790000120 for 0
otlp inuse_objects first_function app 1 at 1790000120 for 0
otlp alloc_space first_function app $((10 * M)) at 1790000060 for 60
E
)" "otlp: the OpenTelemetry Collector understands what was sent"
else
	skip 'the OpenTelemetry Collector' "Go's proxy does not give it here: $(tail -n 1 "$scratch/build")"
fi

if build pusher 'github.com/grafana/pyroscope/api v1.6.0' 'github.com/google/pprof v0.0.0-20260906184651-6331bc6350fe'; then
	there=$(free_port)
	"$scratch/pusher" "127.0.0.1:$there" >"$scratch/pusher.lines" 2>"$scratch/pusher.log" &
	children+=($!)
	wait_for 30 listens || broken 'the pusher does not start'
	forward pyroscope
	is "$(grep ' second_function ' "$scratch/pusher.lines" | grep space)" "pyroscope memory alloc_space second_function 0 at 1790000060 for 0
pyroscope memory inuse_space second_function $M at 1790000060 for 0
pyroscope memory alloc_space second_function $((10 * M)) at 1790000120 for 60
pyroscope memory inuse_space second_function $((2 * M)) at 1790000120 for 60" "pyroscope: its own service understands what was sent"
	sed 's/^/# /' "$scratch/pusher.lines" | head -n 8
else
	skip "Pyroscope's service" "Go's proxy does not give it here: $(tail -n 1 "$scratch/build")"
fi
done_testing
