#!/usr/bin/env bash
# ARCHITECTURE.md says where to add things. This follows one of its rows, a column of a table: one call, in a copy of the one file that it
# names. The command that is linked with that file has the column in its text and in its JSON.
. tests/e2e/lib.sh
need python3 ninja
build=$PWD/${CAIRN_BUILD:-build}
like "$(grep '^| a column of a table |' ARCHITECTURE.md)" '*| one call in*src/report/top.c*its text, its JSON*' 'the row is there'
awk '{ if (/^\tcairn_report_name\(running->report, row->entry\);$/) print "\tcairn_table_count(table, \"twice\", \"Twice\", 10, 2 * row->flat);"; print }' \
	src/report/top.c >"$scratch/top.c"
is "$(diff src/report/top.c "$scratch/top.c" | grep -c '^[<>]')" 1 'one call is added'
# linked: makes $scratch/cairn, as the build makes its own, but with the changed file
linked() {
	local compile link
	compile=$(python3 -c 'import json, sys; print(*(c["command"] for c in json.load(open(sys.argv[1])) if c["file"].endswith("src/report/top.c")), sep="\n")' \
		"$build/compile_commands.json" | head -n 1)
	link=$(ninja -C "$build" -t commands cairn | tail -n 1)
	compile=$(sed "s| [^ ]*src/report/top\.c| $scratch/top.c|; s| -o [^ ]*| -o $scratch/top.o|; s| -M[QF] [^ ]*||g; s| -MD||" <<<"$compile")
	link=${link/ -o cairn / -o $scratch/cairn $scratch/top.o }
	(cd "$build" && eval "$compile" && eval "$link")
}
holds 'the command is linked with it' linked
report() { "$scratch/cairn" top "$root/tests/fixtures/small.heap" "$@" 2>/dev/null; }
like "$(report)" '*Self*Twice*' 'its text has the column'
is "$(report --json | python3 -c 'import json, sys; rows = json.load(sys.stdin)["rows"]; print(len(rows) > 0 and all(abs(row["twice"] - 2 * row["flat"]) < 2 for row in rows))')" \
	True 'and so has its JSON'
done_testing
