#!/usr/bin/env bash
# Pages as scrapers ask for them, checked by Google's parser, and a service with Pyroscope's own client for Go that pushes to a collector.
. tests/e2e/lib.sh
. tests/e2e/agent.sh
PATH=$PATH:/usr/local/go/bin
need curl python3 go redis-server

# build NAME MODULE VERSION: the program of tests/e2e-all/NAME.go; its module comes from this machine, else from Go's proxy
build() {
	mkdir -p "$scratch/$1.src"
	cp "tests/e2e-all/$1.go" "$scratch/$1.src/main.go"
	printf 'module %s\ngo 1.21\nrequire %s %s\n' "$1" "$2" "$3" >"$scratch/$1.src/go.mod"
	(cd "$scratch/$1.src" && GOFLAGS=-mod=mod GOSUMDB=off go build -o "$scratch/$1" .) >"$scratch/build" 2>&1
}
build scrape github.com/google/pprof v0.0.0-20260906184651-6331bc6350fe || skip_all "Go's proxy does not give google/pprof here: $(tail -n 1 "$scratch/build")"

MALLOC=prof:true,lg_prof_sample:12 TOOL=$cairn start_redis live || broken 'redis does not start'
seq 20000 | sed 's/.*/SET key:& value-value-value-value/' | redis-cli -p "$port_live" --pipe >"$scratch/pipe"
base=$url_live/debug/pprof
# Coroot's five at once, and the sixth that Parca and Alloy have.
"$scratch/scrape" "$base/profile?seconds=2" "$base/heap" "$base/goroutine" "$base/mutex" "$base/block" "$base/allocs" >"$scratch/lines" 2>&1
is "$(grep -c ': good ' "$scratch/lines")" 6 'the agent: six pages at once, valid for Parca, Alloy and Coroot'
sed 's/^/# /' "$scratch/lines"
is "$(grep -E '^(goroutine|mutex|block): good 0 samples' "$scratch/lines" | wc -l)" 3 'three of them without samples'
whole=$("$scratch/scrape" "$base/heap" | sed 's/.*good \([0-9]*\) samples.*/\1/')
"$scratch/scrape" "$base/heap?max_samples=3" "$base/heap?max_bytes=15000" >"$scratch/lines" 2>&1
is "$(grep -c "other, $((whole - 2)) stacks are merged" "$scratch/lines")" 1 "of $whole samples two stay, and the rest are one, counted"
is "$(grep -c 'good .* other, .* merged' "$scratch/lines")" 2 'by size, too'
is "$(sed -n 's/.* samples \([0-9]*\) bytes.*/\1/p' "$scratch/lines" | sort -u | wc -l)" 1 'with the same sum'

. tests/e2e/collector.sh
"$cairn" store init -q "$store"
printf 'sesame\n' >"$scratch/tokens"
collect --tokens "$scratch/tokens" || broken 'no collector'
"$scratch/scrape" "$url/debug/pprof/heap" >"$scratch/lines"
like "$(cat "$scratch/lines")" '*status 401*' 'the collector: not without its token'

if build pyroscope github.com/grafana/pyroscope-go v1.4.3; then
	"$scratch/pyroscope" "$url" sesame >"$scratch/client.log" 2>&1
	stored() { "$cairn" fleet services --store "$store" --json 2>"$scratch/notes" | grep -q '"go.service"'; }
	wait_for 30 stored
	ok $? "Pyroscope's own client for Go pushes, and the collector stores"
	services=$("$cairn" fleet services --store "$store" --json)
	like "$services" '*"go.service"*"version":"1.2"*' 'under its name and release'
	like "$("$cairn" fleet top --store "$store" --service go.service --instance pod-7 -n 3 2>"$scratch/notes")" '*keepMemory*' 'with its functions'
	is "$(grep -c 'cannot be used' "$scratch/collect.log")" 1 'its profiles of CPU time are passed over, and that is said once'
	sed 's/^/# /' "$scratch/client.log" | head -n 3
else
	skip "Pyroscope's own client" "Go's proxy does not give it here: $(tail -n 1 "$scratch/build")"
fi
done_testing
