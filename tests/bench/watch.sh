#!/usr/bin/env bash
# What `cairn watch` costs on 100 processes (WATCH_PROCESSES) over 10 seconds (WATCH_SECONDS), as a share of one core, with each of the two
# engines, against a shell loop that does what dump.sh does, a ps for each process, once a second and once in ten minutes as the script does it.
set -u
. tests/bench/lib.sh
library=$PWD/$build/libcairn.so
processes=${WATCH_PROCESSES:-100} seconds=${WATCH_SECONDS:-10}
export XDG_RUNTIME_DIR=$scratch
pids=() others=()
trap 'kill "${pids[@]}" "${others[@]}" 2>/dev/null; wait 2>/dev/null; rm -rf "$scratch"' EXIT
jemalloc=$(ls /usr/lib/*/libjemalloc.so.2 /usr/lib64/libjemalloc.so.2 2>/dev/null | head -n 1)
[ -n "$jemalloc" ] || { without "watch: $processes processes" "no libjemalloc.so.2 here"; exit 0; }
heading "watch: $processes processes for $seconds s"
cc -O2 -o "$scratch/holder" -x c - <<'C' || exit 1
#include <stdlib.h>
#include <unistd.h>
void *volatile held;
int main(void) { for (int i = 0; i < 200; i++) held = malloc(1 << 20); pause(); }
C

# start LIBRARIES SETTING...: the processes, which hold some memory, until all their agents answer
start() {
	local i
	kill "${pids[@]}" 2>/dev/null
	wait "${pids[@]}" 2>/dev/null
	pids=()
	rm -rf "$scratch/cairn"
	for i in $(seq "$processes"); do
		env "LD_PRELOAD=$1" "${@:2}" "$scratch/holder" &
		pids+=($!)
	done
	until [ "$(ls "$scratch/cairn" 2>/dev/null | grep -c '\.sock$')" -ge "$processes" ]; do sleep 0.2; done
}

# spent PID: its CPU time in nanoseconds
spent() { cat "/proc/$1"/task/*/schedstat | awk '{ sum += $1 } END { printf "%d", sum }'; }
# cost NAME COMMAND...: the share of a core it takes after its first five seconds
cost() {
	local name=$1 before after
	shift
	"$@" >"$scratch/out" 2>&1 &
	others+=($!)
	sleep 5
	before=$(spent $!) && sleep "$seconds" && after=$(spent $!)
	printf '%-44s %8s %% of a core, %s descriptors, %s kB\n' "$name" "$(awk "BEGIN { printf \"%.2f\", ($after - $before) / $seconds / 1e7 }")" \
		"$(ls "/proc/$!/fd" | wc -l)" "$(awk '/RssAnon/ {print $2}' "/proc/$!/status")"
	kill $! && wait $! 2>/dev/null
}
for engine in jemalloc cairn; do
	if [ $engine = jemalloc ]; then
		start "$jemalloc:$library" CAIRN_CONF=listen:unix MALLOC_CONF=prof:true
	else
		start "$library" CAIRN_CONF=listen:unix,enable_heap_profiling:true,engine:cairn
	fi
	cost "cairn watch, $engine's engine (wanted: under 0.5 %)" "$cairn" watch -o "$scratch/dumps.$engine" "${pids[@]}"
	printf '%-44s %8s of %s\n' "  dumps at the start" "$(ls "$scratch/dumps.$engine" | wc -l)" "$processes"
	cost "cairn watch with all rules" "$cairn" watch -o "$scratch/all.$engine" --grow 20M --high 100M --share 90% --pressure 10% --time 1h --interval 4G "${pids[@]}"
done

# One round of the script over all processes: CPU time of the children, by the shell's own clock.
round() { for pid in "${pids[@]}"; do ps -o rss= -p "$pid" >/dev/null; done; }
times >"$scratch/before" && round && round && round && times >"$scratch/after"
of_children() { awk 'NR == 2 {gsub(/[ms]/, " "); print $1 * 60 + $2 + $3 * 60 + $4}' "$1"; }
awk "BEGIN {cpu = ($(of_children "$scratch/after") - $(of_children "$scratch/before")) / 3
	printf \"%-44s %8.2f %% of a core\n\", \"a shell loop with ps, once a second\", 100 * cpu
	printf \"%-44s %8.2f %% of a core\n\", \"the same once in ten minutes, as dump.sh\", 100 * cpu / 600}"
