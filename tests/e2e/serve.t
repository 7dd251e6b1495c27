#!/usr/bin/env bash
# `cairn serve` on live processes, without a browser: its arguments, the protocol of doc/live-page.md, who is kept out, and what happens when
# processes stop, die and come back.
. tests/e2e/lib.sh
. tests/e2e/serve.sh

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
like "$(get /api/processes | field processes.0.sentence) $(get /api/leaks)" 'no samples: sampling was off, or less was allocated* {*"kind":"nothing"*"rows":\[\]}' 'but why, and nothing is listed'
is "$(get /api/page | grep -c 'nothing keeps growing')" 0 'nor on a page that is saved'
kill -INT $server
wait $server

# A live process.
start_leaky || broken 'the demo service starts'
serve --every 300ms "$pid" || broken 'cairn serve starts'
like "$(head -n 1 serve.out)" 'http://127.0.0.1:[0-9]*/?token=*' 'the address is the first line'
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
	get /api/leaks >leaks.json && grep -q '"kind":"growing"' leaks.json && [[ $(field sentence <leaks.json) == 'remember_session keeps growing, '* ]]
}
wait_for 90 growing
ok $? 'the leak is found'
like "$(field sentence <leaks.json)" 'remember_session keeps growing, by * (* % sure)' "in a sentence: $(field sentence <leaks.json)"
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
LD_PRELOAD=$1 CAIRN_TOOL=$2 CAIRN_CONF=enable_heap_profiling:true,listen:unix,period:32K exec ./leaky 300' same "$library" "$cairn" "$folder" >/dev/null 2>&1 &
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
get "/api/tree?at=$last" -D tree.head -o tree.gz
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
is "$(get "/api/tree?at=$last&base=$first" --compressed | head -c 3000 | grep -aoc '"base":true')" 1 'with a base it is of the change'
is "$(get "/api/tree?value=alloc_objects" --compressed | head -c 3000 | grep -ao '"columns":\[{"type":"[a-z_]*"')" '"columns":[{"type":"alloc_objects"' 'and of the value that is asked for'
is "$(code '/api/tree?at=junk&base=%00%ff&value=..%2f..')" 200 'nonsense is the newest dump'
get "/api/page?at=$last&state=%23view%3Dleaves" >saved.html
python3 "$root/tests/e2e/read-page.py" saved.html >saved.json
ok $? 'a page can be saved'
is "$(python3 -c 'import json
course = json.load(open("saved.json"))["facts"]["course"]
print(len(course["seconds"]) >= 3, course["from"] == course["to"], any(l["name"] == "remember_session" for l in course["layers"]))')" \
	'True True True' 'with the timeline, and where on it the page is'
like "$(grep -ao '"state":"[^"]*"' saved.html)" '"state":"#view=leaves"' 'a page is saved as it is shown'
is "$(grep -c 'id="facts"' saved.html) $(grep -c 'script-src .sha256-' saved.html)" '1 1' 'as one file, with its own policy'

# Events.
curl -sN "${authorization[@]}" "$base/api/events" >events.txt &
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
is "$(grep -A 1 '^event: dump' events.txt | sed -n 's/^data: //p' | python3 -c 'import json, sys
print(all(e["entry"]["process"] == e["process"] and e["entry"]["last"] == e["id"] == e["series"]["points"][-1]["id"] and e["since"] < e["id"]
    and len(e["series"]["points"]) == 1 and "lines" in e["bill"] for e in map(json.loads, sys.stdin)))')" True 'a dump comes with all that a page shows of it but its tree'
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

python3 - "${base#http://}" "${authorization[1]}" >hostile.txt <<'EOF'
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
good = b" HTTP/1.1\r\nHost: localhost\r\n" + sys.argv[2].encode() + b"\r\n"
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
like "$(get /api/processes | field processes.0.sentence)" 'sampling is paused*' 'the sentence says so'
is "$(post /api/activate)" 200 'sampling starts'
holds 'and the page knows that' wait_for 20 state_is sampling
is "$(post /api/dump)" 200 'the service writes a dump'
is "$(ls ./*.heap 2>/dev/null | wc -l)" 1 'to its folder'
before=$(get /api/processes | field processes.0.last)
is "$(post /api/snapshot)" 200 'a snapshot is taken when asked for'
newer() { [ "$(get /api/processes | field processes.0.last)" -gt "$before" ]; }
holds 'at once' wait_for 10 newer
get "/api/cpu?seconds=5" --compressed -X POST -H 'X-Cairn: 1' -o cpu.bin
is "$(head -c 3000 cpu.bin | grep -aoc '"unit":"nanoseconds"')" 1 'the CPU is profiled'
is "$(post '/api/cpu?seconds=9999')" 400 'within limits'
is "$(post /api/reset)" 200 'samples are discarded'

# Many pages: streams that nobody reads, and connections that say nothing.
python3 - "${base#http://}" "${authorization[1]}" >crowd.txt <<'EOF'
import socket, sys, time
host, port = sys.argv[1].split(":")
def connect(text):
    s = socket.socket(); s.settimeout(100); s.connect((host, int(port))); s.sendall(text); return s
token = sys.argv[2].encode()
request = b"GET /api/events HTTP/1.1\r\nHost: localhost\r\n" + token + b"\r\n\r\n"
streams = [connect(request) for _ in range(180)]
heads = [s.recv(64) for s in streams]
print(sum(b" 200 " in h for h in heads), all(b" 200 " in h or b" 503 " in h for h in heads))
silent = [connect(b"") for _ in range(1000)]
late = connect(b"GET /api/processes HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n" + token + b"\r\n\r\n")
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
like "$(get /api/processes | field processes.0.sentence)" 'killed (SIGKILL) at *: remember_session held * %' 'with its cause, and who held most at its last moment'
is "$(get '/api/series?since=0' | python3 -c 'import json, sys; print([m["kind"] for m in json.load(sys.stdin)["marks"] if m["kind"] == "end"])')" "['end']" 'and the timeline has a mark'
is "$(post /api/deactivate)" 400 'nothing can be asked of it'
is "$(code /api/tree)" 200 'but its memory can be looked at'
gone() { ! kill -0 "$child"; }
holds "the agent's page ends with its process" wait_for 20 gone
kill -INT $server
wait $server

# A service that is restarted.
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
kill -KILL "$(get /api/processes | field processes.0.pid)"
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
PATH=$scratch/tools:$PATH serve --open --token secret-1 --idle 3s blind
holds 'the browser is started' wait_for 20 test -s opened
like "$(cat opened)" "$base/?token=*" 'on the address that is printed'
is "$(grep -c secret-1 opened) $(curl -s -o /dev/null -c jar -w '%{http_code}' "$(cat opened)") $(curl -s -o /dev/null -b jar -w '%{http_code}' "$base/api/processes")" '0 303 200' \
	'without its token, which would be in the list of processes: the browser gets the cookie for another one'
is "$(curl -s -o /dev/null -w '%{http_code}' "$(cat opened)") $(curl -s -o /dev/null -w '%{http_code}' "$base/api/processes?token=$(sed 's/.*=//' opened)")" '401 401' 'which is good for one visit'
wait $server
is $? 0 'and a server that nobody asks anything ends after its time'
rm opened
(cd "$root" && exec env PATH="$scratch/tools:$PATH" DISPLAY=:9 DEMO_SECONDS=120 setsid scripts/demo-live "${CAIRN_BUILD:-build}") >demo.out 2>demo.err &
demo=$!
children+=($demo)
holds 'make demo-live starts the service and prints the address' wait_for 60 grep -q http demo.out
holds 'and opens it' wait_for 20 test -s opened
like "$(cat opened)" "$(sed 's/token=.*/token=*/;1q' demo.out)" 'there'
take_address "$(head -n 1 demo.out)"
holds 'with the leaking service on it' wait_for 40 state_is sampling
kill -INT -- -$demo
wait $demo 2>/dev/null

# A unix socket.
serve --listen "$scratch/page.sock" blind
is "$(stat -c %a page.sock) $(curl -s --unix-socket page.sock http://localhost/api/processes | field version)" '600 1' 'a unix socket is for its owner'
kill -INT $server
wait $server
[ ! -e page.sock ]
ok $? 'and goes with the server'
done_testing
