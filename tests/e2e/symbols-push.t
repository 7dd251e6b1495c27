#!/usr/bin/env bash
# A build uploads its programs and debug files to a collector, which names with them what it stores, and what it has stored already.
. tests/e2e/lib.sh
. tests/e2e/collector.sh
need curl python3 gcc objcopy strip readelf nm sha256sum
"$cairn" store init -q "$store"
cat >"$scratch/app.c" <<'C'
#include <stdlib.h>
void *volatile held;
__attribute__((noinline)) void first_function(void) { held = malloc(1000); held = malloc(1001); }
__attribute__((noinline)) void second_function(void) { held = malloc(2000); held = malloc(2001); }
__attribute__((noinline)) void third_function(void) { held = malloc(3000); held = malloc(3001); }
/* So long that a wrong guess about where the code begins would still lie within it. */
__attribute__((noinline)) void last_function(void) { __asm__ volatile(".skip 16384, 0x90"); }
int main(void) { first_function(); second_function(); third_function(); last_function(); }
C
# build NAME [OPTION...]: a program with a build-id of its own
build() { gcc -g -O1 -fno-omit-frame-pointer -DNAME="$1" -Wl,--build-id=sha1 "${@:2}" -o "$scratch/$1" -x c - < <(cat "$scratch/app.c"; echo "char version_of_$1[] = \"$1\";") || broken 'gcc'; }
for name in app split other; do build $name; done
objcopy --only-keep-debug "$scratch/split" "$scratch/split.debug"
cp "$scratch/split" "$scratch/split.whole"
strip "$scratch/split"

# send SERVICE PROGRAM FUNCTIONS [TIME]: a snapshot of a process that ran PROGRAM
send() {
	python3 tests/e2e/make-dump.py "$scratch/$2" "$3" "/srv/nowhere/$1" "${4:-1790000000}" >"$scratch/dump" || broken 'make-dump.py'
	post_all "service=$1&version=1&host=h1" "$scratch/dump" && wait_for 20 emptied
}
tops() { "$cairn" fleet top --store "$store" --service "$1" --from 1789000000 "${@:2}" 2>"$scratch/notes"; }
# named SERVICE FUNCTION: the store has that name
named() { tops "$@" | grep -q "$2"; }
# looked COMMAND...: runs it, and waits until the frames in the store were looked at once more
looked() {
	before=$(metric naming_passes_total)
	"$@" || return
	looked_again() { [ "$(metric naming_passes_total)" -gt "$before" ]; }
	wait_for 20 looked_again
}
push() { "$cairn" symbols push --to "$url" "$@" >"$scratch/out" 2>"$scratch/err"; }
uploaded() { find "$scratch/spool/uploads" -type f ! -path '*/.names/*' ! -name .secret -printf '%P\n'; }
build_id() { readelf -n "$1" | sed -n 's/.*Build ID: //p'; }

collect
send app app first_function || broken 'a snapshot was not accepted'
page=$(free_port)
"$cairn" serve --no-token --store "$store" --keep 1000d --every 1s --listen "127.0.0.1:$page" >"$scratch/serve.log" 2>&1 &
children+=($!)
merged() {
	curl -s -H 'Content-Type: application/json' "http://127.0.0.1:$page/querier.v1.QuerierService/SelectMergeStacktraces" \
		-d '{"profile_typeID":"memory:inuse_space:bytes:space:bytes","label_selector":"{service_name=\"app\"}","start":1789000000000,"end":1791000000000}'
}
unnamed() { merged | grep -q 'app+0x'; }
wait_for 20 unnamed
ok $? 'a page of the store shows an address'
is "$(ls -A "$scratch/spool")" '' 'before the first upload there is no folder for it'
like "$(tops app)" '*app+0x*' 'a snapshot whose program nobody has: addresses'
holds 'its program is uploaded' push "$scratch/app"
like "$(cat "$scratch/out")" "$(build_id "$scratch/app")  * KiB  *app" 'and that is said, with the build-id'
app_first() { tops app | grep -q first_function; }
wait_for 20 app_first
ok $? 'what was stored before has its name'
one_named() { [ "$(metric named_total)" = 1 ]; }
wait_for 20 one_named # it is counted when the store has it
is "$(metric named_total)" 1 'one frame was named late'
renamed() { merged | grep -q first_function; }
wait_for 40 renamed
ok $? 'also in the page that has been open all the time'
like "$(tops app --lines)" '*first_function *:3*' 'with file and line'
holds 'the same again' push "$scratch/app"
like "$(cat "$scratch/out")" '*there already*' 'is not sent'
is "$(metric uploads_total)" 1 'and not counted'
send app app second_function 1790000060
like "$(tops app)" '*second_function*' 'a later snapshot is named as it arrives'
is "$(metric named_total)" 1 'which is not late'
is "$(uploaded | sed 's,^[0-9a-f]\{16\}/,,')" ".build-id/$(build_id "$scratch/app" | sed 's,^..,&/,')" 'the file is called by its build-id, and nothing else is there'

# A program that was stripped, and its debug file. Only the program says where its code is in the file.
send split split.whole first_function
holds 'a debug file alone' looked push "$scratch/split.debug"
send later split.whole third_function
like "$(tops later)" '*third_function*' 'names what comes with a memory map'
unlike() { [[ $1 != $2 ]]; ok $? "$3"; }
unlike "$(tops split)" '*_function*' 'and guesses nothing about what came before'
mkdir "$scratch/folder"
cp "$scratch/split" "$scratch/split.debug" "$scratch/app.c" "$scratch/folder"
holds 'a folder: what is no ELF file is passed over' push "$scratch/folder"
like "$(sort "$scratch/out")" "*there already*split.debug*" 'the debug file is there'
is "$(grep -c . "$scratch/out")" 2 'the program is new'
split_first() { tops split | grep -q first_function; }
wait_for 20 split_first
ok $? 'with it, what came before has its names, too'

# Requests of one's own.
sum() { sha256sum "$1" | cut -d ' ' -f 1; }
# put FILE OFFSET LENGTH [SUM]: a piece of it
put() { tail -c "+$(($2 + 1))" "$1" | head -c "$3" | status -X PUT --data-binary @- "$url/v1/symbols/${4:-$(sum "$1")}?size=$(stat -c %s "$1")&offset=$2"; }
size=$(stat -c %s "$scratch/other")
is "$(put "$scratch/other" 0 5000)" 200 'a piece'
like "$(cat "$scratch/answer")" '{"version":1,"complete":false,"received":5000}*' 'is here'
is "$(put "$scratch/other" 6000 100)" 409 'a piece that is not the next'
like "$(cat "$scratch/answer")" '*continue from there*"received":5000*' 'is not taken, and the answer says which is'
stop -KILL
collect
is "$(status "$url/v1/symbols/$(sum "$scratch/other")?build_id=$(build_id "$scratch/other")&program=1&detail=2&size=$size")" 200 'a collector that was killed meanwhile'
like "$(cat "$scratch/answer")" '{"version":1,"complete":false,"received":5000}*' 'knows how far it was'
holds 'and the upload goes on' push "$scratch/other"
is "$(metric uploads_total)" 1 'to its end'
# The collector was killed when all was there, but not examined.
gcc -g -O1 -Wl,--build-id=sha1 -DLATE -o "$scratch/late" "$scratch/app.c" -Wl,--defsym=late=1
is "$(put "$scratch/late" 0 4000)" 200 'the first piece of another'
draft=$(find "$scratch" -path '*uploads*' -type f -size 4000c)
cp "$scratch/late" "$draft" || broken 'there is no draft'
holds 'a file that is all there and was not examined is, at the next attempt' push "$scratch/late"
holds 'and its draft is gone' test ! -e "$draft"
is "$(printf x | status -X PUT --data-binary @- "$url/v1/symbols/$(printf '%064d' 7)?size=100&offset=50")" 409 'a piece from the middle of what was not begun'
is "$(find "$scratch" -path '*uploads*' -type f -size 0)" '' 'leaves nothing behind'
head -c 20000 /dev/urandom >"$scratch/noise"
printf '\177ELF\002\001\001' | dd of="$scratch/noise" conv=notrunc status=none
head -c 12000 "$scratch/app" >"$scratch/cut"
gcc -g -c -o "$scratch/object.o" "$scratch/app.c"
build nameless -Wl,--build-id=none
for bad in noise cut object.o nameless; do
	is "$(put "$scratch/$bad" 0 99999)" 400 "$bad is refused"
	like "$(cat "$scratch/answer")" '{"version":1,"error":"*"*' "$(cat "$scratch/answer")"
	push "$scratch/$bad"
	is $? 1 "$bad is not even sent"
done
is "$(put "$scratch/split.whole" 0 99999 "$(sum "$scratch/app")")" 400 'something else than was announced'
like "$(cat "$scratch/answer")" '*SHA-256 differs*' 'is refused'
for name in ../../../etc/passwd x "$(sum "$scratch/app")0" "$(sum "$scratch/app" | tr a-f A-F)" '%2e%2e'; do
	is "$(status --path-as-is "$url/v1/symbols/$name?build_id=ab12&size=5")" 400 "a file called $name"
done
is "$(status "$url/v1/symbols/$(sum "$scratch/app")?build_id=../../x&size=5")" 400 'a build-id that is none'
is "$(status -X PUT "$url/v1/symbols/$(sum "$scratch/app")?size=18446744073709551615&offset=18446744073709551610" -d hello)" 413 'a size beyond all'
is "$(status -X DELETE "$url/v1/symbols/$(sum "$scratch/app")")" 405 'another method'
is "$(head -c 5000000 /dev/zero | status -X PUT -H Expect: --data-binary @- "$url/v1/symbols/$(sum "$scratch/app")?size=5000000&offset=0")" 413 'a piece that is too large'
is "$(uploaded | grep -cv "^[0-9a-f]\{16\}/\.build-id/[0-9a-f][0-9a-f]/[0-9a-f]\{38\}\(\.debug\)\?$")" 0 'nothing is left of all that, and every file has the name of a build-id'
for wrong in "symbols push" "symbols push $scratch/app" "symbols push --to $url" "symbols push --to $url?x $scratch/app" "symbols"; do
	"$cairn" $wrong >"$scratch/out" 2>&1
	is $? 2 "a usage error: cairn ${wrong//"$scratch"/...}"
done
push "$scratch/nowhere"
is $? 1 'a file that is not there'
mkdir "$scratch/sources"
cp "$scratch/app.c" "$scratch/sources"
push "$scratch/sources"
is $? 1 'a folder without anything to upload'
like "$(cat "$scratch/err")" '*nothing to upload*' 'and that is said'
stop
push "$scratch/app"
is $? 1 'no collector'
like "$(cat "$scratch/err")" '*cannot connect*' 'and that is said'

# Limits: of one file, and of all.
collect --uploads "$scratch/small" --upload-largest 10K
push "$scratch/app"
is $? 1 'a file that is too large'
like "$(cat "$scratch/err")" '*takes up to 10.0 KiB (--upload-largest*' 'and the option that says how large'
stop
collect --uploads "$scratch/small" --upload-total $((size * 5 / 2))
push "$scratch/app" && push "$scratch/other" || broken 'uploads'
find "$scratch/small" -path '*build-id*' -type f -newermt 2000-01-01 -path "*$(build_id "$scratch/app" | cut -c 3-)*" -exec touch -a -d 2001-01-01 {} +
push "$scratch/split.whole"
is $? 0 'where there is no room for a third file'
is "$(metric uploads_removed_total)" 1 'one makes way'
is "$(find "$scratch/small" -path '*build-id*' -type f | sed 's,.*build-id/,,; s,/,,' | sort | tr '\n' ' ')" \
	"$({ build_id "$scratch/other"; build_id "$scratch/split.whole"; } | sort | tr '\n' ' ')" 'the one that was not used for longest'
stop

# Tenants: whoever may upload could call any file by any build-id.
printf 'one-token first\ntwo-token second\n' >"$scratch/tokens"
authorization=(-H 'Authorization: Bearer one-token')
collect --uploads "$scratch/tenants" --tokens "$scratch/tokens"
send shared app third_function
push "$scratch/app"
is $? 1 'without a token'
like "$(cat "$scratch/err")" '*401: the token is missing or wrong; cairn takes it from CAIRN_COLLECTOR_TOKEN*' 'nothing is taken'
# The same build-id and the same code, by another name.
gcc -g -O1 -fno-omit-frame-pointer -DNAME=app -Dthird_function=forged_function -Wl,--build-id=0x"$(build_id "$scratch/app")" -o "$scratch/forged" -x c - \
	< <(cat "$scratch/app.c"; echo 'char version_of_app[] = "app";') || broken 'gcc'
CAIRN_COLLECTOR_TOKEN=two-token looked push "$scratch/forged"
is $? 0 'by its token, another tenant uploads'
authorization=(-H 'Authorization: Bearer two-token')
send theirs app third_function
like "$("$cairn" fleet top --tenant second --store "$store" --service theirs --from 1789000000 2>"$scratch/notes")" '*forged_function*' 'what gives its own snapshots names'
authorization=(-H 'Authorization: Bearer one-token')
send shared app third_function 1790000060
unlike "$("$cairn" fleet top --tenant first --store "$store" --service shared --from 1789000000 2>"$scratch/notes")" '*_function*' \
	'and nobody else'\''s, neither late nor on arrival'
is "$(metric named_total)" 0 'none at all'
push --token one-token "$scratch/app"
shared() { "$cairn" fleet top --tenant first --store "$store" --service shared --from 1789000000 2>"$scratch/notes" | grep -q third_function; }
wait_for 20 shared
ok $? 'its own names it gets'
is "$(find "$scratch/tenants" -mindepth 1 -maxdepth 1 -type d | wc -l)" 2 'each has a folder of its own'

# A disk that is full.
if unshare -rm true 2>/dev/null; then
	stop
	authorization=()
	mkdir "$scratch/disk"
	port=$(free_port)
	cat >"$scratch/full.sh" <<'S'
mount -t tmpfs -o size=24k none "$scratch/disk" || exit 9
"$cairn" collect --store "$store" --listen "127.0.0.1:$port" --spool "$scratch/disk" >"$scratch/full.log" 2>&1 &
collector=$!
for i in $(seq 2000); do curl -sf "http://127.0.0.1:$port/health" >/dev/null && break; sleep 0.1; done
head -c 100000 /dev/zero >"$scratch/tail"
cat "$scratch/app" "$scratch/tail" >"$scratch/large"
"$cairn" symbols push --to "http://127.0.0.1:$port" "$scratch/large" 2>&1
echo "exit $?"
find "$scratch/disk" -type f -size +0 ! -name .secret -printf 'left %s %P\n'
kill $collector
S
	export scratch cairn store port
	full=$(unshare -rm bash "$scratch/full.sh")
	like "$full" '*507*No space left on device*exit 1*' 'a disk that is full: refused, with the reason'
	is "$(grep '^left' <<<"$full")" '' 'and nothing is left of it'
else
	skip 'a disk that is full' 'no mounts here'
fi
# A collector that has no room for a piece at the moment, as it says by 503; and one whose answers say nothing.
cat >"$scratch/busy.py" <<'P'
import http.server, sys
pieces = []
class Collector(http.server.BaseHTTPRequestHandler):
    def answer(self):
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        if self.command == "PUT":
            pieces.append(len(pieces) < int(sys.argv[2]))
        status = 503 if pieces and pieces[-1] and self.command == "PUT" else 200
        body = b'{"complete":%s,"received":0}' % (b"true" if pieces and not pieces[-1] else b"false") if len(sys.argv) < 4 else b"{}"
        self.send_response(status); self.send_header("Content-Length", str(len(body))); self.end_headers(); self.wfile.write(body)
    do_GET = do_POST = do_PUT = answer
    def log_message(self, *_): pass
http.server.HTTPServer(("127.0.0.1", int(sys.argv[1])), Collector).serve_forever()
P
for refusals in 2 1000 '0 silent'; do
	port=$(free_port)
	python3 "$scratch/busy.py" "$port" $refusals &
	busy=$!
	children+=("$busy")
	wait_for 20 curl -s "http://127.0.0.1:$port/" -o "$scratch/answer"
	timeout 300 "$cairn" symbols push "$scratch/app" --to "http://127.0.0.1:$port" >"$scratch/out" 2>&1
	echo "$? $(tail -n 1 "$scratch/out")" >"$scratch/said$refusals"
	kill "$busy"; wait "$busy" 2>/dev/null
done
like "$(cat "$scratch/said2")" '0 *app' 'an upload that is refused twice for want of room is tried again'
like "$(cat "$scratch/said1000")" '1 *' 'and not for ever'
like "$(cat "$scratch/said0 silent")" '1 *does not say that it keeps them*' 'nor to a collector that keeps nothing'
done_testing
