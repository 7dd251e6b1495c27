# retention.sh - sourced by tests of stores in ClickHouse: what is too old or not in use any more goes, and names win over none.
# The caller has `store`, `cluster` (options of `cairn store init`), `sql STATEMENT`, `merge_frames` (has the server merge rows) and `scratch`.

# put_once SERVICE FILE [CACHE]: one snapshot by a collector that has just started
put_once() {
	local COLLECTOR_ENVIRONMENT=("XDG_CACHE_HOME=$scratch/${3:-cache}") spool
	spool=$(mktemp -d "$scratch/spool-XXXXXX")
	collect
	post_all "service=$1&version=1&host=r" "$2"
	wait_for 60 stored 1
	stop
}

# check_names: a frame that one sender can name and another cannot
check_names() {
	local build offset time=$(($(date +%s) - 60)) start path
	start=$((time - 100))
	printf 'int held;\nint work(void) { return held; }\nint main(void) { return work(); }\n' >"$scratch/named.c"
	gcc -g -O0 -Wl,--build-id -o "$scratch/named" "$scratch/named.c"
	build=$(readelf -n "$scratch/named" | sed -n 's/.*Build ID: //p')
	offset=$(nm "$scratch/named" | awk '$3 == "work" { print $1 }')
	for path in "$scratch/named" /nowhere/named; do
		printf 'heap_v2/1\n  t*: 1: 4096 [0: 0]\n@ 0x%x\n  t*: 1: 4096 [0: 0]\n\nMAPPED_LIBRARIES:\n%x-%x r-xp 00001000 00:00 1 %s\n' \
			$((0x500000000000 + 0x$offset + 4)) $((0x500000000000 + 0x1000)) $((0x500000000000 + 0x2000)) "$path"
		printf '# cairn trailer 1\n# cairn time %d.000000000\n# cairn pid 7\n# cairn start %d.000000000\n# cairn module %x-%x 1000 %s %s\n# cairn end\n' \
			$((time++)) $start $((0x500000000000 + 0x1000)) $((0x500000000000 + 0x2000)) "$build" "$path"
	done >"$scratch/two"
	csplit -s -z -f "$scratch/named-" "$scratch/two" '/^heap_v2/' '{*}'
	put_once named "$scratch/named-00"
	is "$("$cairn" fleet collapsed --store "$store" --service named 2>"$scratch/notes")" 'work 4096' 'a frame with its name'
	put_once named "$scratch/named-01" nothing
	merge_frames
	is "$("$cairn" fleet collapsed --store "$store" --service named 2>"$scratch/notes")" 'work 4096' 'is not replaced by one without, also when the server has merged its rows'
	is "$(sql "SELECT count() FROM frames WHERE build_id = '$build' AND nameless = 1")" 1 'which is there beside it'
}

# check_retention: rows of long ago, and of a frame that is in use still
check_retention() {
	local now old day=86400000000000 file
	now=$(date +%s)000000000 old=$(($(date +%s) - 100 * 86400))000000000
	sql "INSERT INTO frames VALUES (77, 'b', 'm', 1, 'gone', 0, $old), (78, 'b', 'm', 2, 'kept', 0, $old), (78, 'b', 'm', 2, '', 1, $now)"
	sql "INSERT INTO stacks VALUES (77, [77], $old)"
	sql "INSERT INTO processes VALUES (77, 1, 's', 'v', 'h', 1, 'p', 'b', $old, '', $old)"
	sql "INSERT INTO samples VALUES (77, $old, 77, 1, 1, 1, 0, 0), (77, $((old + day)), 77, 1, 1, 1, 0, 0)"
	sql "INSERT INTO bills VALUES (77, $old, 'live', 1), (77, $((old + day)), 'live', 1)"
	sql "INSERT INTO snapshots VALUES (77, $old, 1, 1, 1, 0, 1, 0, 0, '', 0, 0, 0, 0), (77, $((old + day)), 1, 1, 1, 0, 1, 0, 0, '', 0, 0, 0, 0)"
	before=$(sql 'SELECT count() FROM samples')
	"$cairn" store init -q "$store" "${cluster[@]}" --keep-days 99
	put_once named "$scratch/named-00"
	sql_counts() { echo "$(sql 'SELECT count() FROM frames WHERE frame = 77') $(sql 'SELECT count() FROM stacks WHERE stack = 77') $(sql 'SELECT count() FROM processes WHERE instance = 77') $(sql 'SELECT count() FROM samples WHERE instance = 77') $(sql 'SELECT count() FROM snapshots WHERE instance = 77') $(sql 'SELECT count() FROM bills WHERE instance = 77')"; }
	is "$(sql_counts)" '1 1 1 1 1 1' 'of two days, the one that is too old goes; what they refer to stays as long again as clocks may differ'
	"$cairn" store init -q "$store" "${cluster[@]}" --keep-days 90
	put_once named "$scratch/named-01"
	forgotten() { [ "$(sql_counts)" = '0 0 0 0 0 0' ]; }
	wait_for 60 forgotten
	is "$(sql_counts)" '0 0 0 0 0 0' 'then all of it goes, from every table'
	is "$(sql 'SELECT count() FROM frames WHERE frame = 78')" 2 'the names of a frame that is in use stay'
	is "$("$cairn" fleet collapsed --store "$store" --service named 2>"$scratch/notes")" 'work 4096' 'and so does what is not old'
}
