# collector.sh - for tests with a collector: start it, send snapshots, and see when they are stored. Source it after lib.sh.
# `store` is where it puts them, `spool` its folder, and `authorization` has curl's options for its token.
store=sqlite:$scratch/fleet.db spool=$scratch/spool authorization=()

# launch_collector [OPTION...]: starts one and does not wait for it; sets collector and url. Takes at_port, and COLLECTOR_ENVIRONMENT,
# an array.
launch_collector() {
	local port=${at_port:-}
	[ -n "$port" ] || port=$(free_port)
	env "${COLLECTOR_ENVIRONMENT[@]}" "$cairn" collect --store "$store" --listen "127.0.0.1:$port" --spool "$spool" "$@" >"$scratch/collect.log" 2>&1 &
	collector=$! url=http://127.0.0.1:$port
	children+=("$collector")
}
COLLECTOR_ENVIRONMENT=()
# collect [OPTION...]: the same, until it answers
collect() { launch_collector "$@" && wait_for 20 is_healthy; }
is_healthy() { curl -sf "${authorization[@]}" "$url/health" -o "$scratch/health"; }
# stop [SIGNAL]: ends the collector; its exit code
stop() { kill "${1:--TERM}" "$collector"; wait "$collector" 2>/dev/null; }

# status CURL-ARGUMENT...: the status of the answer, which is in $scratch/answer
status() { curl -s -o "$scratch/answer" -w '%{http_code}' "$@"; }
# post QUERY FILE: sends a snapshot; the status of the answer
post() { status "${authorization[@]}" --data-binary "@$2" "$url/v1/snapshots?$1"; }
# post_all QUERY FILE...: sends snapshots, which are accepted, all of them
post_all() {
	local query=$1 file
	shift
	for file; do [ "$(post "$query" "$file")" = 202 ] || return 1; done
}
# metric NAME: of the collector's own
metric() { curl -s "${authorization[@]}" "$url/metrics" | awk -v name="cairn_collect_$1" '$1 == name { print $2 }'; }
# emptied: nothing waits to be stored
emptied() { [ "$(metric spool_files)" = 0 ]; }
# stored N: so many snapshots are in the store
stored() { [ "$(metric stored_total)" = "$1" ]; }

# make_app: $scratch/app, a program of two functions that allocate
make_app() {
	cat >"$scratch/app.c" <<'C'
#include <stdlib.h>
void *volatile held;
__attribute__((noinline)) void first_function(void) { held = malloc(1000); held = malloc(1001); }
__attribute__((noinline)) void second_function(void) { held = malloc(2000); held = malloc(2001); }
int main(void) { first_function(); second_function(); }
C
	gcc -g -O1 -Wl,--build-id=sha1 -o "$scratch/app" "$scratch/app.c" || broken 'gcc'
}
