#!/usr/bin/env bash
# A man page for every command, with the options of its --help, no more and no fewer, and the summary of `cairn help`.
. tests/e2e/lib.sh
need python3
pages=${CAIRN_BUILD:-build}/doc
commands=$("$cairn" help | sed -n 's/^  \([a-z0-9]*\)  *.*/\1/p')
[ "$(wc -w <<<"$commands")" -gt 25 ]
ok $? "cairn help lists $(wc -w <<<"$commands") commands"
# options TEXT: the long options that are explained in it, one a line: at the start of a line, maybe behind a letter
options() { grep -oE '^ *(-[a-zA-Z0-9], )?--[a-z_0-9-]+' <<<"$1" | grep -oE -- '--.*' | sort -u; }
# A term that is explained is followed by its indented text.
terms() { sed -n '/^.SH OPTIONS/,/^.SH [A-NP-Z]/p' | awk '/^\.RS/ { print last } { last = $0 }'; }
plain() { sed 's/\\f[BIR]//g; s/\\&//g; s/\\-/-/g' "$1"; }
for command in $commands; do
	page=$pages/cairn-$command.1
	if [ ! -s "$page" ]; then
		ok 1 "cairn $command has a page"
		continue
	fi
	is "$(plain "$page" | sed -n "s/^cairn-$command - //p")" "$("$cairn" help | sed -n "s/^  $command  *//p")" "cairn-$command(1) is about what cairn help says"
	shown=$(options "$("$cairn" "$command" --help)" | grep -vxE -- '--(help|version)')
	is "$(options "$(plain "$page" | terms)" | grep -vxE -- '--(help|version)')" "$shown" "and has its $(grep -c . <<<"$shown") options"
done
# The questions of cairn fleet are commands of their own.
questions=$("$cairn" fleet --help | sed -n '/^questions:/,$s/^  \([a-z]*\)  *.*/\1/p')
is "$(wc -w <<<"$questions")" 14 'cairn fleet --help lists its questions'
for question in $questions; do
	for option in --help -h; do
		is "$("$cairn" fleet $question $option 2>&1 | sed -n '1s/ - .*//p; /^usage/p; /^  *--store STORE/s/ STORE.*//p' | tr -s '\n ' ' ')" \
			"cairn fleet $question usage: cairn fleet $question [options] --store " "cairn fleet $question $option"
	done
done
extra=
for page in "$pages"/cairn-*.1; do
	name=${page##*/cairn-}
	grep -qx "${name%.1}" <<<"$commands" || extra+="$name "
done
is "$extra" '' 'there is no page without a command'
if command -v man >/dev/null; then
	complaints=
	for page in "$pages"/*.1; do
		complaints+=$(LC_ALL=C.UTF-8 MANWIDTH=100 man --warnings -E UTF-8 -l "$page" 2>&1 >/dev/null | head -n 1)
	done
	is "$complaints" '' 'man has no complaints'
else
	skip 'man has no complaints' 'no man here'
fi
# cairn(1) explains each key of the agent's configuration and each variable that Cairn reads.
terms=$(plain "$pages/cairn.1" | awk '/^\.RS/ { print last } { last = $0 }')
missing=
keys=$(sed -n 's/^\t\[CAIRN_KEY_[A-Z_]*\] = {"\([a-z_]*\)".*/\1/p' src/protocol/config.c)
[ -n "$keys" ] || missing='no key found in config.c '
for key in $keys; do
	grep -qE "(^|[ ,])$key(:|,|\$)" <<<"$terms" || missing+="$key "
done
for variable in $(grep -rhoE 'getenv\("[A-Z_]+' src | sed 's/.*"//' | grep -vxE 'HOME|PATH|LD_PRELOAD' | sort -u); do
	grep -qw "$variable" <<<"$terms" || missing+="$variable "
done
is "$missing" '' "every key of the agent, and every variable, is in cairn(1)"
is "$(plain "$pages/cairn.1" | sed -n '/^.SH COMMANDS/,/^.SH SOURCES/s/^cairn-\([a-z0-9]*\)(1)$/\1/p')" "$commands" 'cairn(1) lists the commands'
double=$(for command in $commands; do "$cairn" "$command" --help | grep -E '^[a-z].*:$|^usage:.* $' | sort | uniq -d; "$cairn" "$command" --help | grep ' $'; done)
is "$double" '' 'no help has a heading twice, or a blank at the end of a line'
unsaid=$(for command in $commands; do "$cairn" "$command" --help | awk -v command="$command" '/^usage:.*SOURCE/ { asked = 1 } /^SOURCE is|Without a SOURCE/ { said = 1 } END { if (asked && !said) print command }'; done)
is "$unsaid" '' 'every help that asks for a SOURCE says what one is'
missing=
for page in "$pages"/*.1; do
	for other in $(plain "$page" | grep -oE 'cairn-[a-z0-9]+\(1\)' | sort -u); do
		[ -s "$pages/${other%(1)}.1" ] || missing+="${page##*/}: $other "
	done
done
is "$missing" '' 'every page a page refers to is there'
done_testing
