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
missing=
for page in "$pages"/*.1; do
	for other in $(plain "$page" | grep -oE 'cairn-[a-z0-9]+\(1\)' | sort -u); do
		[ -s "$pages/${other%(1)}.1" ] || missing+="${page##*/}: $other "
	done
done
is "$missing" '' 'every page a page refers to is there'
done_testing
