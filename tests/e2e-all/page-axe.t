#!/usr/bin/env bash
# axe-core, which knows what keeps people from using a page, finds nothing in any page, tab or dialog: one file, a difference, a film, a live
# process, a folder, a store; light and dark, in three sizes.
. tests/e2e/lib.sh
. tests/e2e/agent.sh
. tests/e2e/collector.sh
need node npm python3 flock cc curl
. tests/e2e-all/browser.sh
node_modules playwright-core@1 axe-core@4
export CAIRN_PAGE_TOKEN=page-token
# serve NAME ARGUMENTS...: starts a server; adds its address to $pages
serve() {
	: >"$scratch/$1.out"
	"$cairn" serve "${@:2}" >"$scratch/$1.out" 2>"$scratch/$1.err" &
	children+=($!)
	wait_for 20 grep -q . "$scratch/$1.out"
	pages+=("$1=$(head -n 1 "$scratch/$1.out")")
}
pages=()
python3 tests/e2e/make-series.py "$scratch/film" leak 1
"$cairn" timeline "$scratch/film" -o "$scratch/film.html" 2>/dev/null
printf 'main;serve;cache 590\nmain;serve;session 30\nmain;old 100\n' >"$scratch/before.folded"
printf 'main;serve;cache 600\nmain;serve;session 300\n' >"$scratch/after.folded"
"$cairn" html --base "$scratch/before.folded" "$scratch/after.folded" -o "$scratch/change.html"
cc -O1 -g -pthread -o "$scratch/leaky" examples/leaky/*.c
(cd "$scratch" && exec "$cairn" run -q --period 32K -- ./leaky 900) >/dev/null 2>&1 &
runner=$!
children+=($runner)
wait_for 20 pgrep -P $runner -x leaky
pid=$(pgrep -P $runner -x leaky)
children+=("$pid")
wait_for 20 "$cairn" status "$pid"
serve live --every 1s "$pid"
"$cairn" html "$pid" -o "$scratch/process.html" 2>/dev/null
for name in process change film; do
	pages+=("$name=file://$scratch/$name.html")
done
serve folder "$scratch/film"
"$cairn" store init -q "$store"
collect || broken 'no collector'
post_all "host=one&version=1&service=api&zone=a" "$scratch/film"/*.heap
wait_for 60 emptied
serve store --store "$store" --keep 1000d

cp tests/e2e-all/page-axe.mjs "$modules/"
node "$modules/page-axe.mjs" "$browser" "$tap_count" "${pages[@]}" >"$scratch/tap" 2>"$scratch/error"
sed '/^1\.\./d' "$scratch/tap"
tap_count=$((tap_count + $(grep -c '^\(not \)\?ok' "$scratch/tap"))) tap_failed=$((tap_failed + $(grep -c '^not ok' "$scratch/tap")))
grep -q '^1\.\.' "$scratch/tap"
ok $? 'axe-core came to its end'
sed 's/^/# /' "$scratch/error" | head -n 12
done_testing
