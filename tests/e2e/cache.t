#!/usr/bin/env bash
# The cache on disk, as a person meets it: a second look is the same and cheaper, and no trouble with it is trouble for them.
. tests/e2e/lib.sh
need cc objcopy strip readelf

jemalloc=$(ldconfig -p | sed -n 's/.*libjemalloc\.so\.2 .*=> //p' | head -n 1)
[ -n "$jemalloc" ] || broken 'no libjemalloc.so.2 here'
program=$scratch/program heap=$scratch/program.heap
cc -O1 -g -rdynamic tests/e2e/finding.c -o "$program" || broken 'the program cannot be built'
LD_PRELOAD=$jemalloc MALLOC_CONF=prof:true,lg_prof_sample:0,prof_final:true,prof_prefix:$scratch/je "$program"
mv "$scratch"/je.*.f.heap "$heap" || broken 'this jemalloc has no profiler'
id=$(readelf -n "$program" | sed -n 's/.*Build ID: //p')
folded() { "$cairn" collapsed --lines "$@" "$heap" 2>"$scratch/notes"; }
kept=$XDG_CACHE_HOME/cairn/$id.v$(sed -n 's/.*CAIRN_ANSWERS_VERSION = \([0-9]*\).*/\1/p' src/symbol/answers.h)

folded --no-cache >"$scratch/truth"
grep -q 'hold_in_static .*finding.c:10' "$scratch/truth"
ok $? 'without a cache there are names'
[ ! -e "$XDG_CACHE_HOME/cairn" ]
ok $? '--no-cache leaves nothing behind'
folded >"$scratch/cold"
holds 'a first look: the same' cmp "$scratch/cold" "$scratch/truth"
holds 'and it is kept by build-id' test -s "$kept"
folded >"$scratch/warm"
holds 'a second look: the same' cmp "$scratch/warm" "$scratch/truth"
mv "$program" "$program.away" && head -c 4096 "$program.away" >"$program" && touch -r "$program.away" "$program"
folded >"$scratch/warm"
holds 'which reads no more than the first page of the binary' cmp "$scratch/warm" "$scratch/truth"
mv "$program.away" "$program"

like "$("$cairn" cache)" "*folder*$XDG_CACHE_HOME/cairn*files*bytes*limit*512.0 MiB*" 'cairn cache says where it is and how large'
printf 'rubbish' >"$kept"
folded >"$scratch/again"
holds 'a corrupt file is ignored' cmp "$scratch/again" "$scratch/truth"
[ "$(head -c 8 "$kept")" = cairnsym ]
ok $? 'and written anew'

for i in 1 2 3 4 5 6; do
	(rm -f "$kept"; folded >"$scratch/parallel.$i") &
	children+=($!)
done
wait "${children[@]}"
children=()
same=0
for i in 1 2 3 4 5 6; do cmp -s "$scratch/parallel.$i" "$scratch/truth" && same=$((same + 1)); done
is $same 6 'six at once all get it right'
is "$(find "$XDG_CACHE_HOME/cairn" -name '*.writing.*' | wc -l)" 0 'and leave no temporary file'

# The file of a build may go, or another may take its place, as in a deploy: the names that were found while it was there stay.
"$cairn" pprof --no-symbols -o "$scratch/program.pb.gz" "$heap" 2>"$scratch/notes" # which has build-ids
recalled() { "$cairn" collapsed --lines "$@" "$scratch/program.pb.gz" 2>"$scratch/notes"; }
recalled >"$scratch/before"
holds 'a profile with build-ids' grep -q 'hold_in_static .*finding.c:10' "$scratch/before"
mv "$program" "$program.away" && cc -O1 -g -rdynamic -DANOTHER -Wl,--hash-style=sysv tests/e2e/finding.c -o "$program"
recalled >"$scratch/again"
holds 'the program is replaced by another build: the names of the first are known' cmp "$scratch/again" "$scratch/before"
is "$(grep -c "$(basename "$program"):" "$scratch/notes")" 0 'and nothing is missing'
recalled --no-cache >"$scratch/again"
is "$(grep -c hold_in_ "$scratch/again")" 0 'without a cache they are not'
like "$(cat "$scratch/notes")" '*program is another build*' 'for a reason'
rm "$program"
recalled >"$scratch/again"
holds 'the program is removed: the same' cmp "$scratch/again" "$scratch/before"
mv "$program.away" "$program"

# Poor answers hold only until something better is there.
rm -rf "$XDG_CACHE_HOME/cairn"
objcopy --only-keep-debug "$program" "$program.debug" && strip "$program" && (cd "$scratch" && objcopy --add-gnu-debuglink=program.debug program)
mv "$program.debug" "$scratch/aside"
folded >"$scratch/poor" && folded >"$scratch/poor-warm"
holds 'a stripped program, twice' cmp "$scratch/poor" "$scratch/poor-warm"
like "$(cat "$scratch/notes")" "*no debug file for build-id $id*" 'the reason is known to the cache too'
mv "$scratch/aside" "$program.debug"
folded >"$scratch/again"
holds 'a debug file installed later is noticed' cmp "$scratch/again" "$scratch/truth"

XDG_CACHE_HOME=/proc/nowhere folded >"$scratch/again"
holds 'a folder that cannot be made is no trouble' cmp "$scratch/again" "$scratch/truth"
[ ! -s "$scratch/notes" ] || ! grep -q cache "$scratch/notes"
ok $? 'and nothing is said about it'
mkdir "$scratch/tiny"
if mount -t tmpfs -o size=4k cairn-test "$scratch/tiny" 2>/dev/null; then
	XDG_CACHE_HOME=$scratch/tiny folded >"$scratch/again"
	holds 'a full disk is no trouble' cmp "$scratch/again" "$scratch/truth"
	is "$(find "$scratch/tiny" -name '*.writing.*' | wc -l)" 0 'and nothing half-written stays there'
	umount "$scratch/tiny"
else
	skip 'a full disk is no trouble' 'no small file system can be mounted here; the unit test limits the size of files instead'
fi

CAIRN_CACHE_LIMIT=1 folded >"$scratch/again"
holds 'a limit of one byte is no trouble' cmp "$scratch/again" "$scratch/truth"
like "$("$cairn" cache --clear)" 'removed * files with *' 'cairn cache --clear'
is "$(find "$XDG_CACHE_HOME/cairn" -type f | wc -l)" 0 'removes them all'

# The folder may be a link to anything, or hold what is nobody's to remove.
mkdir "$scratch/precious" "$scratch/linked" && ln -s ../precious "$scratch/linked/cairn"
head -c 2M /dev/zero >"$scratch/precious/database" && cp "$scratch/precious/database" "$XDG_CACHE_HOME/cairn/"
for folder in "$XDG_CACHE_HOME" "$scratch/linked"; do
	XDG_CACHE_HOME=$folder CAIRN_CACHE_LIMIT=1M folded >"$scratch/again"
	holds 'beyond the limit by a file that is not its own: the same names' cmp "$scratch/again" "$scratch/truth"
	XDG_CACHE_HOME=$folder "$cairn" cache --clear >"$scratch/notes" 2>&1
	[ -s "$folder/cairn/database" ]
	ok $? 'the file is still there, also after --clear'
done
like "$(cat "$scratch/notes")" "*linked/cairn: is a link, so no names are kept there*" 'a link is no cache, which cairn cache says'
is "$(ls "$scratch/precious")" database 'and nothing is written there'
done_testing
