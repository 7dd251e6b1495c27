#!/usr/bin/env bash
# Services without the agent: their own heap endpoints are found, the note says which, and refusals are shown whole.
. tests/e2e/lib.sh
need python3

cat >"$scratch/server.py" <<'PYTHON'
# A service of the family named first, as doc/from-*.md and the services' sources describe it; it prints its port.
import base64, http.server, json, sys
family = sys.argv[1]
heap = open(sys.argv[2], "rb").read()
dumps = []
long = "x" * 600 + "the end"
class Handler(http.server.BaseHTTPRequestHandler):
    def send(self, status, body, kind="application/octet-stream"):
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
    def answer(self, method):
        what = method + " " + self.path
        if family == "guarded":
            log = open(sys.argv[3], "a")
            print(what.split("?")[0], self.headers.get("Authorization") or self.headers.get("X-ClickHouse-Key"), file=log, flush=True)
            if self.path == "/metrics":
                return self.send(200, b"sys_jemalloc_resident 104857600\n")
            if self.path.startswith("/bad"):
                return self.send(500, b"out of order")
            if method == "POST" and self.path != "/" and not self.path.startswith("/heap"):
                return self.send(200, b"")
            if self.path.startswith("/heap") or self.path.startswith("/pprof/heap"):
                return self.send(200, heap)
        if family == "risingwave":
            if what == "GET /api/clusters/2":
                return self.send(200, b'[{"id": 7, "type": "COMPUTE_NODE"}]')
            if what == "GET /api/monitor/list_heap_profile/7":
                return self.send(200, json.dumps({"dir": "/tmp/dumps", "nameManually": dumps}).encode())
            if what == "GET /api/monitor/dump_heap_profile/7":
                dumps[:] = ["2026-11-15-12-00-01.manual.heap", "2026-11-15-12-00-00.manual.heap"]
                return self.send(200, b"{}")
            if what.startswith("GET /api/monitor/analyze/7/"):
                path = base64.urlsafe_b64decode(what.rsplit("/", 1)[1]).decode()
                if path == "/tmp/dumps/2026-11-15-12-00-01.manual.heap":
                    return self.send(200, b"main;serve;remember 4096\nmain;serve 1024\n")
            if not self.path.startswith("/api/"):
                return self.send(200, b"<!DOCTYPE html><html></html>", "text/html")
            return self.send(500, b'{"error": "worker node not found"}')
        there = {"greptimedb": "POST /debug/prof/mem", "tikv": "GET /debug/pprof/heap", "databend": "GET /debug/mem/pprof/profile",
                 "userver": "GET /service/jemalloc/pprof/heap"}
        if what == there.get(family):
            return self.send(200, heap)
        if family == "greptimedb" and self.path == "/debug/prof/mem":
            return self.send(405, b"")
        if family == "disabled" and what == "POST /debug/prof/mem":
            return self.send(400, b'{"error":"Memory profiling is not\\nenabled \\u001b[31m' + long.encode() + b'"}', "application/json")
        if family == "text" and what == "GET /debug/mem/pprof/profile":
            return self.send(500, b"opt.prof is not ON,\n   please start the application\n  with MALLOC_CONF=prof:true")
        self.send(404, b"no such page")
    def do_GET(self):
        self.answer("GET")
    def do_POST(self):
        self.answer("POST")
    def do_PUT(self):
        self.answer("PUT")
    def log_message(self, *_):
        pass
server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
print(server.server_port, flush=True)
server.serve_forever()
PYTHON
cat >"$scratch/one.heap" <<'HEAP'
heap_v2/524288
  t*: 100: 52428800 [0: 0]
@ 0x401001 0x401101
  t*: 100: 52428800 [0: 0]

MAPPED_LIBRARIES:
00400000-00500000 r-xp 00000000 00:00 0 /opt/greptime
HEAP
serve() { # serve FAMILY: its URL is in $url
	rm -f "$scratch/$1.port"
	python3 "$scratch/server.py" "$1" "$scratch/one.heap" "$scratch/asked" >"$scratch/$1.port" 2>"$scratch/$1.log" &
	children+=($!)
	wait_for 20 test -s "$scratch/$1.port" || broken "no server of $1"
	url=http://127.0.0.1:$(cat "$scratch/$1.port")
}

while read -r family endpoint; do
	serve "$family"
	"$cairn" top "$url" >"$scratch/out" 2>"$scratch/err"
	is $? 0 "top of $family without an agent"
	like "$(cat "$scratch/out")" "*jemalloc heap_v2*live memory: *MiB in total*" "$family: its profile is shown"
	like "$(cat "$scratch/err")" "*note: $url has no agent; the profile is from $endpoint (*" "$family: and where it is from"
done <<'LIST'
greptimedb POST /debug/prof/mem
tikv GET /debug/pprof/heap
databend GET /debug/mem/pprof/profile
userver GET /service/jemalloc/pprof/heap
LIST
serve risingwave
"$cairn" top "$url" >"$scratch/out" 2>"$scratch/err"
like "$? $(cat "$scratch/out")" "0 *remember*" 'top of RisingWave: its pages for people are not taken for profiles, the newest dump of its compute node is shown'
like "$(cat "$scratch/err")" "*/api/monitor/analyze of RisingWave*12-00-01.manual.heap*node 7*" 'and where it is from'

serve disabled
"$cairn" top "$url" >"$scratch/out" 2>"$scratch/err"
is $? 1 'a service that refuses'
like "$(cat "$scratch/err")" "*POST /debug/prof/mem*400: Memory profiling is not enabled*xxx*the end" 'is shown whole, in one line'
is "$(grep -c $'\033' "$scratch/err")" 0 'without what a terminal acts on'
serve text
like "$("$cairn" top "$url" 2>&1)" "*500: opt.prof is not ON, please start the application with MALLOC_CONF=prof:true" 'also where it is text of several lines'
serve nothing
like "$("$cairn" top "$url" 2>&1)" "cairn: $url: no agent answers there, nor a heap endpoint of GreptimeDB*PATH" 'a service with none of them'

# Users and passwords in URLs: a request has them, nothing that is printed, written or listed does.
serve guarded
secret=topsecret$(printf 'ab%.0s' {1..40})topsecret
basic="Basic $(printf 'alice:%s' "$secret" | base64 -w 0)"
host=127.0.0.1:${url##*:}
given=http://alice:$secret@$host
mkdir "$scratch/told"
tell() { # tell COMMAND...: runs it in $scratch/told; what it prints is kept there
	(cd "$scratch/told" && HOME=$scratch/told "$cairn" "$@" </dev/null >>out 2>&1)
}
tell dump "$given/heap"
tell watch --once -o watched "$given/heap"
tell watch --once --json -o watched "$given/heap"
tell watch --for 1s -o watched "$given/bad"
tell watch --once -o watched --push "$given" --label a=b "$given/heap"
tell watch --once -o watched --forward "pyroscope:$given" "$given/heap"
tell watch --once -o watched --store "clickhouse://alice:$secret@$host/cairn" "$given/heap"
for page in heap bad; do
	for command in top tree traces raw leaks rss doctor status activate dumps stats cpu html flame pprof graph; do tell $command "$given/$page"; done
	tell gdump "$given/$page" on
	tell diff "$given/$page" "$given/heap"
	tell html -o "$page.html" "$given/$page"
	tell flame -o "$page.svg" "$given/$page"
	tell pprof -o "$page.pb" "$given/$page"
	tell timeline -o "$page.timeline.html" "$given/$page"
	tell jeprof --text "$given/$page"
done
tell jeprof --text "$given/pprof/heap"
tell jeprof --text "${given#http://}/pprof/heap"
tell symbols push --to "$given" "$cairn"
tell store init "clickhouse://alice:$secret@$host/cairn"
tell fleet top --store "clickhouse://alice:$secret@$host/cairn"
tell fleet services --store="clickhous://alice:$secret@$host/cairn"
tell top "clickhouse://alice:$secret@$host/cairn?service=a"
CAIRN_STORE=clickhouse://alice:$secret@$host/cairn tell fleet services
CAIRN_STORE=clickhous://alice:$secret@$host/cairn tell fleet services
tell collect --store "clickhouse://alice:$secret@$host/cairn" --spool spool --listen 256.0.0.1:1
tell collect --store sqlite:x --spool spool --listen 127.0.0.1:0 --forward "nothing:$given"
tell top "http://alice:top@secret?topsecret@127.0.0.1:1/heap" # which has to be escaped
tell "$given"
(cd "$scratch/told" && exec "$cairn" serve --listen 127.0.0.1:0 "$given/heap" >serve.log 2>&1) &
serving=$!
children+=($serving)
wait_for 20 grep -q http:// "$scratch/told/serve.log"
page=$(grep -o 'http://[^ ]*' "$scratch/told/serve.log" | head -n 1)
authorization="Authorization: Bearer ${page#*token=}" page=${page%%\?token=*}
holds 'cairn serve shows a page of the URL' wait_for 20 eval "curl -sf -H '$authorization' '${page}api/processes' >'$scratch/told/processes' && grep -q '$host' '$scratch/told/processes'"
curl -sf "$page" >"$scratch/told/page"
tr '\0' '\n' <"/proc/$serving/cmdline" >"$scratch/told/process"
like "$(cat "$scratch/told/process")" "*http://$host/heap*" 'the process list has the URL'
is "$(cd "$scratch/told" && find . | grep -e topsecret -e alice; grep -rlaF -e topsecret -e "${basic#Basic }" -e alice .)" '' \
	'no output, file name, file, page or process list has the user or the password'
is "$(ls "$scratch/told/watched" | grep -c "^127.0.0.1_${host##*:}-")" 5 "dumps are named by the host: $(ls "$scratch/told/watched" | head -n 1)"
is "$(grep -e ' /heap' -e ' /pprof' -e ' /bad' "$scratch/asked" | grep -vcF "$basic")" 0 'every request has it'
is "$(grep -vF -e "$basic" -e "$secret" "$scratch/asked")" '' 'those to a collector, to a receiver and to ClickHouse too'
like "$("$cairn" diff "$given/heap" "http://bob:other@$host/heap" 2>&1)" "cairn: http://$host is given with two users or passwords; give one" 'two users of one server'

# Names of files.
serve greptimedb
name=$(cd "$scratch" && "$cairn" dump -q "$url")
[[ $name =~ ^greptime-127\.0\.0\.1_[0-9]+-[0-9]{8}T[0-9]{6}Z-[0-9.]+MiB\.heap$ ]]
ok $? "a dump fetched by URL is named by program, host, time and live bytes: $name"
cp tests/fixtures/views/now.pb "$scratch/one.heap"
serve tikv
name=$(cd "$scratch" && "$cairn" dump -q "$url/debug/pprof/heap")
[[ $name =~ -127\.0\.0\.1_[0-9]+-[0-9]{8}T[0-9]{6}Z(-[0-9.]+[KMGi]*B)?\.pb\.gz$ ]]
ok $? "one of pprof by its kind: $name"
done_testing
