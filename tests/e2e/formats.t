#!/usr/bin/env bash
# Every way a dump may be named and packed, and what is said of what is no dump.
. tests/e2e/lib.sh
need python3 gzip zstd xz

dump=tests/fixtures/small.heap
total() { "$cairn" top --json "$@" 2>/dev/null | python3 -c 'import json, sys; print(json.load(sys.stdin)["total"])'; }
said() { "$cairn" "$@" 2>&1 >/dev/null; }

want=$(total $dump)
like "$want" '[1-9]*' "a dump has a total ($want)"
for tool in gzip zstd xz; do
	$tool -qc $dump >"$scratch/packed" 2>/dev/null
	is "$(total "$scratch/packed")" "$want" "the same inside $tool, whatever the file is called"
done
(printf 'P*M\030\004\0\0\0some' && zstd -qc $dump && printf 'Z*M\030\0\0\0\0' && printf '\n' | zstd -qc) >"$scratch/packed"
is "$(total "$scratch/packed")" "$want" 'the same among frames of zstd that hold no data'
zstd -qc --ultra --long=31 <$dump >"$scratch/packed"
is "$(total "$scratch/packed")" "$want" 'the same with the largest window that zstd has'
is "$(total - <$dump)" "$want" 'the same from standard input'
is "$(cat $dump | total -)" "$want" 'the same from a pipe'

mkdir "$scratch/series"
for i in 1 2 3; do sed "s/t\\*: /t*: $i/" $dump >"$scratch/series/svc.77.$i.m$i.heap"; done
touch -d '1 hour ago' "$scratch/series/svc.77.3.m3.heap"
echo 'not a dump' >"$scratch/series/notes.txt"
like "$(said top "$scratch/series")" '*3 dumps; showing the newest, *svc.77.3.m3.heap*' 'of a series the newest is shown, by its number'
is "$(total "$scratch/series")" "$(total "$scratch/series/svc.77.3.m3.heap")" 'and it is that one'
sum=$(total --sum $dump $dump)
holds '--sum adds up, but for rounding' test "$((sum - want * 2))" -ge -1 -a "$((sum - want * 2))" -le 1
is "$(total --base $dump $dump)" 0 'a profile less itself is nothing'

# Two builds under one path, without build-ids: another function is at the same place.
symbolized() {
	printf -- '--- symbol\nbinary=/srv/none\n0x401000 %s\n---\n--- heap\nheap profile: 1: %s [0: 0] @ heapprofile\n1: %s [0: 0] @ 0x401000\n' "$1" "$2" "$2"
	printf '\nMAPPED_LIBRARIES:\n00400000-00500000 r-xp 00000000 fd:01 1 /srv/none\n'
}
symbolized load 1000 >"$scratch/build1"
symbolized cache 900000 >"$scratch/build2"
sed '/^0x/d' "$scratch/build2" >"$scratch/nameless"
is "$("$cairn" collapsed --sum "$scratch/build1" "$scratch/build2" | sort)" 'cache 900000
load 1000' 'functions of two builds at one address are not mixed up'
like "$("$cairn" diff "$scratch/build1" "$scratch/build2")" '*new: 1,*cache*gone: 1,*load' 'nor when they are compared'
for order in 'build2 nameless' 'nameless build2'; do
	set -- $order
	is "$("$cairn" collapsed --sum "$scratch/$1" "$scratch/$2" 2>/dev/null)" 'cache 1800000' "names of one file serve the other: $order"
done
symbolized _ZN3foo3barEi 1000 >"$scratch/mangled"
is "$("$cairn" collapsed "$scratch/mangled")" 'foo::bar 1000' 'mangled names in a file are demangled'
is "$("$cairn" collapsed --no-symbols "$scratch/mangled")" '_ZN3foo3barEi 1000' 'unless names are not asked for'

for case in 'empty::*it is empty*' 'header:heap_v2/524288\n:*no samples*sampling was off*cairn doctor*' 'letter:Dear all,\nhow are you\n:*not a profile Cairn knows*' \
	'page:<html>404</html>:*web page*'; do
	IFS=: read -r name text pattern <<<"$case"
	printf "$text" >"$scratch/$name"
	like "$(said top "$scratch/$name")" "cairn: $pattern" "$name: a sentence"
	"$cairn" top "$scratch/$name" >/dev/null 2>&1
	is $? 1 "$name: exit code 1"
done
like "$(said top "$scratch/header")" "*'cairn doctor $scratch/header' explains why*" 'and who can tell more'
for command in pprof 'export --format pprof'; do
	said=$("$cairn" $command "$scratch/header" 2>&1 >"$scratch/header.pb.gz")
	like "$? $said" '0 cairn: note: *no samples*' "$command: for another tool it is a profile like any other"
	like "$(said top "$scratch/header.pb.gz")" 'cairn: *the profile has no samples*' 'which says the same'
done
"$cairn" export --format speedscope "$scratch/header" >"$scratch/none.json" 2>/dev/null
is "$? $(wc -c <"$scratch/none.json")" '1 0' 'a picture of nothing is still a failure'
like "$(said top /nonexistent/x.heap)" '*No such file*' 'a missing file'
like "$(said top /bin/true)" '*program or library*' 'a program in place of a dump'
like "$(said top)" '*missing SOURCE*' 'nothing named'
mkdir "$scratch/nothing"
like "$(said top "$scratch/nothing")" '*no heap dump in this folder*' 'an empty folder'
if [ "$(id -u)" = 0 ]; then skip 'an unreadable file' 'root can read everything'; else
	install -m 0 $dump "$scratch/secret"
	like "$(said top "$scratch/secret")" '*Permission denied*' 'an unreadable file'
fi
head -c $(($(stat -c %s $dump) / 2)) $dump >"$scratch/half"
like "$(said top "$scratch/half")" '*ends before its memory map*' 'half a dump gives half the answer, and says so'
like "$("$cairn" top "$scratch/half" 2>/dev/null)" '*Self*Total*Name*0x*' 'and the half is shown'
like "$(said top --alloc $dump)" '*prof_accum:true*' '--alloc without accumulated counts'
like "$(said top --thread nobody $dump)" "*no samples of thread 'nobody'; its threads are *" 'a thread that is not there'
sed 's,heap_v2/.*,heap_v2/4096,' $dump >"$scratch/other-period"
like "$(said top --base "$scratch/other-period" $dump)" '*each is scaled by its own*' 'a base with another period'
"$cairn" tpo 2>"$scratch/err"
is $? 2 'a mistyped command'
like "$(cat "$scratch/err")" "*did you mean 'top'?*" 'is guessed'
like "$(said top --colum $dump)" '*no option --colum*' 'a mistyped option'
is "$("$cairn" --version)" "cairn $(sed -n "s/.*version: '\(.*\)',/\1/p" meson.build | head -1)" 'the version'
mkdir "$scratch/one" && cp $dump "$scratch/one"
for words in "top $dump" "raw $dump" "flame $dump" "html $dump" "pprof $dump" "collapsed $dump" "gallery $scratch/one" 'cache' \
	'completion bash' 'manual top' 'help top' '--help' '--version' 'addr2line --version' 'addr2line --help' "addr2line -e $cairn 0x10" 'jeprof --version'; do
	"$cairn" $words >/dev/full 2>"$scratch/err"
	is "$?$(grep -c 'cannot write standard output: No space left' "$scratch/err")" 11 "a full disk is an error: ${words/ */}"
done
echo top | "$cairn" shell $dump >/dev/full 2>"$scratch/err"
is "$?$(grep -c 'cannot write standard output: No space left' "$scratch/err")" 11 'a full disk is an error: shell'
is "$(yes 0x10 | timeout 60 "$cairn" addr2line -e "$cairn" | head -n 1)" '??:0' 'one who has read enough ends addr2line'
"$cairn" raw $dump | head -n 1 >/dev/null
is "${PIPESTATUS[0]}" 0 'a closed pipe is not'
done_testing
