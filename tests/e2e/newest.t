#!/usr/bin/env bash
# Of several dumps the newest is shown: by the time that the dump or its name records, whatever happened to the files since.
. tests/e2e/lib.sh
mkdir "$scratch/folder"
# dump NAME SECONDS BYTES: a dump taken then that holds so much.
dump() {
	printf 'heap_v2/1\n  t*: 1: %d [0: 0]\n@ 0x1000\n  t*: 1: %d [0: 0]\n\nMAPPED_LIBRARIES:\n' "$3" "$3"
	[ "$2" = - ] || printf '# cairn trailer 1\n# cairn pid 7\n# cairn time %d.5\n# cairn end\n' "$2"
} >"$scratch/folder/$1"
total() { "$cairn" top --json "$scratch/folder" 2>/dev/null | sed 's/.*"total":\([0-9]*\).*/\1/'; }
dump a.heap 1700000300 300
dump b.heap 1700000100 100
dump c.heap 1700000200 200
touch -d '2020-01-01' "$scratch/folder/a.heap"
is "$(total)" 300 "the dump's own time counts, not that of a copied file"
rm "$scratch"/folder/*
dump 2026-11-15-04-10-02.auto.heap - 20
dump 2026-11-15-04-20-02.auto.heap - 30
dump 2026-11-15-04-00-02.auto.heap - 10
touch "$scratch/folder/2026-11-15-04-00-02.auto.heap"
is "$(total)" 30 "then the date in the name"
rm "$scratch"/folder/*
dump one.heap - 100
dump two.heap - 200
touch -d '2020-01-01' "$scratch/folder/two.heap"
is "$(total)" 100 "else the time of the file"
rm "$scratch"/folder/*
printf 'heap_v2/524288\n  t*: 0: 0 [0: 0]\n\nMAPPED_LIBRARIES:\n' >"$scratch/folder/empty.heap"
dump full.heap - 100
touch -d '2020-01-01' "$scratch/folder/full.heap"
like "$("$cairn" top "$scratch/folder" 2>&1)" "*no samples*'cairn doctor $scratch/folder/empty.heap' explains why" "of an empty one, doctor is pointed to that one"
done_testing
