# serve.sh - what the tests of `cairn serve` share: the demo service, which is compiled here, the server, and requests to it. Source it after
# lib.sh; the test goes on in $scratch.
need curl python3 cc
cd "$scratch" || exit 1
cc -O1 -g -DLEAKY_REST_US=3000 -pthread -o leaky "$root"/examples/leaky/*.c || broken 'the demo service compiles'

# field PATH: a member of the JSON on standard input, such as processes.0.state
field() {
	python3 -c 'import json, sys
value = json.load(sys.stdin)
for key in sys.argv[1].split("."):
    value = value[int(key)] if isinstance(value, list) else value[key]
print(value)' "$1" 2>&1
}
authorization=()
get() { curl -s -m 100 "${authorization[@]}" "$base$1" "${@:2}"; }
code() { get "$1" -o /dev/null -w '%{http_code}' "${@:2}"; }
post() { code "$1" -X POST -H 'X-Cairn: 1' "${@:2}"; }
state_is() { [ "$(get /api/processes | field processes.0.state)" = "$1" ]; }
dumps_are() { [ "$(get "/api/processes" | field processes.0.dumps)" -ge "$1" ]; }
# take_address ADDRESS: what `cairn serve` prints: $base is where it is, and "${authorization[@]}" gives curl its token
take_address() {
	base=${1%%\?token=*} base=${base%/} authorization=()
	[[ $1 != *\?token=* ]] || authorization=(-H "Authorization: Bearer ${1#*\?token=}")
}
# serve ARGUMENTS...: starts the server, and takes its address
serve() {
	: >serve.out
	"$cairn" serve "$@" >serve.out 2>serve.err &
	server=$!
	children+=($server)
	wait_for 20 grep -q . serve.out || { sed 's/^/# /' serve.err; return 1; }
	take_address "$(head -n 1 serve.out)"
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
