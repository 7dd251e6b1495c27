#!/usr/bin/env bash
# The options of attach, and what is said of the memory that was allocated before.
. tests/e2e/lib.sh
. tests/e2e/agent.sh
need cc python3 curl
. tests/e2e/attach.sh

start busy 2 none
port=$(free_port)
attach -q --period 32K --engine cairn --listen "127.0.0.1:$port" --token sesame --budget 2% --wait "$pid"
ok $? "all options together"
status=$("$cairn" status "$pid")
like "$status" "*engine: cairn*" "--engine"
like "$status" "*period: 32768*" "--period"
like "$status" "*state: inactive*" "--wait"
like "$("$cairn" status --json "$pid")" '*"budget":0.02*' "--budget"
is "$(curl -s -o /dev/null -w '%{http_code}' "http://127.0.0.1:$port/cairn/status")" 401 "--listen answers, and not without the token"
is "$(curl -s -o /dev/null -w '%{http_code}' -H 'Authorization: Bearer sesame' "http://127.0.0.1:$port/cairn/status")" 200 "--token"
detach "$pid" >/dev/null
CAIRN_TOKEN=other attach -q --listen "127.0.0.1:$port" "$pid"
is "$(curl -s -o /dev/null -w '%{http_code}' -H 'Authorization: Bearer other' "http://127.0.0.1:$port/cairn/status")" 200 "CAIRN_TOKEN"
like "$("$cairn" status "$pid")" "*period: 524288*" "attached again it has the default period"
detach "$pid" >/dev/null
like "$(attach --engine jemalloc "$pid" 2>&1)" "cairn: the agent does not start in process $pid: *" "an engine that the process does not have"
works "$scratch/busy"
ok $? "the program goes on"
attach --engine nothing "$pid" >/dev/null 2>&1
is $? 2 "an unknown engine is a usage error"
end

# It allocates more only when it has been attached to, however long that takes.
python3 -c '
import os, sys, time
old = b"x" * (96 << 20)
open(sys.argv[1], "w").write("x")
while not os.path.exists(sys.argv[2]): time.sleep(0.01)
kept = [b"y" * (100000 + i) for i in range(200)]
open(sys.argv[3], "w").write("x")
while True: time.sleep(1)' "$scratch/ready" "$scratch/go" "$scratch/done" &
pid=$!
children+=("$pid")
wait_for 20 test -s "$scratch/ready"
attach -q --period 16K "$pid" || broken "python cannot be attached to"
touch "$scratch/go"
wait_for 20 test -s "$scratch/done"
top=$("$cairn" top "$pid" 2>/dev/null)
before=$("$cairn" top --json "$pid" 2>/dev/null | python3 -c 'import json, sys
def find(value):
    if isinstance(value, dict):
        for key, inner in value.items():
            if key == "allocated_before": return inner
            found = find(inner)
            if found: return found
print(int((find(json.load(sys.stdin)) or 0) / (1 << 20)))')
like "$top" "*sampling began at ??:??:??; * MiB were resident by then and are not in this profile; it shows less than half of the * resident: cairn why says what the rest is*" \
	"top says since when, and how much there was before, however soon it was attached to"
is "$("$cairn" top --json "$pid" 2>/dev/null | python3 -c 'import json, sys; print(json.load(sys.stdin)["partial"])')" True "and so does its JSON"
[ "$before" -ge 96 ] && [ "$before" -lt 130 ]
ok $? "96 MiB and what Python itself has ($before MiB)"
rss=$("$cairn" rss --json "$pid" | python3 -c 'import json, sys
d = json.load(sys.stdin); lines = {l["key"]: l["bytes"] for l in d["lines"]}
print(lines["before"] >> 20, sum(lines.values()) == d["total"])')
[ "${rss% *}" -ge 90 ] && [ "${rss% *}" -lt 130 ]
ok $? "rss has a line for it (${rss% *} MiB)"
is "${rss#* }" True "and adds up"
like "$("$cairn" rss "$pid")" "*MiB*allocated before sampling began*" "with its name"
kill "$pid"
done_testing
