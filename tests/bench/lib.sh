# lib.sh - for benchmarks: medians of wall time, ratios, one table. Run from the repository's root.
set -u
PATH=$PATH:/usr/sbin:/sbin # ldconfig is there, which the PATH of an ordinary user leaves out
build=${CAIRN_BUILD:-build}
cairn=$PWD/$build/cairn
bench=$PWD/$build/bench # inputs that take long to make are kept here
mkdir -p "$bench"
scratch=$(mktemp -d "${TMPDIR:-/tmp}/cairn-bench.XXXXXX")
export XDG_CACHE_HOME=$scratch/cache
trap 'rm -rf "$scratch"' EXIT

# seconds RUNS COMMAND...: the median wall time of that many runs
seconds() {
	local runs=$1
	shift
	for _ in $(seq "$runs"); do
		local start=$EPOCHREALTIME
		"$@" >/dev/null 2>&1 </dev/null
		local end=$EPOCHREALTIME
		awk "BEGIN { print $end - $start }"
	done | sort -g | awk '{ value[NR] = $1 } END { print value[int((NR + 1) / 2)] }'
}

# peak_mb COMMAND...: its peak memory in MB
peak_mb() {
	/usr/bin/time -f %M -o "$scratch/peak" "$@" >/dev/null 2>&1 </dev/null
	awk '{ value = $1 } END { printf "%.0f", value / 1024 }' "$scratch/peak"
}

# row WHAT OURS PEER PEER_SECONDS WANTED: one line of the table
row() {
	awk -v what="$1" -v ours="$2" -v peer="$3" -v theirs="$4" -v wanted="${5:-}" 'BEGIN {
		ratio = theirs / ours
		printf "%-44s %9.3f s  %-22s %9.3f s  %7.1fx%s\n", what, ours, peer, theirs, ratio,
			wanted == "" ? "" : sprintf("  (wanted %sx: %s)", wanted, ratio >= wanted ? "met" : "NOT MET") }'
}

heading() { printf '\n%s\n' "$1"; }
without() { printf '%-44s left out: %s\n' "$1" "$2"; }

# ceph_dump: $bench/ceph.heap, a dump of ceph-osd making a file system, every allocation sampled; false when there is none
ceph_dump() {
	[ -s "$bench/ceph.heap" ] && return
	mkdir -p "$scratch/osd"
	(cd "$scratch" && LD_PRELOAD=libjemalloc.so.2 MALLOC_CONF=prof:true,prof_accum:true,lg_prof_sample:0,prof_final:true,prof_prefix:$scratch/ceph \
		timeout 200 ceph-osd -i 0 --no-mon-config --fsid "$(cat /proc/sys/kernel/random/uuid)" --mkfs --osd-uuid "$(cat /proc/sys/kernel/random/uuid)" \
		--osd-data osd --osd-objectstore bluestore --bluestore-block-size 1073741824 >log 2>&1)
	# The largest dump is the server's own; helpers it starts leave small ones.
	cp "$(ls -S "$scratch"/ceph.*.heap 2>/dev/null | head -n 1)" "$bench/ceph.heap" 2>/dev/null
}
