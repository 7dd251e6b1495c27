#!/usr/bin/env bash
# cairn jeprof against stock jeprof on a dump of ceph-osd, whose debug information is 1 GB: with an empty cache of names (wanted: 10
# times faster) and with a warm one (100 times); and every command of the shell (wanted: 100 ms).
. tests/bench/lib.sh
heading 'jeprof on a dump of ceph-osd (cold: empty cache, wanted 10x; warm: wanted 100x)'
program=$(command -v ceph-osd) || { without 'jeprof on ceph-osd' 'no ceph-osd here'; exit 0; }
command -v jeprof >/dev/null || { without 'jeprof on ceph-osd' 'no jeprof here'; exit 0; }
ceph_dump || { without 'jeprof on ceph-osd' 'ceph-osd left no dump'; exit 0; }
dump=$bench/ceph.heap
# The base is an earlier state of the same process: half of its stacks.
[ -s "$bench/ceph-base.heap" ] || awk '/^@/ { stack++ } /^MAPPED/ { maps = 1 } maps || !stack || stack % 2' "$dump" >"$bench/ceph-base.heap"
base=$bench/ceph-base.heap
printf '%s bytes, %s stacks\n' "$(stat -c %s "$dump")" "$(grep -c '^@' "$dump")"

cold() {
	rm -rf "$XDG_CACHE_HOME"
	"$cairn" jeprof "$@"
}
compare() { # compare NAME ARGUMENTS...
	local name=$1 theirs
	shift
	theirs=$(seconds 1 jeprof "$@" "$program" "$dump")
	row "$name, cold" "$(seconds 3 cold "$@" "$program" "$dump")" jeprof "$theirs" 10
	"$cairn" jeprof "$@" "$program" "$dump" >/dev/null 2>&1
	row "$name, warm" "$(seconds 7 "$cairn" jeprof "$@" "$program" "$dump")" jeprof "$theirs" 100
}
compare '--text --cum --show_bytes' --text --cum --show_bytes
compare '--lines' --text --lines
compare '--list=BlueStore::_open_db' --list=BlueStore::_open_db
compare '--base' --text --base "$base"

heading 'The shell on that dump (wanted: each under 0.1 s)'
python3 tests/bench/shell.py "$cairn" "$dump" top20 'list BlueStore::_open_db' 'peek BlueStore::mkfs' tree traces tags 'top --lines --cum' 'top --focus=rocksdb' \
	'disasm BlueStore::_open_db' callgrind flame collapsed options
