#!/usr/bin/env bash
# make demo-fleet: within a minute the leak of the new release is named, by the page and on the terminal; and nothing is left behind.
. tests/e2e/lib.sh
need curl python3 gcc pgrep
# within SECONDS COMMAND...: by the clock, however long the command takes
within() {
	local end=$((SECONDS + $1))
	shift
	until "$@"; do
		[ $SECONDS -lt $end ] || return 1
		sleep 0.3
	done
}
export TMPDIR=$scratch
unset DISPLAY WAYLAND_DISPLAY
DEMO_SECONDS=300 setsid scripts/demo-fleet "${CAIRN_BUILD:-build}" >"$scratch/log" 2>&1 &
demo=$!
children+=("$demo")
page() { sed -n 's|^\(http://127.0.0.1:[0-9]*\)/$|\1|p' "$scratch/log"; }
opened() { [ -n "$(page)" ]; }
within 60 opened
ok $? 'it prints the address of the page'
opened_at=$SECONDS
verdict='remember_session keeps growing on [23] of [23] instances, by .* each, new in release 1.1'
said() { curl -s -m 10 "$(page)/api/processes" | python3 -c 'import json, re, sys
p = json.load(sys.stdin)["processes"][0]
sys.exit(not (p["program"] == "api" and p["kind"] == "growing" and re.match(sys.argv[1], p["sentence"])))' "$verdict" 2>/dev/null; }
within 60 said
ok $? "the page names the leak and its release, after $((SECONDS - opened_at)) s"
curl -s -m 10 "$(page)/api/processes" | python3 -c 'import json, sys; print("#", json.load(sys.stdin)["processes"][0]["sentence"])'
key=$(curl -s -m 10 "$(page)/api/processes" | python3 -c 'import json, sys; print(json.load(sys.stdin)["processes"][0]["process"])')
# The table is about the sum of all instances, which takes a few more snapshots.
listed() { curl -s -m 10 "$(page)/api/leaks?process=$key" | python3 -c 'import json, sys
row = json.load(sys.stdin)["rows"][0]
sys.exit(not (row["name"] == "remember_session" and row["verdict"] == "growing"))' 2>/dev/null; }
within $((60 - (SECONDS - opened_at))) listed
ok $? "and has it first in its table, after $((SECONDS - opened_at)) s"
printed() { grep -Eq "^$verdict" "$scratch/log"; }
within 60 printed
ok $? 'the terminal says so, too'
kill -TERM "$demo"
ended() { ! kill -0 "$demo" 2>/dev/null; }
within 60 ended
ok $? 'it ends when it is asked to'
wait "$demo" 2>/dev/null
ok $? 'without an error'
is "$(ls -d "$scratch"/cairn-fleet.* 2>/dev/null)" '' 'leaves no files'
gone() { ! pgrep -f "$scratch/cairn-fleet" >/dev/null; }
within 20 gone
ok $? 'and no processes'
done_testing
