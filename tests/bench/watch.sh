#!/usr/bin/env bash
# What `cairn watch` costs on 100 processes (WATCH_PROCESSES) over 10 seconds (WATCH_SECONDS), as a share of one core, against a
# shell loop that does what dump.sh does, a ps for each process, once a second and once in ten minutes as the script does it.
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
for _ in $(seq "$processes"); do
	LD_PRELOAD=$jemalloc:$library MALLOC_CONF=prof:true sleep 600 &
	pids+=($!)
done
ready() { [ "$(ls "$scratch/cairn" 2>/dev/null | grep -c '\.sock$')" -ge "$processes" ]; }
for _ in $(seq 100); do ready && break; sleep 0.2; done

ticks() { awk '{print $14 + $15}' "/proc/$1/stat"; }
# share TICKS: in hundredths of a percent of a core over the seconds
share() { awk "BEGIN {printf \"%.2f\", 100 * $1 / $(getconf CLK_TCK) / $seconds}"; }
# cost NAME COMMAND...: the share of a core it takes after its first five seconds
cost() {
	local name=$1 before after
	shift
	"$@" >"$scratch/out" 2>&1 &
	others+=($!)
	sleep 5
	before=$(ticks $!) && sleep "$seconds" && after=$(ticks $!)
	printf '%-44s %8s %% of a core, %s descriptors, %s kB\n' "$name" "$(share $((after - before)))" "$(ls "/proc/$!/fd" | wc -l)" \
		"$(awk '/RssAnon/ {print $2}' "/proc/$!/status")"
	kill $! && wait $! 2>/dev/null
}
cost "cairn watch (wanted: under 1 %)" "$cairn" watch -o "$scratch/dumps" "${pids[@]}"
printf '%-44s %8s of %s\n' "  dumps at the start" "$(ls "$scratch/dumps" | wc -l)" "$processes"
cost "cairn watch with all rules" "$cairn" watch -o "$scratch/all" --grow 20M --high 100M --share 90% --pressure 10% --time 1h --interval 4G "${pids[@]}"

# One round of the script over all processes: CPU time of the children, by the shell's own clock.
round() { for pid in "${pids[@]}"; do ps -o rss= -p "$pid" >/dev/null; done; }
times >"$scratch/before" && round && round && round && times >"$scratch/after"
spent() { awk 'NR == 2 {gsub(/[ms]/, " "); print $1 * 60 + $2 + $3 * 60 + $4}' "$1"; }
awk "BEGIN {cpu = ($(spent "$scratch/after") - $(spent "$scratch/before")) / 3
	printf \"%-44s %8.2f %% of a core\n\", \"a shell loop with ps, once a second\", 100 * cpu
	printf \"%-44s %8.2f %% of a core\n\", \"the same once in ten minutes, as dump.sh\", 100 * cpu / 600}"
