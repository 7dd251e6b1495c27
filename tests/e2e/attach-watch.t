#!/usr/bin/env bash
# `cairn watch --attach` gives processes an agent: one that is named, and those of a service as they appear.
. tests/e2e/lib.sh
. tests/e2e/agent.sh
need cc python3 curl
. tests/e2e/attach.sh

start busy 2 none
timeout 60 "$cairn" watch --attach --period 64K --once --folder "$scratch/dumps" "$pid" >"$scratch/log" 2>&1
ok $? "watch --attach takes a dump of a process that had no agent"
like "$(cat "$scratch/log")" "*target $pid*start*.heap*" "and says so"
like "$("$cairn" status "$pid")" "*period: 65536*" "with the period that was asked for"
timeout 60 "$cairn" watch --attach --once --folder "$scratch/again" "$pid" >"$scratch/log" 2>&1
ok $? "an agent that is there is used"
end

start settings 2 none
port=$(free_port)
timeout 60 "$cairn" watch --attach --period 32K --engine cairn --listen "127.0.0.1:$port" --token sesame --budget 2% --once \
	--folder "$scratch/settings.dumps" "$pid" >"$scratch/log" 2>&1
ok $? "watch --attach with all settings of an agent"
status=$("$cairn" status --json "$pid")
like "$status" '*"period":32768*' "--period"
like "$("$cairn" status "$pid")" "*engine: cairn*" "--engine"
like "$status" '*"budget":0.02*' "--budget"
asked() { curl -s -o /dev/null -w '%{http_code}' "$@" "http://127.0.0.1:$port/cairn/status"; }
is "$(asked) $(asked -H 'Authorization: Bearer sesame')" "401 200" "--listen, with the token of --token"
detach "$pid" >/dev/null
CAIRN_TOKEN=other timeout 60 "$cairn" watch --attach --listen "127.0.0.1:$port" --once --folder "$scratch/settings.dumps" "$pid" \
	>"$scratch/log" 2>&1
is "$(asked) $(asked -H 'Authorization: Bearer other')" "401 200" "or of CAIRN_TOKEN"
end
for wrong in "--engine nothing --attach" "--token a,b --attach --listen 127.0.0.1:1" "--period 1K" \
	"--engine cairn" "--budget 1%" "--listen 127.0.0.1:1"; do
	"$cairn" watch $wrong --once 1 >"$scratch/log" 2>&1
	is "$? $(wc -l <"$scratch/log")" "2 1" "a usage error: $wrong"
done

# A service that comes, goes and comes again, under a name of its own.
cp "$scratch/target" "$scratch/cairn-attach-me"
program=$scratch/cairn-attach-me
timeout 120 "$cairn" watch --attach --service cairn-attach-me --folder "$scratch/service" >"$scratch/log" 2>&1 &
watch=$!
children+=("$watch")
dumps() { ls "$scratch/service" 2>/dev/null | grep -c 'start.heap$'; }
seen=0
for round in 1 2; do
	start "service$round" 2 none
	for _ in $(seq 600); do [ "$(dumps)" -ge $round ] && break; sleep 0.05; done
	[ "$(dumps)" -ge $round ] && works "$scratch/service$round" && seen=$((seen + 1))
	end
done
is $seen 2 "a service is attached to each time it appears"
sed 's/^/#   /' "$scratch/log" | head -n 4
kill $watch
wait $watch 2>/dev/null

$cc -O1 -w -static -D_GNU_SOURCE tests/e2e/attach-target.c -o "$scratch/static" -pthread 2>/dev/null || broken "no static libc"
"$scratch/static" "$scratch/s" 0 one 3 &
pid=$!
children+=("$pid")
wait_for 30 test -s "$scratch/s"
timeout 60 "$cairn" watch --attach --once --folder "$scratch/dumps" "$pid" >"$scratch/log" 2>&1
is "$? $(cut -c1-6 "$scratch/log" | head -n 1)" "1 cairn:" "one that cannot be attached to is an error"
like "$(cat "$scratch/log")" "*static program*" "which says why"
end
done_testing
