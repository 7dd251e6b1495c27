#!/bin/bash
# The dump folder of a real service: dumps by rules, listed and fetched, thinned, on a disk that fills, in a folder that goes away; and
# thousands of files that jemalloc's gdump writes, taken in.
. tests/e2e/lib.sh
. tests/e2e/agent.sh
need redis-server redis-cli redis-benchmark curl python3
cc=${CC:-cc}

# listing FILTER: Python over the `dumps` of a listing in JSON on standard input
listing() { python3 -c 'import json, sys
dumps = json.load(sys.stdin)["dumps"]
print(eval(sys.argv[1]))' "$1"; }
written() { [ "$(field "$1" dumps written)" -ge "$2" ]; }
fill() { timeout 600 redis-benchmark -p "$1" -n 8000 -r 1000000 -d 3900 -t set -q >/dev/null; }

folder=$scratch/dumps
CONF="dumps:$folder,start:true,grow:4M,every:1m,distance:200ms,keep-count:6" start_redis service || { ok 1 "redis starts"; done_testing; }
wait_for 10 written "$url_service" 1
ok $? "a dump at the start"
for _ in {1..30}; do # a dump each, as far apart as they may be
	written "$url_service" 8 && break
	fill "$port_service"
	sleep 0.2
done
written "$url_service" 8
ok $? "and several while it grows: $(field "$url_service" dumps written)"
# settled URL: nothing was written for a while
settled() { local count; count=$(field "$1" dumps written); sleep 1; [ "$(field "$1" dumps written)" = "$count" ]; }
wait_for 10 settled "$url_service"
curl -s "$url_service/cairn/dumps" >"$scratch/list.json"
is "$(listing 'len(dumps)' <"$scratch/list.json")" 6 "six of them stay"
is "$(listing 'all(d["pid"] == '"$pid_service"' and d["alive"] and d["memory"] > 1e6 and d["size"] > 1e3 and d["time"] > 1.7e9 for d in dumps)' <"$scratch/list.json")" True "each with process, memory, size and time"
is "$(listing '[dumps[0]["first"], dumps[0]["reason"].split(":")[0], dumps[-1]["newest"], dumps[-1]["reason"].split(":")[0]]' <"$scratch/list.json")" \
	"[True, 'start', True, 'grow']" "the first and the newest among them, and why they were written"
is "$(listing 'sum(d["highest"] for d in dumps), sum(d["last_of_dead"] for d in dumps)' <"$scratch/list.json")" "(1, 0)" "one is the highest, none the last"
newest=$(listing 'dumps[-1]["name"]' <"$scratch/list.json")
like "$newest" "20[0-9][0-9]-*.auto.heap" "names are RisingWave's"
like "$(curl -s "$url_service/api/monitor/list_heap_profile/0")" '*"nameAuto":[*"'"$newest"'"*' "whose route lists them, too"
curl -s -o "$scratch/fetched" "$url_service/cairn/dumps/$newest" && cmp -s "$scratch/fetched" "$folder/$newest"
ok $? "one is fetched over HTTP"
holds "and by the command" "$cairn" dumps "$pid_service" --fetch "$newest" -o "$scratch/out.heap"
cmp -s "$scratch/out.heap" "$folder/$newest"
ok $? "as it is"
like "$("$cairn" top "$folder/$newest" 2>/dev/null)" "*redis*" "it can be read"
like "$("$cairn" dumps "$pid_service")" "$folder: 6 dumps*process $pid_service, running*start: *[[]first]*newest]*" "the listing for a person"
is "$("$cairn" dumps "$folder" | sed 1d)" "$("$cairn" dumps "$pid_service" | sed 1d)" "is the same from the folder itself"
is "$(field "$url_service" dumps by_rule start)" 1 "the status counts by rule"
like "$(field "$url_service" dumps last_reason)" "grow: *" "and has the last reason"
like "$(curl -s "$url_service/metrics")" '*cairn_trigger_dumps_total{rule="start"} 1*' "so have the metrics"
echo "requirepass secret" >"$folder/redis.conf"
table "$url_service" <<TABLE
GET /cairn/dumps/redis.conf             | 404 | application/json | {"error":"redis.conf is not a dump"} |
DELETE /cairn/dumps/redis.conf          | 404 | application/json | {"error":"redis.conf is not a dump"} |
GET /debug/pprof/heap?name=redis.conf   | 500 | text/plain* | redis.conf is not a dump |
GET /cairn/dumps/..%2f..%2fetc%2fpasswd | 404 | application/json | {"error":"*is not the name of a file in the dump folder"}* |
GET /cairn/dumps/../../etc/passwd       | 404 | application/json | * | --path-as-is
GET /cairn/dumps/.cairn-index           | 404 | application/json | * |
GET /cairn/dumps/missing.heap           | 404 | application/json | {"error":"cannot open the dump missing.heap: No such file or directory"} |
PUT /cairn/dumps/missing.heap           | 405 | text/plain* | * |
POST /cairn/dumps?keep_count=many       | 400 | application/json | * |
DELETE /cairn/dumps/missing.heap        | 404 | application/json | * |
DELETE /cairn/dumps/$newest             | 200 | application/json | * |
TABLE
[ ! -e "$folder/$newest" ] && [ -e "$folder/redis.conf" ]
ok $? "a dump is removed on request, and nothing but a dump"
is "$("$cairn" dumps "$pid_service" --thin --keep-count 3 --json | listing 'len(dumps)')" 3 "and the rest thinned"
printf 'rubbish\n' >"$folder/.cairn-index"
is "$("$cairn" dumps "$folder" --json | listing 'len(dumps)')" 3 "the index may be damaged"
# A child that redis forks to save has an agent of its own, but what it holds is its parent's.
redis-cli -p "$port_service" config set rdb-key-save-delay 1000 >/dev/null
redis-cli -p "$port_service" bgsave >/dev/null
child_answers() { child=$(pgrep -P "$pid_service") && has_agent "$child"; }
wait_for 6 child_answers
ok $? "a forked child lives, with an agent of its own"
sleep 1
is "$("$cairn" dumps "$folder" --json | listing 'set(d["pid"] for d in dumps)')" "{$pid_service}" "and writes no dump of what it has from its parent"
kill "$child" 2>/dev/null
redis-cli -p "$port_service" config set rdb-key-save-delay 0 >/dev/null
rm -rf "$folder"
before=$(field "$url_service" dumps written)
fill "$port_service"
wait_for 10 written "$url_service" $((before + 1))
ok $? "a folder that was removed is made again"
[ -n "$(ls "$folder")" ]
ok $? "and has dumps in it"
kill -9 "$pid_service"
wait "$pid_service" 2>/dev/null
is "$("$cairn" dumps "$folder" --json | listing '[d["last_of_dead"] for d in dumps].count(True), any(d["alive"] for d in dumps), any(d["oom"] for d in dumps)')" \
	"(1, False, False)" "after a kill one dump is the last of a dead process, which did not run out of memory"

# A disk that fills up.
mkdir "$scratch/small"
if mount -t tmpfs -o size=1m none "$scratch/small" 2>/dev/null; then
	head -c 800000 /dev/zero >"$scratch/small/filler"
	CONF="dumps:$scratch/small/dumps,grow:2M,every:1m,distance:100ms,keep-free:300K" start_redis small
	fill "$port_small"
	refused() { [ "$(field "$url_small" dumps failed)" -ge 1 ]; }
	wait_for 10 refused
	ok $? "a dump that would fill the disk is not written: $(field "$url_small" dumps failed) refused"
	like "$(field "$url_small" dumps problem)" "no space left in $scratch/small/dumps for *auto.heap: it needs *keep_free reserves *" "with the reason in the status"
	is "$(find "$scratch/small/dumps" -name '*.heap' -o -name '*.tmp' | wc -l)" 0 "and nothing is left of it"
	[ "$(stat -f -c '%a * %S' "$scratch/small" | xargs expr)" -ge 200000 ]
	ok $? "the disk is not full"
	is "$(redis-cli -p "$port_small" ping)" PONG "the service goes on"
	rm "$scratch/small/filler"
	wait_for 10 written "$url_small" 1
	ok $? "with room again the dump that was due is written"
	kill "$pid_small"
	wait "$pid_small" 2>/dev/null
	umount "$scratch/small"
else
	skip "a disk that fills" "mounting is not allowed here"
fi

# Limits by bytes and thinning for room: old dumps make way for new ones before one is refused.
CONF="dumps:$scratch/bytes,grow:2M,every:1m,distance:100ms,keep-bytes:200K" start_redis bytes
for _ in 1 2 3 4 5 6; do written "$url_bytes" 8 || fill "$port_bytes"; done
within() { size=$(cat "$scratch"/bytes/*.heap | wc -c) && [ "$size" -le 204800 ]; }
wait_for 6 settled "$url_bytes" && within
ok $? "the dumps stay within 200K: $size bytes of $(field "$url_bytes" dumps written) dumps"
kill "$pid_bytes"

# jemalloc's own files.
if $cc -O2 tests/e2e/grow.c -o "$scratch/grow" -ljemalloc 2>/dev/null; then
	mkdir "$scratch/gdump" "$scratch/inside"
	MALLOC_CONF=prof:true,prof_gdump:true,prof_prefix:$scratch/gdump/je "$scratch/grow" 100 125 65536 "$scratch/report" &
	pid=$!
	children+=($pid)
	LD_PRELOAD=$library CAIRN_CONF=dumps:$scratch/inside,keep_count:20 MALLOC_CONF=prof:true,prof_gdump:true,prof_prefix:$scratch/inside/je \
		"$scratch/grow" 20 40 65536 "$scratch/report2" &
	inside=$!
	children+=($inside)
	grown() { [ "$(od -An -t u8 "$1")" -ge $(($2 << 20)) ]; }
	wait_for 120 grown "$scratch/report" 125
	count=$(find "$scratch/gdump" -name '*.heap' | wc -l)
	[ "$count" -ge 1500 ]
	ok $? "stock gdump wrote $count files for 125 MB"
	first=$(ls -v "$scratch/gdump" | head -n 1) last=$(ls -v "$scratch/gdump" | tail -n 1)
	head -c 3000 "$scratch/gdump/$last" >"$scratch/gdump/je.$pid.99999.u99999.heap" # one whose writer is not done
	echo "not a dump" >"$scratch/gdump/notes.txt"
	sleep 1.5
	TIMEFORMAT='%U + %S'
	took=$(python3 -c "print(round(1000 * ($({ time "$cairn" dumps "$scratch/gdump" --thin --keep-count 20 --json >"$scratch/list.json"; } 2>&1))))")
	is "$(listing 'len(dumps)' <"$scratch/list.json")" 20 "they are taken in and thinned, in $took ms of CPU time"
	is "$(listing 'dumps[0]["name"], dumps[-1]["name"], dumps[0]["reason"], dumps[0]["pid"], dumps[0]["alive"]' <"$scratch/list.json")" \
		"('$first', '$last', 'gdump', $pid, True)" "the first and the last are there, with the process"
	is "$(ls "$scratch/gdump" | wc -l)" 22 "what is not complete or no dump is left alone"
	[ "$took" -le 2000 ]
	ok $? "in less than two seconds of it"
	thinned() { [ "$(find "$scratch/inside" -name '*.heap' | wc -l)" -le 20 ]; }
	wait_for 120 grown "$scratch/report2" 40
	wait_for 60 thinned
	ok $? "inside a service the agent does it by itself: $(find "$scratch/inside" -name '*.heap' | wc -l) files left"
	kill $pid $inside
else
	skip "files of jemalloc itself" "no jemalloc to link with"
fi

# The command's own mistakes.
like "$("$cairn" dumps "$scratch/nowhere" 2>&1; echo $?)" "*cannot read the dump folder $scratch/nowhere: No such file or directory*1" "a folder that is not there"
like "$("$cairn" dumps --keep-count 3 . 2>&1; echo $?)" "*--keep-age need --thin*2" "limits without --thin"
like "$("$cairn" dumps --thin --keep-age soon . 2>&1; echo $?)" "*--keep-age takes a time such as 12h or 7d, not 'soon'*2" "a limit that is none"
like "$("$cairn" dumps "$scratch/gdump" --fetch ../x 2>&1; echo $?)" "*is not the name of a file in the dump folder*1" "a name with a path"

# Dumps of another user.
if [ "$(id -u)" = 0 ]; then
	mkdir "$scratch/theirs" && chmod 755 "$scratch" && cp "$cairn" "$scratch/cairn"
	install -m 600 tests/fixtures/small.heap "$scratch/theirs/small.heap"
	as_other() { setpriv --reuid=65534 --regid=65534 --clear-groups "$scratch/cairn" "$@" 2>&1; }
	like "$(as_other dumps "$scratch/theirs")" '*0 dumps*; no permission to read 1 file' "dumps that may not be read are not none"
	like "$(as_other dumps --json "$scratch/theirs")" '*"unreadable":1,*' "in JSON too"
	like "$(as_other leaks "$scratch/theirs")" '*no permission to read 1 file' "and a folder of them is not without any"
else
	skip "dumps of another user" "not root"
fi

# jemalloc's own dumps lie elsewhere, within the same limits; the agent's have the mode that was asked for, and RisingWave's word for the limit holds.
mkdir "$scratch/own"
export RW_TOTAL_MEMORY_BYTES=$((20 << 20))
MALLOC=prof:true,lg_prof_sample:12,lg_prof_interval:20,prof_prefix:$scratch/own/je CONF="dumps:$scratch/moded,mode:0640,keep_count:5,share:50%,distance:100ms" \
	start_redis own || ok 1 "redis starts"
unset RW_TOTAL_MEMORY_BYTES
for _ in 1 2 3 4 5 6; do [ "$(field "$url_own" dumps by_rule share)" -ge 1 ] || fill "$port_own"; done
like "$(field "$url_own" dumps last_reason)" "share: *% of the configured limit of 20.0 MiB" "RW_TOTAL_MEMORY_BYTES is the limit that a share is of"
is "$(stat -c %a "$scratch"/moded/*.heap | sort -u)" 640 "mode:0640 is the mode of dumps"
few() { [ "$(ls "$scratch/own" | wc -l)" -le 5 ]; }
holds "keep_count holds for jemalloc's own dumps as well: $(ls "$scratch/own" | wc -l)" wait_for 40 few
holds "of which some stay" test "$(ls "$scratch/own" | wc -l)" -ge 1
redis-cli -p "$port_own" shutdown nosave 2>/dev/null
done_testing
