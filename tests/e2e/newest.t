#!/usr/bin/env bash
# Of several dumps the newest is shown: by the time that the dump or its name records, whatever happened to the files since.
. tests/e2e/lib.sh
mkdir "$scratch/folder"
# dump NAME SECONDS BYTES [PROGRAM]: a dump taken then that holds so much.
dump() {
	printf 'heap_v2/1\n  t*: 1: %d [0: 0]\n@ 0x1000\n  t*: 1: %d [0: 0]\n\nMAPPED_LIBRARIES:\n' "$3" "$3"
	[ -z "${4-}" ] || printf '1000-2000 r-xp 00000000 08:01 1 /srv/%s\n' "$4"
	[ "$2" = - ] || printf '# cairn trailer 1\n# cairn pid 7\n# cairn time %d.5\n# cairn end\n' "$2"
} >"$scratch/folder/$1"
total() { "$cairn" top --json "$@" "$scratch/folder" 2>"$scratch/err" | sed 's/.*"total":\([0-9]*\).*/\1/'; }
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
# What compressed dumps and profiles of other tools record counts too.
for kind in gzip zstd xz pprof pprof-gzip; do
	rm "$scratch"/folder/*
	dump a.heap 1700000300 300 first
	dump b.heap 1700000100 100 second
	dump c.heap 1700000200 200 second
	for file in "$scratch"/folder/*.heap; do
		case $kind in
		gzip) gzip "$file" ;;
		zstd) zstd -q --rm "$file" ;;
		xz) xz "$file" ;;
		pprof) "$cairn" pprof -o "${file%.heap}.pb" "$file" 2>/dev/null && rm "$file" ;;
		pprof-gzip) "$cairn" pprof -o "${file%.heap}.pb.gz" "$file" 2>/dev/null && rm "$file" ;;
		esac
	done
	touch -d '2020-01-01' "$scratch"/folder/a.*
	is "$(total) $(ls "$scratch/folder" | grep -c 'heap$')" "300 0" "$kind: the dump's own time counts"
	like "$(cat "$scratch/err")" "*3 dumps of 2 services (*); showing the newest, $scratch/folder/a.*(--service NAME chooses one)*" "$kind: its program too"
	is "$(total --service second)" 200 "$kind: --service chooses"
done
rm "$scratch"/folder/*
dump a.heap 1700000300 300
head -c 3000000 /dev/zero | gzip >"$scratch/folder/other.gz"
touch -d '2020-01-01' "$scratch/folder/other.gz"
is "$(total)" 300 "another compressed file does no harm"
rm "$scratch"/folder/*
printf 'heap_v2/524288\n  t*: 0: 0 [0: 0]\n\nMAPPED_LIBRARIES:\n' >"$scratch/folder/empty.heap"
dump full.heap - 100
touch -d '2020-01-01' "$scratch/folder/full.heap"
like "$("$cairn" top "$scratch/folder" 2>&1)" "*no samples*'cairn doctor $scratch/folder/empty.heap' explains why" "of an empty one, doctor is pointed to that one"
done_testing
