#!/usr/bin/env bash
# `cairn serve` without a browser: its arguments, the protocol of doc/live-page.md, who is kept out, and what happens when processes stop, die and come
# back, dumps are written, replaced and damaged, and the server is killed.
. tests/e2e/lib.sh
need curl python3 cc
cd "$scratch" || exit 1
cc -O1 -g -pthread -o leaky "$root"/examples/leaky/*.c || broken 'the demo service compiles'

# field PATH: a member of the JSON on standard input, such as processes.0.state
field() {
	python3 -c 'import json, sys
value = json.load(sys.stdin)
for key in sys.argv[1].split("."):
    value = value[int(key)] if isinstance(value, list) else value[key]
print(value)' "$1" 2>&1
}
get() { curl -s -m 20 "$base$1" "${@:2}"; }
code() { curl -s -m 20 -o /dev/null -w '%{http_code}' "$base$1" "${@:2}"; }
post() { code "$1" -X POST -H 'X-Cairn: 1' "${@:2}"; }
state_is() { [ "$(get /api/processes | field processes.0.state)" = "$1" ]; }
dumps_are() { [ "$(get "/api/processes" | field processes.0.dumps)" -ge "$1" ]; }
# serve ARGUMENTS...: starts the server; $base is its address
serve() {
	: >serve.out
	"$cairn" serve "$@" >serve.out 2>serve.err &
	server=$!
	children+=($server)
	wait_for 20 grep -q . serve.out || { sed 's/^/# /' serve.err; return 1; }
	base=$(head -n 1 serve.out)
	base=${base%%/#*} base=${base%/}
}
# leaky [SECONDS]: starts the demo service; $pid is its process
start_leaky() {
	"$cairn" run -q --period 32K -- ./leaky "${1:-300}" >/dev/null 2>&1 &
	runner=$!
	children+=($runner)
	wait_for 20 pgrep -P $runner -x leaky || return 1
	pid=$(pgrep -P $runner -x leaky)
	children+=($pid)
	wait_for 20 "$cairn" status "$pid"
}

# Arguments.
fails() { # fails CODE PATTERN NAME ARGUMENTS...
	"$cairn" serve "${@:4}" >fail.out 2>fail.err &
	local child=$! status
	children+=($child)
	wait_for 20 bash -c "! kill -0 $child" || kill $child
	wait $child
	status=$?
	is "$status" "$1" "$3: code $1"
	like "$(cat fail.err)" "$2" "$3: says what to do"
}
fails 2 '*missing TARGET or FOLDER*' 'no argument'
fails 2 '*--every takes a time*' 'a wrong time' --every soon .
fails 2 '*--listen takes HOST:PORT*' 'a wrong address' --listen ::: .
fails 2 '*--token takes*' 'a token that does not fit an address' --token 'a b' .
fails 2 '*no option --nonsense*' 'an unknown option' --nonsense .
fails 1 '*no process 999999999*' 'a dead process' 999999999
fails 1 '*./nowhere: No such file or directory*' 'a missing folder' ./nowhere
fails 1 '*no-such-service: no such folder, and no service*' 'neither a folder nor a service' no-such-service
fails 2 '*leaky: not a folder*' 'a file' ./leaky
mkdir empty
serve empty
like "$(cat serve.err)" '*no heap dump in this folder yet*' 'an empty folder: says so and waits'
is "$(get /api/processes | field processes)" '[]' 'and has no processes'
is "$(code /api/series)" 404 'nor a series'
kill -INT $server
wait $server
is $? 0 'Ctrl-C ends it with code 0'

# A live process.
start_leaky || broken 'the demo service starts'
serve --every 300ms "$pid" || broken 'cairn serve starts'
like "$(head -n 1 serve.out)" 'http://127.0.0.1:[0-9]*/' 'the address is the first line'
headers=$(curl -sI "$base/")
like "${headers,,}" "*content-security-policy: default-src 'none'; script-src 'self'; style-src 'self';*" 'the policy lets only its own scripts and styles run'
like "${headers,,}" "*frame-ancestors 'none'*" 'and no page frame it'
is "$(get / | grep -ciE '<script[^>]*>[^<]|style=|[ "]on[a-z]+=|https?://')" 0 'the page has no inline script or style and loads nothing from elsewhere'
holds 'its script is served' bash -c "curl -s $base/page.js | grep -q 'class Live'"
like "$(curl -sI "$base/page.css")" '*text/css*' 'and its style'
holds 'it samples' wait_for 30 state_is sampling
wait_for 60 dumps_are 3
ok $? 'it takes snapshots by itself'
get /api/processes >processes.json
is "$(field version <processes.json) $(field processes.0.program <processes.json) $(field processes.0.pid <processes.json)" "1 leaky $pid" 'a process has a name and a number'
growing() { get /api/leaks >leaks.json && grep -q '"kind":"growing"' leaks.json; }
wait_for 90 growing
ok $? 'the leak is found'
like "$(field sentence <leaks.json)" 'remember_session grows * (* % sure)*' "in a sentence: $(field sentence <leaks.json)"
is "$(field rows.0.name <leaks.json) $(field rows.0.verdict <leaks.json)" 'remember_session growing' 'and the ranking says the same'
like "$(get /api/processes | field processes.0.sentence)" '*remember_session*' 'so does the list of processes'
get '/api/series?since=0' >series.json
last=$(python3 -c 'import json; s = json.load(open("series.json")); p = s["points"]; assert len(p) >= 3 and s["resident"] and all(a["id"] < b["id"] for a, b in zip(p, p[1:])); print(p[-1]["id"])')
ok $? 'the series has dumps in the order of time, and resident memory'
is "$(get "/api/series?since=$last" | python3 -c 'import json, sys; print(any(p["id"] <= int(sys.argv[1]) for p in json.load(sys.stdin)["points"]))' "$last")" False 'and only what is new where that is asked for'
is "$(python3 -c 'import json; s = json.load(open("series.json")); l = s["layers"]; t = {p["id"]: p["total"] for p in s["points"]}; print(all(abs(sum(i["values"][k] for i in l["items"]) - t[d]) < 100 for k, d in enumerate(l["ids"]) if d in t))')" \
	True 'the layers of each dump add up to its total'
get /api/bill >bill.json
is "$(python3 -c 'import json; b = json.load(open("bill.json"))["bill"]; print(b["total"] > 0 and b["total"] == sum(l["bytes"] for l in b["lines"]))')" True 'the bill adds up'
like "$(get /api/health)" '*"status":{*"engine"*' 'health has the status of the agent'
is "$(get /api/churn | field rows.0.name)" render_answer 'churn has what is freed again'
is "$(get '/api/source?function=remember_session' | field routines.0.name)" remember_session 'a function has its source'
is "$(code '/api/source?function=nothing_like_it')" 503 'one that is not there has none'
is "$(get /api/doctor | field kind)" process 'the doctor looks at the process'

# The agent's own page.
socket=$("$cairn" status --json "$pid" | field agent.socket)
curl -s -m 30 --unix-socket "$socket" http://localhost/cairn/ >own.html
is "$(grep -c 'id="facts"' own.html)" 1 'the agent has the same page of its process'

# Trees.
curl -s -D tree.head -o tree.gz "$base/api/tree?at=$last"
tag=$(sed -n 's/^ETag: \(.*\)\r$/\1/p' tree.head)
like "$(cat tree.head)" '*Content-Encoding: gzip*' 'a tree is packed'
is "$(code "/api/tree?at=$last" -H "If-None-Match: $tag")" 304 'and not sent again'
python3 - "$last" >tree.txt <<'EOF'
import gzip, json, sys
data, at = gzip.open("tree.gz").read(), 0
def number():
    global at
    value = shift = 0
    while True:
        byte = data[at]; at += 1
        value |= (byte & 127) << shift; shift += 7
        if byte < 128: return value
blocks = []
for _ in range(3):
    length = number(); blocks.append(data[at:at + length]); at += length
facts = json.loads(blocks[0])
series = {p["id"]: p["total"] for p in json.load(open("series.json"))["points"]}
print(at == len(data), abs(facts["total"] - series[int(sys.argv[1])]) < 100, b"remember_session" in blocks[1], facts["base"])
EOF
is "$(cat tree.txt)" 'True True True False' 'its three blocks are whole, and its total is that of the series'
first=$(python3 -c 'import json; print(json.load(open("series.json"))["points"][0]["id"])')
is "$(curl -s --compressed "$base/api/tree?at=$last&base=$first" | head -c 3000 | grep -aoc '"base":true')" 1 'with a base it is of the change'
is "$(curl -s --compressed "$base/api/tree?value=alloc_objects" | head -c 3000 | grep -ao '"columns":\[{"type":"[a-z_]*"')" '"columns":[{"type":"alloc_objects"' 'and of the value that is asked for'
is "$(code '/api/tree?at=junk&base=%00%ff&value=..%2f..')" 200 'nonsense is the newest dump'
get "/api/page?at=$last&state=%23view%3Dleaves" >saved.html
python3 "$root/tests/e2e/read-page.py" saved.html >/dev/null 2>&1 || head -c 200 saved.html >/dev/null
like "$(grep -ao '"state":"[^"]*"' saved.html)" '"state":"#view=leaves"' 'a page is saved as it is shown'
is "$(grep -c 'id="facts"' saved.html) $(grep -c 'script-src .sha256-' saved.html)" '1 1' 'as one file, with its own policy'

# Events.
timeout 8 curl -sN "$base/api/events" >events.txt
like "$(head -n 4 events.txt)" *'event: hello'*'data: {"version":1'* 'events begin with hello'
[ "$(grep -c '^event: rss' events.txt)" -ge 5 ]
ok $? "resident memory comes each second: $(grep -c '^event: rss' events.txt) in 8 seconds"
[ "$(grep -c '^event: dump' events.txt)" -ge 1 ]
ok $? 'so do dumps'
is "$(grep '^data: ' events.txt | python3 -c 'import json, sys; print(all(isinstance(json.loads(line[6:]), dict) for line in sys.stdin))')" True 'every event is JSON'

# Other sites are kept out.
is "$(code / -H 'Host: evil.example')" 403 'another Host is refused'
is "$(code /api/processes -H 'Host: evil.example')" 403 'for data too'
is "$(code / -H 'Host: localhost')" 200 'localhost is ours'
is "$(code /api/processes -H 'Origin: http://evil.example')" 403 'another origin is refused'
is "$(code /api/processes -H 'Origin: null')" 403 'and one that hides'
is "$(code /api/processes -H 'Sec-Fetch-Site: cross-site')" 403 'what a browser says comes from another site is refused'
is "$(code /api/processes -H "Origin: $base" -H 'Sec-Fetch-Site: same-origin')" 200 'our own page is answered'
is "$(code /api/deactivate -X POST)" 403 'an effect needs the header'
is "$(post /api/deactivate -H 'Origin: http://evil.example')" 403 'and no other origin'
is "$(code /api/deactivate)" 404 'GET has no effect'
is "$(code /api/deactivate -X DELETE -H 'X-Cairn: 1')" 405 'nor have other methods'
state_is sampling
ok $? 'it still samples'
is "$(code /../../etc/passwd --path-as-is) $(code '/%2e%2e/%2e%2e/etc/passwd') $(code '/api/tree?process=../../etc/passwd')" '404 404 404' 'paths lead nowhere else'
is "$(code "/$(printf 'a%.0s' {1..9000})")" 414 'a long path is refused'
is "$(code /api/snapshot -X POST -H 'X-Cairn: 1' --data-binary "@$cairn")" 413 'so is a long body'

# Effects.
is "$(post /api/deactivate)" 200 'sampling stops'
holds 'and the page knows' wait_for 20 state_is paused
like "$(get /api/processes | field processes.0.sentence)" 'Sampling is paused*' 'the sentence says so'
is "$(post /api/activate)" 200 'sampling starts'
holds 'and the page knows that' wait_for 20 state_is sampling
is "$(post /api/dump)" 200 'the service writes a dump'
is "$(ls ./*.heap 2>/dev/null | wc -l)" 1 'to its folder'
before=$(get /api/processes | field processes.0.last)
is "$(post /api/snapshot)" 200 'a snapshot is taken when asked for'
newer() { [ "$(get /api/processes | field processes.0.last)" -gt "$before" ]; }
holds 'at once' wait_for 10 newer
curl -s --compressed -m 30 -X POST -H 'X-Cairn: 1' "$base/api/cpu?seconds=1" -o cpu.bin
is "$(head -c 3000 cpu.bin | grep -aoc '"unit":"nanoseconds"')" 1 'the CPU is profiled'
is "$(post '/api/cpu?seconds=9999')" 400 'within limits'
is "$(post /api/reset)" 200 'samples are discarded'

# Many pages: streams that nobody reads, and connections that say nothing.
python3 - "${base#http://}" >crowd.txt <<'EOF'
import socket, sys, time
host, port = sys.argv[1].split(":")
def connect(text):
    s = socket.socket(); s.settimeout(10); s.connect((host, int(port))); s.sendall(text); return s
request = b"GET /api/events HTTP/1.1\r\nHost: localhost\r\n\r\n"
streams = [connect(request) for _ in range(180)]
heads = [s.recv(64) for s in streams]
print(sum(b" 200 " in h for h in heads), all(b" 200 " in h or b" 503 " in h for h in heads))
silent = [connect(b"") for _ in range(1000)]
late = connect(b"GET /api/processes HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
print(b" 200 " in late.recv(64))
for s in streams + silent: s.close()
EOF
is "$(cat crowd.txt)" $'128 True\nTrue' '128 streams are served, more are refused, and a thousand silent connections keep nobody out'
no_pages() { [ "$(get /api/processes | field pages)" = 0 ]; }
holds 'clients that have left are forgotten' wait_for 20 no_pages
taken() { "$cairn" status --json "$pid" | field snapshots.taken; }
dumps_now() { get /api/health | field snapshots; }
taken_before=$(taken) dumps_before=$(dumps_now)
for _ in 1 2 3; do
	for _ in $(seq 40); do get /api/tree -o /dev/null & done
	wait $(jobs -p | grep -vxE "$server|$runner")
done
extra=$(($(taken) - taken_before - ($(dumps_now) - dumps_before)))
[ "$extra" -le 2 ]
ok $? "120 requests for a tree cost no snapshot: $extra more than the pace"

# Stops and ends.
kill -STOP "$pid"
holds 'a stopped process is shown as stopped' wait_for 40 state_is stopped
kill -CONT "$pid"
holds 'and goes on' wait_for 40 state_is sampling
kill -KILL "$pid"
holds 'a killed process is shown as ended' wait_for 20 state_is ended
like "$(get /api/processes | field processes.0.sentence)" 'Killed by signal 9 (Killed) at *: remember_session held * %' 'with its cause, and who held most at its last moment'
is "$(get '/api/series?since=0' | python3 -c 'import json, sys; print([m["kind"] for m in json.load(sys.stdin)["marks"] if m["kind"] == "end"])')" "['end']" 'and the timeline has a mark'
is "$(post /api/deactivate)" 400 'nothing can be asked of it'
is "$(code /api/tree)" 200 'but its memory can be looked at'
kill -INT $server
wait $server

# A service that is restarted.
mkdir bin
cp leaky bin/leaky-service
"$cairn" run -q --period 32K -- bin/leaky-service 300 >/dev/null 2>&1 &
children+=($!)
wait_for 20 pgrep -x leaky-service
serve --every 300ms leaky-service
wait_for 30 state_is sampling
wait_for 30 dumps_are 2
one=$(get /api/processes | field processes.0.pid)
kill -KILL "$one"
wait_for 20 state_is ended
ok $? 'a service that ends is shown as ended'
"$cairn" run -q --period 32K -- bin/leaky-service 300 >/dev/null 2>&1 &
children+=($!)
other() { [ "$(get /api/processes | field processes.0.pid)" != "$one" ] && state_is sampling; }
holds 'and is followed when it comes back' wait_for 40 other
restarted() { get '/api/series?since=0' | grep -q '"kind":"restart"'; }
holds 'the timeline has the restart' wait_for 40 restarted
two=$(get /api/processes | field processes.0.pid)
mkdir dumps
for i in 1 2 3; do "$cairn" dump -o dumps/$i.heap "$two" >/dev/null; done
kill -KILL "$two"
kill -INT $server
wait $server

# A folder, of a process long dead.
serve dumps
holds 'a folder has its process' wait_for 30 dumps_are 3
is "$(get /api/processes | field processes.0.state) $(get /api/processes | field processes.0.program)" 'dumps leaky-service' 'by what its dumps say'
key=$(get /api/processes | field processes.0.process)
cp "$(ls dumps/*.heap | head -n 1)" dumps/.part
sed -i 's/^# cairn time .*/# cairn time 1700000000.000000000/' dumps/.part
mv dumps/.part dumps/older.heap
holds 'a dump that is written later is shown' wait_for 30 dumps_are 4
ln -s /etc/passwd dumps/link.heap
head -c 300 dumps/older.heap >dumps/cut.heap
printf 'heap_v2/\xff\xff\n@ 0x1\n' >dumps/broken.heap
mkfifo dumps/pipe.heap
cp "$cairn" dumps/program.heap
for i in 1 2 3 4 5 6; do # replaced and truncated while they are read
	cp dumps/older.heap "dumps/changing.heap"
	: >"dumps/changing.heap"
done
sleep 1
is "$(code /api/processes) $(code /api/tree)" '200 200' 'links, pipes, damaged and changing files do no harm'
kill -KILL $server
wait $server 2>/dev/null
rm dumps/pipe.heap dumps/changing.heap dumps/cut.heap dumps/broken.heap dumps/program.heap dumps/link.heap
serve dumps
holds 'a server that was killed and started again has everything again' wait_for 30 dumps_are 4
is "$(get /api/processes | field processes.0.process)" "$key" 'under the same key'
kill -INT $server
wait $server

# Hostile names stay data.
python3 "$root/tests/e2e/make-hostile.py" hostile.heap 2>/dev/null
mkdir hostile
printf 'heap_v2/1\n  t*: 1: 1024 [0: 0]\n  t1: 1: 1024 [0: 0] <img src=x onerror=alert(1)>\n@ 0x1001\n  t*: 1: 1024 [0: 0]\n  t1: 1: 1024 [0: 0]\n\nMAPPED_LIBRARIES:\n# cairn trailer 1\n# cairn pid 7\n# cairn exe /tmp/<script>"evil"\n# cairn reason </script>\n# cairn time 1700000000.0\n# cairn end\n' >hostile/a.heap
serve hostile
holds 'a hostile dump is shown' wait_for 30 dumps_are 1
get /api/processes | field processes.0.process >hostile.key
is "$(grep -c '[<>"&]' hostile.key)" 0 'its key has no markup'
is "$(get "/api/series?since=0" | field marks.0.text)" '</script>' 'and its words are JSON'
kill -INT $server
wait $server

# A token, and a unix socket.
serve --token secret-1 dumps
like "$(head -n 1 serve.out)" 'http://127.0.0.1:*/#token=secret-1' 'the address hands over the token, in its fragment'
is "$(code /) $(code /page.js) $(code /api/processes) $(code /api/events)" '200 200 401 401' 'without it there is the page and nothing else'
is "$(code /api/processes -H 'Authorization: Bearer secret-2') $(code /api/processes -H 'Authorization: Bearer secret-11') $(code /api/processes -H 'Authorization: Bearer secret-1')" \
	'401 401 200' 'a wrong one is refused'
kill -INT $server
wait $server
serve --listen 0.0.0.0:0 dumps
like "$(head -n 1 serve.out)" 'http://*/#token=????????????????????????????????' 'elsewhere than on loopback there is always one'
is "$(curl -s -o /dev/null -w '%{http_code}' "http://127.0.0.1:$(sed 's|.*:\([0-9]*\)/.*|\1|' serve.out)/api/processes")" 401 'and it is asked for'
kill -INT $server
wait $server
serve --listen "$scratch/page.sock" dumps
is "$(stat -c %a page.sock) $(curl -s --unix-socket page.sock http://localhost/api/processes | field version)" '600 1' 'a unix socket is for its owner'
kill -INT $server
wait $server
[ ! -e page.sock ]
ok $? 'and goes with the server'
done_testing
