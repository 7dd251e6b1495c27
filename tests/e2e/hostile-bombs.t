#!/usr/bin/env bash
# Files of at most a megabyte that stand for very much more: each reader of them needs less than 500 MB and ten seconds of processor time, and
# either shows what it can, with a note, or says what is wrong.
. tests/e2e/lib.sh
need python3
mkdir "$scratch/bombs" && python3 tests/e2e/make-bombs.py "$scratch/bombs" || broken 'the files could not be written'
cd "$scratch/bombs" || exit 1
within=$root/tests/e2e/within.py

# shown FILE NOTE COMMAND...: with that note (a pattern)
shown() {
	local file=$1 note=$2
	shift 2
	is "$(python3 "$within" 10 500 "$cairn" "$@" "$file" 2>err)" 0 "cairn $*: $file, of $(($(stat -c %s "$file") / 1000)) kB"
	like "$(cat err)" "*$note*" "with the note ${note:-that belongs to it}"
}
inlined='too many inlined calls for its stacks'
long='too long names for its stacks'
for file in lines lines-and-samples many-lines; do
	for command in $(rounds top 'top html pprof flame traces'); do shown $file "$inlined" $command; done
done
for command in html pprof flame traces; do is_long || shown many-lines "$inlined" $command; done
for command in top $(rounds '' 'html flame'); do shown deep '' $command; done
for command in top traces raw collapsed $(rounds '' 'html flame'); do shown long-name "$long" $command; done
for file in long-names long-paths long-labels comments; do
	shown $file '' top
	! is_long || shown $file '' raw
done
shown long-labels 'references to long names stand for too much' traces
shown labels '' tags
shown symbolized "$inlined" top
shown symbolized "$inlined" html
shown folded-deep '' html
shown folded-wide '' html
shown threads 'too deep for so many threads' html
shown nested-addresses 'too many inlined calls' top
shown units-addresses 'too many inlined calls' top
for file in nested-stacks nested-deep nested-threads; do
	shown $file "$inlined" top
	! is_long || shown $file "$inlined" html
done
for file in nested units; do
	is "$(python3 "$within" 10 500 "$cairn" addr2line -f -i -e $file <addresses)" 0 "cairn addr2line: $file, for 50,000 addresses"
done
is "$("$cairn" addr2line -f -i -e nested <addresses | sed -n 1,4p | tr '\n' ' ')" 'g ??:? g ??:? ' 'of the first addresses, all functions are shown'
is "$("$cairn" addr2line -f -i -e nested <addresses | tail -n 4 | tr '\n' ' ')" 'g ??:? f ??:? ' 'of the others, the outermost'
shown generated '' top --sysroot .
is "$("$cairn" top --sysroot . generated 2>/dev/null | grep -c ' f39999$')" 1 'of the lines that cover an address, the last counts'
shown ledger-stacks 'stacks of its ledger overlap or are too deep' top
shown ledger-deep 'stacks of its ledger overlap or are too deep' top
shown ledger-modules '' top
for file in heap.gz stack.gz folded.gz pprof.gz folded.xz zeroes.gz; do
	is "$(python3 "$within" 10 500 "$cairn" top $file 2>err)" 1 "cairn top: $file, of $(($(stat -c %s "$file") / 1000)) kB, is refused"
	like "$(cat err)" '*decompresses to more than*' 'with the reason'
done
for file in mappings.gz numbered.gz locations.gz; do
	is "$(python3 "$within" 10 500 "$cairn" top $file 2>err)" 1 "cairn top: $file, of $(($(stat -c %s "$file") / 1000)) kB, is refused"
	like "$(cat err)" '*a pprof profile with * @(mappings|locations), mo*' 'with the reason'
done
for file in packed claims mini; do
	is "$(python3 "$within" 10 500 "$cairn" addr2line -e $file <addresses 2>err)" 0 "cairn addr2line: $file, whose sections unfold"
done
for file in hole-symbols hole-notes hole-link; do
	is "$(python3 "$within" 10 500 "$cairn" addr2line -e $file <addresses 2>err)" 0 "cairn addr2line: $file, with a hole of gigabytes"
done
shown hole-generated '' top --sysroot .
is "$(python3 "$within" 10 500 "$cairn" top hole-ledger 2>err)" 1 'cairn top: a ledger that is nearly all hole'
like "$(cat err)" '*the profile has no samples*' 'is read, and has no samples'
# The same in the memory of a process
python3 -c 'import os, sys, time
ledger = os.memfd_create("cairn-ledger")
os.write(ledger, open("hole-ledger", "rb").read(4096))
os.truncate(ledger, 1 << 30)
open("ready", "w").close()
time.sleep(600)' &
holder=$! children+=("$!")
wait_for 30 test -e ready
is "$(python3 "$within" 10 500 "$cairn" top $holder 2>err)" 1 'cairn top: a process with such a ledger'
like "$(cat err)" '*the profile has no samples*' 'it is read as well'
cd "$root" || exit 1
done_testing
