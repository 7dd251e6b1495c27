#!/usr/bin/env bash
# Mistakes in a command line: each is a usage error, or says what to do, and starts, makes and discards nothing.
. tests/e2e/lib.sh
need python3
cd "$scratch" || exit 1
unset CAIRN_STORE CAIRN_TOKEN

# told CODE PATTERN ARGUMENT...: the command ends with CODE, and its one message is PATTERN
told() {
	local code=$1 pattern=$2 said
	shift 2
	said=$(timeout 60 "$cairn" "$@" 2>&1 >"$scratch/out" </dev/null)
	is "$?" "$code" "cairn $*"
	like "$said" "cairn: $pattern" "says what is wrong"
}

# Settings that an agent would ignore.
cat >service <<'S'
#!/bin/sh
touch started
S
chmod +x service
for command in 'run -- ./service' "attach $$" "watch --attach $$"; do
	read -r name rest <<<"$command"
	for budget in foo 1 300% -1% '1%%' ''; do
		told 2 "--budget is a share such as 1%, not '$budget'" "$name" "--budget=$budget" $rest
	done
	told 2 "--period takes a size from 1 to 1T, such as 512K, not '0'" "$name" --period 0 $rest
	told 2 "--period takes a size from 1 to 1T, such as 512K, not '2T'" "$name" --period 2T $rest
	told 2 '--listen foo: not address:port' "$name" --listen foo $rest
	told 2 '--listen example.org:80: use a numeric address or localhost' "$name" --listen example.org:80 $rest
	told 2 '--listen 127.0.0.1:80,engine:cairn: not address:port' "$name" --listen 127.0.0.1:80,engine:cairn $rest
done
[ ! -e started ]
ok $? 'no service was started'
"$cairn" run -q --budget 2.5% --period 64K -o x.heap -- ./service
holds 'with good ones it is' test -e started
told 2 "--period takes a size from 1 to 1T, such as 512K, not '0'" reset --period 0 $$

# Numbers that are no PIDs.
for number in 0 2147483648 4294967297 99999999999999999999; do
	told 2 "$number: not a PID; *" attach $number
	told 2 "$number: not a TARGET: give a PID, *" status $number
	told 2 "$number: not a TARGET: give a PID, *" watch $number
	told 1 "$number: No such file or directory" top --tree $number
done

# A store that is not there is not made by a question.
told 1 "nope.db: no such file; 'cairn store init sqlite:nope.db' makes a store" fleet leaks --store sqlite:nope.db
told 1 "nope.db: no such file; 'cairn store init sqlite:nope.db' makes a store" top 'sqlite:nope.db?service=api'
told 1 "nope.db: no such file; 'cairn store init sqlite:nope.db' makes a store" serve --store sqlite:nope.db
[ ! -e nope.db ]
ok $? 'no file was made'
"$cairn" store init -q sqlite:empty.db
told 1 "the store is empty; 'cairn collect' or 'cairn watch --push' fills it *" fleet services --store sqlite:empty.db
told 1 "the store is empty; *" fleet leaks --store sqlite:empty.db --service api
told 1 "the store has no snapshot of this tenant" fleet services --store sqlite:empty.db --tenant us
"$cairn" store init -q ./other.db
holds "a file is a store of SQLite" test -s other.db
told 1 "the store is empty; *" fleet services --store ./empty.db
told 1 "the store is empty; *" fleet rss --store empty.db --from 2026-11-18T19:00
told 1 "the store is empty; *" fleet top --store empty.db --service api
told 2 "--from takes a time such as -6h, 2026-11-18T19:00 or seconds since 1970, not 'noon'" fleet services --store empty.db --from noon
told 2 "a store is called sqlite:PATH or clickhouse://HOST:PORT/DATABASE, not 'x'" watch --store x 1
told 2 'missing STORE: --store or CAIRN_STORE, as sqlite:PATH or clickhouse://HOST:PORT/DATABASE' fleet services
told 2 'missing STORE: *' fleet top
told 2 'missing STORE: *' collect
told 2 'cannot listen on 0.0.0.0:4921: not a loopback address; --tokens FILE lists who may send' \
	collect --store sqlite:empty.db --spool spool --listen 0.0.0.0:4921

# Operands.
printf 'heap_v2/524288\n  t*: 0: 0 [0: 0]\n' >a.heap
told 2 'usage: cairn symbols push FILE... --to URL' symbols "$cairn"
told 2 'missing --to URL, the collector, such as http://collector:4920' symbols push "$cairn"
told 2 'a.heap: not a folder of dumps' gallery a.heap
told 2 'takes one FOLDER, not 2: a folder of dumps' gallery . .
told 2 'missing FOLDER: a folder of dumps' gallery
told 2 'takes one PID, not 2: cairn attach \[options\] PID' attach 1 2
told 2 'missing PID: cairn attach \[options\] PID' attach
for command in detach status activate deactivate reset dump stats cpu; do
	told 2 'takes one TARGET, not 2: a PID*' $command 1 2
	told 2 'missing TARGET: a PID*' $command
done

# Options that are none, or could be two.
told 2 '--node is ambiguous (--nodecount, --nodefraction); write the option in full' top --node 5
told 2 'no option --port; did you mean --listen ADDRESS?' serve --port 22
told 2 'no option --nodecuont; did you mean --nodecount?' top --nodecuont 22

# Commands that are none.
for name in foo nothing -x --nothing x; do told 2 "no command '$name'; 'cairn help' lists them" $name; done
while read -r name meant; do told 2 "no command '$name'; did you mean '$meant'?" $name; done <<'T'
hepl help
-v --version
version --version
--vresion --version
--hlep --help
tpo top
flmae flame
timelin timeline
colect collect
T
is "$("$cairn" help help)" "$("$cairn" help)" 'help on help is the help'

# Questions that are none, and the same options for the same thing.
told 2 "no question 'leks'; did you mean 'leaks'?" fleet leks
told 2 "no question 'falme'; did you mean 'flame'?" fleet falme
told 2 "no question 'everything'; 'cairn fleet --help' lists them" fleet everything
told 2 '--store comes after the question: cairn fleet QUESTION \[options\]' fleet --store sqlite:empty.db leaks
like "$("$cairn" fleet --help)" '*usage: cairn fleet QUESTION \[options\]*-n, --rows N *' 'the help has the order and the options'
for question in leaks 'diff --version 1..2'; do told 2 "-n takes a number, not 'x'" fleet $question --store sqlite:empty.db --rows x; done
told 2 "-n takes a number, not 'x'" fleet leaks --store sqlite:empty.db --nodecount x

# Output that nobody reads to its end is no failure, however standard output is named.
python3 "$root/tests/e2e/make-series.py" series healthy 1 4
for output in '' '-o -'; do
	"$cairn" html series $output 2>err | head -c 3 >/dev/null
	is "${PIPESTATUS[0]} $(grep -v ': note: ' err)" '0 ' "cairn html $output | head"
done

# What is left out of a folder is said once, and what cannot be text is said to be drawn.
: >series/empty.heap
for command in html timeline leaks; do
	"$cairn" $command series >out 2>err
	is "$(grep -c 'skipping 1 .heap file' err)" 1 "cairn $command says once what it leaves out"
done
told 2 '*several dumps are drawn: name a file that ends in .html, .svg or .json with -o; as text there is the history of one dump *' timeline -q series -o t.txt

# A dump without samples and without a memory map does not say whether addresses belong to files.
"$cairn" doctor a.heap >out 2>&1
like "$(cat out)" '*cannot tell *memory map *there are no addresses to look up, and no memory map*' 'doctor on an empty dump'

# The commands in `cairn help` are in groups, that of starting first, and none is in two or in none.
"$cairn" help >help
like "$(sed -n 6,7p help)" '  run  *  attach  *' 'help begins with run and attach'
is "$(sed -n '/^[a-z].*:$/p' help | wc -l) $(awk '/^[a-z].*:$/ { inside = 1 } /^  [a-z]/ && !inside { print } /^$/ { inside = 0 }' help)" '7 ' \
	'every command is below one of the headings'
is "$(sed -n 's/^  \([a-z0-9]*\) .*/\1/p' help | sort | uniq -d)" '' 'no command is there twice'
done_testing
