#!/usr/bin/env bash
# SOAK seconds (60) of `cairn watch` on a service that is killed and comes back, another that stays, and a folder in which the disk
# fills up, files are cut, garbled and copied, the index is damaged and removed: nothing incomplete is listed, nothing whole is lost
# that was to be kept, and neither descriptors nor memory grow.
. tests/e2e/lib.sh
need redis-server redis-cli python3
. tests/e2e/agent.sh
seconds=${SOAK:-60}
cd "$scratch"
${CC:-cc} -O1 -g -pthread "$root/examples/leaky/leaky.c" -o "svc-$$" -ljemalloc 2>"$scratch/log" || broken 'no jemalloc to link with'
MALLOC=prof:true,lg_prof_sample:14 start_redis steady || { ok 1 "redis-server starts"; done_testing; }
mkdir dumps
mounted=0
mount -t tmpfs -o size=4m tmpfs dumps 2>/dev/null && mounted=1
trap 'end_children -9; [ $mounted = 0 ] || umount "$scratch/dumps"; rm -rf "$scratch"' EXIT
"$cairn" watch --time 100ms --grow 5M --high 5M --distance 0 --keep-count 40 -o dumps --json --service "svc-$$" "$pid_steady" >out 2>err &
watcher=$!
children+=($watcher)
end=$((SECONDS + seconds))
running() { [ $SECONDS -lt $end ]; }

# The service: killed after a moment, again and again
(while running; do
	LD_PRELOAD=$library MALLOC_CONF=prof:true,lg_prof_sample:14 "./svc-$$" 30 >/dev/null 2>&1 &
	sleep "$((RANDOM % 4 + 1)).$((RANDOM % 10))"
	kill -9 $! && wait $! 2>/dev/null
done) 2>/dev/null &
children+=($!)

# pick: some dump of the folder
pick() { ls dumps 2>/dev/null | grep '\.heap$' | grep -v '^harm' | shuf -n 1; }
# harm: one kind of damage, to a copy so that every other file is the watcher's own work, or to the index
harm() {
	local file
	file=dumps/$(pick)
	case $((RANDOM % 6)) in
	0) head -c $((RANDOM % 5000)) "$file" >"dumps/harm-$RANDOM.heap" ;;
	1) head -c 2000 /dev/urandom >"dumps/harm-$RANDOM.heap" ;;
	2) head -c $((RANDOM % 300)) /dev/urandom >dumps/.cairn-index ;;
	3) rm -f dumps/.cairn-index ;;
	4) cp "dumps/$(pick | grep '^svc')" "dumps/harm-copy-$RANDOM.heap" ;; # the steady process's would be as good a first or highest as its own
	5) truncate -s 0 "dumps/harm-$RANDOM.heap" ;;
	esac
} 2>/dev/null
fill() { dd if=/dev/zero bs=4k >>dumps/ballast 2>/dev/null || true; } # until the disk is full
descriptors() { ls "/proc/$watcher/fd" | wc -l; }
memory() { awk '/RssAnon/ {print $2}' "/proc/$watcher/status"; }
# listed: what `cairn dumps` lists that is not complete
incomplete() {
	"$cairn" dumps --json dumps 2>/dev/null | python3 -c '
import json, os, sys
for dump in json.load(sys.stdin)["dumps"]:
    try: text = open("dumps/" + dump["name"], "rb").read()
    except FileNotFoundError: continue # thinned since
    if not text.startswith(b"heap_v2/") or not text.endswith(b"# cairn end\n"): print(dump["name"])'
}
bad=0 looks=0 filled=0 most_descriptors=0
sleep 8
first_memory=$(memory)
while running; do
	harm
	if [ $mounted = 1 ] && [ $((looks % 5)) = 0 ]; then
		filled=$((filled + 1))
		fill
		sleep 0.7
		# Old dumps make way for new ones as long as there are some: the room they leave is taken too, until it has to be told.
		while running && ! grep -q 'no space left' err; do fill && sleep 0.1; done
		rm -f dumps/ballast
	fi
	looks=$((looks + 1))
	names=$(incomplete)
	[ -z "$names" ] || { bad=$((bad + 1)) && echo "# listed though not complete: $names"; }
	now=$(descriptors)
	[ "$now" -le "$most_descriptors" ] || most_descriptors=$now
	rm -f dumps/harm-*
	sleep 0.2
done
holds "the watcher is still there" kill -0 $watcher
is $bad 0 "nothing incomplete was listed in $looks looks, after $filled fillings of the disk"
ok $((most_descriptors > 60)) "descriptors stay few: $most_descriptors at most"
now=$(memory)
ok $((now > first_memory + 2048)) "memory stays: $first_memory kB after eight seconds, $now kB at the end"
kill -INT $watcher
wait $watcher
is $? 0 "it ends by Ctrl-C"
is "$(ls -A dumps | grep -vE '\.heap$|^\.cairn-index$')" "" "no temporary file is left"
dumps=$(grep -c '"event":"dump"' out) deaths=$(grep -c '"event":"end"' out)
holds "$dumps dumps were taken, $deaths deaths told" test "$dumps" -gt $((seconds * 2)) -a "$deaths" -gt $((seconds / 12))
holds "the folder was kept within its limit: $(ls dumps/*.heap | wc -l) dumps" sh -c "[ \$(ls dumps/*.heap | wc -l) -le 80 ]"
is "$(incomplete)" "" "all that is listed is complete"
# Of the process that lived all the time: the first dump, the highest and the newest it told of are there.
holds "first, highest and newest of the steady process are there" python3 -c '
import json, os, sys
events = [json.loads(line) for line in open("out")]
mine = [e for e in events if e["event"] == "dump" and e["pid"] == int(sys.argv[1])]
highest = max(e["memory"] for e in mine)
for what, some in (("first", mine[:1]), ("highest", [e for e in mine if e["memory"] == highest]), ("newest", mine[-1:])):
    assert any(os.path.exists(e["file"]) for e in some), (what, some)' "$pid_steady"
like "$([ $mounted = 1 ] && cat err || echo 'no space left')" "*no space left*" "a full disk was told"
ok $(($(grep -vc 'note: service' err) > 5 + seconds / 30)) "and not more often than need be: $(grep -vc 'note: service' err) lines"
[ $(grep -vc "note: service" err) -le $((5 + seconds / 30)) ] || sed "s/^/# /" err >&2
done_testing
