# serve.sh - what the tests of `cairn serve` share: the demo service, which is compiled here, the server, and requests to it. Source it after
# lib.sh; the test goes on in $scratch.
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
# start_leaky [SECONDS]: starts the demo service; $pid is its process
start_leaky() {
	"$cairn" run -q --period 32K -- ./leaky "${1:-300}" >/dev/null 2>&1 &
	runner=$!
	children+=($runner)
	wait_for 20 pgrep -P $runner -x leaky || return 1
	pid=$(pgrep -P $runner -x leaky)
	children+=($pid)
	wait_for 20 "$cairn" status "$pid"
}
