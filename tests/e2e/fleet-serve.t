#!/usr/bin/env bash
# A store in the live page and for Grafana: services, instances and verdicts, and Pyroscope's query interface as protobuf and as JSON.
. tests/e2e/lib.sh
. tests/e2e/agent.sh
need curl python3
store=sqlite:$scratch/fleet.db
field() { python3 -c 'import json, sys; r = json.load(sys.stdin); print(eval(sys.argv[1]))' "$1"; }
"$cairn" store init -q "$store"
port=$(free_port)
"$cairn" collect --store "$store" --listen "127.0.0.1:$port" --spool "$scratch/spool" >"$scratch/collect.log" 2>&1 &
children+=("$!")
collector=http://127.0.0.1:$port
wait_for 20 curl -sf "$collector/health" -o "$scratch/health"
emptied() { curl -s "$collector/metrics" | grep -qx 'cairn_collect_spool_files 0'; }
send() { # send HOST VERSION SERVICE FILE...
	local query="host=$1&version=$2&service=$3&zone=a" file
	shift 3
	for file; do
		curl -s -o "$scratch/answer" -w '%{http_code}\n' --data-binary "@$file" "$collector/v1/snapshots?$query" | grep -qx 202 || return 1
	done
}
for i in 1 2; do
	python3 tests/e2e/make-series.py "$scratch/old$i" healthy "$i" 12
	python3 tests/e2e/make-series.py "$scratch/new$i" grouped "$i" 12
	send "old-$i" 1 api "$scratch/old$i"/*.heap || broken 'a snapshot was not accepted'
	send "new-$i" 2 api "$scratch/new$i"/*.heap || broken 'a snapshot was not accepted'
done
send calm-1 1 calm "$scratch/old1"/*.heap || broken 'a snapshot was not accepted'
wait_for 60 emptied

"$cairn" serve --store "sqlite:$scratch/none/fleet.db" >"$scratch/out" 2>&1
is $? 1 'a store that cannot be opened'
"$cairn" serve >"$scratch/out" 2>&1
is $? 2 'neither a target nor a store'
port=$(free_port)
"$cairn" serve --store "$store" --keep 1000d --every 1s --listen "127.0.0.1:$port" >"$scratch/serve.log" 2>&1 &
server=$!
children+=("$server")
url=http://127.0.0.1:$port
get() { curl -s "$url/api/$1"; }
judged() { [ "$(get processes | field 'sum(p["dumps"] > 0 for p in r["processes"])' 2>/dev/null)" = 7 ]; }
wait_for 60 judged
ok $? 'two services and five instances are listed'

# The page.
get processes >"$scratch/processes"
is "$(field '[p["program"] for p in r["processes"]][:2]' <"$scratch/processes")" "['api', 'calm']" 'services come first, the one whose limit is near before the other'
like "$(field 'r["processes"][0]["sentence"]' <"$scratch/processes")" '0x1000 grows by * an hour on each of 2 of 2 instances, new in release 2*' 'with the verdict over instances'
is "$(field 'r["processes"][0]["limit_at"] == min(p["limit_at"] for p in r["processes"] if p["limit_at"])' <"$scratch/processes")" True \
	'a service reaches a limit when its first instance does'
is "$(field 'sorted(p["host"] for p in r["processes"][2:])' <"$scratch/processes")" "['calm-1', 'new-1', 'new-2', 'old-1', 'old-2']" 'then the instances'
key=$(field 'r["processes"][0]["process"]' <"$scratch/processes")
is "$(get "series?process=$key" | field 'len(r["points"])')" 12 'the timeline of a service'
total=$("$cairn" fleet timeline --store "$store" --service api --from 1789000000 --json 2>"$scratch/notes" | field 'r["total"]["values"][-1]')
is "$(get "series?process=$key" | field "abs(r['points'][-1]['total'] - $total) < 20")" True 'which is the sum of its instances'
curl -s "$url/api/tree?process=$key" -o "$scratch/tree"
holds 'its flame graph' test "$(stat -c %s "$scratch/tree")" -gt 200
instance=$(field '[p["process"] for p in r["processes"] if p["host"] == "new-1"][0]' <"$scratch/processes")
is "$(get "leaks?process=$instance" | field '[x["name"] for x in r["rows"] if x["verdict"] == "growing"]')" "['0x1000']" 'the verdict on one instance'
python3 tests/e2e/make-series.py "$scratch/new3" grouped 3 12
send new-3 2 api "$scratch/new3"/*.heap
appeared() { get processes | grep -q '"new-3"'; }
wait_for 60 appeared
ok $? 'an instance that comes later appears'

# Pyroscope's query interface, asked in both ways.
ask() { python3 tests/e2e/querier.py "$url" "$@"; }
memory=memory:inuse_space:bytes:space:bytes from=1789000000000 to=1799000000000
both() { # both TEXT METHOD ARGUMENT...: asked in either way the answer is the same; it is left in $scratch/answer
	ask json "${@:2}" >"$scratch/answer" 2>"$scratch/error"
	is "$(ask proto "${@:2}" 2>&1 | md5sum)" "$(md5sum <"$scratch/answer")" "$1"
}
both 'profile types' ProfileTypes "start=$from" "end=$to"
is "$(field '[t["ID"] for t in r["profileTypes"]]' <"$scratch/answer")" "['$memory', 'memory:inuse_objects:count:space:bytes']" 'are those that the dumps have'
both 'label names' LabelNames 'matchers=[{}]' "start=$from" "end=$to"
is "$(field 'r["names"]' <"$scratch/answer")" "['__name__', '__profile_type__', 'host', 'instance', 'service_name', 'version', 'zone']" 'are those of the senders'
both 'label values' LabelValues name=service_name 'matchers=[{}]' "start=$from" "end=$to"
is "$(field 'r["names"]' <"$scratch/answer")" "['api', 'calm']" 'of the service'
both 'label values with a selector' LabelValues name=host 'matchers=[{version=~"[2-9]"}]' "start=$from" "end=$to"
is "$(field 'r["names"]' <"$scratch/answer")" "['new-1', 'new-2', 'new-3']" 'match a pattern'
both 'series' Series 'matchers=[{service_name="api"}]' 'labelNames=[service_name,version]' "start=$from" "end=$to"
is "$(field 'len(r["labelsSet"])' <"$scratch/answer")" 2 'one for each set of labels'
start=1790000000000 end=1790006600000
both 'a time series' SelectSeries "profileTypeID=$memory" 'labelSelector={service_name="api"}' "start=$start" "end=$end" step=600 'groupBy=[version]'
is "$(field 'sorted((s["labels"][0]["value"], len(s["points"])) for s in r["series"])' <"$scratch/answer")" "[('1', 12), ('2', 12)]" 'grouped by a label'
live=$("$cairn" fleet services --store "$store" --service api --version 1 --json --from 1789000000 | field 'r["services"][0]["live"]')
is "$(field "[abs(s['points'][-1]['value'] - $live) < 2 for s in r['series'] if s['labels'][0]['value'] == '1']" <"$scratch/answer")" '[True]' 'with what the instances held together'
both 'a time series of objects' SelectSeries "profileTypeID=memory:inuse_objects:count:space:bytes" 'labelSelector={}' "start=$start" "end=$end" step=1200
is "$(field 'len(r["series"]), len(r["series"][0]["points"])' <"$scratch/answer")" '(1, 6)' 'not grouped, it is one'
both 'an instant, with a step of nothing' SelectSeries "profileTypeID=$memory" 'labelSelector={service_name="api"}' "start=$start" "end=$start" step=1e-12 \
	'groupBy=[version]'
is "$(field 'max(len(s["points"]) for s in r["series"])' <"$scratch/answer")" 1 'has one point'

both 'a flame graph' SelectMergeStacktraces "profileTypeID=$memory" 'labelSelector={service_name="api", version="2"}' "start=$from" "end=$to"
python3 tests/e2e/querier.py folded <"$scratch/answer" >"$scratch/folded" 2>"$scratch/error"
"$cairn" fleet collapsed --store "$store" --service api --version 2 --from 1789000000 2>"$scratch/notes" | sort >"$scratch/wanted"
is "$(wc -l <"$scratch/folded")" "$(wc -l <"$scratch/wanted")" 'has as many stacks as folded text'
is "$(python3 - "$scratch/folded" "$scratch/wanted" <<'P'
import sys
one, two = ({l.rsplit(" ", 1)[0]: int(l.rsplit(" ", 1)[1]) for l in open(p)} for p in sys.argv[1:])
print(one.keys() == two.keys() and max(abs(one[k] - two[k]) for k in one) <= 1)
P
)" True 'and the same numbers, decoded box by box'
both 'a flame graph of few boxes' SelectMergeStacktraces "profileTypeID=$memory" 'labelSelector={service_name="api"}' "start=$from" "end=$to" maxNodes=8
is "$(field 'sum(len(l["values"]) // 4 for l in r["flamegraph"]["levels"]) <= 10, "other" in r["flamegraph"]["names"]' <"$scratch/answer")" '(True, True)' 'has the others in one box'
whole=$(awk '{ sum += $NF } END { print sum }' "$scratch/folded")
python3 tests/e2e/querier.py folded <"$scratch/answer" >"$scratch/few" 2>"$scratch/error"
is $? 0 'that lies where it should'
both 'a comparison' Diff "left.profileTypeID=$memory" 'left.labelSelector={version="1",service_name="api"}' "left.start=$from" "left.end=$to" \
	"right.profileTypeID=$memory" 'right.labelSelector={version="2",service_name="api"}' "right.start=$from" "right.end=$to"
is "$(field "abs(r['flamegraph']['rightTicks'] - $whole) < 50 and r['flamegraph']['leftTicks'] > 0" <"$scratch/answer")" True 'has both totals'
python3 tests/e2e/querier.py folded <"$scratch/answer" >"$scratch/pairs" 2>"$scratch/error"
is "$? $(grep -c '0x1000 0 [1-9]' "$scratch/pairs")" '0 1' 'and boxes of both sides: the leak is on the right only'
both 'nothing in that time' SelectMergeStacktraces "profileTypeID=$memory" 'labelSelector={}' start=1000 end=2000
is "$(cat "$scratch/answer")" '{}' 'is an answer'

# What is wrong, and who may not ask.
like "$(ask json SelectMergeStacktraces profileTypeID=cpu)" '400 {"code":"invalid_argument",*unknown profile type*' 'an unknown type'
for selector in '{' '{a}' '{a=b}' '{a="b"' '{a=~"("}' 'a' '{a="b" c="d"}' "{a=\"$(printf 'x%.0s' {1..600})\"}"; do
	like "$(ask json LabelNames "matchers=[$selector]")" '400 {"code":"invalid_argument",*' "a selector that is none: ${selector:0:20}"
done
post() { curl -s -o "$scratch/body" -w '%{http_code}' "$@"; }
types=$url/querier.v1.QuerierService/ProfileTypes
is "$(post -H 'Content-Type: application/json' -d '{}' "$url/querier.v1.QuerierService/Nothing")" 404 'an unknown method'
is "$(post -H 'Content-Type: application/json' -d 'nonsense' "$types")" 400 'no JSON'
is "$(printf '\377\377\377' | post -H 'Content-Type: application/proto' --data-binary @- "$types")" 400 'no protobuf'
is "$(post -d '{}' "$types")" 403 'a form, as a page of another site could send it'
is "$(post -H 'Content-Type: application/json' -H 'Origin: http://evil.example' -d '{}' "$types")" 403 'a page of another site'
is "$(post -H 'Content-Type: application/json' -H 'Host: evil.example' -d '{}' "$types")" 403 'another name'
head -c 70000 /dev/zero | tr '\0' ' ' >"$scratch/large"
is "$(post -H 'Content-Type: application/json' --data-binary "@$scratch/large" "$types")" 413 'more than a question takes'

# Texts from outside never become part of a statement.
last=$(ls -v "$scratch"/new1/*.heap | tail -n 1)
for label in "x'; DROP TABLE samples; --" 'back\slash\' '"quoted"' "') OR 1=1 --" $'line\nend'; do
	curl -s -G -o "$scratch/answer" --data-urlencode "service=$label" --data-urlencode "version=$label" --data-urlencode "host=$label" \
		--data-urlencode "$label=$label" -X POST "$collector/v1/snapshots" -H 'Content-Type: application/octet-stream' >"$scratch/out"
	coded=$(python3 -c 'import sys, urllib.parse; print(urllib.parse.quote(sys.argv[1]))' "$label")
	curl -s -o "$scratch/answer" --data-binary "@$last" "$collector/v1/snapshots?service=$coded&version=$coded&host=$coded&evil=$coded"
	wait_for 30 emptied
	is "$("$cairn" fleet services --store "$store" --service "$label" --version "$label" --instance "$label" --label "evil=$label" --from 1789000000 --json \
		| python3 -c 'import json, sys; print(json.load(sys.stdin)["services"][0]["service"] == sys.argv[1])' "$label")" True "a hostile text is found as it is, and nothing else: ${label:0:12}"
done
curl -s -o "$scratch/answer" --data-binary "@$last" "$collector/v1/snapshots?service=nul%00byte&version=%00&host=%00&evil=%00%27"
wait_for 30 emptied
holds 'a NUL byte harms nothing' "$cairn" fleet services --store "$store" --from 1789000000 -n 0
is "$("$cairn" fleet services --store "$store" --service api --from 1789000000 --json | field 'sum(s["snapshots"] for s in r["services"])')" 60 'what was there is there'
kill "$server"; wait "$server" 2>/dev/null
ok $? 'the server ends by SIGTERM without an error'
done_testing
