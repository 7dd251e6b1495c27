#!/usr/bin/env bash
# What goes wrong in a fleet: two tenants with the same snapshot, clocks that are off, the same again, a store that is away, a full disk, a
# sender that is killed; and a store that is filled without a collector. Rows are counted each time.
. tests/e2e/lib.sh
. tests/e2e/agent.sh
. tests/e2e/collector.sh
need curl python3 redis-server gcc
count() { python3 -c 'import sqlite3, sys; print(sqlite3.connect(sys.argv[1]).execute(sys.argv[2]).fetchone()[0])' "${store#sqlite:}" "$1"; }
send() { post "service=api&version=1&host=$2" "$1"; }
python3 tests/e2e/make-series.py "$scratch/series" healthy 1 4
set -- "$scratch"/series/*.heap

# Two tenants send the same snapshots of the same host and service.
store=sqlite:$scratch/tenants.db
"$cairn" store init -q "$store"
printf 'secret-one a\nsecret-two b\nsecret-three\n' >"$scratch/tokens"
authorization=(-H 'Authorization: Bearer secret-one')
collect --tokens "$scratch/tokens"
for file; do send "$file" same >"$scratch/code"; done
authorization=(-H 'Authorization: Bearer secret-two')
send "$1" same >"$scratch/code"
wait_for 30 emptied
for row in 'a 4' 'b 1'; do
	is "$("$cairn" fleet services --store "$store" --tenant "${row% *}" --from 1789000000 --json | of_json 'sum(s["snapshots"] for s in r["services"])')" "${row#* }" "tenant ${row% *} sees its own snapshots"
done
like "$("$cairn" fleet services --store "$store" --from 1789000000 2>&1)" '*the store is empty*--tenant NAME*' 'and whoever is no tenant sees none'
is "$(count 'SELECT count(DISTINCT tenant) || " " || count(*) FROM processes') $(count 'SELECT count(*) FROM stacks') $(count 'SELECT count(*) FROM frames')" \
	"2 2 $(($(count 'SELECT count(DISTINCT stack) FROM samples'))) $(count 'SELECT count(DISTINCT frame) FROM frames')" 'no row is shared between them'
authorization=()
is "$(curl -s "$url/health") $(curl -s -H 'Host: 10.0.0.7:4920' "$url/health")" 'ok ok' 'a probe needs no token'
is "$(curl -s -o "$scratch/answer" -w '%{http_code}' "$url/metrics") $(curl -s -o "$scratch/answer" -w '%{http_code}' -d x "$url/health")" '401 401' 'all else does'
seq -f 'token-%.0f' 1025 >"$scratch/too-many"
like "$("$cairn" collect --store "$store" --spool "$scratch/other" --listen "127.0.0.1:$(free_port)" --tokens "$scratch/too-many" 2>&1)" \
	'cairn: *too-many: more than 1024 tokens*' 'a file with more tokens than a collector takes is refused, not cut'
authorization=(-H 'Authorization: Bearer secret-thre')
is "$(send "$1" same)" 401 'a token with a letter missing'
authorization=(-H 'Authorization: Bearer secret-threee')
is "$(send "$1" same)" 401 'and with one too many'
authorization=(-H 'Authorization: Bearer secret-one')
stop
authorization=()

# A sender whose clock is an hour ahead, then an hour behind; each snapshot twice.
store=sqlite:$scratch/clock.db
"$cairn" store init -q "$store"
collect
for shift in 0 3600 -3600 3600; do
	for file; do
		at=$(sed -n 's/^# cairn time \([0-9]*\).*/\1/p' "$file")
		sed "s/^# cairn time .*/# cairn time $((at + shift)).000000000/" "$file" >"$scratch/shifted"
		send "$scratch/shifted" clock >"$scratch/code"
	done
done
wait_for 30 emptied
is "$(count 'SELECT count(*) FROM snapshots')" 12 'clocks that jump by an hour: every snapshot is there, and those sent twice are there once'
is "$(count 'SELECT count(*) FROM samples')" "$((3 * $(grep -h '^@' "$@" | wc -l)))" 'with all its rows'

# What cannot be opened in the spool, here because it is a folder, stays there and holds up nobody.
mkdir "$scratch/spool/0000000000000000000.snapshot"
sed "s/^# cairn time .*/# cairn time 1789100000.000000000/" "$1" >"$scratch/shifted"
send "$scratch/shifted" clock >"$scratch/code"
stored() { [ "$(count 'SELECT count(*) FROM snapshots')" = 13 ]; }
wait_for 30 stored
ok $? 'a snapshot that comes after what cannot be opened is stored'
[ -d "$scratch/spool/0000000000000000000.snapshot" ]
ok $? 'which is still there'
rmdir "$scratch/spool/0000000000000000000.snapshot"
stop

# A store that is away: arrivals do not shorten the pauses between attempts, and nobody is told to make tables.
# attempts_within MILLISECONDS: the most attempts in that time, with pauses of 0.5 s, 1 s, 2 s and so on between them
attempts_within() {
	local attempts=1 pause=500 left=$1
	while [ "$left" -ge "$pause" ]; do left=$((left - pause)) pause=$((pause * 2)) attempts=$((attempts + 1)); done
	echo "$attempts"
}
milliseconds() { echo $(($(date +%s%N) / 1000000)); }
away=$(free_port)
store=clickhouse://127.0.0.1:$away/cairn
began=$(milliseconds)
collect
for round in 1 2 3 4 5 6 7 8; do
	for file; do send "$file" "away-$round" >"$scratch/code"; done
done
wait_for 20 grep -q 'wait on disk' "$scratch/collect.log"
failures=$(curl -s "$url/metrics" | awk '$1 == "cairn_collect_store_failures_total" { print $2 }')
most=$(attempts_within $(($(milliseconds) - began)))
is "$((failures >= 1 && failures <= most))" 1 "the store is away, and 32 snapshots come: $failures attempts of at most $most"
is "$(grep -c . "$scratch/collect.log"), $(grep -o 'wait on disk:.*' "$scratch/collect.log" | cut -d: -f2-5)" "2,  http://127.0.0.1:$away/: cannot connect" 'which is noted once, with the address and no more'
stop
rm -r "$scratch/spool"
cat >"$scratch/failing.py" <<'P'
import http.server, sys
class Failing(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        body = open(sys.argv[2], 'rb').read()
        open(sys.argv[3], 'a').write('x')
        self.send_response(503)
        self.send_header('Content-Length', str(len(body)))
        self.end_headers()
        self.wfile.write(body)
    def log_message(self, *words): pass
http.server.HTTPServer(('127.0.0.1', int(sys.argv[1])), Failing).serve_forever()
P
python3 "$scratch/failing.py" "$away" "$scratch/failure" "$scratch/requests" &
children+=($!)
listens() { curl -s -d x "http://127.0.0.1:$away/" -o "$scratch/answer"; }
for code in 60 81 516; do
	echo "Code: $code, e.displayText() = DB::Exception: this or that" >"$scratch/failure"
	wait_for 20 listens
	told=$("$cairn" fleet services --store "$store" 2>&1)
	is "$([[ $told == *'store init'* ]] && echo made) ${told##*: }" "$([ $code = 516 ] || echo made) this or that" "ClickHouse fails with code $code"
done

# What the spool lets go is on the disk, not only in the kernel's memory: each batch that the store has taken was written through.
cat >"$scratch/syncs.c" <<'C'
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
static void note(int descriptor)
{
	char link[64], path[1000];
	snprintf(link, sizeof link, "/proc/self/fd/%d", descriptor);
	ssize_t length = readlink(link, path, sizeof path - 1);
	if (length < 4 || memcmp(path + length - 4, "-wal", 4) != 0)
		return;
	int file = open(SYNCS, O_WRONLY | O_APPEND | O_CREAT, 0600);
	(void)!write(file, "x", 1);
	close(file);
}
int fdatasync(int descriptor) { note(descriptor); return ((int (*)(int))dlsym(RTLD_NEXT, "fdatasync"))(descriptor); }
int fsync(int descriptor) { note(descriptor); return ((int (*)(int))dlsym(RTLD_NEXT, "fsync"))(descriptor); }
C
gcc -w -shared -fPIC -DSYNCS="\"$scratch/syncs\"" -o "$scratch/syncs.so" "$scratch/syncs.c" || broken 'gcc'
store=sqlite:$scratch/synced.db
"$cairn" store init -q "$store"
LD_PRELOAD=$scratch/syncs.so collect
for file; do
	send "$file" synced >"$scratch/code"
	wait_for 30 emptied
done
syncs=$(stat -c %s "$scratch/syncs")
is "$((syncs >= $#))" 1 "$# batches are written through: $syncs times"
stop

# A disk that is full: refused, not lost, and taken again when there is room.
if unshare -rm true 2>/dev/null; then
	cat >"$scratch/full.sh" <<'S'
mount -t tmpfs -o size=64k none "$scratch/small" || exit 9
"$cairn" collect --store "sqlite:$scratch/later/fleet.db" --listen "127.0.0.1:$port" --spool "$scratch/small" >"$scratch/full.log" 2>&1 &
collector=$!
until curl -sf "http://127.0.0.1:$port/health" >/dev/null; do sleep 0.1; done
accepted=0 refused=0
for round in 1 2 3 4 5 6 7 8 9 10; do
	for file in "$scratch"/series/*.heap; do
		code=$(curl -s -o /dev/null -w '%{http_code}' --data-binary "@$file" "http://127.0.0.1:$port/v1/snapshots?service=api&host=$round")
		[ "$code" = 202 ] && accepted=$((accepted + 1))
		[ "$code" = 503 ] && refused=$((refused + 1))
	done
done
mkdir "$scratch/later"
"$cairn" store init -q "sqlite:$scratch/later/fleet.db"
for wait in $(seq 600); do
	[ "$(curl -s "http://127.0.0.1:$port/metrics" | awk '$1 == "cairn_collect_spool_files" { print $2 }')" = 0 ] && break
	sleep 0.1
done
for file in "$scratch"/series/*.heap; do
	code=$(curl -s -o /dev/null -w '%{http_code}' --data-binary "@$file" "http://127.0.0.1:$port/v1/snapshots?service=again&host=x")
done
kill $collector
wait $collector
echo "$accepted $refused $code"
S
	mkdir "$scratch/small"
	port=$(free_port) scratch=$scratch cairn=$cairn; export port scratch cairn
	read -r accepted refused code < <(unshare -rm bash "$scratch/full.sh")
	store=sqlite:$scratch/later/fleet.db
	is "$((accepted > 0 && refused > 0 && accepted + refused == 40))" 1 "a full disk: $accepted accepted, $refused refused with 503"
	is "$(count "SELECT count(*) FROM snapshots WHERE instance IN (SELECT instance FROM processes WHERE service = 'api')")" "$accepted" 'those that were accepted are in the store, and no others'
	is "$code" 202 'and there is room again'
	is "$(grep -c 'cannot be written to the spool' "$scratch/full.log") $(grep -c 'can be written to the spool again' "$scratch/full.log")" '1 1' 'both are noted once'
else
	skip 'a disk that is full' 'no mounts here'
fi

# A sender that is killed while its dumps wait, and the next one.
MALLOC=prof:true,lg_prof_sample:14 TOOL=$cairn start_redis pushed || broken 'redis does not start'
seq 20000 | sed 's/.*/SET key:& value-value-value-value/' | redis-cli -p "$port_pushed" --pipe >"$scratch/pipe"
store=sqlite:$scratch/killed.db
"$cairn" store init -q "$store"
port=$(free_port)
folder=$scratch/dumps
watch() { "$cairn" watch --time 1s --distance 0 -o "$folder" "$@" --label service=kv "$pid_pushed" >"$scratch/watch.log" 2>&1 & watcher=$!; children+=("$watcher"); }
dumps() { ls "$folder" 2>/dev/null | wc -l; }
at_least() { [ "$(dumps)" -ge "$1" ]; }
watch --push "http://127.0.0.1:$port"
wait_for 60 at_least 3
kill -KILL "$watcher"; wait "$watcher" 2>/dev/null
before=$(dumps)
at_port=$port collect
watch --push "http://127.0.0.1:$port"
wait_for 60 at_least $((before + 2))
kill "$watcher"; wait "$watcher" 2>/dev/null
wait_for 30 emptied
is "$(count 'SELECT count(*) FROM snapshots')" "$(dumps)" "a sender that was killed with $before dumps waiting: the next one sends them, too"
watch --push "http://127.0.0.1:$port"
wait_for 60 at_least $((before + 4))
kill "$watcher"; wait "$watcher" 2>/dev/null
wait_for 30 emptied
is "$(count 'SELECT count(*) FROM snapshots')" "$(dumps)" 'and nothing is counted twice'
is "$(curl -s "$url/metrics" | awk '$1 == "cairn_collect_accepted_total" { print $2 }')" "$(dumps)" 'nor sent twice'
stop

# The same with names of one's own, with an ending that the pattern says and without any.
for pattern in 'kv-%t.gprof' 'kv-%T-%r'; do
	folder=$scratch/named-${pattern##*[%.]} store=sqlite:$scratch/${pattern##*[%.]}.db
	"$cairn" store init -q "$store"
	watch --push "http://127.0.0.1:$port" --file-name "$pattern"
	wait_for 60 at_least 3
	kill -KILL "$watcher"; wait "$watcher" 2>/dev/null
	before=$(dumps)
	echo 'no dump' >"$folder/notes"
	at_port=$port collect
	watch --push "http://127.0.0.1:$port" --file-name "$pattern"
	wait_for 60 at_least $((before + 3))
	kill "$watcher"; wait "$watcher" 2>/dev/null
	wait_for 30 emptied
	rm "$folder/notes"
	is "$(count 'SELECT count(*) FROM snapshots')" "$(dumps)" "$before dumps that wait are sent, too, where they are called $pattern"
	stop
done
folder=$scratch/dumps

# Without a collector.
store=sqlite:$scratch/straight.db
like "$("$cairn" watch --store mysql:x 1 2>&1)" '*sqlite:PATH*' 'no name of a store'
rm -r "$scratch/dumps"
watch --store "$store"
waiting() { grep -q 'store init' "$scratch/watch.log"; }
wait_for 60 waiting
ok $? 'a store without tables: it says so and goes on'
"$cairn" store init -q "$store"
wait_for 60 at_least 4
kill "$watcher"; wait "$watcher" 2>/dev/null
is "$(count 'SELECT count(*) FROM snapshots')" "$(dumps)" 'watch --store: every dump is in the store, those of before as well'
like "$("$cairn" fleet top --store "$store" --service kv -n 5 2>"$scratch/notes")" '*createEmbeddedString*' 'with names'

# A collector that fails, while dumps keep coming.
rm -rf "$scratch/requests" "$scratch/dumps"
began=$(milliseconds)
"$cairn" watch --time 50ms --distance 0 -o "$folder" --push "http://127.0.0.1:$away" "$pid_pushed" >"$scratch/watch.log" 2>&1 &
watcher=$!
children+=("$watcher")
wait_for 60 at_least 20
kill -KILL "$watcher"; wait "$watcher" 2>/dev/null
requests=$(stat -c %s "$scratch/requests") most=$(attempts_within $(($(milliseconds) - began)))
is "$((requests >= 1 && requests <= most))" 1 "20 dumps come while the collector fails: $requests requests of at most $most"

# A small disk, and no limit given: dumps that were sent make room for others.
like "$(cat "$scratch/watch.log")" '*kept below 1 GiB of dumps, since they are also sent; --keep-bytes sets another limit*' 'dumps that are sent have a limit, and that is told'
if unshare -rm true 2>/dev/null; then
	size=$(stat -c %s "$folder"/*.heap | sort -n | head -n 1) room=$((10 * size))
	store=sqlite:$scratch/room.db
	"$cairn" store init -q "$store"
	rm -rf "$scratch/spool"
	collect
	cat >"$scratch/narrow.sh" <<'S'
mount -t tmpfs -o size="$room" none "$folder" || exit 9
exec "$cairn" watch --time 50ms --distance 0 -o "$folder" --push "$url" "$pid_pushed"
S
	export room folder url pid_pushed
	unshare -rm bash "$scratch/narrow.sh" >"$scratch/watch.log" 2>&1 &
	watcher=$!
	children+=("$watcher")
	accepted() { [ "$(curl -s "$url/metrics" | awk '$1 == "cairn_collect_accepted_total" { print $2 }')" -ge "$1" ]; }
	wait_for 30 accepted 20
	ok $? 'a disk with room for ten dumps: twenty are sent'
	kill "$watcher"; wait "$watcher" 2>/dev/null
	stop
else
	skip 'a small disk' 'no mounts here'
fi
done_testing
