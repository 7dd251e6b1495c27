#!/usr/bin/env bash
# What is said where a view cannot be shown: one sentence that says what to do, on standard error, and nothing on standard output.
. tests/e2e/lib.sh
fixtures=tests/fixtures/views
now=$fixtures/now.pb dump=tests/fixtures/small.heap

# bad CODE PATTERN ARGUMENTS...
bad() {
	local code=$1 pattern=$2
	shift 2
	"$cairn" "$@" >"$scratch/out" 2>"$scratch/err"
	is $? "$code" "cairn $*: exit code $code"
	like "$(tail -n 1 "$scratch/err")" "cairn: $pattern" "cairn $*: a sentence"
	is "$(cat "$scratch/out")" '' "cairn $*: nothing on standard output"
}

for option in focus ignore hide show show-from exclude retain tagfocus tagignore; do
	bad 2 "--$option: the regular expression '(a' is wrong at character *" top --$option '(a' $now
done
for view in peek list disasm; do
	bad 2 "the regular expression '\[' is wrong*" $view '[' $now
	bad 2 "missing REGEX or SOURCE: cairn $view REGEX SOURCE" $view
	bad 2 "missing REGEX or SOURCE: cairn $view REGEX SOURCE" $view $now
	bad 1 "no* matches 'nothing_is_called_this'*" $view 'nothing_is_called_this' $now
done
bad 1 "the file name is empty*variable*" top ''
bad 1 "the file name is empty*variable*" top --base= $now
bad 1 "the file name is empty*variable*" top --output= $now
# A file or folder for names that is not there is said; what can be shown is shown.
for option in binary symbols sysroot; do
	said=$("$cairn" top --$option=/nowhere/at/all $dump 2>&1 >"$scratch/out")
	like "$? $said" '0 *in /nowhere/at/all: No such file or directory*' "--$option that is not there is said"
	is "$(grep -c Total% "$scratch/out")" 1 'and the rest is shown'
done
# What is written over keeps its mode, and what may not be written is not replaced.
touch "$scratch/private" && chmod 600 "$scratch/private"
"$cairn" top $now -o "$scratch/private"
is "$(stat -c %a "$scratch/private") $(grep -c cache_put "$scratch/private")" '600 1' 'a private file stays private'
(umask 022 && "$cairn" top $now -o "$scratch/new")
is "$(stat -c %a "$scratch/new")" 644 'a new one is as the mask says'
bad 1 "--focus 'absent' matches no function, file or module*" tree --focus absent $now
bad 1 "--show 'absent' matches no function*" traces --show absent $now
bad 1 "--tagfocus 'absent' matches no label*'cairn tags'*" top --tagfocus absent $now
bad 1 "the filters leave no stack*" top --focus main --ignore main $now
# What --focus matches may be in stacks that another option has left out.
printf '%s\n' '--- symbol' 'binary=/srv/shop' '0x0000000000001001 malloc' '0x0000000000003001 parse' '0x0000000000004001 draw' '---' '--- heap' heap_v2/1 \
	'  t*: 2: 300 [0: 0]' '  t1: 1: 100 [0: 0] main' '  t2: 1: 200 [0: 0] worker' '@ 0x1002 0x3002' '  t*: 1: 100 [0: 0]' '  t1: 1: 100 [0: 0]' \
	'@ 0x1002 0x4002' '  t*: 1: 200 [0: 0]' '  t2: 1: 200 [0: 0]' '' MAPPED_LIBRARIES: >"$scratch/threads"
bad 1 "the filters leave no stack*" top --thread main --focus draw "$scratch/threads"
bad 1 "the filters leave no stack*" top --thread main --focus draw --all-frames "$scratch/threads"
bad 1 "--focus 'malloc' matches only frames of the allocator*--all-frames keeps them" top --thread main --focus malloc "$scratch/threads"
bad 1 "the profile has no alloc_space: *prof_accum:true*" top --alloc-space $dump
bad 1 "the profile has no alloc_objects: *prof_accum:true*" tags --alloc-objects $dump
# Cairn's engine counts what was allocated by call path only; jemalloc by thread as well, and its advice is for its own dumps.
printf '%s\n' heap_v2/1 '  t*: 1: 100 [3: 300]' '  t1: 1: 100 [0: 0] worker' '@ 0x1002' '  t*: 1: 100 [3: 300]' '  t1: 1: 100 [0: 0]' '' MAPPED_LIBRARIES: '' \
	'# cairn section samples 1' '# cairn live 0 100 0 1 1 5000000 0' '# cairn peak 0 2 2 200' >"$scratch/engine"
printf '%s\n' heap_v2/1 '  t*: 2: 200 [9: 900]' '  t1: 1: 100 [3: 300] main' '  t2: 1: 100 [6: 600] worker' '@ 0x1002' '  t*: 2: 200 [9: 900]' \
	'  t1: 1: 100 [3: 300]' '  t2: 1: 100 [6: 600]' '' MAPPED_LIBRARIES: >"$scratch/accum"
for words in '--thread worker' '--older 1s' --peak --slack; do
	bad 2 "Cairn's engine knows alloc_space by call path only: neither --thread, *" top --alloc $words "$scratch/engine"
	bad 2 "Cairn's engine knows alloc_objects by call path only: *" traces --alloc-objects $words --base "$scratch/engine" "$scratch/engine"
done
bad 2 "--tagfocus 'age=.': Cairn's engine knows allocations by call path only*" top --alloc --tagfocus age=. "$scratch/engine"
is "$("$cairn" tags --alloc "$scratch/engine" 2>/dev/null | grep -o '^[a-z]*: .*B (')" 'bytes: 300 B (' 'tags of what Cairn'\''s engine counted: neither threads nor ages'
like "$("$cairn" top --alloc --thread worker "$scratch/accum" 2>/dev/null)" '*allocated memory: 600 B in total*' 'jemalloc knows what a thread allocated'
"$cairn" export --format pprof -q -o "$scratch/live.pb" $dump
bad 2 "the profile has no alloc_space; it has inuse_objects, inuse_space" top --alloc "$scratch/live.pb"
bad 2 "--normalize needs --base" top --normalize $now
bad 2 "this takes two dumps: cairn diff BEFORE AFTER" diff $now
bad 2 "this takes two dumps: cairn diff BEFORE AFTER" diff $now $now $now
bad 2 "--nodecount takes a whole number, not 'many'" top -n many $now
bad 2 "missing SOURCE: *" top
bad 2 "the profile has no nosuch; it has *" top --value nosuch $now
# Options that a command shares with others but has no use for are neither listed nor taken.
rows='nodecount cum nodefraction edgefraction'
for words in "list $rows functions files addresses no-fold" "disasm $rows functions files lines no-fold" \
	'tags cum nodefraction edgefraction' 'churn errors cum nodefraction edgefraction drop-negative' \
	'top edgefraction' 'traces cum edgefraction no-fold' 'diff edgefraction' 'tree no-fold keep-wrappers' \
	'peek no-fold' 'flame no-fold' 'graph no-fold' 'collapsed no-fold' 'export no-fold' \
	'leaks relative-percentages drop-negative' 'timeline drop-negative'; do
	command=${words%% *}
	for option in ${words#* }; do
		bad 2 "--$option has no effect on 'cairn $command'; leave it out" $command --$option /nowhere
		is "$("$cairn" $command --help | grep -c -- "--$option ")" 0 "cairn $command --help does not list --$option"
	done
done
bad 2 "--nodecount has no effect on 'cairn list'; leave it out" list -n 5 . $now
bad 2 "'cairn churn' takes one dump as it is: *" churn --peak /nowhere
is "$("$cairn" churn --help | grep -cE -- '--(sum|tree|base|normalize|thread|older|younger|peak|slack|fragmentation|mappings|tagfocus|tagignore) ')" 0 \
	'cairn churn --help does not list them either'
bad 2 "--widths takes change or after, not 'x'" flame --widths x /nowhere
bad 2 "--color takes hot, mem, *diff, not 'nosuch'" flame --color nosuch /nowhere
bad 2 "--format takes pprof, *not 'nosuch'" export --format nosuch /nowhere
bad 2 "'cairn top' does not write .svg files; 'cairn flame' does" top -o "$scratch/x.svg" /nowhere
bad 2 "'cairn flame' does not write .html files; 'cairn html' does" flame -o "$scratch/x.html" /nowhere
bad 2 "'cairn html' does not write .json files; 'cairn top' does" html -o "$scratch/x.json" /nowhere
# Every command that writes a file: a name that promises a picture or a page is refused, before anything is read.
for command in collapsed pprof 'export --format folded' 'export --format pprof' raw rss cpu dump 'run'; do
	for ending in html svg png pdf; do
		[[ $command = rss && $ending = [hs]* ]] && continue
		"$cairn" $command -o "$scratch/x.$ending" /nowhere >"$scratch/out" 2>"$scratch/said"
		is "$? $(cat "$scratch/said")" "2 $(grep -x "cairn: 'cairn ${command% --*}' does not write .$ending files; 'cairn [a-z]*' does" "$scratch/said")" \
			"$command writes no .$ending"
	done
done
is "$(ls "$scratch"/x.* 2>/dev/null)" '' 'and nothing is written'
bad 2 "'cairn export' does not write .json files; *" export --format folded -o "$scratch/x.json" /nowhere
# Wrong values are found before the sources are opened, by every command that takes them.
for command in top tree traces tags flame html graph collapsed leaks timeline raw shell 'gallery'; do
	bad 2 "--older takes a time such as 30s, 10m or 2h, not 'x'" $command --older x /nowhere
done
for command in top leaks 'timeline -o x.svg' 'html -o x.html' 'export --format folded'; do
	bad 2 "--focus: the regular expression '(' is wrong *" $command --focus '(' /nowhere
	bad 2 "--tagfocus: *" $command --tagfocus '(' /nowhere
done
printf 'heap_v2/524288\n  t*: 0: 0 [0: 0]\n\nMAPPED_LIBRARIES:\n' >"$scratch/empty.heap"
bad 1 "the profile has no samples: sampling was off, or less was allocated than the sampling period of 512.0 KiB; 'cairn doctor *' explains why" \
	top "$scratch/empty.heap"
bad 2 "*: not a TARGET: give a PID, an agent's socket, or a URL" status nonsense
bad 2 "nonsense: not a PID; *" attach nonsense
"$cairn" raw $now -o "$scratch/raw.txt"
is "$(cat "$scratch/raw.txt")" "$("$cairn" raw $now)" 'raw has -o as well'
"$cairn" top $now -o "$scratch/x.json"
holds 'a report to a file named .json is JSON' python3 -m json.tool "$scratch/x.json"
for picture in flame html; do
	like "$(on_terminal "$cairn" $picture $now 2>&1)" "*'cairn $picture' does not write to a terminal; name a file with -o*" "no $picture for a terminal"
done
like "$(on_terminal "$cairn" timeline --format svg $now 2>&1)" "*'cairn timeline' does not write pictures to a terminal; name a file with*-o*" \
	"no picture of a timeline for a terminal"
is "$("$cairn" top -q --binary /nowhere $now 2>&1 >/dev/null)" '' '-q: no notes'
bad 2 "--nodefraction takes a number, not 'x'" top --nodefraction x $now
bad 1 "nothing can be disassembled: /srv/shop: the file is gone*--binary*" disasm put $now

# Names that would tell a terminal what to do. (C2 9B begins a command too, in one character.)
evil=$'\033]0;title\007x\302\233y'
printf 'heap_v2/1\n t*: 1: 9 [0: 0]\n t1: 1: 9 [0: 0] %s\n@ 0x10\n t*: 1: 9 [0: 0]\n t1: 1: 9 [0: 0]\n\nMAPPED_LIBRARIES:\n0-99 r-xp 0 fd:01 1 /bin/%s\n' \
	"$evil" "$evil" >"$scratch/evil.heap"
printf 'main;%s 3\n' "$evil" >"$scratch/evil.folded"
for words in 'top' 'tree' 'tags' 'traces --tagfocus thread' 'raw' 'peek .' 'list .' 'collapsed' 'diff' 'top --thread nobody' 'doctor'; do
	for file in "$scratch/evil.heap" "$scratch/evil.folded"; do
		second=
		[ "$words" = diff ] && second=$file
		"$cairn" $words "$file" $second >"$scratch/out" 2>&1
		grep -qaE $'\033|\007|\302\233' "$scratch/out"
		is $? 1 "${words/ */} of ${file##*.}: what a terminal would obey does not reach it"
	done
done
mkdir "$scratch/evil"
cp "$scratch/evil.heap" "$scratch/evil/"$'x\302\233y.heap'
touch -d '1 hour ago' "$scratch"/evil/*
"$cairn" dumps "$scratch/evil" >"$scratch/out" 2>&1
like "$(cat "$scratch/out")" "*1 dump*" 'a folder of dumps with such a name is listed'
grep -qaE $'\033|\007|\302\233' "$scratch/out"
is $? 1 'and the name is shown without what a terminal would obey'
like "$("$cairn" raw "$scratch/evil.folded" 2>/dev/null)" *kind:\ other* 'raw says what kind folded text is'

need cc objdump
cp $fixtures/shop.c "$scratch/shop.c"
cc -g -O0 -w -o "$scratch/shop" "$scratch/shop.c"
touch -d '1 hour' "$scratch/shop.c"
address=$(nm "$scratch/shop" | awk '$3 == "cache_put" {print "0x" $1}')
call=$(objdump -d --no-show-raw-insn "$scratch/shop" | awk '/<cache_put>:/ {on = 1} on && /call/ {getline; sub(":", "", $1); print "0x" $1; exit}')
cat >"$scratch/shop.heap" <<DUMP
heap_v2/1
  t*: 2: 131072 [0: 0]
@ $(printf '0x%x' $((0x10000000 + call)))
  t*: 2: 131072 [0: 0]

MAPPED_LIBRARIES:
10000000-10001000 r--p 00000000 00:00 1 $scratch/shop
$(printf '%x-%x r-xp %08x' $((0x10001000)) $((0x10002000)) $((0x1000))) 00:00 1 $scratch/shop
DUMP
"$cairn" disasm cache_put --bytes "$scratch/shop.heap" >"$scratch/out" 2>"$scratch/err"
is $? 0 'disasm of a program that is there'
like "$(grep -E '^ +131072 +131072 +[0-9a-f]+: ' "$scratch/out")" '*call*malloc*' 'the value stands beside the call that allocated'
is "$(grep -cE '^ +\. +\. ' "$scratch/out" | awk '{print ($1 > 3)}')" 1 'and the other instructions have none'
# A function that was inlined is found, in the one that contains it.
cat >"$scratch/inlined.c" <<'C'
#include <stdlib.h>
void *kept[2];
static inline __attribute__((always_inline)) void grow(int at) { kept[at] = malloc(64); }
__attribute__((noinline)) void keep(void)
{
	grow(0);
	kept[1] = malloc(32);
}
int main(void) { keep(); }
C
cc -g -O1 -fno-optimize-sibling-calls -o "$scratch/inlined" "$scratch/inlined.c"
returns=($(objdump -d --no-show-raw-insn "$scratch/inlined" | awk '/<keep>:/ {on = 1} /^$/ {on = 0} found {sub(":", "", $1); print "0x" $1; found = 0} on && /(call|bl) .*malloc/ {found = 1}'))
printf '%s\n' heap_v2/1 '  t*: 3: 128 [0: 0]' "@ $(printf '0x%x' $((0x10000000 + returns[0])))" '  t*: 1: 64 [0: 0]' \
	"@ $(printf '0x%x' $((0x10000000 + returns[1])))" '  t*: 2: 64 [0: 0]' '' MAPPED_LIBRARIES: \
	"10000000-10001000 r--p 00000000 00:00 1 $scratch/inlined" "10001000-10002000 r-xp 00001000 00:00 1 $scratch/inlined" >"$scratch/inlined.heap"
"$cairn" disasm '^grow$' --bytes "$scratch/inlined.heap" >"$scratch/out" 2>&1
like "$(cat "$scratch/out")" "*ROUTINE =* grow, inlined into keep, in $scratch/inlined"$'\n''* 64 *64 (Self, Total)*' 'an inlined function, with what it allocated'
is "$(grep -cE '^ +[0-9]+ +[0-9]+ +[0-9a-f]+: ' "$scratch/out")" 1 'beside its own call'
like "$("$cairn" disasm keep --bytes "$scratch/inlined.heap")" "*ROUTINE =* keep in $scratch/inlined"$'\n''* 128 *128 (Self, Total)*' 'the function that contains it has all'
like "$("$cairn" disasm --json grow "$scratch/inlined.heap")" '*"name":"keep",*"inlined":\["grow"\],*' 'JSON has both names'
like "$("$cairn" list cache_put --source-path "$scratch" "$scratch/shop.heap" 2>&1)" "*newer than the program*64 \* 1024*" 'a source that changed since is shown with a note'
PATH=/nonexistent "$cairn" disasm cache_put "$scratch/shop.heap" >/dev/null 2>"$scratch/err"
like "$(tail -n 1 "$scratch/err")" '*objdump*binutils*' 'without objdump: which package has it'
done_testing
