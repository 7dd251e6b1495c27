#!/usr/bin/env bash
# What a collector must survive: profiles that unpack to far more than they weigh, a file that kills it each time, a store that hangs.
. tests/e2e/lib.sh
. tests/e2e/collector.sh
need curl python3 gzip zstd xz protoc
"$cairn" store init -q "$store"
send() { post "service=api&version=1&host=$2" "$1"; }
snapshots() { "$cairn" fleet services --store "$store" --from 1789000000 --json 2>"$scratch/notes" | of_json 'sum(s["snapshots"] for s in r["services"])'; }

python3 tests/e2e/make-series.py "$scratch/series" healthy 1 4
set -- "$scratch"/series/*.heap

# Bombs: zeros, and a dump that goes on for ever.
collect --unpacked-bytes 16M
head -c 40000000 /dev/zero | gzip >"$scratch/zeros.gz"
{ cat "$1"; yes '# nothing to see here' | head -c 40000000; } >"$scratch/long"
gzip -k "$scratch/long"; zstd -q "$scratch/long" 2>"$scratch/notes"; xz -0 -k "$scratch/long"
before=$(awk '/VmHWM/ { print $2 }' "/proc/$collector/status")
for bomb in zeros.gz long.gz long.zst long.xz; do
	is "$(send "$scratch/$bomb" bomb)" 413 "$bomb: 40 MB in $(($(stat -c %s "$scratch/$bomb") >> 10)) KiB are refused before they are accepted"
	like "$(cat "$scratch/answer")" '*--unpacked-bytes*' "$bomb: with the option that says how much is too much"
done
after=$(awk '/VmHWM/ { print $2 }' "/proc/$collector/status")
is "$((after - before < 12000))" 1 "and cost no memory in proportion ($before to $after KiB)"
is "$(metric spool_files)" 0 'none of them is in the spool'
python3 -c 'import sys; sys.stdout.buffer.write(b"\x0a\4\x08\1\x10\2\x32\0\x32\1a\x32\1b" + b"\x1a\0" * 7900000)' | gzip >"$scratch/mappings.gz"
is "$(send "$scratch/mappings.gz" bomb)" 202 "a bomb of the size that it takes, $(($(stat -c %s "$scratch/mappings.gz") >> 10)) KiB, is accepted"
wait_for 30 emptied
after=$(awk '/VmHWM/ { print $2 }' "/proc/$collector/status")
is "$((after - before < 100000))" 1 "and refused by the reader before it costs memory ($before to $after KiB)"
gzip -k "$1"
is "$(send "$1.gz" fine)" 202 'an honest one that is packed is accepted'
wait_for 30 emptied
is "$(snapshots)" 1 'and stored'
stop

# A file that is below the limits and takes more memory than there is. Files beside it are stored.
python3 - "$scratch/heavy" <<'P'
import sys
with open(sys.argv[1], "w") as out:
    out.write("heap_v2/524288\n  t*: 350000: 35000000 [0: 0]\n")
    for i in range(350000):
        out.write("@ %#x %#x %#x\n  t*: 1: 100 [0: 0]\n" % (i * 64 + 1, i * 128 + 0x100000001, i * 96 + 0x200000001))
    out.write("\nMAPPED_LIBRARIES:\n# cairn trailer 1\n# cairn time 1790000000.000000000\n# cairn end\n")
P
rm -r "$scratch"/series/*.gz
store=sqlite:$scratch/nowhere/fleet.db collect
for file; do is "$(send "$file" "light")" 202 'a snapshot is accepted while the store is away'; done
is "$(send "$scratch/heavy" heavy)" 202 'and so is one that is too heavy for this machine'
stop -KILL
for life in 1 2 3; do
	port=$(free_port)
	(ulimit -v 240000; exec timeout 120 "$cairn" collect --store "$store" --listen "127.0.0.1:$port" --spool "$spool") >"$scratch/life$life.log" 2>&1
	is $? 3 "life $life of the collector ends by the heavy one"
	like "$(cat "$scratch/life$life.log")" '*memory*' "life $life: for want of memory"
done
is "$(snapshots)" 5 'those beside it are in the store after the second life'
(ulimit -v 240000; collect; wait_for 30 emptied; metric set_aside_total >"$scratch/aside"; stop; cp "$scratch/collect.log" "$scratch/last.log")
is "$(cat "$scratch/aside")" 1 'after three attempts it is set aside, and counted'
like "$(cat "$scratch/last.log")" '*crashed the collector 3 times*/.refused*' 'and that is said'
is "$(ls "$spool/.refused" | wc -l)" 1 'it is kept for whoever wants to look at it'
is "$(ls "$spool" | wc -l)" 0 'and waits no longer'

# A small profile with one long name at very many addresses, which is written out at each of them.
cat >"$scratch/forge.py" <<'P'
import gzip, sys, time
from wire import block, number, varint
lines = b"".join(block(4, number(1, 1) + number(2, line)) for line in range(1, 17))
out = block(1, number(1, 1) + number(2, 2)) + block(1, number(1, 3) + number(2, 4)) + block(2, block(1, varint(1)) + block(2, varint(1) + varint(100000)))
out += block(5, number(1, 1) + number(2, 6) + number(3, 6) + number(4, 7))
out += b"".join(block(4, number(1, i) + number(3, 4096 + i) + lines) for i in range(1, int(sys.argv[1]) + 1))
for text in (b"", b"inuse_objects", b"count", b"inuse_space", b"bytes", b"space", b"N" * 4000, b"a.c"):
    out += block(6, text)
out += block(11, number(1, 5) + number(2, 4)) + number(12, 524288) + number(9, 1790000000 * 10**9)
sys.stdout.buffer.write(gzip.compress(out))
P
PYTHONPATH=tests/e2e python3 "$scratch/forge.py" 4000 >"$scratch/names.pb.gz"
PYTHONPATH=tests/e2e python3 "$scratch/forge.py" 15000 >"$scratch/killer.pb.gz"
store=sqlite:$scratch/forged.db
"$cairn" store init -q "$store"
collect --unpacked-bytes 4M
is "$(send "$scratch/names.pb.gz" forger)" 202 "a profile of $(($(stat -c %s "$scratch/names.pb.gz") >> 10)) KiB whose names take 61 MiB is accepted"
is "$(send "$1" honest)" 202 'and so is an honest one'
wait_for 30 emptied
is "$(metric rejected_total) $(snapshots)" '1 1' 'the first is no use, and the other is stored'
like "$(cat "$scratch/collect.log")" '*a snapshot from forger cannot be used, and is dropped: the names at its 4000 addresses take 6? MiB, more than 4 times --unpacked-bytes*' \
	'and that is said, with its sender'
stop

if is_long; then
# Where there is no memory for its rows (230 MiB), it is set aside like others that end the collector.
store=sqlite:$scratch/nowhere/fleet.db collect
is "$(send "$scratch/killer.pb.gz" forger)" 202 'one that takes more memory than there is'
is "$(send "$2" honest)" 202 'and an honest one after it'
stop -KILL
for life in 1 2 3; do
	port=$(free_port)
	(ulimit -v 240000; exec timeout 120 "$cairn" collect --store "$store" --listen "127.0.0.1:$port" --spool "$spool") >"$scratch/forged$life.log" 2>&1
	is $? 3 "life $life of the collector ends by the forged one"
done
(ulimit -v 240000; collect; wait_for 30 emptied; stop)
is "$(ls "$spool/.refused" | wc -l) $(ls "$spool" | wc -l)" "2 0" 'after three attempts it is set aside'
is "$(snapshots)" 2 'and the honest one is stored'
fi

# Senders that hold large bodies back: their memory is limited, and others are told to try again.
collect
cat >"$scratch/bodies.py" <<'P'
import select, socket, sys
size, chunk, held, refused = 60 << 20, b"heap_v2/524288\n" + b"x" * ((1 << 20) - 15), [], 0
for i in range(8):
    one = socket.create_connection(("127.0.0.1", int(sys.argv[1])))
    try:
        one.sendall(b"POST /v1/pprof?service=x HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: %d\r\n\r\n" % size)
        for k in range(size >> 20):
            one.sendall(chunk if k + 1 < size >> 20 else chunk[:-1])
    except OSError:
        pass
    held.append(one)
while len(held) > 4 and (ready := select.select(held, [], [], 60)[0]): # no more can be held; the others have an answer or are cut off
    for one in ready:
        try:
            refused += one.recv(12) in (b"HTTP/1.1 503", b"")
        except ConnectionError:
            refused += 1
        held.remove(one)
print(len(held), refused, flush=True)
sys.stdin.read()
P
mkfifo "$scratch/release"
python3 "$scratch/bodies.py" "${url##*:}" <"$scratch/release" >"$scratch/held" &
holder=$!
children+=("$holder")
exec 9>"$scratch/release"
wait_for 60 test -s "$scratch/held"
read -r held refused <"$scratch/held"
is "$((held > 0 && held <= 4 && held + refused == 8))" 1 "of eight bodies of 60 MiB that never end, $held are held and $refused refused"
peak=$(awk '/VmHWM/ { print $2 }' "/proc/$collector/status")
is "$((peak < 400000))" 1 "the collector stays small ($peak KiB)"
yes 'no profile' | head -c 20000000 >"$scratch/large"
is "$(send "$scratch/large" large)" 503 'another large body is refused for now'
is "$(send "$1" small)" 202 'and a small one is accepted'
exec 9>&-
wait "$holder"
has_room() { [ "$(send "$scratch/large" large)" = 400 ]; }
wait_for 10 has_room
ok $? 'when the bodies are gone, large ones are read again'
stop
store=sqlite:$scratch/fleet.db

# A store that takes no rows and hangs is no fault of the file, however often the collector is killed meanwhile.
cat >"$scratch/hanging.py" <<'P'
import http.server, struct, sys, threading
class Store(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        statement = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        if "query=" in self.path:
            open(sys.argv[2], "a").write("insert\n")
            threading.Event().wait()
        rows = struct.pack("<QQQQ", 1, int(sys.argv[3]), 2, 0) if b"FROM settings" in statement else b""
        self.send_response(200); self.send_header("Content-Length", str(len(rows))); self.end_headers(); self.wfile.write(rows)
    def log_message(self, *_): pass
http.server.ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Store).serve_forever()
P
hanging=$(free_port)
version=$(python3 -c 'import sqlite3, sys; print(sqlite3.connect(sys.argv[1]).execute("SELECT value FROM settings WHERE setting = 1").fetchone()[0])' "$scratch/fleet.db")
python3 "$scratch/hanging.py" "$hanging" "$scratch/inserts" "$version" >"$scratch/hanging.log" 2>&1 &
children+=($!)
asked() { [ "$(wc -l <"$scratch/inserts" 2>/dev/null || echo 0)" -ge "$1" ]; }
for life in 1 2 3 4 5; do
	store=clickhouse://127.0.0.1:$hanging/cairn collect
	[ $life = 1 ] && send "$2" patient >"$scratch/code"
	wait_for 30 asked "$life" || broken 'the collector does not reach the store'
	stop -KILL
done
is "$(ls "$spool" | wc -l)" 1 'a store that hangs: the file still waits after five kills'
: >"$spool/.00000000000000000001-00000000.snapshot"
collect
wait_for 30 emptied
is "$(snapshots)" 6 'and is stored once there is a store'
is "$(ls "$spool/.refused" | wc -l)" "$(rounds 1 2)" 'nothing more was set aside'
is "$(ls -A "$spool" | tr '\n' ' ')" '.refused ' 'a draft of a collector that was killed is gone, too'
stop

# Snapshots a minute apart, and a store of the version before that.
. tests/e2e/changes.sh
rows() { python3 -c 'import sqlite3, sys; print(sqlite3.connect(sys.argv[1]).execute("SELECT count(*) FROM samples").fetchone()[0])' "$scratch/minutes.db"; }
store=sqlite:$scratch/minutes.db
"$cairn" store init -q "$store"
check_changes
python3 - "$scratch/minutes.db" <<'P'
import sqlite3, sys
old = sqlite3.connect(sys.argv[1])
old.execute("DELETE FROM snapshots WHERE base_ns <> 0")
old.execute("ALTER TABLE snapshots RENAME TO s")
old.execute("CREATE TABLE snapshots (instance INTEGER NOT NULL, time_ns INTEGER NOT NULL, bytes REAL NOT NULL, resident REAL NOT NULL, memory_limit REAL NOT NULL, "
            "limit_of_group INTEGER NOT NULL, period REAL NOT NULL, unsampling INTEGER NOT NULL, has_allocated INTEGER NOT NULL, ended TEXT NOT NULL, "
            "PRIMARY KEY (instance, time_ns)) WITHOUT ROWID")
old.execute("INSERT INTO snapshots SELECT instance, time_ns, bytes, resident, memory_limit, limit_of_group, period, unsampling, has_allocated, ended FROM s")
old.execute("DROP TABLE s")
old.execute("UPDATE settings SET value = 1 WHERE setting = 1")
old.execute("UPDATE settings SET value = 30 WHERE setting = 2")
old.execute("DELETE FROM settings WHERE setting = 3")
old.commit()
P
like "$("$cairn" fleet services --store "$store" 2>&1)" "*version 1*'cairn store init STORE' brings them up to date*" 'tables of an earlier version'
holds 'are brought up to date' "$cairn" store init -q "$store"
is "$(snapshots)" 3 'with what they hold'
is "$(python3 -c 'import sqlite3, sys; print(sqlite3.connect(sys.argv[1]).execute("SELECT value FROM settings WHERE setting = 2").fetchone()[0])' "$scratch/minutes.db")" 30 'and how long it is kept'
holds 'once is enough' "$cairn" store init -q "$store"
kept() { python3 -c 'import sqlite3, sys; print(sqlite3.connect(sys.argv[1]).execute("SELECT value FROM settings WHERE setting = 2").fetchone()[0])' "$scratch/minutes.db"; }
is "$(kept)" 30 'and leaves how long rows are kept as it was'
"$cairn" store init -q "$store" --keep-days 0
is "$? $(kept)" '0 0' '--keep-days 0: nothing is removed any more'
"$cairn" store init -q "$store" --keep-days many 2>"$scratch/notes"
is "$? $(cat "$scratch/notes") $(kept)" "2 cairn: --keep-days takes a whole number, not 'many' 0" '--keep-days takes a number'

# Pyroscope's clients, their bodies encoded here by hand; scrapers.
store=sqlite:$scratch/pyroscope.db
"$cairn" store init -q "$store"
collect --unpacked-bytes 64M
"$cairn" pprof "$4" -o "$scratch/heap.pb.gz" 2>"$scratch/notes"
total=$("$cairn" top --json "$4" 2>"$scratch/notes" | of_json 'round(r["total"])')
at=$(sed -n 's/^# cairn time //p' "$4")
cat >"$scratch/send.py" <<'P'
import base64, gzip, json, sys, urllib.error, urllib.request
from wire import block
url, profile = sys.argv[1], open(sys.argv[2], "rb").read()
def post(path, body, kind):
    try:
        with urllib.request.urlopen(urllib.request.Request(url + path, body, {"Content-Type": kind})) as answer: return answer.status, answer.headers["Content-Type"], answer.read()
    except urllib.error.HTTPError as error: return error.code, error.headers["Content-Type"], error.read()
def labels(**pairs): return b"".join(block(1, block(1, k.encode()) + block(2, v.encode())) for k, v in pairs.items())
def push(*series): return b"".join(block(1, one) for one in series)
form = b'--xYz\r\nContent-Disposition: form-data; name="sample_type_config"; filename="profile"\r\n\r\n{}\r\n--xYz\r\n' \
       b'Content-Disposition: form-data; name="profile"; filename="profile.pprof"\r\nContent-Type: x/y\r\n\r\n' + profile + b"\r\n--xYz--\r\n"
js = lambda name, raw: json.dumps({"series": [{"labels": [{"name": "__name__", "value": name}, {"name": "service_name", "value": "json"},
      {"name": "pod", "value": "pod-2"}, {"name": "zone", "value": "b"}], "samples": [{"ID": "1", "rawProfile": base64.b64encode(raw).decode()}]}]}).encode()
proto = push(labels(__name__="memory", service_name="proto", service_version="9", instance="pod-3") + block(2, block(1, profile) + block(2, b"id")),
             labels(__name__="process_cpu", service_name="cpu") + block(2, block(1, profile)))
for path, body, kind in [
    ("/ingest?name=plain%7Bversion%3D7%2Chost%3Dh1%2Czone%3Da%7D&from=1790001700&until=1790001800&format=pprof", profile, "binary/octet-stream"),
    ("/ingest?name=form&until=1790001800000000000&spyName=x", form, "multipart/form-data; boundary=xYz"),
    ("/push.v1.PusherService/Push", js("memory", profile), "application/json"),
    ("/push.v1.PusherService/Push", gzip.compress(proto), "application/proto"),
    ("/push.v1.PusherService/Push", js("process_cpu", profile), "application/json"),
    ("/ingest?format=pprof", profile, "x/y"), ("/ingest?name=x&format=jfr", profile, "x/y"), ("/ingest?name=x", form[:60], "multipart/form-data; boundary=xYz"),
    ("/ingest?name=x", b"nonsense", "x/y"), ("/push.v1.PusherService/Push", b"\x0a\xff\xff\xff\xff\xff", "application/proto"),
    ("/push.v1.PusherService/Push", b'{"series":[{"samples":[{"rawProfile":"***"}]}]}', "application/json"),
    ("/push.v1.PusherService/Push", gzip.compress(bytes(40 << 20), 1), "application/proto"),
    ("/push.v1.PusherService/Push", push(block(2, block(1, gzip.compress(bytes(80 << 20))))), "application/proto"),
    ("/push.v1.PusherService/Push", gzip.compress(b'{"series":[' + b"{}," * 300000 + b"{}]}"), "application/json"),
]: print(*post(path, body, kind)[:2])
P
PYTHONPATH=tests/e2e python3 "$scratch/send.py" "$url" "$scratch/heap.pb.gz" >"$scratch/sent" 2>&1
is "$(head -n 5 "$scratch/sent" | tr '\n' ';')" '200 application/json;200 application/json;200 application/json;200 application/proto;200 application/json;' 'Pyroscope: /ingest, with a form; Push in JSON and in packed protobuf; a series of CPU time'
is "$(sed 1,5d "$scratch/sent" | cut -d ' ' -f 1 | tr '\n' ' ')" '400 400 400 400 400 400 400 413 200 ' 'no name, another format, a form cut short, no profile, no message, no base64, nothing but zeros, a bomb within, and millions of empty series'
wait_for 30 emptied
is "$("$cairn" fleet services --store "$store" --from 1789000000 --json | of_json 'sorted((s["service"], s["version"], s["instances"]) for s in r["services"])')" \
	"[('form', '', 1), ('json', '', 1), ('plain', '7', 1), ('proto', '9', 1)]" 'each is a service, by its labels'
for service in plain form json proto; do
	is "$("$cairn" fleet top --store "$store" --service $service --from "$at" --json 2>"$scratch/notes" | of_json "abs(r['total'] - $total) < 3")" True "$service: its bytes are those of the dump"
done
holds 'other labels are labels' "$cairn" fleet top --store "$store" --service json --instance pod-2 --label zone=b --from "$at" -o "$scratch/top"
is "$(metric rejected_total) $(metric accepted_total)" '0 4' 'and nothing else was accepted'
for page in heap allocs profile goroutine mutex block; do
	curl -s -o "$scratch/page.pb" -w '%{http_code} %{content_type}\n' "$url/debug/pprof/$page" >"$scratch/code"
	is "$(cat "$scratch/code") $(protoc --decode_raw <"$scratch/page.pb" 2>&1 | grep -c '^9: ')" '200 application/octet-stream 1' "scrapers: $page is a profile without samples, with its time"
done
is "$(status "$url/debug/pprof/other")" 404 'and no others'
stop

# A profile that does not say when it was taken, and that waited: it is of when it came, whenever and however often it is read.
for again in 1 2; do
	printf 'service=undated&host=one\n\nheap_v2/1\n  t*: 1: 4096 [0: 0]\n@ 0xf000 0x1\n  t*: 1: 4096 [0: 0]\n\nMAPPED_LIBRARIES:\n' \
		>"$spool/01790000000000000000-00000001.snapshot"
	collect
	wait_for 30 emptied
	stop
done
is "$("$cairn" fleet services --store "$store" --service undated --from 1789999999 --to 1790000001 --json | of_json '[s["snapshots"] for s in r["services"]]')" '[1]' \
	'a profile without a time that waited is of when it came'
is "$("$cairn" fleet services --store "$store" --service undated --from 1789000000 --json | of_json '[s["snapshots"] for s in r["services"]]')" '[1]' 'and read twice, it is there once'
done_testing
