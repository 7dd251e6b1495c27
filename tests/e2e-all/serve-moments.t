#!/usr/bin/env bash
# The live page in headless Chromium where dumps are kept for a few seconds only, of a child of the process that has the port, with answers that fail or come
# late, and in more tabs than a browser has connections to one server.
. tests/e2e/lib.sh
need node npm python3 flock cc curl
. tests/e2e-all/browser.sh
node_modules playwright-core@1
. tests/e2e/agent.sh
cc -O1 -g -pthread -o "$scratch/leaky" examples/leaky/*.c
${CC:-cc} -O1 -g -w tests/e2e/forks.c -o "$scratch/forks" -ljemalloc
(cd "$scratch" && exec "$cairn" run -q --period 32K -- ./leaky 900) >/dev/null 2>&1 &
children+=($!)
wait_for 20 pgrep -P $! -x leaky
pid=$(pgrep -P $! -x leaky)
children+=("$pid")
wait_for 20 "$cairn" status "$pid"
serve() { # serve NAME ARGUMENTS...: starts a server; its address is in $address
	"$cairn" serve "${@:2}" >"$scratch/$1.out" 2>"$scratch/$1.err" &
	children+=($!)
	wait_for 20 grep -q . "$scratch/$1.out"
	address=$(head -n 1 "$scratch/$1.out")
}
serve kept --every 500ms --keep 6s "$pid"
kept=$address
mkdir "$scratch/two"
for i in 0 1 2 3 4 5; do
	printf 'heap_v2/1\n  t*: 1: 1000 [0: 0]\n@ 0x1001 0x2001\n  t*: 1: 1000 [0: 0]\n\nMAPPED_LIBRARIES:\n# cairn trailer 1\n# cairn pid %d\n# cairn executable /usr/bin/worker\n# cairn start 1700000000.0\n# cairn time %d.0\n# cairn end\n' \
		$((100 + i % 2)) $((1700000100 + i)) >"$scratch/two/$i.heap"
done
serve two "$scratch/two"
two=$address
port=$(free_port)
mkfifo "$scratch/stop"
LD_PRELOAD=$library CAIRN_CONF=listen:127.0.0.1:$port CAIRN_TOOL=$cairn MALLOC_CONF=prof:true,lg_prof_sample:14 "$scratch/forks" tree 2 30 <"$scratch/stop" >"$scratch/out" 2>&1 &
children+=($!)
exec 7>"$scratch/stop"
wait_for 30 grep -q idle "$scratch/out"
child=$(sed -n 's/child //p' "$scratch/out" | head -n 1)
children+=($(sed -n 's/child //p; s/idle //p' "$scratch/out"))
wait_for 30 has_agent "$child"
cp tests/e2e-all/serve-moments.mjs "$modules/"
timeout 500 node "$modules/serve-moments.mjs" "$browser" "$tap_count" kept="$kept" two="$two" child="http://127.0.0.1:$port/cairn/?pid=$child" >"$scratch/tap" 2>"$scratch/error"
sed '/^1\.\./d' "$scratch/tap"
tap_count=$((tap_count + $(grep -c '^\(not \)\?ok' "$scratch/tap"))) tap_failed=$((tap_failed + $(grep -c '^not ok' "$scratch/tap")))
grep -q '^1\.\.' "$scratch/tap"
ok $? 'the browser test came to its end'
sed 's/^/# /' "$scratch/error" | head -n 12
exec 7>&-
done_testing
