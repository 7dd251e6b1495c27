#!/usr/bin/env bash
# Snapshots that a collector and a watcher send on to other systems, which stand in for themselves in receiver.py.
. tests/e2e/lib.sh
. tests/e2e/agent.sh
. tests/e2e/collector.sh
need curl python3 gcc redis-server readelf nm
"$cairn" store init -q "$store"
make_app

# receive: starts the receiver; sets receiver
receive() {
	python3 tests/e2e/receiver.py "$there" "$scratch/got" "$scratch/status" 2>"$scratch/receiver.log" &
	receiver=$!
	children+=("$receiver")
	wait_for 20 bash -c ": </dev/tcp/127.0.0.1/$there"
}
# of_receiver KIND NAME: a metric
of_receiver() { curl -s "${authorization[@]}" "$url/metrics" | awk -v name="cairn_collect_$2{receiver=\"$1\"," 'index($1, name) == 1 { print $2 }'; }
# send FUNCTIONS TIME SCALE [PID [QUERY]]
send() {
	python3 tests/e2e/make-dump.py "$scratch/app" "$1" "$scratch/app" "$2" "$3" "${4:-77}" >"$scratch/dump" || broken 'make-dump.py'
	post_all "${5:-service=api&version=7&host=h1&zone=a}" "$scratch/dump" && wait_for 20 emptied
}
# got KIND EXPRESSION: over r, the list of what the receiver got, each as a dictionary
got() { python3 -c 'import json, sys
r = [x for x in map(json.loads, open(sys.argv[1])) if x["kind"] == sys.argv[2]]
M = 1 << 20
print(eval(sys.argv[3]))' "$scratch/got" "$1" "$2"; }
have() { [ "$(got "$1" 'len(r)')" -ge "$2" ]; }
all_have() { local kind; for kind in pyroscope otlp parca coroot; do have $kind "$1" || return 1; done; }

touch "$scratch/got"
there=$(free_port)
receive
base=http://127.0.0.1:$there
printf '# for all of them\nX-All: one\npyroscope Authorization: Bearer two\n' >"$scratch/headers"
for wrong in pyroscope parca:host prometheus:http://x "pyroscope:http://x?y=1" "otlp:"; do
	"$cairn" collect --store "$store" --spool "$scratch/spool" --forward "$wrong" >"$scratch/out" 2>&1
	is $? 2 "a usage error: --forward $wrong"
done
printf 'nonsense\n' >"$scratch/bad"
"$cairn" collect --store "$store" --spool "$scratch/spool" --forward "otlp:$base" --forward-headers "$scratch/bad" >"$scratch/out" 2>&1
is $? 1 'headers that are none'
like "$(cat "$scratch/out")" "*bad:1: a header is 'NAME: VALUE'*" 'and where'

collect --forward "pyroscope:$base/" --forward "otlp:$base" --forward "parca:$base" --forward "coroot:$base" --forward-headers "$scratch/headers"
send first_function,second_function 1790000000 1
wait_for 20 all_have 1
ok $? 'four receivers get a snapshot'
is "$(grep -c '"wrong"' "$scratch/got")" 0 'which all of them can read'
grep '"wrong"' "$scratch/got" | head -n 3 | sed 's/^/# /'
for kind in pyroscope parca; do
	is "$(got $kind 'r[0]["labels"]')" "{'__name__': 'memory', 'service_name': 'api', 'host': 'h1', 'instance': 'h1:77', 'version': '7', 'zone': 'a'}" "$kind: its labels"
done
is "$(got otlp 'r[0]["labels"]')" "{'service.name': 'api', 'service.version': '7', 'service.instance.id': 'h1:77', 'host.name': 'h1', 'zone': 'a', 'process.pid': 77}" 'otlp: its resource'
is "$(got coroot 'r[0]["labels"]')" "{'service.name': 'api', 'instance': 'h1:77', 'version': '7', 'zone': 'a'}" 'coroot: its labels'
for kind in pyroscope otlp parca; do
	is "$(got $kind 'r[0]["values"]["inuse_space"] == {"first_function": M, "second_function": M}')" True "$kind: live bytes by function"
done
is "$(got coroot 'r[0]["values"]["go:heap_inuse_space:bytes"] == {"first_function": M, "second_function": M}')" True 'coroot: the same, by the name that it knows'
is "$(got parca 'r[0]["values"]["alloc_space"]["first_function"] == 10 * M')" True 'parca: allocations are those so far'
is "$(got pyroscope 'sum(r[0]["values"]["alloc_space"].values())')" 0 'pyroscope: of a process that is new, none'
is "$(got otlp 'r[0]["values"]["alloc_space"]')" '{}' 'otlp: the same'
is "$(got otlp 'r[0]["first"], r[0]["scope"]')" "('inuse_space', 'cairn')" 'otlp: live bytes come first'
is "$(got otlp 'r[0]["build_ids"]')" "['$(readelf -n "$scratch/app" | sed -n 's/.*Build ID: //p')']" 'otlp: with the build-id'
is "$(got pyroscope '[r[0]["headers"].get(x) for x in ("x-all", "authorization", "x-scope-orgid")]')" "['one', 'Bearer two', None]" 'headers for all of them, and for one'
is "$(got otlp '[r[0]["headers"].get(x) for x in ("x-all", "authorization")]')" "['one', None]" 'which the others do not get'

send first_function,second_function 1790000060 3
wait_for 20 all_have 2
is "$(got pyroscope '(r[1]["values"]["alloc_space"]["first_function"] / M, r[1]["values"]["inuse_space"]["first_function"] / M, r[1]["time"], r[1]["duration"])')" \
	'(20.0, 3.0, 1790000060.0, 60.0)' 'the next one: what was allocated since, and what is live now'
is "$(got coroot 'r[1]["values"]["go:heap_alloc_space:bytes"]["first_function"] / M')" 20.0 'coroot: the same'
is "$(got parca 'r[1]["values"]["alloc_space"]["first_function"] / M')" 30.0 'parca: all so far'
is "$(got otlp '(r[1]["values"]["alloc_space"]["first_function"] / M, r[1]["spans"]["alloc_space"], r[1]["spans"]["inuse_space"])')" \
	'(20.0, [1790000000.0, 60.0], [1790000060.0, 0.0])' 'otlp: with the time in which'
send first_function,second_function 1790000060 3
send first_function,second_function 1790000000 1
send first_function 1790000120 2 77
wait_for 20 all_have 3
is "$(got pyroscope 'r[2]["time"]')" 1790000120.0 'the same again, or an older one, is not sent again'
is "$(got pyroscope 'r[2]["values"]["alloc_space"]')" "{'first_function': $((20 << 20))}" 'counts that went down as a whole began anew'
send first_function 1790000180 5 78
wait_for 20 all_have 4
is "$(got pyroscope '(sum(r[3]["values"]["alloc_space"].values()), r[3]["labels"]["instance"])')" "(0, 'h1:78')" 'another process of the same service begins with none'
is "$(got pyroscope 'len({x["id"] for x in r})')" 4 'each has a number of its own'
is "$(of_receiver pyroscope forwarded_total) $(of_receiver otlp forwarded_total) $(of_receiver parca forward_lost_total) $(of_receiver coroot forward_refused_total)" '4 4 0 0' 'and is counted'
stop

# A receiver that refuses, one that is away, and more than can wait.
echo 400 >"$scratch/status"
collect --forward "pyroscope:$base"
send first_function 1790000240 5 79
refused() { [ "$(of_receiver pyroscope forward_refused_total)" = 1 ]; }
wait_for 20 refused
ok $? 'what is refused is not sent again'
like "$(cat "$scratch/collect.log")" '*not forwarded*pyroscope answers 400*not today*' 'with a note'
echo 503 >"$scratch/status"
send first_function 1790000300 6 79
away() { grep -q 'not forwarded to pyroscope for now.*503' "$scratch/collect.log"; }
wait_for 20 away
ok $? 'a receiver that is away, with a note'
rm "$scratch/status"
wait_for 60 have pyroscope 5
ok $? 'gets it when it is back'
is "$(got pyroscope 'r[-1]["values"]["alloc_space"]["first_function"] / M')" 10.0 'with what was allocated since the one that it refused'
kill "$receiver"
wait "$receiver" 2>/dev/null
python3 - "$url" "$scratch/dump" <<'P'
import sys, urllib.request
text = open(sys.argv[2]).read()
for i in range(300):
    urllib.request.urlopen(f"{sys.argv[1]}/v1/snapshots?service=many&host=h{i}", text.replace("1790000300", f"{1790001000 + i}").encode()).read()
P
wait_for 60 emptied
is "$("$cairn" fleet services --store "$store" --service many --from 1789000000 --json | python3 -c 'import json, sys; print(sum(s["snapshots"] for s in json.load(sys.stdin)["services"]))')" 300 'a receiver that is away keeps nothing from the store'
is "$(($(of_receiver pyroscope forward_waiting) <= 256 && $(of_receiver pyroscope forward_lost_total) >= 43))" 1 'what waits for it is limited, and the rest is counted as lost'
is "$(grep -c 'too many snapshots wait' "$scratch/collect.log")" 1 'which is said once'
receive
wait_for 60 have pyroscope 261
newest() { [ "$(got pyroscope 'r[-1]["labels"]["host"]')" = h299 ]; }
wait_for 20 newest # beside the 256 that wait there is one that was being sent
is "$(got pyroscope 'r[-1]["labels"]["host"]')" h299 'the newest come when it is back'
stop
like "$(cat "$scratch/collect.log")" '*snapshots were not forwarded to pyroscope*' 'at the end, how many did not'

# Tenants.
printf 'one-token first\n' >"$scratch/tokens"
authorization=(-H 'Authorization: Bearer one-token')
before=$(got pyroscope 'len(r)')
collect --forward "pyroscope:$base" --tokens "$scratch/tokens"
send first_function 1790000400 5 80 "service=%ff%22x&host=h&1-b=c&__name__=cpu&b.c=%e2%82%ac"
wait_for 20 have pyroscope $((before + 1))
is "$(got pyroscope '[r[-1]["headers"]["x-scope-orgid"], r[-1]["labels"]]')" \
	"['first', {'__name__': 'memory', 'service_name': '?\"x', 'host': 'h', 'instance': 'h:80', 'tenant': 'first', '_1_b': 'c', 'b_c': '€'}]" \
	'the tenant is that of Pyroscope, and labels are such as it takes'
stop

# By a watcher, of a real process.
MALLOC=prof:true,prof_accum:true,lg_prof_sample:12 start_redis watched || broken 'redis does not start'
seq 20000 | sed 's/.*/SET key:& value-value-value-value/' | redis-cli -p "$port_watched" --pipe >"$scratch/pipe"
before=$(got pyroscope 'len(r)')
"$cairn" watch --forward nothing:http://x "$pid_watched" >"$scratch/out" 2>&1
is $? 2 'a usage error: watch --forward nothing:'
mkdir "$scratch/dumps"
CAIRN_FORWARD_HEADERS='X-All: three' "$cairn" watch --time 1s --distance 0 -o "$scratch/dumps" --forward "pyroscope:$base" --forward "otlp:$base" --label service=kv \
	"$pid_watched" >"$scratch/watch.log" 2>&1 &
watcher=$!
children+=("$watcher")
wait_for 30 have pyroscope $((before + 1))
seq 20000 | sed 's/.*/SET other:& value-value-value-value/' | redis-cli -p "$port_watched" --pipe >"$scratch/pipe"
since() { [ "$(got pyroscope "sum(sum(x['values']['alloc_space'].values()) for x in r[$before:]) > 300000")" = True ]; }
wait_for 30 since
ok $? 'watch: what redis allocates between two dumps is sent'
is "$(got pyroscope "[r[$before]['labels'][x] for x in ('service_name', 'instance')] == ['kv', '$(hostname):$pid_watched'] and r[$before]['headers']['x-all']")" three 'with the labels, and headers from the environment'
is "$(got pyroscope "sum(r[$before]['values']['alloc_space'].values())")" 0 'the first has no allocations'
is "$(got pyroscope "max(r[$before]['values']['inuse_space'].values()) > 100000")" True 'but what is live'
wait_for 30 have otlp 5
ok $? 'and to another receiver, too'
kill "$watcher"
wait "$watcher" 2>/dev/null
is "$(grep -c '"wrong"' "$scratch/got")" 0 'everything that was sent can be read'
grep '"wrong"' "$scratch/got" | head -n 3 | sed 's/^/# /'
done_testing
