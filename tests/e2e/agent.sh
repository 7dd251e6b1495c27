# agent.sh - for tests of the agent: services with libcairn preloaded, and tables of requests against them.
# Source it after lib.sh.
export XDG_RUNTIME_DIR=$scratch/run
mkdir -m 700 "$XDG_RUNTIME_DIR"
sockets=$XDG_RUNTIME_DIR/cairn

# A stand-in for the cairn command that shows how it was called: the plumbing is tested with it, the real one elsewhere.
stand_in=$scratch/stand-in
cat >"$stand_in" <<'TOOL'
#!/bin/sh
case $1 in
flame) printf '<svg>%s %s</svg>\n' "$*" "$(head -c 8)" ;;
html) printf '<html>%s %s</html>\n' "$*" "$(head -c 8)" ;;
pprof) printf 'pprof %s %s' "$*" "$(head -c 8)"; [ ! -e /dev/fd/3 ] || printf ' base %s' "$(head -c 8 /dev/fd/3)"; echo ;;
collapsed) printf 'main;work %s\n' "$(wc -c)" ;;
symbols) sed -n 's/^\(0x.*\)/\1\tname of \1/p' ;;
crash) kill -SEGV $$ ;;
esac
[ -z "$LD_PRELOAD$MALLOC_CONF$CAIRN_CONF" ] || echo "the environment was passed on"
TOOL
chmod +x "$stand_in"

# start_redis NAME [REDIS-OPTION...]: a preloaded redis-server. Sets pid_NAME, port_NAME (redis) and url_NAME (the agent). Takes
# CONF (more of CAIRN_CONF), MALLOC (MALLOC_CONF) and TOOL from the environment.
start_redis() {
	local name=$1 port agent
	shift
	port=$(free_port) agent=$(free_port)
	mkdir -p "$scratch/$name"
	LD_PRELOAD=$library CAIRN_CONF=listen:127.0.0.1:$agent${CONF:+,$CONF} CAIRN_TOOL=${TOOL-$stand_in} MALLOC_CONF=${MALLOC-prof:true,lg_prof_sample:12} \
		redis-server --port "$port" --save "" --dir "$scratch/$name" "$@" >"$scratch/$name.log" 2>&1 &
	children+=($!)
	printf -v "pid_$name" %s $!
	printf -v "port_$name" %s "$port"
	printf -v "url_$name" %s "http://127.0.0.1:$agent"
	wait_for 10 redis-cli -p "$port" ping && wait_for 10 curl -s "http://127.0.0.1:$agent/cairn/status" || { sed 's/^/# /' "$scratch/$name.log"; return 1; }
}

# has_agent PID: its agent answers. The socket is there a moment before anybody listens on it.
has_agent() { curl -s -o /dev/null --max-time 20 --unix-socket "$sockets/$1.sock" http://localhost/cairn/status; }

# is_loaded PID: the agent is in it, whether it runs or waits
is_loaded() { grep -q libcairn "/proc/$1/maps"; }

# load PORT: something to sample
load() { wait_for 10 redis-cli -p "$1" ping; timeout 300 redis-benchmark -p "$1" -n 4000 -r 100000 -d 1000 -t set,lpush -q >/dev/null; }

# field URL KEY...: a member of the status; if what came is none, its beginning is shown, or why nothing came
field() {
	local url=$1
	shift
	curl -sSi --max-time 20 "$url/cairn/status" 2>&1 | python3 -c 'import json, sys
came = sys.stdin.read()
try: value = json.loads(came.partition("\r\n\r\n")[2])
except ValueError: sys.exit("no status: " + came[:500])
for key in sys.argv[1:]: value = value[key]
print("" if value is None else str(value).lower() if isinstance(value, bool) else value)' "$@"
}

# snapshot_has_samples NAME CURL-ARGUMENT...: the snapshot asked for holds samples; if not, what came instead is shown
snapshot_has_samples() {
	local name=$1 count
	shift
	curl -sSi --max-time 60 "$@" >"$scratch/snapshot" 2>&1
	count=$(sed -n '/^ *t\*:/{s/ *t\*: \([0-9]*\):.*/\1/p;q}' "$scratch/snapshot")
	[ "${count:-0}" -gt 0 ]
	ok $? "$name: ${count:-no} samples"
	[ "${count:-0}" -gt 0 ] || head -n 12 "$scratch/snapshot" | cut -c 1-300 | sed 's/^/#   /'
}

# has_samples URL NAME
has_samples() { snapshot_has_samples "$2" "$1/pprof/heap"; }

# table URL: lines of `METHOD PATH | STATUS | TYPE | BODY PATTERN | curl options`, each a test; ↵ is a line end
table() {
	local url=$1 request status type pattern options got
	while IFS='|' read -r request status type pattern options; do
		request=$(echo $request) status=$(echo $status) type=$(echo $type) pattern=${pattern# } pattern=${pattern% }
		[ -n "$request" ] || continue
		eval "set -- $options"
		got=$(curl -s --max-time 30 -X "${request%% *}" -o "$scratch/body" -w '%{http_code} %{content_type}' "$@" "$url${request#* }")
		local body
		body=$(head -c 8000 "$scratch/body" | tr -d '\0' && echo x) body=${body%x} body=${body//$'\n'/↵}
		if [ "${got%% *}" = "$status" ] && [[ ${got#* } == $type ]] && [[ $body == $pattern ]]; then
			ok 0 "$request${options:+ $options} is $status"
		else
			ok 1 "$request${options:+ $options} is $status $type $pattern"
			printf '#   got %s: %s\n' "$got" "${body:0:200}"
		fi
	done
}
