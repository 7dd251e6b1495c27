#!/usr/bin/env bash
# Verdicts where sampling began late, as after `cairn attach`: only new objects are sampled, and in a service of constant size they take the
# place of older ones. That is no growth. A leak is still found, because the memory of the process grows with it.
. tests/e2e/lib.sh
need cc python3 curl
. tests/e2e/agent.sh
${CC:-cc} -O1 -g tests/e2e/leaks-late-host.c -o "$scratch/host" || broken 'the test host does not build'
# start NAME [leak]: a service that is sampled once its ring is full; $pid is its process
start() {
	LD_PRELOAD=$library CAIRN_CONF=engine:cairn,period:4K "$scratch/host" "${@:2}" >"$scratch/$1.out" 2>&1 &
	pid=$!
	children+=($pid)
	wait_for 60 grep -q ready "$scratch/$1.out"
	sleep 1.2 # what a process allocates in its first second counts as sampled from the start
	"$cairn" activate $pid >/dev/null 2>"$scratch/err" || sed 's/^/# /' "$scratch/err"
}
# dumps NAME: a folder of twelve dumps
dumps() {
	mkdir -p "$scratch/$1"
	for i in 1 2 3 4 5 6 7 8 9 10 11 12; do
		"$cairn" dump -o "$scratch/$1/host.$i.heap" $pid >/dev/null 2>"$scratch/err" || sed 's/^/# /' "$scratch/err"
		sleep 0.3
	done
}
# says SOURCE EXPRESSION: of the ranking, D, its rows R by name and what grows G
says() {
	"$cairn" leaks --json "$1" >"$scratch/leaks.json" 2>"$scratch/err"
	python3 -c "import json, sys; D = json.load(open('$scratch/leaks.json')); R = {r['name']: r for r in D['rows']}; G = [r['name'] for r in D['rows'] if r['verdict'] == 'growing']
sys.exit(not ($2))" || { head -c 900 "$scratch/leaks.json"; cat "$scratch/err"; echo; return 1; }
}

start ring
dumps ring
holds 'what takes the place of older objects does not grow' says "$scratch/ring" 'G == [] and D["verdict"] == "too early" and "hours_to_limit" not in D'
holds 'it is too early to tell, and why is said' says "$scratch/ring" 'R["open_session"]["verdict"] == "too early" and "before sampling began" in R["open_session"]["words"] and R["open_session"]["may_replace"]'
holds 'how much is sampled is said for scripts' says "$scratch/ring" 'D["partial"] and D["allocated_before"] > 60e6 and D["sampled_since"] > 0'
like "$("$cairn" leaks "$scratch/ring" 2>/dev/null)" '*sampling began at *; * MiB were resident by then and are not in this profile*' 'and for people'
holds 'nor does a single dump show growth' says $pid 'G == [] and D["verdict"] == "too early"'
"$cairn" timeline --json -o "$scratch/timeline.json" "$scratch/ring" 2>"$scratch/err"
holds 'nor a timeline' python3 -c "import json; L = json.load(open('$scratch/timeline.json'))['layers']; assert {l['verdict'] for l in L} == {'too early'}, L"
"$cairn" serve --listen 127.0.0.1:0 "$scratch/ring" >"$scratch/serve.out" 2>"$scratch/serve.err" &
server=$!
children+=($server)
wait_for 20 grep -q . "$scratch/serve.out"
address=$(head -n 1 "$scratch/serve.out")
base=${address%%/?token=*} authorization="Authorization: Bearer ${address#*token=}"
wait_for 20 sh -c "curl -s -H '$authorization' $base/api/leaks | grep -q open_session"
like "$(curl -s -H "$authorization" "$base/api/leaks")" '*"kind":"early"*' 'nor the page'
kill $server

# After a reset, what was sampled before is known.
"$cairn" reset $pid >/dev/null 2>"$scratch/err" || sed 's/^/# /' "$scratch/err"
for i in 21 22 23 24 25 26 27 28; do
	"$cairn" dump -o "$scratch/ring/host.$i.heap" $pid >/dev/null 2>"$scratch/err"
	sleep 0.3
done
holds 'nor what comes back after a reset' says "$scratch/ring" 'G == [] and D["runs"] == 1 and D["dumps"] == 20'
kill $pid

start leak leak
dumps leak
holds 'a leak is found after a late start, and it alone' says "$scratch/leak" 'G == ["forget_request"] and R["open_session"]["verdict"] != "growing"'
holds 'at its rate, if all dumps are of one speed' says "$scratch/leak" '1.8e9 < R["forget_request"]["bytes_per_hour"] < 7.2e9'
kill $pid
done_testing
