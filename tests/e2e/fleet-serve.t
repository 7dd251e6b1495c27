#!/usr/bin/env bash
# A store in the live page and for Grafana: services, instances and verdicts, and Pyroscope's query interface as protobuf and as JSON.
. tests/e2e/lib.sh
. tests/e2e/agent.sh
. tests/e2e/collector.sh
need curl python3
"$cairn" store init -q "$store"
collect || broken 'no collector'
send() { # send HOST VERSION SERVICE FILE...
	post_all "host=$1&version=$2&service=$3&zone=a" "${@:4}"
}
for i in 1 2; do
	python3 tests/e2e/make-series.py "$scratch/old$i" healthy "$i" 12
	python3 tests/e2e/make-series.py "$scratch/new$i" grouped "$i" 12
	send "old-$i" 1 api "$scratch/old$i"/*.heap || broken 'a snapshot was not accepted'
	send "new-$i" 2 api "$scratch/new$i"/*.heap || broken 'a snapshot was not accepted'
done
send calm-1 1 calm "$scratch/old1"/*.heap || broken 'a snapshot was not accepted'
wait_for 60 emptied

"$cairn" serve --no-token --store "sqlite:$scratch/none/fleet.db" >"$scratch/out" 2>&1
is $? 1 'a store that cannot be opened'
"$cairn" serve >"$scratch/out" 2>&1
is $? 2 'neither a target nor a store'
port=$(free_port)
"$cairn" serve --no-token --store "$store" --keep 1000d --every 1s --listen "127.0.0.1:$port" >"$scratch/serve.log" 2>&1 &
server=$!
children+=("$server")
page=http://127.0.0.1:$port
get() { curl -s "$page/api/$1"; }
judged() { [ "$(get processes | of_json 'sum(p["dumps"] > 0 for p in r["processes"])' 2>/dev/null)" = 7 ]; }
wait_for 60 judged
ok $? 'two services and five instances are listed'

# The page.
get processes >"$scratch/processes"
is "$(of_json '[p["program"] for p in r["processes"]][:2]' <"$scratch/processes")" "['api', 'calm']" 'services come first, the one whose limit is near before the other'
like "$(of_json 'r["processes"][0]["sentence"]' <"$scratch/processes")" '0x1000 keeps growing on 2 of 2 instances, by * each, new in release 2*' 'with the verdict over instances'
is "$(of_json 'r["processes"][0]["limit_at"] == min(p["limit_at"] for p in r["processes"] if p["limit_at"])' <"$scratch/processes")" True \
	'a service reaches a limit when its first instance does'
is "$(of_json 'sorted(p["host"] for p in r["processes"][2:])' <"$scratch/processes")" "['calm-1', 'new-1', 'new-2', 'old-1', 'old-2']" 'then the instances'
key=$(of_json 'r["processes"][0]["process"]' <"$scratch/processes")
is "$(get "series?process=$key" | of_json 'len(r["points"])')" 12 'the timeline of a service'
total=$("$cairn" fleet timeline --store "$store" --service api --from 1789000000 --json 2>"$scratch/notes" | of_json 'r["total"]["values"][-1]')
is "$(get "series?process=$key" | of_json "abs(r['points'][-1]['total'] - $total) < 20")" True 'which is the sum of its instances'
curl -s "$page/api/tree?process=$key" -o "$scratch/tree"
holds 'its flame graph' test "$(stat -c %s "$scratch/tree")" -gt 200
instance=$(of_json '[p["process"] for p in r["processes"] if p["host"] == "new-1"][0]' <"$scratch/processes")
is "$(get "leaks?process=$instance" | of_json '[x["name"] for x in r["rows"] if x["verdict"] == "growing"]')" "['0x1000']" 'the verdict on one instance'
python3 tests/e2e/make-series.py "$scratch/new3" grouped 3 12
send new-3 2 api "$scratch/new3"/*.heap
appeared() { get processes | grep -q '"new-3"'; }
wait_for 60 appeared
ok $? 'an instance that comes later appears'

# Pyroscope's query interface, asked in both ways.
ask() { python3 tests/e2e/querier.py "$page" "$@"; }
memory=memory:inuse_space:bytes:space:bytes from=1789000000000 to=1799000000000
both() { # both TEXT METHOD ARGUMENT...: asked in either way the answer is the same; it is left in $scratch/answer
	ask both "${@:2}" >"$scratch/answer" 2>"$scratch/error"
	is "$? $(cat "$scratch/error")" '0 ' "$1"
}
both 'profile types' ProfileTypes "start=$from" "end=$to"
is "$(of_json '[t["ID"] for t in r["profileTypes"]]' <"$scratch/answer")" "['$memory', 'memory:inuse_objects:count:space:bytes']" 'are those that the dumps have'
both 'label names' LabelNames 'matchers=[{}]' "start=$from" "end=$to"
is "$(of_json 'r["names"]' <"$scratch/answer")" "['__name__', '__profile_type__', 'host', 'instance', 'service_name', 'version', 'zone']" 'are those of the senders'
both 'label values' LabelValues name=service_name 'matchers=[{}]' "start=$from" "end=$to"
is "$(of_json 'r["names"]' <"$scratch/answer")" "['api', 'calm']" 'of the service'
both 'label values with a selector' LabelValues name=host 'matchers=[{version=~"[2-9]"}]' "start=$from" "end=$to"
is "$(of_json 'r["names"]' <"$scratch/answer")" "['new-1', 'new-2', 'new-3']" 'match a pattern'
both 'series' Series 'matchers=[{service_name="api"}]' 'labelNames=[service_name,version]' "start=$from" "end=$to"
is "$(of_json 'len(r["labelsSet"])' <"$scratch/answer")" 2 'one for each set of labels'
start=1790000000000 end=1790006600000
both 'a time series' SelectSeries "profileTypeID=$memory" 'labelSelector={service_name="api"}' "start=$start" "end=$end" step=600 'groupBy=[version]'
is "$(of_json 'sorted((s["labels"][0]["value"], len(s["points"])) for s in r["series"])' <"$scratch/answer")" "[('1', 12), ('2', 12)]" 'grouped by a label'
live=$("$cairn" fleet services --store "$store" --service api --version 1 --json --from 1789000000 | of_json 'r["services"][0]["live"]')
is "$(of_json "[abs(s['points'][-1]['value'] - $live) < 2 for s in r['series'] if s['labels'][0]['value'] == '1']" <"$scratch/answer")" '[True]' 'with what the instances held together'
both 'a time series of objects' SelectSeries "profileTypeID=memory:inuse_objects:count:space:bytes" 'labelSelector={}' "start=$start" "end=$end" step=1200
is "$(of_json 'len(r["series"]), len(r["series"][0]["points"])' <"$scratch/answer")" '(1, 6)' 'not grouped, it is one'
both 'an instant, with a step of nothing' SelectSeries "profileTypeID=$memory" 'labelSelector={service_name="api"}' "start=$start" "end=$start" step=1e-12 \
	'groupBy=[version]'
is "$(of_json 'max(len(s["points"]) for s in r["series"])' <"$scratch/answer")" 1 'has one point'

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
is "$(of_json 'sum(len(l["values"]) // 4 for l in r["flamegraph"]["levels"]) <= 10, "other" in r["flamegraph"]["names"]' <"$scratch/answer")" '(True, True)' 'has the others in one box'
whole=$(awk '{ sum += $NF } END { printf "%.0f", sum }' "$scratch/folded")
python3 tests/e2e/querier.py folded <"$scratch/answer" >"$scratch/few" 2>"$scratch/error"
is $? 0 'that lies where it should'
both 'a comparison' Diff "left.profileTypeID=$memory" 'left.labelSelector={version="1",service_name="api"}' "left.start=$from" "left.end=$to" \
	"right.profileTypeID=$memory" 'right.labelSelector={version="2",service_name="api"}' "right.start=$from" "right.end=$to"
is "$(of_json "abs(r['flamegraph']['rightTicks'] - $whole) < 50 and r['flamegraph']['leftTicks'] > 0" <"$scratch/answer")" True 'has both totals'
python3 tests/e2e/querier.py folded <"$scratch/answer" >"$scratch/pairs" 2>"$scratch/error"
is "$? $(grep -c '0x1000 0 [1-9]' "$scratch/pairs")" '0 1' 'and boxes of both sides: the leak is on the right only'
for empty in left right; do
	here='{version="2",service_name="api"}' left=$here right=$here
	eval "$empty='{version=\"none\"}'"
	both "a comparison whose $empty side is empty" Diff "left.profileTypeID=$memory" "left.labelSelector=$left" "left.start=$from" "left.end=$to" \
		"right.profileTypeID=$memory" "right.labelSelector=$right" "right.start=$from" "right.end=$to"
	is "$(of_json "sorted(abs(int(r['flamegraph'].get(side, 0)) - $whole) < 50 for side in ('leftTicks', 'rightTicks')), {len(l['values']) % 7 for l in r['flamegraph']['levels']}" \
		<"$scratch/answer")" '([False, True], {0})' 'has boxes of both sides, as any other'
done
both 'nothing in that time' SelectMergeStacktraces "profileTypeID=$memory" 'labelSelector={}' start=1000 end=2000
is "$(cat "$scratch/answer")" '{}' 'is an answer'

# Allocations in a time that has one snapshot of most processes. What each has allocated by f and by g before and in that time is known:
# a goes from 1000 and 10 to 1500 and 10; b starts within and has 300 and 0; c is known by one snapshot within only, and d by two, 100 and 5 and
# then 180 and 6; e had 1000 and 0 before its samples were discarded, and 200 and 0 after that.
allocated() { # allocated HOST START TIME F G
	printf 'heap_v2/1\n  t*: 2: 2 [2: %d]\n@ 0xf000 0x1\n  t*: 1: 1 [1: %d]\n@ 0xa000 0x1\n  t*: 1: 1 [1: %d]\n\nMAPPED_LIBRARIES:\n' $(($4 + $5)) "$4" "$5" >"$scratch/one"
	printf '# cairn trailer 1\n# cairn time %d.000000000\n# cairn pid 5\n# cairn start %d.000000000\n# cairn end\n' "$3" "$2" >>"$scratch/one"
	send "$1" 1 churned "$scratch/one" || broken 'a snapshot was not accepted'
}
at=1790500000
allocated a $((at - 500)) $((at + 60)) 1000 10
allocated a $((at - 500)) $((at + 120)) 1500 10
allocated b $((at + 105)) $((at + 130)) 300 0
allocated c $((at - 500)) $((at + 120)) 7000 7
allocated d $((at - 500)) $((at + 110)) 100 5
allocated d $((at - 500)) $((at + 125)) 180 6
allocated e $((at - 500)) $((at + 90)) 1000 0
allocated e $((at - 500)) $((at + 120)) 200 0
wait_for 60 emptied
churned=('labelSelector={service_name="churned"}' "start=$((at + 100))000" "end=$((at + 140))000")
both 'allocations' SelectMergeStacktraces profileTypeID=memory:alloc_space:bytes:space:bytes "${churned[@]}"
python3 tests/e2e/querier.py folded <"$scratch/answer" 2>"$scratch/error" | grep -v ' 0$' | tr '\n' ';' >"$scratch/folded"
is "$(cat "$scratch/folded")" '0x1;0xa000 1;0x1;0xf000 1080;' 'are those of that time: 500 + 300 + 80 + 200, and 1'
is "$(of_json 'r["flamegraph"]["total"]' <"$scratch/answer")" 1081 'all in all'
both 'a time series of allocations' SelectSeries profileTypeID=memory:alloc_space:bytes:space:bytes "${churned[@]}" step=10
is "$(of_json '[(int(p["timestamp"]) // 1000 - '$at', int(p["value"])) for s in r["series"] for p in s["points"] if p["value"]]' <"$scratch/answer")" \
	'[(120, 700), (130, 381)]' 'has them when they were seen'
both 'allocations of objects' SelectMergeStacktraces profileTypeID=memory:alloc_objects:count:space:bytes "${churned[@]}"
is "$(of_json 'r["flamegraph"]["total"]' <"$scratch/answer")" 2 'of which the one that starts within has all of its own'

# Limits.
python3 - "$scratch/wide.heap" "$scratch/fleet.db" <<'P'
import hashlib, sqlite3, sys
count = 70000
with open(sys.argv[1], "w") as out:
    print(f"heap_v2/1\n  t*: {count}: {count * 64} [0: 0]", file=out)
    for i in range(count):
        print(f"@ {0x100000 + 16 * i:#x} 0x1\n  t*: 1: 64 [0: 0]", file=out)
    print("\nMAPPED_LIBRARIES:\n# cairn trailer 1\n# cairn time 1790600000.0\n# cairn pid 6\n# cairn start 1790500000.0\n# cairn end", file=out)
store = sqlite3.connect(sys.argv[2], timeout=30) # long before what the page looks at
tenant = int.from_bytes(hashlib.sha256((1).to_bytes(8, "little")).digest()[:8], "little") & (1 << 63) - 1
for i in range(1, 10002):
    store.execute("INSERT INTO processes VALUES (?, ?, 'crowd', '1', ?, 1, '/srv/crowd', 'ab', 0, '', ?)", (i, tenant, f"h{i}", 1 << 61))
    store.execute("INSERT INTO snapshots VALUES (?, 1600000000000000000, 4096.0, 0.0, 0.0, 0, 1.0, 0, 0, '', 0, 0, 0, 0)", (i,))
store.commit()
P
send wide 1 wide "$scratch/wide.heap" && wait_for 60 emptied
both 'more boxes than there may be' SelectMergeStacktraces "profileTypeID=$memory" 'labelSelector={service_name="wide"}' "start=$from" "end=$to" maxNodes=99999999999
is "$(of_json 'sum(len(l["values"]) // 4 for l in r["flamegraph"]["levels"]) in range(60000, 65540), int(r["flamegraph"]["total"]), "other" in r["flamegraph"]["names"]' <"$scratch/answer")" \
	"(True, $((70000 * 64)), True)" 'are summed up, whatever was asked for'
crowd=("profileTypeID=$memory" 'labelSelector={service_name="crowd"}' start=1599999000000 end=1600001000000 step=100)
like "$(ask json SelectSeries "${crowd[@]}" 'groupBy=[host]')" '400 {"code":"invalid_argument",*there are 10001 series*' 'more series than are compared'
both 'the same instances as one' SelectSeries "${crowd[@]}"
is "$(of_json '[max(p["value"] for p in s["points"]) for s in r["series"]]' <"$scratch/answer")" "[$((10001 * 4096)).0]" 'are a series'
like "$(ask json SelectMergeStacktraces "profileTypeID=$memory" 'labelSelector={}' start=1000 "end=$to")" '400 {"code":"invalid_argument",*longer than 400 days*' 'decades'
like "$(ask json SelectSeries "profileTypeID=$memory" 'labelSelector={}' start=1000 "end=$to" step=1)" '400 {"code":"invalid_argument",*longer than 400 days*' 'decades in steps'

# All panels of a dashboard ask at once.
python3 - "$page" >"$scratch/panels" 2>&1 <<'P'
import collections, json, sys, threading, urllib.error, urllib.request
answers, body = [], json.dumps({"profileTypeID": "memory:inuse_space:bytes:space:bytes", "labelSelector": "{}", "start": "1789000000000", "end": "1799000000000",
                                "step": 3600, "groupBy": ["host"]}).encode()
def ask():
    request = urllib.request.Request(sys.argv[1] + "/querier.v1.QuerierService/SelectSeries", body, {"Content-Type": "application/json"})
    try:
        answers.append(urllib.request.urlopen(request, timeout=100).status)
    except urllib.error.HTTPError as error:
        answers.append(error.code)
threads = [threading.Thread(target=ask) for _ in range(12)]
for thread in threads: thread.start()
for thread in threads: thread.join()
print(*collections.Counter(answers).items())
P
is "$(cat "$scratch/panels")" '(200, 12)' 'twelve queries at once are all answered'

# What is wrong, and who may not ask.
like "$(ask json SelectMergeStacktraces profileTypeID=cpu)" '400 {"code":"invalid_argument",*unknown profile type*' 'an unknown type'
for selector in '{' '{a}' '{a=b}' '{a="b"' '{a=~"("}' 'a' '{a="b" c="d"}' "{a=\"$(printf 'x%.0s' {1..600})\"}"; do
	like "$(ask json LabelNames "matchers=[$selector]")" '400 {"code":"invalid_argument",*' "a selector that is none: ${selector:0:20}"
done
types=$page/querier.v1.QuerierService/ProfileTypes
is "$(status -H 'Content-Type: application/json' -d '{}' "$page/querier.v1.QuerierService/Nothing")" 404 'an unknown method'
is "$(status -H 'Content-Type: application/json' -d 'nonsense' "$types")" 400 'no JSON'
is "$(printf '\377\377\377' | status -H 'Content-Type: application/proto' --data-binary @- "$types")" 400 'no protobuf'
is "$(status -d '{}' "$types")" 403 'a form, as a page of another site could send it'
is "$(status -H 'Content-Type: application/json' -H 'Origin: http://evil.example' -d '{}' "$types")" 403 'a page of another site'
is "$(status -H 'Content-Type: application/json' -H 'Host: evil.example' -d '{}' "$types")" 403 'another name'
head -c 70000 /dev/zero | tr '\0' ' ' >"$scratch/large"
is "$(status -H 'Content-Type: application/json' --data-binary "@$scratch/large" "$types")" 413 'more than a question takes'

# Who may send a dump may not read files of the machine that shows it.
python3 tests/e2e/make-sourced.py "$scratch/sourced" /etc/passwd "$PWD/tests/e2e/lib.sh" tests/e2e/lib.sh
send evil 1 sourced "$scratch/sourced" || broken 'a snapshot was not accepted'
wait_for 60 emptied
sourced() { get processes | of_json '[p["process"] for p in r["processes"] if p["host"] == "evil" and p["dumps"]][0]' 2>/dev/null; }
wait_for 60 sourced >"$scratch/out"
for function in at0 at1 at2; do
	is "$(get "source?process=$(sourced)&function=$function" | of_json '[(p["found"], "code" in p["lines"][0]) for p in r["routines"]]')" '[(False, False)]' \
		"a stored dump does not have a file of this machine shown: $function"
done

# Texts from outside never become part of a statement.
last=$(ls -v "$scratch"/new1/*.heap | tail -n 1)
for label in "x'; DROP TABLE samples; --" 'back\slash\' '"quoted"' "') OR 1=1 --" $'line\nend'; do
	curl -s -G -o "$scratch/answer" --data-urlencode "service=$label" --data-urlencode "version=$label" --data-urlencode "host=$label" \
		--data-urlencode "$label=$label" -X POST "$url/v1/snapshots" -H 'Content-Type: application/octet-stream' >"$scratch/out"
	coded=$(python3 -c 'import sys, urllib.parse; print(urllib.parse.quote(sys.argv[1]))' "$label")
	curl -s -o "$scratch/answer" --data-binary "@$last" "$url/v1/snapshots?service=$coded&version=$coded&host=$coded&evil=$coded"
	wait_for 30 emptied
	is "$("$cairn" fleet services --store "$store" --service "$label" --version "$label" --instance "$label" --label "evil=$label" --from 1789000000 --json \
		| python3 -c 'import json, sys; print(json.load(sys.stdin)["services"][0]["service"] == sys.argv[1])' "$label")" True "a hostile text is found as it is, and nothing else: ${label:0:12}"
done
curl -s -o "$scratch/answer" --data-binary "@$last" "$url/v1/snapshots?service=nul%00byte&version=%00&host=%00&evil=%00%27"
wait_for 30 emptied
holds 'a NUL byte harms nothing' "$cairn" fleet services --store "$store" --from 1789000000 -n 0
is "$("$cairn" fleet services --store "$store" --service api --from 1789000000 --json | of_json 'sum(s["snapshots"] for s in r["services"])')" 60 'what was there is there'
kill "$server"; wait "$server" 2>/dev/null
ok $? 'the server ends by SIGTERM without an error'

# More instances than there is room for, of which those nearest to their limits are listed; then others in their place.
store=sqlite:$scratch/many.db
"$cairn" store init -q "$store"
fill() { # fill FIRST COUNT: instances of service many, each nearer to its limit than the one before
	python3 - "$scratch/many.db" "$1" "$2" <<'P'
import sqlite3, sys, time
store, first, count = sqlite3.connect(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
now = time.time_ns()
tenant = int.from_bytes(__import__("hashlib").sha256((1).to_bytes(8, "little")).digest()[:8], "little") & (1 << 63) - 1
store.execute("INSERT OR REPLACE INTO frames VALUES (1, 'ab', '/srv/many', 16, 'work\tmany.c\t1\t1\n', 0, ?)", (now,))
store.execute("INSERT OR REPLACE INTO stacks VALUES (1, ?, ?)", ((1).to_bytes(8, "little"), now))
for i in range(first, first + count):
    store.execute("INSERT INTO processes VALUES (?, ?, 'many', '1', ?, ?, '/srv/many', 'ab', ?, '', ?)", (i, tenant, f"h{i}", i, now - 10**12, now))
    store.execute("INSERT INTO samples VALUES (?, ?, 1, 4096.0, 1.0, 1.0, 0.0, 0.0)", (i, now - 10**10))
    store.execute("INSERT INTO snapshots VALUES (?, ?, 4096.0, ?, 1000000.0, 0, 1.0, 0, 0, '', 0, 0, 0, 0)", (i, now - 10**10, float(i)))
store.commit()
P
}
fill 1 300
port=$(free_port) page=http://127.0.0.1:$port
"$cairn" serve --no-token --store "$store" --every 1s --listen "127.0.0.1:$port" >"$scratch/serve.log" 2>&1 &
server=$!
children+=("$server")
hosts='sorted(int(p["host"][1:]) for p in r["processes"] if p["host"])'
counted() { [ "$(get processes | of_json 'r["unlisted_instances"]' 2>/dev/null)" = "$1" ]; }
wait_for 60 counted 108
loaded() { [ "$(get processes | of_json 'r["loading"]')" = False ]; }
holds 'once all of it is read, it is not loading any more' wait_for 20 loaded
is "$(get processes | of_json "$hosts == list(range(109, 301)), r['unlisted_instances'], r['unlisted_services']")" '(True, 108, 0)' 'of 300 instances, the 192 nearest to their limits are listed, and how many more there are'
key=$(get processes | of_json '[p["process"] for p in r["processes"] if p["host"] == "h300"][0]')
python3 -c 'import sqlite3, sys; s = sqlite3.connect(sys.argv[1]); [s.execute(f"DELETE FROM {t} WHERE instance <= 300") for t in ("processes", "samples", "snapshots")]; s.commit()' "$scratch/many.db"
fill 1001 100
shown() { [ "$(get processes | of_json 'len(r["processes"]), r["unlisted_instances"]' 2>/dev/null)" = "$1" ]; }
wait_for 60 shown '(101, 0)'
is "$(get processes | of_json "$hosts == list(range(1001, 1101)), len(r['processes'])")" '(True, 101)' 'others in their place are listed, and those that are gone are not'
is "$(curl -s -o "$scratch/answer" -w '%{http_code}' "$page/api/tree?process=$key")" 404 'nor found'
fill 2001 200
wait_for 60 counted 108
is "$(get processes | of_json "$hosts == list(range(2009, 2201))")" True 'and those that come nearer to their limits push the others out'
kill "$server"; wait "$server" 2>/dev/null
ok $? 'and it ends without an error'

# What is kept of a store: the last day, and of more than fits in the memory, which all share, every other one of the older half.
store=sqlite:$scratch/fleet.db
"$cairn" store init -q "sqlite:$scratch/days.db"
port=$(free_port) page=http://127.0.0.1:$port
"$cairn" serve --no-token --store "$store" --keep 1000d --keep-memory 64K --every 1s --listen "127.0.0.1:$port" >"$scratch/serve.log" 2>&1 &
server=$!
children+=("$server")
of_api='[p["dumps"] for p in r["processes"] if p["program"].startswith("api ")]'
thinned() { [ "$(get processes | of_json "len($of_api) == 5 and all(0 < n < 12 for n in $of_api)" 2>/dev/null)" = True ]; }
wait_for 60 thinned
is "$(get processes | of_json "len($of_api), all(0 < n < 12 for n in $of_api)")" '(5, True)' '64 KiB are shared by all instances, each of which would have room for its dumps in it'
kill "$server"; wait "$server" 2>/dev/null
"$cairn" serve --no-token --store "sqlite:$scratch/days.db" --every 1s --listen "127.0.0.1:$port" >"$scratch/serve.log" 2>&1 &
server=$!
children+=("$server")
put() { # put TIME: a snapshot of that time
	python3 - "$scratch/days.db" "$1" <<'P'
import hashlib, sqlite3, sys
store, at = sqlite3.connect(sys.argv[1], timeout=30), int(sys.argv[2]) * 10**9
tenant = int.from_bytes(hashlib.sha256((1).to_bytes(8, "little")).digest()[:8], "little") & (1 << 63) - 1
store.execute("INSERT OR REPLACE INTO frames VALUES (1, 'ab', '/srv/days', 16, 'work\tdays.c\t1\t1\n', 0, ?)", (at,))
store.execute("INSERT OR REPLACE INTO stacks VALUES (1, ?, ?)", ((1).to_bytes(8, "little"), at))
store.execute("INSERT OR REPLACE INTO processes VALUES (1, ?, 'days', '1', 'h', 1, '/srv/days', 'ab', ?, '', ?)", (tenant, at - 10**14, at))
store.execute("INSERT INTO samples VALUES (1, ?, 1, 4096.0, 1.0, 1.0, 0.0, 0.0)", (at,))
store.execute("INSERT INTO snapshots VALUES (1, ?, 4096.0, 1000.0, 1000000.0, 0, 1.0, 0, 0, '', 0, 0, 0, 0)", (at,))
store.commit()
P
}
now=$(date +%s)
hours() { # of the dumps that are shown, before now
	get "series?process=$(get processes | of_json '[p["process"] for p in r["processes"] if p["host"] == "h"][0]')" |
		of_json "[round(($now - p['id'] / 1000) / 3600, 1) for p in r['points']]"
}
hours_are() { [ "$(hours)" = "$1" ]; }
for before in 23 22 1; do put $((now - 3600 * before)); done
holds 'the snapshots of the last day are shown' wait_for 60 hours_are '[23.0, 22.0, 1.0]'
put $((now + 90 * 60))
holds 'and one that is older than a day is not any more when another one comes' wait_for 60 hours_are '[22.0, 1.0, -1.5]'
kill "$server"; wait "$server" 2>/dev/null

# Three instances on one machine, the first of which has reported before the others: no run ended, and there is one machine.
store=sqlite:$scratch/box.db
"$cairn" store init -q "$store"
report() { # report FIRST LAST INSTANCE...: each has snapshots of these minutes, and holds 100 MB more in each
	python3 - "$scratch/box.db" "$base" "$@" <<'P'
import hashlib, sqlite3, sys
store, first, last = sqlite3.connect(sys.argv[1], timeout=30), int(sys.argv[3]), int(sys.argv[4])
at = (int(sys.argv[2]) + 60 * first) * 10**9
tenant = int.from_bytes(hashlib.sha256((1).to_bytes(8, "little")).digest()[:8], "little") & (1 << 63) - 1
store.execute("INSERT OR REPLACE INTO frames VALUES (1, 'ab', '/srv/box', 16, 'work\tbox.c\t1\t1\n', 0, ?)", (at,))
store.execute("INSERT OR REPLACE INTO stacks VALUES (1, ?, ?)", ((1).to_bytes(8, "little"), at))
for i in map(int, sys.argv[5:]):
    store.execute("INSERT OR REPLACE INTO processes VALUES (?, ?, 'box', '1', 'box', ?, '/srv/box', 'ab', ?, '', ?)", (i, tenant, i, at - 10**14, at))
    for minute in range(first, last + 1):
        at, held = (int(sys.argv[2]) + 60 * minute) * 10**9, 1e8 * (minute + 1)
        store.execute("INSERT INTO samples VALUES (?, ?, 1, ?, 1000.0, 1.0, 0.0, 0.0)", (i, at, held))
        store.execute("INSERT INTO snapshots VALUES (?, ?, ?, ?, 24e9, 0, 1.0, 0, 0, '', 0, 0, 0, 0)", (i, at, held, held))
store.commit()
P
}
base=$(($(date +%s) - 3600))
report 0 3 1
report 4 39 1 2 3
port=$(free_port) page=http://127.0.0.1:$port
"$cairn" serve --no-token --store "$store" --every 1s --listen "127.0.0.1:$port" >"$scratch/serve.log" 2>&1 &
server=$!
children+=("$server")
wait_for 60 loaded
get processes >"$scratch/processes"
is "$(of_json '[(p["program"], p["pid"], p["runs"], p["limit"], p["limit_of"]) for p in r["processes"] if not p["host"]]' <"$scratch/processes")" \
	"[('box', 0, 0, 24000000000, 'machine')]" 'a sum has no PID and no runs, and three instances on one machine have the memory of one'
is "$(of_json 'sorted(round((p["limit_at"] / 1000 - '"$base"') / 1200) for p in r["processes"] if p["host"])' <"$scratch/processes")" '[5, 5, 5]' \
	'each of the three says when they fill it together'
key=$(of_json 'r["processes"][0]["process"]' <"$scratch/processes")
is "$(get "series?process=$key" | of_json '[m["kind"] for m in r["marks"]], r["runs"]')" "(['instances'], [])" 'an instance that is seen later is no restart'
curl -s "$page/api/page?process=$key" -o "$scratch/box.html"
python3 tests/e2e/read-page.py "$scratch/box.html" >"$scratch/box.json"
is "$(of_json 'r["facts"].get("pid"), set(r["facts"]["course"]["runs"]), r["facts"]["course"]["limit_of"]' <"$scratch/box.json")" \
	"(0, {0}, 'machine')" 'nor on the page that is saved'
report 40 40 1 2 3
later() { [ "$(get "series?process=$key" | of_json "r['points'][-1]['id'] == ($base + 2400) * 1000")" = True ]; }
wait_for 30 later
is "$(get "series?process=$key" | of_json '[m["kind"] for m in r["marks"]], r["points"][-1]["run"]')" "(['instances'], 1)" 'and the next sum is of the same instances'
kill "$server"; wait "$server" 2>/dev/null

# A client that leaves while the store is at work: the store is told to stop. This one says what it is, and then answers nothing.
cat >"$scratch/hanging.py" <<'P'
import http.server, struct, sys, threading
class Store(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        statement = self.rfile.read(int(self.headers.get("Content-Length", 0))).decode()
        answer = struct.pack("<QQQQ", 1, int(sys.argv[3]), 2, 0) if "FROM settings" in statement else b""
        if not answer:
            open(sys.argv[2], "a").write(self.path + " " + statement[:200].replace("\n", " ") + "\n")
            "KILL QUERY" in statement or threading.Event().wait()
        self.send_response(200); self.send_header("Content-Length", str(len(answer))); self.end_headers(); self.wfile.write(answer)
    def log_message(self, *_): pass
http.server.ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Store).serve_forever()
P
hanging=$(free_port) port=$(free_port) page=http://127.0.0.1:$port
version=$(python3 -c 'import sqlite3, sys; print(sqlite3.connect(sys.argv[1]).execute("SELECT value FROM settings WHERE setting = 1").fetchone()[0])' "$scratch/fleet.db")
python3 "$scratch/hanging.py" "$hanging" "$scratch/hanging" "$version" >"$scratch/hanging.log" 2>&1 &
children+=($!)
listens() { (exec 3<>"/dev/tcp/127.0.0.1/$1") 2>/dev/null; }
wait_for 20 listens "$hanging"
"$cairn" serve --no-token --store "clickhouse://127.0.0.1:$hanging/cairn" --listen "127.0.0.1:$port" >"$scratch/serve.log" 2>&1 &
server=$!
children+=("$server")
wait_for 20 curl -sf "$page/" -o "$scratch/page"
asked() { [ "$(grep -c SELECT "$scratch/hanging")" = "$1" ]; }
wait_for 20 asked 1 || broken 'the store is not asked for the page'
is "$(get processes | of_json 'r["loading"], r["processes"]')" '(True, [])' 'while the store is read, it is said to be loading'
curl -s -o "$scratch/answer" -H 'Content-Type: application/json' -d '{}' "$page/querier.v1.QuerierService/ProfileTypes" &
client=$!
wait_for 20 asked 2 || broken 'the store is not asked for the client'
kill "$client"; wait "$client" 2>/dev/null
id=$(sed -n 's/.*query_id=\([^& ]*\).*SELECT.*/\1/p' "$scratch/hanging" | tail -n 1)
killed() { grep -q "KILL QUERY WHERE query_id = '$id'" "$scratch/hanging"; }
wait_for 30 killed
ok $? 'a question whose client has left ends in the store, too'
python3 - "$port" >"$scratch/crowd" 2>&1 <<'P'
import json, select, socket, sys
def send(text):
    s = socket.create_connection(("127.0.0.1", int(sys.argv[1])), timeout=60)
    s.sendall(text)
    return s
query = b"POST /querier.v1.QuerierService/ProfileTypes HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}"
crowd = [send(query) for _ in range(110)]
page = send(b"GET /api/processes HTTP/1.1\r\nHost: localhost\r\n\r\n").recv(12)
answers = [s.recv(65536) for s in crowd[100:]] # those before may wait for an answer for ever
print(len(answers), all(b" 503 " in a[:20] and json.loads(a.split(b"\r\n\r\n")[1])["code"] == "unavailable" for a in answers), page.decode())
P
is "$(cat "$scratch/crowd")" '10 True HTTP/1.1 200' 'of more queries than can wait, the last are refused as Connect has it, and pages are answered'
kill "$server"; wait "$server" 2>/dev/null
ok $? 'and a server whose store hangs ends by SIGTERM'
done_testing
