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
get() { curl -s -m 100 "$base$1" "${@:2}"; }
code() { curl -s -m 100 -o /dev/null -w '%{http_code}' "$base$1" "${@:2}"; }
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
fails 2 '*--token and CAIRN_PAGE_TOKEN take*' 'a token that does not fit an address' --token 'a b' .
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

# A running program that has no agent, by its name.
mkdir bin
cp "$(readlink -f "$(command -v sleep)")" bin/unprofiled
bin/unprofiled 300 &
plain=$!
children+=($plain)
serve unprofiled
says_why() { [[ $(get /api/processes | field processes.0.why) == *"process $plain has no agent; 'cairn attach $plain'"* ]]; }
holds 'a program without an agent has a page that says why it is empty' wait_for 30 says_why
is "$(for path in tree page churn 'source?function=main'; do code "/api/$path"; echo; done | sort | uniq -c | tr -s ' ')" ' 4 404' 'what is made of dumps is not there before the first one'
kill -INT $server
wait $server
kill $plain

python3 "$root/tests/e2e/make-series.py" blind empty 1 4
serve blind
holds 'dumps without samples are shown' wait_for 30 dumps_are 4
kind_is() { [ "$(get /api/processes | field processes.0.kind)" = "$1" ]; }
holds 'and are not called steady' wait_for 30 kind_is nothing
like "$(get /api/processes | field processes.0.sentence) $(get /api/leaks)" 'No samples, so no verdict: * {*"kind":"nothing"*"rows":\[\]}' 'but why, and nothing is listed'
is "$(get /api/page | grep -c 'nothing keeps growing')" 0 'nor on a page that is saved'
kill -INT $server
wait $server

# A live process.
start_leaky || broken 'the demo service starts'
serve --every 300ms "$pid" || broken 'cairn serve starts'
like "$(head -n 1 serve.out)" 'http://127.0.0.1:[0-9]*/' 'the address is the first line'
headers=$(curl -sI "$base/")
like "${headers,,}" "*content-security-policy: default-src 'none'; script-src 'self'; style-src 'sha256-*'; img-src*" 'the policy lets only its own scripts and style run'
like "${headers,,}" "*frame-ancestors 'none'*" 'and no page frame it'
is "$(get / | grep -ciE '<script[^>]*>[^<]|style=|[ "]on[a-z]+=|https?://')" 0 'the page has no inline script or style attribute and loads nothing from elsewhere'
digest=$(get / | python3 -c 'import base64, hashlib, re, sys
style = re.search("<style>(.*?)</style>", sys.stdin.read(), re.S).group(1)
print(base64.b64encode(hashlib.sha256(style.encode()).digest()).decode())')
like "$headers" "*style-src 'sha256-$digest'*" 'its style is the one that the policy names'
holds 'its script is served' bash -c "curl -s $base/page.js | grep -q 'class Live'"
like "$(curl -sI "$base/page.js")" '*text/javascript*' 'as what it is'
holds 'it samples' wait_for 30 state_is sampling
wait_for 60 dumps_are 3
ok $? 'it takes snapshots by itself'
get /api/processes >processes.json
is "$(field version <processes.json) $(field processes.0.program <processes.json) $(field processes.0.pid <processes.json)" "1 leaky $pid" 'a process has a name and a number'
# The cache is filled first, which a busy machine takes so long for that it is called growing until then.
growing() {
	get /api/leaks >leaks.json && grep -q '"kind":"growing"' leaks.json && [[ $(field sentence <leaks.json) == 'remember_session grows '* ]]
}
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
is "$(get '/api/source?function=remember_session' | field routines.0.found)" True 'a process of the same user has it from where the compiler found it'
is "$(code '/api/source?function=nothing_like_it')" 404 'one that is not there has none'
is "$(get /api/doctor | field kind)" process 'the doctor looks at the process'
unversioned=
for path in processes 'series?since=0' leaks bill health churn 'source?function=remember_session' doctor; do
	[ "$(get "/api/$path" | field version)" = 1 ] || unversioned+="$path "
done
is "$unversioned" '' 'every answer in JSON says its version'

# The agent's own page: made by a `cairn serve` of its own, to which the agent passes requests on.
socket=$("$cairn" status --json "$pid" | field agent.socket)
agent() { curl -s -m 100 --unix-socket "$socket" "http://localhost/cairn/$1" "${@:2}"; }
agent_code() { agent "$@" -o /dev/null -w '%{http_code}'; }
is "$(agent '' | grep -c '<html lang="en" data-live>')" 1 'the agent has the same page of its process'
like "$(agent '' -o /dev/null -D -)" "*Content-Security-Policy: default-src 'none'; script-src 'self'; style-src 'sha256-*" 'with its policy'
is "$(agent page.js | grep -c '^class Live ')" 1 'and its script'
agent_dumps() { [ "$(agent api/processes | field processes.0.dumps)" -ge 2 ]; }
holds 'it is live: there is one snapshot after the other' wait_for 30 agent_dumps
is "$(agent api/processes | field processes.0.program)" leaky 'of this process'
agent api/tree -o own.gz -D own.head
is "$(gzip -dc own.gz | head -c 4000 | grep -aoc '"process":"[^"]*leaky"')" 1 'with its tree'
tag=$(sed -n 's/^ETag: \(.*\)\r$/\1/p' own.head) id=$(sed -n 's/^ETag: .*-\([0-9]\{13\}\)-0-"\r$/\1/p' own.head)
is "$(agent_code "api/tree?at=$id" -H "If-None-Match: $tag")" 304 'which is not sent again'
is "$(agent_code api/events)" 501 'events are not passed on, so that no page holds a thread of the service'
is "$(agent_code api/deactivate -X POST)" 403 'an effect needs the header there too'
is "$(agent_code api/deactivate -X POST -H 'X-Cairn: 1') $("$cairn" status --json "$pid" | field active)" '200 False' 'and is had with it'
is "$(agent_code api/activate -X POST -H 'X-Cairn: 1')" 200 'as is the way back'
child=$(pgrep -f "serve --listen ${socket%.sock}.page")
[ -S "${socket%.sock}.page" ]
ok $? 'the command that makes the page listens beside the agent'

# Another process of the same number, as of another container that shares the folder, has the name of the socket: ours has another, and so has
# what makes its page.
folder=${socket%/*}
bash -c 'python3 -c "import socket, sys, time
s = socket.socket(socket.AF_UNIX); s.bind(sys.argv[1]); s.listen(8); open(sys.argv[2], \"w\"); time.sleep(300)" "$3/$$.sock" taken.$$ >/dev/null 2>&1 &
echo $! >taker; until [ -e taken.$$ ]; do sleep 0.05; done
LD_PRELOAD=$1 CAIRN_TOOL=$2 CAIRN_CONF=enable_heap_profiling:true,period:32K exec ./leaky 300' same "$library" "$cairn" "$folder" >/dev/null 2>&1 &
same=$!
children+=($same)
second=$folder/$same-2.sock
answers() { curl -s -m 5 -o /dev/null --unix-socket "$second" http://localhost/cairn/status; }
holds 'a process whose socket has the name of another one has its own' wait_for 20 answers
children+=($(cat taker))
is "$(curl -s -m 100 --unix-socket "$second" http://localhost/cairn/ | grep -c '<html lang="en" data-live>')" 1 'and a page'
[ -S "${second%.sock}.page" ] && [ ! -e "$folder/$same.page" ]
ok $? 'whose socket is named as its own'
kill $same $(cat taker)

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
python3 "$root/tests/e2e/read-page.py" saved.html >saved.json
ok $? 'a page can be saved'
is "$(python3 -c 'import json
course = json.load(open("saved.json"))["facts"]["course"]
print(len(course["seconds"]) >= 3, course["from"] == course["to"], any(l["name"] == "remember_session" for l in course["layers"]))')" \
	'True True True' 'with the timeline, and where on it the page is'
[ "$(grep -c 'data-layer' saved.html)" -ge 1 ]
ok $? 'and the picture of it'
like "$(grep -ao '"state":"[^"]*"' saved.html)" '"state":"#view=leaves"' 'a page is saved as it is shown'
is "$(grep -c 'id="facts"' saved.html) $(grep -c 'script-src .sha256-' saved.html)" '1 1' 'as one file, with its own policy'

# Events.
curl -sN "$base/api/events" >events.txt &
listener=$!
children+=($listener)
began=$SECONDS
# paced: five weighings came within eight seconds, by their own times
paced() {
	grep -A 1 '^event: rss' events.txt | sed -n 's/.*"time":\([0-9]*\).*/\1/p' |
		awk '{ at[NR] = $1 } NR > 4 && at[NR] - at[NR - 4] < 8000 { good = 1 } END { exit !good }'
}
some_events() { paced && grep -q '^event: dump' events.txt; }
wait_for 8 some_events
kill $listener
wait $listener 2>/dev/null
like "$(head -n 4 events.txt)" *'event: hello'*'data: {"version":1'* 'events begin with hello'
paced
ok $? "resident memory comes each second: $(grep -c '^event: rss' events.txt) in $((SECONDS - began)) seconds"
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

python3 - "${base#http://}" >hostile.txt <<'EOF'
import socket, sys
host, port = sys.argv[1].split(":")
def ask(text, wait=10):
    s = socket.socket(); s.settimeout(wait); s.connect((host, int(port)))
    try:
        s.sendall(text)
        return s.recv(400)
    except OSError:
        return b""
    finally: s.close()
good = b" HTTP/1.1\r\nHost: localhost\r\n"
tries = {
    "numbers": [b"GET /api/tree?at=%s&base=%s" % (n, n) + good + b"\r\n" for n in (b"-9223372036854775808", b"9223372036854775807", b"1e308", b"-1")],
    "paths": [b"GET " + p + good + b"\r\n" for p in (b"/%00", b"//", b"/api/../page.js", b"/api/tree/../../x", b"http://evil/api/tree", b"*")],
    "queries": [b"GET /api/source?function=" + q + good + b"\r\n" for q in (b"(" * 900, b"%28%2b" * 100, b"%ff%fe", b"a" * 2000)],
    "headers": [b"GET /api/tree" + good + h + b"\r\n\r\n" for h in (b"Host: evil", b"Content-Length: -1", b"Content-Length: 99999999999999999999",
                b"Transfer-Encoding: chunked\r\nContent-Length: 3", b"Origin: http://localhost.evil", b"X" * 20000, b"If-None-Match: " + b'"' * 300)],
    "bytes": [b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n", b"\x00" * 4000 + b"\r\n\r\n", b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", b"GET / HTTP/9.9\r\n\r\n"],
}
for name, list in tries.items():
    answers = [ask(t) for t in list]
    print(name, all(a[:9] in (b"HTTP/1.1 ", b"") and not a.startswith(b"HTTP/1.1 500") for a in answers))
# Pages that nobody reads cost memory up to a limit only, and others are answered meanwhile.
lazy = []
for _ in range(100):
    s = socket.socket(); s.connect((host, int(port))); s.sendall(b"GET /api/page" + good + b"\r\n"); lazy.append(s)
print("others", b" 200 " in ask(b"GET /api/processes" + good + b"\r\n", 300))
for s in lazy: s.close()
EOF
is "$(cat hostile.txt)" $'numbers True\npaths True\nqueries True\nheaders True\nbytes True\nothers True' 'hostile requests are refused or answered, and others are not kept waiting'
memory=$(awk '/^VmHWM/ {print int($2 / 1024)}' /proc/$server/status)
[ "$memory" -lt 1024 ]
ok $? "at its worst the server took $memory MiB"

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
curl -s --compressed -m 100 -X POST -H 'X-Cairn: 1' "$base/api/cpu?seconds=5" -o cpu.bin
is "$(head -c 3000 cpu.bin | grep -aoc '"unit":"nanoseconds"')" 1 'the CPU is profiled'
is "$(post '/api/cpu?seconds=9999')" 400 'within limits'
is "$(post /api/reset)" 200 'samples are discarded'

# Many pages: streams that nobody reads, and connections that say nothing.
python3 - "${base#http://}" >crowd.txt <<'EOF'
import socket, sys, time
host, port = sys.argv[1].split(":")
def connect(text):
    s = socket.socket(); s.settimeout(100); s.connect((host, int(port))); s.sendall(text); return s
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
# The two counts are not read at the same instant: some snapshots of the pace fall in between.
[ "$extra" -lt 30 ]
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
gone() { ! kill -0 "$child"; }
holds "the agent's page ends with its process" wait_for 20 gone
kill -INT $server
wait $server

# A service that is restarted.
mkdir bin
cp leaky bin/leaky-service
"$cairn" run -q --period 32K -- bin/leaky-service 300 >/dev/null 2>&1 &
children+=($!)
wait_for 20 pgrep -x leaky-service
wait_for 20 "$cairn" status "$(pgrep -x leaky-service)"
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
sleep 3 # some of it is older than a second then
for i in 1 2 3; do "$cairn" dump -o dumps/$i.heap "$two" >/dev/null; done
kill -KILL "$two"
kill -INT $server
wait $server

# A folder, of a process long dead.
serve dumps
# Peak, slack, sizes and ages, as other commands have them.
wait_for 30 dumps_are 3
get /api/page >metrics.html
python3 "$root/tests/e2e/read-page.py" metrics.html >metrics.json
for what in peak:peak_space slack:slack_space alloc:alloc_space; do
	"$cairn" top --json "--${what%:*}" dumps/3.heap >top.json
	is "$(python3 -c 'import json, sys
page, top = json.load(open("metrics.json"))["values"][sys.argv[1]], json.load(open("top.json"))["total"]
print(top > 0 and abs(page - top) <= 2 + 1e-6 * top)' "${what#*:}")" True "the page counts ${what%:*} as cairn top does"
done
"$cairn" top --json --older 1s dumps/3.heap >top.json
is "$(python3 -c 'import json
page, top = json.load(open("metrics.json"))["ages"], json.load(open("top.json"))["total"]
print(top > 0 and abs(sum(bytes for age, bytes in page.items() if int(age) >= 2) - top) <= 20 + 1e-6 * top)')" True 'and ages as --older does'
is "$(python3 -c 'import json; print(json.load(open("metrics.json"))["sizes"].get("12", 0) > 0)')" True 'and knows how large sessions are'
"$cairn" churn --fold-wrappers --json dumps/3.heap >churn.json
"$cairn" rss --json dumps/3.heap >rss.json
is "$(python3 -c 'import json
facts, churn, rss = json.load(open("metrics.json"))["facts"], json.load(open("churn.json")), json.load(open("rss.json"))
print(len(churn["rows"]) > 0 and facts["churn"]["rows"] == churn["rows"][:60], rss["total"] > 0 and facts["bill"]["lines"] == rss["lines"])')" \
	'True True' 'a saved page has churn and the bill of the newest dump'
get "/api/page?at=$(get '/api/series?since=0' | field points.0.id)" >early.html
python3 "$root/tests/e2e/read-page.py" early.html >early.json
is "$(python3 -c 'import json; facts = json.load(open("early.json"))["facts"]; print("churn" in facts, "bill" in facts)')" 'False False' \
	'and one of an earlier dump has neither'
holds 'a folder has its process' wait_for 30 dumps_are 3
is "$(get /api/processes | field processes.0.state) $(get /api/processes | field processes.0.program)" 'dumps leaky-service' 'by what its dumps say'
key=$(get /api/processes | field processes.0.process)
cp "$(ls dumps/*.heap | head -n 1)" dumps/.part
sed -i 's/^# cairn time .*/# cairn time 1700000000.000000000/' dumps/.part
mv dumps/.part dumps/older.heap
holds 'a dump that is written later is shown' wait_for 30 dumps_are 4
sed '/^# cairn section samples/,/^# cairn trailer/{/^# cairn trailer/!d}' dumps/3.heap |
	sed 's/^# cairn time .*/# cairn time 1700000001.000000000/' >dumps/.part
mv dumps/.part dumps/plain.heap
{ printf 'heap_v2/32768\n  t*: 0: 0 [0: 0]\n'; sed -n '/^MAPPED_LIBRARIES/,/^# cairn section/{/^# cairn section/!p}' dumps/3.heap; sed -n '/^# cairn trailer/,$p' dumps/3.heap; } |
	sed 's/^# cairn time .*/# cairn time 1700000002.000000000/' >dumps/.part
mv dumps/.part dumps/nothing.heap
holds 'one that knows neither ages nor a peak, and one of nothing, are two more and no new beginning' wait_for 30 dumps_are 6
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

# Runs of one program are one entry; what ran at the same time is another.
mkdir runs
python3 - <<'EOF'
def dump(name, pid, start, time, more=""):
    with open("runs/" + name, "w") as out:
        out.write("heap_v2/1\n  t*: 1: %d [0: 0]\n@ 0x1001 0x2001\n  t*: 1: %d [0: 0]\n\nMAPPED_LIBRARIES:\n" % (pid * 10, pid * 10))
        out.write("00001000-00003000 r-xp 00000000 00:00 1 /usr/bin/worker\n")
        out.write("# cairn trailer 1\n# cairn pid %d\n# cairn executable /usr/bin/worker\n# cairn host one\n" % pid)
        out.write("# cairn module 00001000-00003000 0 %s /usr/bin/worker\n" % ("bb22bb22" if pid == 102 else "aa11aa11")) # the last is another build
        out.write("# cairn start %d.0\n# cairn time %d.0\n%s# cairn end\n" % (start, time, more))
for i in range(3): # three lives, one after the other
    for j in range(3):
        dump("a%d%d.heap" % (i, j), 100 + i, 1700000000 + 1000 * i, 1700000100 + 1000 * i + 100 * j,
             "# cairn ended killed by the OOM killer\n" if j == 2 and i < 2 else "")
dump("b.heap", 200, 1700000000, 1700002500) # beside all of them
EOF
serve runs
all_runs() { get /api/processes | python3 -c 'import json, sys; assert sorted(p["dumps"] for p in json.load(sys.stdin)["processes"]) == [1, 9]'; }
holds 'three runs and one process beside them are two entries' wait_for 30 all_runs
get /api/processes >runs.json
group=$(python3 -c 'import json
p = [p for p in json.load(open("runs.json"))["processes"] if p["runs"] == 3][0]
print(p["process"], p["pid"], len(p["keys"]))')
like "$group" 'worker-102* 102 3' "which is called by its newest run: $group"
get "/api/series?process=${group%% *}" >runs.json
is "$(python3 -c 'import json; print([(r["pid"], r["dumps"], r["ended"]) for r in json.load(open("runs.json"))["runs"]])')" \
	"[(102, 3, ''), (101, 3, 'killed by the OOM killer'), (100, 3, 'killed by the OOM killer')]" 'each run has its last moment, and how it ended'
is "$(python3 -c 'import json; print([(m["kind"], m["text"]) for m in json.load(open("runs.json"))["marks"] if m["kind"] in ("restart", "deployment")])')" \
	"[('restart', 'restarted as process 101'), ('deployment', 'another build of the program')]" 'the timeline has a mark where another build begins'
old=$(get /api/processes | python3 -c 'import json, sys
print([k for p in json.load(sys.stdin)["processes"] for k in p["keys"] if k.startswith("worker-100")][0])')
is "$(get "/api/series?process=$old" | field process)" "${group%% *}" 'a link to an older run leads there'
kill -INT $server
wait $server

# A run that goes on beside the next one after all: it leaves their entry, and no key stands for two.
mkdir beside
beside() { # beside NAME PID START TIME
	printf 'heap_v2/1\n  t*: 1: 10 [0: 0]\n@ 0x1001 0x2001\n  t*: 1: 10 [0: 0]\n\nMAPPED_LIBRARIES:\n# cairn trailer 1\n# cairn pid %d\n# cairn executable /usr/bin/worker\n# cairn host one\n# cairn start %d.0\n# cairn time %d.0\n# cairn end\n' \
		"$2" "$3" "$4" >"beside/.$1" && mv "beside/.$1" "beside/$1"
}
beside a.heap 100 1700000000 1700000100
serve beside
entries() { [ "$(get /api/processes | python3 -c 'import json, sys; print(sorted(p["dumps"] for p in json.load(sys.stdin)["processes"]))')" = "$1" ]; }
holds 'one run' wait_for 30 entries '[1]'
beside b.heap 101 1700001000 1700001100
holds 'and the next one are one entry' wait_for 30 entries '[2]'
beside c.heap 100 1700000000 1700001200
holds 'until it turns out that the first one goes on' wait_for 30 entries '[1, 2]'
is "$(get /api/processes | python3 -c 'import json, sys; print(sorted(p["process"][:10] for p in json.load(sys.stdin)["processes"]))')" "['worker-100', 'worker-101']" \
	'then each has its own key'
kill -INT $server
wait $server

# A dump that is read while it is written is no process of its own, and comes when it is whole.
mkdir written
python3 - <<'EOF'
stacks = "".join("@ 0x%x 0x2001\n  t*: 1: 100 [0: 0]\n" % (4096 + i) for i in range(200))
with open("whole", "w") as out:
    out.write("heap_v2/1\n  t*: 200: 20000 [0: 0]\n" + stacks + "\nMAPPED_LIBRARIES:\n# cairn trailer 1\n# cairn pid 300\n# cairn executable /usr/bin/writer\n")
    out.write("# cairn start 1700000000.0\n# cairn time 1700000500.0\n# cairn end\n")
EOF
serve written
exec 8>written/slow.heap
head -c 3000 whole >&8
sleep 1.5 # several looks at the folder come in this time
tail -c +3001 whole | head -c 2000 >&8
sleep 1.5
tail -c +5001 whole >&8
exec 8>&-
holds 'a dump that is written slowly is shown when it is whole' wait_for 30 dumps_are 1
is "$(get /api/processes | python3 -c 'import json, sys; print([(p["program"], p["pid"], p["dumps"], p["total"]) for p in json.load(sys.stdin)["processes"]])')" \
	"[('writer', 300, 1, 20000)]" 'and leaves nothing else behind'
sed 's/pid 300/pid 301/; s/start 1700000000/start 1700000100/' whole >later
head -c 3000 later >written/.part
touch -d '+5 seconds' written/.part
mv written/.part written/ahead.heap
sleep 1.5
holds 'a part of one from a machine whose clock is ahead is no process either' entries '[1]'
cp later written/.part
mv written/.part written/ahead.heap
holds 'which comes when it is whole' wait_for 30 entries '[1, 1]'
rm written/ahead.heap
python3 - <<'EOF' &
import time
with open("written/service.log", "w") as log: # its end is an event that makes the server look
    log.write("a line of a log, which is no dump\n" * 30000)
with open("written/service.log", "a") as log:
    for _ in range(1200):
        log.write("another line\n")
        log.flush()
        time.sleep(0.1)
EOF
writer=$!
children+=($writer)
holds 'a log grows beside them' wait_for 30 test -s written/service.log
read_bytes() { awk '/rchar/ { print $2 }' /proc/$server/io; }
before=$(read_bytes) from=$SECONDS
sleep 6
looks=$((($(read_bytes) - before) / 1000000)) most=$((($SECONDS - from) / 10 + 2))
[ $looks -le $most ]
ok $? "and is not read again and again while it grows: $looks times of at most $most"
kill $writer
head -c 3000 whole >written/cut.heap
touch -d '-1 hour' written/cut.heap
holds 'one that is cut for good is shown as far as it goes' wait_for 30 entries '[1, 1, 1]'
kill -INT $server
wait $server

# More processes than there is room for: those that have ended, or have long written nothing, make room.
mkdir many
many() { # many FIRST LAST TIME: a dump each of processes of these numbers
	python3 - "$@" <<'EOF'
import os, sys
first, last, time = map(int, sys.argv[1:])
for pid in range(first, last + 1):
    with open("many/.part", "w") as out:
        out.write("heap_v2/1\n  t*: 1: 10 [0: 0]\n@ 0x1001 0x2001\n  t*: 1: 10 [0: 0]\n\nMAPPED_LIBRARIES:\n# cairn trailer 1\n# cairn pid %d\n" % pid)
        out.write("# cairn executable /usr/bin/many\n# cairn start 1700000000.0\n# cairn time %d.0\n# cairn end\n" % (time + pid))
    os.rename("many/.part", "many/%d.heap" % pid)
EOF
}
listed() { # listed: how many are listed, how many are not, and whether process $1 is among those that are
	get /api/processes | python3 -c 'import json, sys
r = json.load(sys.stdin)
print(len(r["processes"]), r["unlisted_processes"], int(sys.argv[1]) in [p["pid"] for p in r["processes"]])' "$1"
}
listed_is() { [ "$(listed "$1")" = "$2" ]; }
many 1 260 1700000000
serve many
wait_for 6 listed_is 0 '256 4 False'
is "$(listed 0)" '256 4 False' 'of 260 processes 256 are listed, and the page is told how many are not'
many 301 301 1700000200
wait_for 6 listed_is 301 '256 5 False'
is "$(listed 301)" '256 5 False' 'those that go on make no room'
many 302 302 1700007000
wait_for 6 listed_is 302 '256 6 True'
is "$(listed 302)" '256 6 True' 'one that has written nothing for an hour does'
rm many/301.heap
wait_for 6 listed_is 302 '256 5 True'
is "$(listed 302)" '256 5 True' 'and what is no longer in the folder is forgotten'
is "$(code /api/tree)" 200 'all of which leaves the others alone'
kill -INT $server
wait $server

# A dump names source files; what is shown of them lies below --source-path, whatever the dump says.
mkdir -p sourced code/src outside
echo 'int inside;' >code/src/a.c
echo 'int secret;' >outside/secret.c
ln -s ../../outside code/src/link
ln -s a.c code/src/b.c
truncate -s 17M code/src/large.c
mkfifo code/src/pipe.c
python3 "$root/tests/e2e/make-sourced.py" sourced/one.pb.gz /build/src/a.c /build/src/b.c /etc/passwd ../../outside/secret.c /build/../outside/secret.c src/link/secret.c \
	"$scratch/outside/secret.c" outside/secret.c src/large.c src/pipe.c /proc/self/environ ..
sourced() { # sourced NUMBER: what is shown of the file of that number
	get "/api/source?function=at$1" | python3 -c 'import json, sys; r = json.load(sys.stdin)["routines"][0]; print(r["found"], r["lines"][0].get("code"))'
}
serve --source-path "$scratch/code" sourced
wait_for 30 dumps_are 1
is "$(sourced 0) $(sourced 1)" 'True int inside; True int inside;' 'source files below --source-path are found'
for i in 2 3 4 5 6 7 8 9 10 11; do
	is "$(sourced $i)" 'False None' "others are not, by an absolute path, by .., through a link, no file or too large: at$i"
done
kill -INT $server
wait $server
serve sourced
wait_for 30 dumps_are 1
is "$(sourced 6) $(sourced 7) $(sourced 2)" 'False None False None False None' 'and without --source-path none is, not even in the current folder'
kill -INT $server
wait $server
serve --source-path / sourced
wait_for 30 dumps_are 1
is "$(sourced 10) $(sourced 11)" 'False None False None' 'nor are those of the kernel, where everything is allowed'
kill -INT $server
wait $server

# A process of another user may have been made to name any file.
if [ "$(id -u)" = 0 ] && command -v setpriv >/dev/null; then
	chmod 755 "$scratch"
	setpriv --reuid=65534 --regid=65534 --clear-groups ./leaky 300 >/dev/null 2>&1 &
	pid=$!
	children+=($pid)
	wait_for 30 eval '[[ $(readlink /proc/$pid/exe) == */leaky ]] && grep -q "/libc\." /proc/$pid/maps' # else there is no library to attach by yet
	holds 'a process of another user is attached to' "$cairn" attach -q --period 32K $pid
	for path in "" "$root"; do
		serve --every 300ms ${path:+--source-path "$path"} $pid
		wait_for 30 dumps_are 2
		named() { get '/api/source?function=remember_session' | field routines.0.found | grep -qx "$1"; }
		holds "the source of a process of another user is $([ -n "$path" ] && echo 'shown from below --source-path' || echo 'not shown')" wait_for 30 named "$([ -n "$path" ] && echo True || echo False)"
		kill -INT $server
		wait $server
	done
	kill -KILL $pid
else
	skip 'a process of another user' 'it takes root and setpriv'
fi

# A process without an agent, and the request that attaches to it.
./leaky 300 >/dev/null 2>&1 &
pid=$!
children+=($pid)
serve --every 300ms "$pid"
holds 'a process without an agent is shown as silent' wait_for 30 state_is silent
is "$(get /api/doctor | grep -o "cairn attach $pid" | head -n 1)" "cairn attach $pid" 'the doctor has the line that helps'
is "$(code /api/attach -X POST) $(post /api/attach -H 'Origin: http://evil.example') $(code /api/attach)" '403 403 404' 'no other site can do that'
state_is silent
ok $? 'and nothing was done'
is "$(post /api/attach)" 200 'one request attaches to it'
holds 'and then it samples' wait_for 40 state_is sampling
is "$(post /api/attach)" 400 'a second time there is nothing to do'
kill -STOP $server
sleep 2
kill -CONT $server
before=$(get /api/processes | field processes.0.last)
holds 'a server that was stopped goes on' wait_for 20 newer
kill -INT $server
wait $server
kill -KILL $pid

# A clock that is set back: what came before is later than everything that is to come.
cat >clock.py <<'END'
import http.server, sys, time
begun = time.monotonic()
class Clock(http.server.BaseHTTPRequestHandler):
    count = 0
    def do_GET(self):
        Clock.count += 1
        ahead = 3600 if Clock.count <= 4 else 0
        bytes = 1000 * Clock.count
        dump = (f"heap_v2/1\n  t*: 1: {bytes} [0: 0]\n  t1: 1: {bytes} [0: 0]\n@ 0x1001\n  t*: 1: {bytes} [0: 0]\n  t1: 1: {bytes} [0: 0]\n\n"
                f"MAPPED_LIBRARIES:\n# cairn trailer 1\n# cairn pid 7\n# cairn time {1700000000 + ahead + time.monotonic() - begun:.9f}\n# cairn end\n").encode()
        self.send_response(200 if self.path == "/heap" else 404)
        self.send_header("Content-Length", str(len(dump)))
        self.end_headers()
        self.wfile.write(dump)
    def log_message(self, *words): pass
server = http.server.HTTPServer(("127.0.0.1", 0), Clock)
print(server.server_port, flush=True)
server.serve_forever()
END
python3 clock.py >clock.port &
children+=($!)
wait_for 10 test -s clock.port
serve --every 200ms "http://127.0.0.1:$(cat clock.port)/heap"
is_after() { [ "$(get /api/processes | field processes.0.last)" -lt 1700003600000 ] && [ "$(get /api/processes | field processes.0.total)" -gt 7000 ]; }
holds 'after a clock was set back, the newest dump is the one that came last' wait_for 20 is_after
is "$(get '/api/series?since=0' | python3 -c 'import json, sys; s = json.load(sys.stdin); print(s["epoch"] > 0, max(p["id"] for p in s["points"]) < 1700003600000)')" 'True True' \
	'the dumps from before are gone, and pages are told to load all again'
live() { get /metrics | sed -n 's/^cairn_serve_live_bytes.* //p'; }
before=$(live)
moves() { [ "$(live)" != "$before" ]; }
holds 'the metrics go on too' wait_for 20 moves
kill -INT $server
wait $server

# Long names that differ at their ends only. Nobody answers there, which does not matter.
long=http://127.0.0.1:$(cat clock.port)/$(printf 'x%.0s' {1..100})
serve --every 1s "${long}1" "${long}2"
get /api/processes | python3 -c 'import json, sys; print(*sorted(p["process"] for p in json.load(sys.stdin)["processes"]))' >keys
is "$(tr ' ' '\n' <keys | uniq | wc -l) $(tr ' ' '\n' <keys | awk 'length($0) > 95' | wc -l)" '2 0' 'targets with long names have keys of their own'
for key in $(cat keys); do is "$(get "/api/series?process=$key" | field process)" "$key" 'by which each can be asked for'; done
is "$(get /metrics | grep '^cairn_serve_ended' | sed 's/ [^ ]*$//' | sort | uniq -d | wc -l)" 0 'no series of the metrics is there twice'
kill -INT $server
wait $server

# The browser is opened, where that is asked for.
mkdir tools
printf '#!/bin/sh\nprintf "%%s\\n" "$1" >%s/opened\n' "$scratch" >tools/xdg-open
chmod +x tools/xdg-open
PATH=$scratch/tools:$PATH serve --open --token secret-1 --idle 3s dumps
holds 'the browser is started' wait_for 20 test -s opened
is "$(cat opened)" "$(head -n 1 serve.out)" 'on the address that is printed, with its token'
wait $server
is $? 0 'and a server that nobody asks anything ends after its time'
rm opened
(cd "$root" && exec env PATH="$scratch/tools:$PATH" DISPLAY=:9 DEMO_SECONDS=120 setsid scripts/demo-live "${CAIRN_BUILD:-build}") >demo.out 2>demo.err &
demo=$!
children+=($demo)
holds 'make demo-live starts the service and prints the address' wait_for 60 grep -q http demo.out
holds 'and opens it' wait_for 20 test -s opened
is "$(cat opened)" "$(head -n 1 demo.out)" 'there'
base=$(sed 's|/$||;1q' demo.out)
holds 'with the leaking service on it' wait_for 40 state_is sampling
kill -INT -- -$demo
wait $demo 2>/dev/null

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
is "$(code /api/processes -H 'Authorization: bearer secret-1')" 200 'the scheme is accepted in any case'
kill -INT $server
wait $server
CAIRN_PAGE_TOKEN=secret-3 serve dumps
is "$(code /api/processes) $(code /api/processes -H 'Authorization: Bearer secret-3') $(tr '\0' ' ' <"/proc/$server/cmdline" | grep -c secret)" '401 200 0' \
	'it can come from the environment, so that it is not in the list of processes'
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
