#!/usr/bin/env bash
# A fleet in SQLite: two releases on six instances, a collector that is killed, senders that may not, and a real process that is pushed.
. tests/e2e/lib.sh
. tests/e2e/agent.sh
. tests/e2e/collector.sh
need curl python3 redis-server gcc
fleet() { "$cairn" fleet "$@" --store "$store" --from 1789000000; }
# send HOST VERSION FILE...: each file as a snapshot of service api
send() {
	post_all "service=api&version=$2&host=$1&zone=a" "${@:3}"
}

: >"$scratch/bare.db"
like "$("$cairn" fleet leaks --store "sqlite:$scratch/bare.db" 2>&1)" "*'cairn store init STORE' makes its tables*" 'without tables it says how to make them'
for wrong in "store init mysql:x" "store init" "fleet" "fleet leaks" "fleet nothing --store $store" "fleet diff --store $store --service api --version 1" \
	"fleet top --store $store --version 1..2" "fleet leaks --store $store --from yesterday" "fleet leaks --store $store --label nothing" \
	"collect" "collect --store mysql:x" "fleet leaks --store $store -n many" "watch --label a=b 1"; do
	"$cairn" $wrong >"$scratch/out" 2>&1
	is $? 2 "a usage error: cairn $wrong"
done
holds 'init' "$cairn" store init "$store"
holds 'and again: the tables stay' "$cairn" store init -q "$store"
is "$(stat -c %a "$scratch/fleet.db")" 600 'the file is its owner'\''s alone'
like "$("$cairn" fleet services --store "$store" 2>&1)" '*the store is empty*' 'an empty store'

for i in 1 2 3; do
	python3 tests/e2e/make-series.py "$scratch/old$i" healthy "$i" 24
	python3 tests/e2e/make-series.py "$scratch/new$i" weighed "$i" 24
done
collect
for i in 1 2 3; do
	send "old-$i" 1 "$scratch/old$i"/*.heap || broken 'a snapshot was not accepted'
	send "new-$i" 2 "$scratch/new$i"/*.heap || broken 'a snapshot was not accepted'
done
wait_for 60 emptied
is "$(metric stored_total)" 144 'every snapshot is in the store'
is "$(fleet services --json | of_json '[(s["service"], s["version"], s["instances"], s["snapshots"]) for s in r["services"]]')" \
	"[('api', '1', 3, 72), ('api', '2', 3, 72)]" 'services, releases and instances'

fleet leaks --service api --json >"$scratch/leaks.json"
growing='[x for x in r["rows"] if x["verdict"] == "growing"]'
is "$(of_json "[(x['name'], x['instances'], x['of'], x['version'], x['new_in_version']) for x in $growing]" <"$scratch/leaks.json")" \
	"[('0x1000', 3, 3, '2', True)]" 'what leaks, on how many instances, and since which release'
is "$(of_json "27e6 < $growing[0]['bytes_per_hour'] < 45e6 and $growing[0]['confidence'] > 0.99" <"$scratch/leaks.json")" True 'its rate, of one instance, and how sure'
like "$(fleet leaks --service api)" '0x1000 keeps growing on 3 of 3 instances, by 3?.? MiB/h each, new in release 2 (more than 99.9 % sure)*' 'the same in a sentence'
is "$(fleet leaks --service api --version 1 --json | of_json "len($growing)")" 0 'nothing grows in the older release'
is "$(fleet leaks --service api --instance new-2 --json | of_json "$growing[0]['instances']")" 1 'one instance alone'
is "$(fleet leaks --service api --label zone=a --json | of_json 'r["instances"]')" 6 'by label'
like "$(fleet leaks --service api --label zone=b 2>&1)" '*no process in the store matches*' 'a label that nobody has'

last=$(ls -v "$scratch"/new1/*.heap | tail -n 1)
at=$(sed -n 's/^# cairn time //p' "$last")
total=$("$cairn" top --json "$last" 2>"$scratch/notes" | of_json 'round(r["total"])')
is "$("$cairn" fleet top --store "$store" --service api --instance new-1 --from "$at" --json 2>"$scratch/notes" | of_json 'round(r["total"])')" "$total" 'one snapshot of one instance is what its dump was'
sum=0
for i in 1 2 3; do
	sum=$((sum + $("$cairn" top --json "$(ls -v "$scratch/new$i"/*.heap | tail -n 1)" 2>"$scratch/notes" | of_json 'round(r["total"])')))
done
is "$("$cairn" fleet top --store "$store" --version 2 --from "$at" --json 2>"$scratch/notes" | of_json "abs(r['total'] - $sum) < 4")" True 'of several instances, their sum'
like "$(fleet diff --version 1..2 -n 3 2>"$scratch/notes")" '*release 2 (3 instances) against 1 (3), not scaled to their load*0x1000*' 'two releases compared'

# Two releases with a known truth: f holds 10, 12, 14 MiB before and 20, 24, 28 after; what allocates twice as fast has twice as much to do.
for i in 0 1 2; do
	for v in 1 2; do
		for t in 0 1; do
			f=$((v == 1 ? (10 + 2 * i) << 20 : (20 + 4 * i) << 20)) load=$(((i + 1) * v << 20))
			printf 'heap_v2/1\n  t*: 2: %d [9: %d]\n@ 0xf000 0x1\n  t*: 1: %d [5: %d]\n@ 0xa000 0x1\n  t*: 1: %d [4: %d]\n\nMAPPED_LIBRARIES:\n' \
				$((f + (7 << 20))) $((t * load * 60)) $f $((t * load * 30)) $((7 << 20)) $((t * load * 30))
			printf '# cairn trailer 1\n# cairn time %d.000000000\n# cairn pid %d\n# cairn start 1790000000.000000000\n# cairn end\n' \
				$((1790000060 + 60 * t)) $((100 * v + i))
		done >"$scratch/pair" && csplit -s -z -f "$scratch/truth-$v-$i-" "$scratch/pair" '/^heap_v2/' '{*}'
		post_all "service=truth&version=$v&host=t$i&rps=$(((i + 1) * v))" "$scratch/truth-$v-$i-0"[01] || broken 'a snapshot was not accepted'
	done
done
wait_for 60 emptied
row='next((x["before"], x["after"], x["change"], x["low"], x["high"], x["noise"]) for x in r["rows"] if x["name"] == "0xf000")'
is "$(fleet diff --service truth --version 1..2 --load none --json | of_json "[round(x / 2 ** 20, 3) for x in $row[:5]] + [$row[5]]")" \
	'[12.0, 24.0, 12.0, 3.689, 20.311, False]' 'means and interval of a difference are those that were worked out by hand'
is "$(fleet diff --service truth --version 1..2 --load none --json | of_json '[(x["name"], x["change"], x["noise"]) for x in r["rows"] if x["name"] == "0xa000"]')" \
	"[('0xa000', 0, True)]" 'what is the same does not differ'
# By load 1, 2, 3 and 2, 4, 6, whose mean is 3: before 30, 18, 14 and after 30, 18, 14.
for load in allocations rps; do
	is "$(fleet diff --service truth --version 1..2 --load $load --json | of_json "(r['load'], [round(x / 2 ** 20, 3) for x in $row[:3]])")" \
		"('$load', [20.667, 20.667, 0.0])" "divided by the load, by $load, there is no difference"
done
is "$(fleet diff --service truth --version 1..2 --json | of_json 'r["load"]')" allocations 'which is what is done unless it cannot be'
like "$(fleet diff --service truth --version 1..2 --load zone 2>&1)" "*t?:?0? has no number in the label 'zone'*" 'a label that is no load'
like "$(fleet diff --service truth --version 1..9 2>&1)" '*no instance of release 9*' 'a release that is not there'
fleet collapsed --version 2 >"$scratch/folded" 2>"$scratch/notes"
holds 'folded text' test -s "$scratch/folded"
fleet flame --version 2 -o "$scratch/fleet.svg" 2>"$scratch/notes"
holds 'a picture' grep -q '<svg' "$scratch/fleet.svg"
holds 'a store is a source of any report' "$cairn" top "$store?service=api&version=2&from=1789000000" -n 3 -o "$scratch/top"
"$cairn" top "$store?servce=api" >"$scratch/out" 2>&1
is $? 2 'a question that is misspelt'

# Over time, and what the resident memory is.
fleet timeline --service api --json >"$scratch/timeline.json" 2>"$scratch/notes"
is "$(of_json '(len(r["dumps"]), r["dumps"][0]["file"], {d["run"] for d in r["dumps"]}, len({d["time"] for d in r["dumps"]}))' <"$scratch/timeline.json")" \
	"(24, '6 instances', {0}, 24)" 'a timeline of all instances together'
is "$(of_json "abs(sum(l['values'][-1] for l in r['layers']) - r['total']['values'][-1]) < 20" <"$scratch/timeline.json")" True 'whose layers add up'
sum=0
for i in 1 2 3; do
	for file in "$(ls -v "$scratch/new$i"/*.heap | tail -n 1)" "$(ls -v "$scratch/old$i"/*.heap | tail -n 1)"; do
		sum=$((sum + $("$cairn" top --json "$file" 2>"$scratch/notes" | of_json 'round(r["total"])')))
	done
done
is "$(of_json "abs(r['total']['values'][-1] - $sum) < 10" <"$scratch/timeline.json")" True 'and are the sum of the dumps of that instant'
is "$(fleet timeline --version 2 --per-instance --json 2>"$scratch/notes" | of_json "[l['verdict'] for l in r['layers'] if l['name'].startswith('0x1000')]")" "['growing']" 'the leak is a layer that grows'
fleet timeline --service api -o "$scratch/fleet-timeline.svg" 2>"$scratch/notes"
fleet timeline --service api -o "$scratch/fleet-timeline.html" 2>"$scratch/notes"
holds 'as a picture' grep -q '<svg' "$scratch/fleet-timeline.svg"
holds 'and as a page' grep -q '<html' "$scratch/fleet-timeline.html"
is "$(fleet timeline --service api -n 3 | awk 'NR > 1 { print $3 }' | tr '\n' ' ')" '6 6 6 ' 'as a table: how many instances, the last three instants'
is "$(fleet timeline --service api --instance new-1 | wc -l)" 25 'of one instance, its own snapshots'
weight() { sed -n 's/^# cairn smaps.rss //p' "$(ls -v "$scratch/$1"/*.heap | tail -n 1)"; }
resident=$(($(weight new1) + $(weight new2) + $(weight new3)))
is "$(fleet bill --service api --json | of_json '[(b["version"], b["instances"], b["resident"], b["lines"]["live"] + b["lines"]["other"] == b["resident"]) for b in r["bills"]]')" \
	"[('2', 3, $resident, True), ('1', 3, $(($(weight old1) + $(weight old2) + $(weight old3))), True)]" 'the bill of each release adds up to what is resident'
like "$(fleet bill --version 2)" '*3 instances*resident*live objects*everything else*' 'the same in words'
is "$("$cairn" leaks "$store?service=api&version=2&per=instance&from=1789000000" --json 2>"$scratch/notes" | of_json "[x['name'] for x in r['rows'] if x['verdict'] == 'growing']")" "['0x1000']" \
	'a store is a source of a command that looks at time'

send new-1 2 "$scratch/new1"/*.heap
wait_for 60 emptied
is "$(fleet services --service api --json | of_json 'sum(s["snapshots"] for s in r["services"])')" 144 'what is sent twice counts once'

# The collector is killed while it has work, and while its store is away.
python3 tests/e2e/make-series.py "$scratch/more" healthy 9 24
kill -STOP "$collector"
stop -KILL
mkdir "$scratch/away"; mv "$scratch"/fleet.db* "$scratch/away"
mkdir "$scratch/fleet.db" # a store that cannot be opened
collect
holds 'snapshots are accepted while the store is away' send more-1 1 "$scratch/more"/*.heap
is "$(metric spool_files)" 24 'and wait on disk'
stop -KILL
rmdir "$scratch/fleet.db"; mv "$scratch/away"/fleet.db* "$scratch"
collect
wait_for 60 emptied
is "$(fleet services --service api --json | of_json 'sum(s["snapshots"] for s in r["services"])')" 168 'after a kill -9 and with the store back, nothing is lost'

# Strangers.
is "$(status -d nonsense "$url/v1/snapshots")" 400 'no profile'
is "$(status "$url/v1/snapshots")" 405 'not by GET'
is "$(status "$url/nothing")" 404 'no such page'
is "$(status -H 'Origin: http://evil.example' --data-binary "@$last" "$url/v1/snapshots")" 403 'not from a page in a browser'
is "$(status -H 'Host: evil.example' "$url/metrics")" 403 'not by another name'
holds 'hostile labels are accepted as text' send 'x%27%3B%20DROP%20TABLE%20samples%3B%20--' '%27%29%3B' "$last"
head -c 300 "$last" >"$scratch/cut.heap"; head -c 200 /dev/urandom | gzip >"$scratch/junk.gz"
status --data-binary "@$scratch/cut.heap" "$url/v1/snapshots?service=cut" >"$scratch/code"
is "$(status --data-binary "@$scratch/junk.gz" "$url/v1/snapshots?service=junk")" 202 'junk that is packed is looked at later'
wait_for 60 emptied
is "$(metric rejected_total)" 1 'it is dropped, and counted'
{ sed '/^MAPPED_LIBRARIES:/q' "$last"
	python3 -c 'for i in range(1, 9001): print("%x-%x r-xp 00000000 00:00 %d /srv/module-%d" % ((1 << 40) + (i << 16), (1 << 40) + (i << 16) + 4096, i, i))'
	sed '1,/^MAPPED_LIBRARIES:/d' "$last"; } >"$scratch/modules.heap"
is "$(status --data-binary "@$scratch/modules.heap" "$url/v1/snapshots?service=modules")" 202 'a snapshot with thousands of modules'
wait_for 60 emptied
is "$(metric rejected_total)" 2 'is dropped, too'
like "$(cat "$scratch/collect.log")" '*it has 9[0-9][0-9][0-9] modules, and a process has at most 8192*' 'with the reason'
is "$(fleet services --json | of_json "[s['version'] for s in r['services'] if s['instances'] == 1 and s['service'] == 'api']")" "[\"');\"]" 'a hostile label stays text'
stop
ok $? 'the collector ends by SIGTERM without an error'

collect --spool-bytes 1K
is "$(status --data-binary "@$last" "$url/v1/snapshots?service=api")" 503 'a full spool'
stop

printf '# senders\nsecret-one tenant-a\nsecret-two tenant-b\n' >"$scratch/tokens"
authorization=(-H 'Authorization: Bearer secret-one')
collect --tokens "$scratch/tokens"
is "$(status "$url/metrics")" 401 'with tokens, nobody without one'
is "$(status -H 'Authorization: Bearer secret-on' "$url/metrics")" 401 'nor with a part of one'
is "$(status -H 'Authorization: BEARER secret-one' "$url/metrics")" 200 'the scheme is accepted in any case'
send only-a 1 "$last"
wait_for 60 emptied
is "$(fleet services --tenant tenant-a --json | of_json 'sum(s["instances"] for s in r["services"])')" 1 'a tenant sees its own'
like "$(fleet services --tenant tenant-b 2>&1)" '*no snapshot of this tenant*' 'and another does not'
stop
like "$("$cairn" collect --store "$store" --listen 0.0.0.0:4920 --spool "$scratch/spool" 2>&1)" '*loopback*token*' 'without tokens, on loopback only'
authorization=()

# A real process, pushed by watch: before the collector is there, and after.
MALLOC=prof:true,lg_prof_sample:14 start_redis pushed || broken 'redis does not start'
redis-cli -p "$port_pushed" debug populate 20000 key 100 >/dev/null 2>&1 || seq 20000 | sed 's/.*/SET key:& value-value-value-value/' | redis-cli -p "$port_pushed" --pipe >/dev/null
port=$(free_port)
"$cairn" watch --time 1s --distance 0 -o "$scratch/dumps" --push "http://127.0.0.1:$port" --label service=kv "$pid_pushed" >"$scratch/watch.log" 2>&1 &
watcher=$!
children+=("$watcher")
complained() { grep -q 'not pushed for now' "$scratch/watch.log"; }
wait_for 30 complained
at_port=$port launch_collector
pushed() { [ "$("$cairn" fleet services --store "$store" --service kv --json 2>/dev/null | of_json 'r["services"][0]["snapshots"]' 2>/dev/null)" -ge 3 ]; }
wait_for 60 pushed
ok $? 'dumps that waited are pushed once the collector is there'
holds 'which is told' wait_for 10 grep -q 'takes dumps again' "$scratch/watch.log"
build=$(readelf -n "$(readlink -f "$(command -v redis-server)")" | sed -n 's/.*Build ID: //p')
is "$("$cairn" fleet services --store "$store" --service kv --json | of_json 'r["services"][0]["version"]')" "$build" 'without a version, it is the build-id'
like "$("$cairn" fleet top --store "$store" --service kv -n 3 2>"$scratch/notes")" '*aeCreateEventLoop*' 'its functions have names'
kill "$watcher"; wait "$watcher" 2>/dev/null

# The breakdown of its resident memory is stored with it, line by line.
"$cairn" dump -q -o "$scratch/billed.heap" "$pid_pushed" >"$scratch/out" 2>&1
curl -s -o "$scratch/answer" --data-binary "@$scratch/billed.heap" "$url/v1/snapshots?service=billed&version=1&host=one"
wait_for 60 emptied
bill=$("$cairn" rss --json "$scratch/billed.heap" 2>"$scratch/notes" | of_json '{l["key"]: l["bytes"] for l in r["lines"] if l["bytes"]}')
is "$("$cairn" fleet bill --store "$store" --service billed --json | of_json '[({k: v for k, v in b["lines"].items() if v} == '"$bill"', len(b["lines"]) > 6, sum(b["lines"].values()) == b["resident"]) for b in r["bills"]]')" \
	'[(True, True, True)]' 'the bill of a service is that of its dump, line by line'
like "$("$cairn" fleet bill --store "$store" --service billed)" '*live objects*allocator metadata*code and mapped files*' 'the same in words'
# Two processes of one machine, without a limit of their own, share its memory.
for number in 1 2; do
	sed -e "s/^# cairn pid .*/# cairn pid $number/" -e "s/^# cairn process .*/&$number/" -e '/^# cairn group/d' -e 's/^# cairn limit .*/# cairn limit 8000000000/' "$scratch/billed.heap" >"$scratch/paired.heap"
	curl -s -o "$scratch/answer" --data-binary "@$scratch/paired.heap" "$url/v1/snapshots?service=paired&version=1&host=pair"
done
wait_for 60 emptied
is "$("$cairn" fleet bill --store "$store" --service paired --json | of_json '[(b["instances"], b["limit"]) for b in r["bills"]]')" '[(2, 8000000000)]' 'the memory of a machine counts once'
sed "s/^# cairn time .*/# cairn time $(date +%s).000000000/" "$last" >"$scratch/sized.heap"
curl -s -o "$scratch/answer" --data-binary "@$scratch/sized.heap" "$url/v1/snapshots?service=billed&version=1&host=two"
curl -s -o "$scratch/answer" --data-binary "@$last" "$url/v1/snapshots?service=billed&version=1&host=gone"
wait_for 60 emptied
is "$("$cairn" fleet bill --store "$store" --service billed --from 1789000000 --json | of_json "[(b['instances'], sum(b['lines'].values()) == b['resident'], b['lines']['other'] > 0) for b in r['bills']]")" '[(2, True, True)]' \
	'beside one of which only the size is known, they add up, and one that was last seen long ago is not billed'

# One replica of 100,000 bytes that is replaced every eleven minutes, with a word at its end and without: six processes, of which one is there at a time.
cat >"$scratch/replaced.py" <<'P'
import sys, urllib.request
for service in "said", "silent":
    for process in range(6):
        for minute in range(12 if service == "said" and process < 5 else 11):
            start = 1790000000 + 660 * process
            text = ("heap_v2/1\n  t*: 1: 100000 [0: 0]\n@ 0x1001\n  t*: 1: 100000 [0: 0]\n\nMAPPED_LIBRARIES:\n# cairn trailer 1\n# cairn time %d.000000000\n"
                    "# cairn pid %d\n# cairn start %d.000000000\n%s# cairn end\n" % (start + 60 * minute, process + 1, start,
                    "# cairn ledger left\n# cairn ended exited with code 0\n" if minute == 11 else ""))
            urllib.request.urlopen(sys.argv[1] + "/v1/snapshots?service=%s&version=1&host=h" % service, text.encode()).read()
P
python3 "$scratch/replaced.py" "$url"
wait_for 60 emptied
for service in said silent; do
	total=$(fleet top --service $service --json 2>"$scratch/notes" | of_json 'round(r["total"])')
	is "$((total >= 99000 && total <= 101000))" 1 "a replica that is replaced ($service) counts once: $total bytes"
	total=$(fleet top --service $service --per-instance --json 2>"$scratch/notes" | of_json 'round(r["total"])')
	is "$((total >= 99000 && total <= 101000))" 1 "and so much is the mean of its instances: $total bytes"
	is "$(fleet services --service $service --json | of_json '[(s["instances"], s["live"]) for s in r["services"]]')" '[(6, 100000)]' \
		'services: six instances, and the live memory of the one that is there'
done
is "$(fleet kills --service said --json | of_json '[(k["pid"], k["time"]) for k in r["kills"]]')" \
	'[(5, 1790003300), (4, 1790002640), (3, 1790001980), (2, 1790001320), (1, 1790000660)]' 'those that have ended'
like "$(fleet kills --service said)" '5 of 6 processes have ended*' 'of so many'

# Snapshots without samples.
python3 tests/e2e/make-series.py "$scratch/empty" empty 1 4
for file in "$scratch"/empty/*.heap; do curl -s "${authorization[@]}" --data-binary "@$file" "$url/v1/snapshots?service=blind&version=1&host=blind-1" >"$scratch/answer"; done
wait_for 60 emptied
fleet leaks --service blind >"$scratch/out" 2>&1
like "$? $(cat "$scratch/out")" '1 cairn: no instance has samples in that time, *memory*' 'instances without samples are not called steady'

# A line whose mean size is none of jemalloc's classes is of several sizes, in a store as in a dump.
cat >"$scratch/sizes.heap" <<'D'
heap_v2/524288
  t*: 15: 15000000 [0: 0]
@ 0x1001
  t*: 15: 15000000 [0: 0]

MAPPED_LIBRARIES:
# cairn trailer 1
# cairn time 1790000000.000000000
# cairn pid 7
# cairn start 1789999999.000000000
# cairn end
D
post_all 'service=sizes&version=1&host=h' "$scratch/sizes.heap"
wait_for 60 emptied
between='[round(r["rows"][0][x]) for x in ("flat", "flat_low", "flat_high")]'
is "$(fleet top --service sizes --errors --json 2>"$scratch/notes" | of_json "$between")" \
	"$("$cairn" top --errors --json "$scratch/sizes.heap" 2>"$scratch/notes" | of_json "$between")" 'a snapshot has the confidence intervals of its dump'

# Neither loads all snapshots of the store.
python3 - "$scratch/fleet.db" <<'P'
import sqlite3, sys
store = sqlite3.connect(sys.argv[1], timeout=60)
store.execute("""INSERT INTO snapshots SELECT s.instance, s.time_ns + 1000 * (n.value + 1), s.bytes, s.resident, s.memory_limit, s.limit_of_group, s.period, s.unsampling,
    s.has_allocated, '', s.base_ns, s.since_ns, s.before_bytes, s.own_bytes FROM (SELECT * FROM snapshots WHERE instance = (SELECT instance FROM processes WHERE service = 'silent' AND pid = 1) LIMIT 1) AS s,
    (WITH RECURSIVE n(value) AS (SELECT 0 UNION ALL SELECT value + 1 FROM n WHERE value < 399999) SELECT value FROM n) AS n""")
store.commit()
P
peak() { python3 -c 'import resource, subprocess, sys; subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL); print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)' "$@"; }
for question in services kills; do
	kilobytes=$(peak "$cairn" fleet $question --store "$store")
	is "$((kilobytes < 60000))" 1 "fleet $question over 400,000 snapshots takes $kilobytes KiB"
done
is "$(fleet services --service silent --json | of_json 'r["services"][0]["snapshots"]')" 400066 'which are counted'
stop
done_testing
