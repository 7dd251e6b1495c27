#!/usr/bin/env bash
# make demo-fleet: the leak of the new release is on the page within a minute, and nothing is left behind.
. tests/e2e/lib.sh
need curl python3 gcc pgrep
export TMPDIR=$scratch
unset DISPLAY WAYLAND_DISPLAY
DEMO_SECONDS=150 scripts/demo-fleet "${CAIRN_BUILD:-build}" >"$scratch/log" 2>&1 &
demo=$!
children+=("$demo")
page() { sed -n 's|^\(http://127.0.0.1:[0-9]*\)/$|\1|p' "$scratch/log"; }
opened() { [ -n "$(page)" ]; }
wait_for 60 opened
ok $? 'it prints the address of the page'
said() { curl -s "$(page)/api/processes" | python3 -c 'import json, sys
p = json.load(sys.stdin)["processes"][0]
sys.exit(not (p["program"] == "api" and "remember_session" in p["sentence"] and "on each of 3 of 3 instances, new in release 1.1" in p["sentence"]))' 2>/dev/null; }
wait_for 90 said
ok $? 'the page names the leak, its release and its three instances'
printed() { grep -q '^remember_session grows by .* on each of 3 of 3 instances, new in release 1.1' "$scratch/log"; }
wait_for 30 printed
ok $? 'and so does the terminal'
kill -TERM "$demo" # a shell in the background ignores SIGINT
wait "$demo" 2>/dev/null
ok $? 'it ends without an error when interrupted'
is "$(ls -d "$scratch"/cairn-fleet.* 2>/dev/null)" '' 'leaves no files'
gone() { ! pgrep -f "$scratch/cairn-fleet" >/dev/null; }
wait_for 20 gone
ok $? 'and no processes'
done_testing
