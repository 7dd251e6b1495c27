# views.sh - sourced by tests of the views that are shaped like Coroot's tables: they say the same as `cairn fleet`.
# The caller has `store`, `cluster` (options of `cairn store init`), `sql STATEMENT` (prints rows, columns separated by tabs), `folded` (the
# expression that makes one text of a stack, root first), `scratch` and gcc.

# check_views: six instances with a snapshot every ten minutes, one with a snapshot a minute, and a program whose names come later
check_views() {
	local i file at rows
	local bytes="Type = 'go:heap_inuse_space:bytes'"
	python3 tests/e2e/make-series.py "$scratch/views-minutes" weighed 3 15 60
	for i in 1 2; do python3 tests/e2e/make-series.py "$scratch/views-$i" weighed "$i" 4; done
	cat >"$scratch/views.c" <<'C'
#include <stdlib.h>
void *volatile held;
static inline __attribute__((always_inline)) void inner(void) { held = malloc(1000); held = malloc(1001); }
__attribute__((noinline)) void outer(void) { inner(); held = malloc(1002); }
int main(void) { outer(); }
C
	gcc -g -O1 -Wl,--build-id=sha1 -o "$scratch/views" "$scratch/views.c"
	spool=$scratch/spool-views collect
	for again in 1 2; do # all of it twice
		for file in "$scratch"/views-[12]/*.heap; do
			i=${file%/*} i=${i##*-}
			post_all "service=shown&version=$i&host=h$i&zone=a%20b%26c&pod=p$i" "$file"
		done
	done
	post_all 'service=minutely&version=1&host=m' $(ls -v "$scratch"/views-minutes/*.heap)
	python3 tests/e2e/make-dump.py "$scratch/views" outer >"$scratch/dump"
	post_all 'service=unnamed&host=u' "$scratch/dump"
	wait_for 120 emptied

	ask() { "$cairn" fleet "$@" --store "$store" 2>"$scratch/notes"; }
	total() { ask top "$@" --json | of_json 'r["total"]'; }
	near() { python3 -c 'import sys; a, b, most = map(float, sys.argv[1:]); sys.exit(not abs(a - b) <= most)' "$1" "$2" "$3"; }
	is "$(sql "SELECT count(*) FROM (SELECT DISTINCT Instance, Start FROM profiling_samples WHERE ServiceName = 'shown') AS x")" 8 'views: every snapshot that is whole, sent twice and there once'
	rows=$(sql "SELECT count(*) FROM profiling_samples WHERE ServiceName = 'shown' AND $bytes")
	holds 'views: what they add up to, averaged over time, is what cairn fleet top says' near \
		"$(sql "SELECT sum(Value) / 4 FROM profiling_samples WHERE ServiceName = 'shown' AND $bytes")" "$(total --service shown --from 1789000000)" "$rows"
	is "$(sql "SELECT count(*) FROM (SELECT DISTINCT Start FROM profiling_samples WHERE ServiceName = 'minutely') AS x")" \
		"$(sql "SELECT count(*) FROM (SELECT DISTINCT time_ns FROM snapshots WHERE base_ns = 0 AND instance IN (SELECT instance FROM processes WHERE service = 'minutely')) AS x")" \
		'views: of snapshots a minute apart, the whole ones'
	is "$(($(sql "SELECT count(*) FROM (SELECT DISTINCT Start FROM profiling_samples WHERE ServiceName = 'minutely') AS x") < 8))" 1 'views: which are a few of fifteen'
	at=$(sed -n 's/^# cairn time //p' "$(ls -v "$scratch"/views-1/*.heap | tail -n 1)")
	ask collapsed --service shown --version 1 --from "$at" --to "$at" | sort >"$scratch/wanted"
	sql "SELECT $folded, Value FROM (SELECT StackHash AS Hash, Value FROM profiling_samples WHERE ServiceName = 'shown' AND $bytes AND Instance IN (SELECT instance FROM processes WHERE service = 'shown' AND version = '1') AND Start >= '$(date -u -d "@${at%.*}" '+%F %T')') AS x JOIN (SELECT Hash, Stack FROM profiling_stacks WHERE ServiceName = 'shown') AS y USING (Hash)" | tr '\t' ' ' | sort >"$scratch/got"
	holds 'views: stack by stack, what cairn fleet collapsed says' python3 - "$scratch/wanted" "$scratch/got" <<'P'
import sys
wanted, got = ({stack: int(value) for stack, value in (line.rsplit(" ", 1) for line in open(name))} for name in sys.argv[1:])
sys.exit(not (len(wanted) > 40 and wanted.keys() == got.keys() and all(abs(wanted[stack] - got[stack]) <= 1 for stack in wanted)))
P
	is "$(sql 'SELECT ServiceName, Type FROM profiling_profiles ORDER BY ServiceName, Type' | tr '\n\t' '; ')" \
		"$(for i in minutely shown unnamed; do printf '%s go:heap_inuse_objects:count;%s go:heap_inuse_space:bytes;' $i $i; done)" 'views: what there is'
	like "$(sql "SELECT $folded FROM profiling_stacks WHERE ServiceName = 'unnamed'")" 'app+0x*' 'views: a frame without a name is its module and the offset'
	is "$(sql "SELECT $folded FROM profiling_stacks WHERE ServiceName = 'unnamed'")" "$(ask collapsed --service unnamed --from 1789000000 | sed 's/ [0-9]*$//')" 'views: as everywhere'
	"$cairn" symbols push --to "$url" "$scratch/views" >"$scratch/out"
	has_names() { ask collapsed --service unnamed --from 1789000000 | grep -q '^outer;inner '; }
	wait_for 60 has_names
	is "$(sql "SELECT $folded FROM profiling_stacks WHERE ServiceName = 'unnamed'")" "outer $scratch/views.c:4;inner $scratch/views.c:3" 'views: once it has one, its functions with file and line'
	stop

	# Stores that were made before there were views; and names that are somebody else's.
	local drop=VIEW
	[ "${store%%:*}" = sqlite ] || drop=TABLE
	for i in profiling_samples profiling_stacks profiling_profiles; do sql "DROP $drop $i"; done
	holds 'views: a store without them' "$cairn" store init -q "$store" "${cluster[@]}"
	is "$(sql "SELECT count(*) FROM profiling_samples WHERE ServiceName = 'shown' AND $bytes")" "$rows" 'views: gets them'
	sql "DROP $drop profiling_samples"
	sql "CREATE TABLE profiling_samples (mine $([ "$drop" = VIEW ] && echo INTEGER || echo 'UInt64) ENGINE = Log') $([ "$drop" = VIEW ] && echo ')')"
	sql 'INSERT INTO profiling_samples VALUES (7)'
	holds 'views: a table of that name' "$cairn" store init -q "$store" "${cluster[@]}"
	is "$(sql 'SELECT mine FROM profiling_samples')" 7 'views: stays'
	sql 'DROP TABLE profiling_samples'
	"$cairn" store init -q "$store" "${cluster[@]}"
	is "$(sql "SELECT count(*) FROM profiling_samples WHERE ServiceName = 'shown' AND $bytes")" "$rows" 'views: and once it is gone, the view is there again'
}
