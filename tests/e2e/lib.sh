# lib.sh - what every end-to-end test starts with: TAP, a scratch folder, and where the programs are.
# Run from the repository's root. A test ends with `done_testing`.
set -u
PATH=$PATH:/usr/sbin:/sbin # ldconfig is there, which the PATH of an ordinary user leaves out
cairn=$PWD/${CAIRN_BUILD:-build}/cairn
library=$PWD/${CAIRN_BUILD:-build}/libcairn.so
shared=$PWD/../shared
root=$PWD
scratch=${TMPDIR:-/tmp}
[ ${#scratch} -le 40 ] || scratch=/tmp # the path of a socket has 107 bytes at most, and tests have theirs some folders deep
scratch=$(mktemp -d "$scratch/cairn-test.XXXXXX")
children=()
# A python3 that is a script (pyenv's) looks for the real one each time, in dozens of processes, and is another process until it has it. Without
# the packages of this machine, which tests in this folder do not use, Python starts in half the time.
export CAIRN_PYTHON=${CAIRN_PYTHON:-$(python3 -c 'import sys; print(sys.executable)' 2>/dev/null)}
if [ -n "$CAIRN_PYTHON" ]; then
	mkdir "$scratch/.bin"
	ln -s "$CAIRN_PYTHON" "$scratch/.bin/python3"
	[[ $0 == tests/e2e-all/* ]] || printf 'home = %s\ninclude-system-site-packages = false\n' "${CAIRN_PYTHON%/*}" >"$scratch/.bin/pyvenv.cfg"
	PATH=$scratch/.bin:$PATH
fi
export GOCACHE=${GOCACHE:-${XDG_CACHE_HOME:-${HOME:-/tmp}/.cache}/go-build} # Go builds its tools on demand; not anew for each scratch folder
export XDG_CACHE_HOME=$scratch/cache

# is_ours PID: one of the processes this test started. Numbers are used again, on a busy machine within minutes.
is_ours() {
	grep -qsx "PPid:[[:space:]]*$$" "/proc/$1/status" || [[ $(readlink "/proc/$1/cwd") == "$scratch"* ]] ||
		grep -qsazxF "XDG_CACHE_HOME=$scratch/cache" "/proc/$1/environ"
}
# end_children [SIGNAL]
end_children() {
	local child
	for child in "${children[@]}"; do is_ours "$child" && kill "${1:--TERM}" "$child" 2>/dev/null; done
	wait 2>/dev/null
}
trap 'end_children; rm -rf "$scratch"' EXIT

tap_count=0 tap_failed=0

# ok STATUS NAME: holds when STATUS is 0
ok() {
	tap_count=$((tap_count + 1))
	if [ "$1" -eq 0 ]; then echo "ok $tap_count - $2"; else
		echo "not ok $tap_count - $2"
		tap_failed=$((tap_failed + 1))
	fi
}

# holds NAME COMMAND...: the command succeeds
holds() {
	local name=$1
	shift
	"$@" >"$scratch/.holds" 2>&1
	local status=$?
	ok $status "$name"
	[ $status -eq 0 ] || sed 's/^/#   /' "$scratch/.holds" | head -n 5
}

# is GOT WANTED NAME
is() {
	[ "$1" = "$2" ]
	ok $? "$3"
	[ "$1" = "$2" ] || printf '  got:    %s\n  wanted: %s\n' "${1:0:300}" "${2:0:300}" | sed 's/^/# /'
}

# like GOT PATTERN NAME: a bash pattern
like() {
	[[ $1 == $2 ]]
	ok $? "$3"
	[[ $1 == $2 ]] || printf '  got:      %s\n  not like: %s\n' "${1:0:300}" "$2" | sed 's/^/# /'
}

# A test is skipped only for what this machine does not allow: another user, no mounts, no control groups. What `make check` installs is
# there: where it is not, or a service does not start under the agent, the test fails (`broken`). Skips are listed at the end of the run.

# skip NAME REASON
skip() {
	tap_count=$((tap_count + 1))
	echo "ok $tap_count - $1 # SKIP $2"
	note_skip "$1" "$2"
}

# skip_all REASON: the whole file cannot run here
skip_all() {
	echo "1..0 # SKIP $1"
	note_skip 'all of it' "$1"
	exit 0
}

note_skip() { [ -z "${CAIRN_SKIPS:-}" ] || printf '%s: %s: %s\n' "${0#"$root"/}" "$1" "$2" >>"$CAIRN_SKIPS"; }

# broken REASON: the rest of the file cannot run, and that is a failure
broken() {
	ok 1 "$1"
	[ ! -s "$scratch/log" ] || tail -n 5 "$scratch/log" | sed 's/^/#   /'
	done_testing
}

# need COMMAND...: what the tests' packages bring
need() {
	for tool; do command -v "$tool" >/dev/null || broken "no $tool here; 'make check' installs it"; done
}

# free_port: a port nobody listens on, below those that the kernel gives to clients: one of them may have any of those a moment later
free_port() {
	local port
	while port=$((10000 + SRANDOM % 22768)) && (: >"/dev/tcp/127.0.0.1/$port") 2>/dev/null; do :; done
	echo "$port"
}

# wait_for SECONDS COMMAND...: until the command succeeds. SECONDS is more than it takes on a machine of its own; a busy one has ten times
# as long, since the limit is only there for what never comes. What takes long is asked for ever less often, up to half a second.
wait_for() {
	local deadline=$((SECONDS + 10 * $1)) pause=5
	shift
	until "$@" >/dev/null 2>&1; do
		[ $SECONDS -lt $deadline ] || { echo "waited in vain: $*" >&2; return 1; }
		sleep "$((pause / 100)).$((pause / 10 % 10))$((pause % 10))"
		pause=$((pause < 33 ? pause * 3 / 2 : 50))
	done
}

# `make check` runs everything once. `make check-long` sets CAIRN_LONG and runs again the tests that then do more: more rounds, larger samples.
# is_long: whether that is so; rounds FEW MANY: the number that goes with it
# more COMMAND...: only then
is_long() { [ -n "${CAIRN_LONG:-}" ]; }
more() { ! is_long || "$@"; }
rounds() { if is_long; then echo "$2"; else echo "$1"; fi; }

# of_json EXPRESSION: in Python, over r, the JSON on standard input
of_json() { python3 -c 'import json, sys; r = json.load(sys.stdin); print(eval(sys.argv[1]))' "$1"; }

# on_terminal COMMAND...: what it shows there, without the terminal's line ends
on_terminal() { python3 -c 'import pty, sys; pty.spawn(sys.argv[1:])' "$@" </dev/null | tr -d '\r'; }

# is_stopped PID: SIGSTOP has reached it. Before that it may still answer.
is_stopped() { grep -q '^State:.T' "/proc/$1/status"; }
# runs PID PROGRAM: it is that program by now, and not a copy of this shell any more
runs() { [ "$(readlink "/proc/$1/exe")" = "$(readlink -f "$(command -v "$2")")" ]; }

# demo_dumps: the demo service as ./leaky, and two dumps of one run of it, before.heap and now.heap. How much a run of the service
# allocates depends on the machine, so it runs, longer and longer, until there is enough to show.
demo_dumps() {
	${CC:-cc} -O2 -g -pthread "$root/examples/leaky/leaky.c" -o leaky -ljemalloc 2>"$scratch/log" || broken 'the demo service links with jemalloc'
	for seconds in 1 2 4 8 16; do
		rm -f je.*.heap
		MALLOC_CONF=prof:true,prof_accum:true,lg_prof_sample:12,lg_prof_interval:22,prof_final:true,prof_prefix:je ./leaky $seconds >/dev/null
		set -- $(ls -v je.*.i*.heap 2>/dev/null)
		[ $# -ge 4 ] && [ "$(grep -c '^@' je.*.f.heap)" -ge 4 ] && break
	done
	[ $# -ge 4 ] || broken 'the demo service leaves dumps'
	cp "$3" before.heap && mv je.*.f.heap now.heap && rm -f je.*.heap
}

# steady_inside PROGRAM, steady_prefixed PROGRAM: tests/hosts/steady.c with jemalloc linked into it, as it is or with the prefix that Rust
# gives its names
steady_inside() {
	${CC:-cc} -O2 -g -w "$root/tests/hosts/steady.c" -o "$1" "$(${CC:-cc} -print-file-name=libjemalloc_pic.a)" -lstdc++ -lm -pthread ||
		broken 'a program with jemalloc inside links'
}
steady_prefixed() {
	local archive
	archive=$(${CC:-cc} -print-file-name=libjemalloc_pic.a)
	nm -g --defined-only "$archive" 2>/dev/null | awk '$2 ~ /[TW]/ && $3 !~ /^(je_|_Z)/ {print $3, "_rjem_" $3}' | sort -u >"$scratch/renamed"
	objcopy --redefine-syms="$scratch/renamed" "$archive" "$scratch/libprefixed.a" &&
		${CC:-cc} -O2 -g -w -Dmalloc=_rjem_malloc -Dfree=_rjem_free "$root/tests/hosts/steady.c" -o "$1" "$scratch/libprefixed.a" -lstdc++ -lm -pthread ||
		broken 'a program with a prefixed jemalloc links'
}

# quick_nm: stock jeprof and google-pprof have nm list every library several times in each run; from now on, what it says of one is kept
quick_nm() {
	mkdir "$scratch/.nm"
	cat >"$scratch/.nm/nm" <<'SCRIPT'
#!/bin/bash
case ${!#} in
/lib/* | /usr/*) ;;
*) exec nm "$@" ;;
esac
kept=$* kept=${0%/*}/${kept//\//_}
[ -e "$kept" ] || { nm "$@" >"$kept.$$" && mv "$kept.$$" "$kept"; } || exit
[ /dev/stdout -ef /dev/null ] || exec cat "$kept"
SCRIPT
	chmod +x "$scratch/.nm/nm"
	export JEPROF_TOOLS=nm:$scratch/.nm/nm,$(dirname "$(command -v nm)")/
	export PPROF_TOOLS=$JEPROF_TOOLS
}

# earlier_dumps COUNT: as jemalloc wrote them in the current folder for an earlier run of a service; earlier_left: how many are left
earlier_dumps() {
	local number
	for number in $(seq "$1"); do
		printf 'heap_v2/524288\n  t*: 1: 600000 [0: 0]\n@ 0x1000 0x2000\n  t*: 1: 600000 [0: 0]\n\nMAPPED_LIBRARIES:\n1000-3000 r-xp 0 00:00 0 /bin/service\n' >"earlier.1.$number.i$number.heap"
	done
	touch -d '1 hour ago' earlier.1.*.heap
}
earlier_left() { ls | grep -c '^earlier\.1\.'; }

done_testing() {
	echo "1..$tap_count"
	exit $((tap_failed > 0))
}
