#!/usr/bin/env bash
# A man page for every command, with the options of its --help, no more and no fewer, and the summary of `cairn help`.
. tests/e2e/lib.sh
need python3
pages=${CAIRN_BUILD:-build}/doc
commands=$("$cairn" help | sed -n 's/^  \([a-z0-9]*\)  *.*/\1/p')
[ "$(wc -w <<<"$commands")" -gt 25 ]
ok $? "cairn help lists $(wc -w <<<"$commands") commands"
plain() { sed 's/\\f[BIR]//g; s/\\&//g; s/\\-/-/g' "$1"; }
python3 - "$cairn" "$pages" $commands >"$scratch/compared" <<'P'
import os, re, subprocess, sys
cairn, pages, *commands = sys.argv[1:]
def run(*words): return subprocess.run([cairn, *words], capture_output=True, text=True).stdout
def options(text): # the long options that are explained in it: at the start of a line, maybe behind a letter
    return sorted(set(re.findall(r"^ *(?:-[a-zA-Z0-9], )?(--[a-z_0-9-]+)", text, re.M)) - {"--help", "--version"})
summaries = dict(re.findall(r"^  ([a-z0-9]+) +(.*)", run("help"), re.M))
for command in commands:
    page = os.path.join(pages, "cairn-%s.1" % command)
    text = re.sub(r"\\f[BIR]|\\&", "", open(page).read()).replace("\\-", "-") if os.path.exists(page) else ""
    about = re.search(r"^cairn-%s - (.*)" % command, text, re.M)
    print("cairn-%s(1) is about what cairn help says" % command, about and about[1], summaries.get(command), sep="\t")
    # A term that is explained is followed by its indented text.
    section = re.search(r"^\.SH OPTIONS\n(.*?)(?=^\.SH [A-NP-Z]|\Z)", text, re.S | re.M)
    terms = "\n".join(re.findall(r"^(.*)\n\.RS", section[1] if section else "", re.M))
    shown = options(run(command, "--help"))
    print("cairn-%s(1) has its %d options" % (command, len(shown)), *(" ".join(each) for each in (options(terms), shown)), sep="\t")
P
while IFS=$'\t' read -r name got wanted; do is "$got" "$wanted" "$name"; done <"$scratch/compared"
is "$(wc -l <"$scratch/compared")" "$((2 * $(wc -w <<<"$commands")))" 'all were compared'
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
if command -v groff >/dev/null; then
	is "$(LC_ALL=C.UTF-8 groff -k -t -man -ww -z -T utf8 "$pages"/*.1 2>&1 | head -n 3)" '' 'groff has no complaints about the pages'
else
	skip 'groff has no complaints about the pages' 'no groff here'
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
for command in $commands; do "$cairn" "$command" --help >"$scratch/$command.help"; done
is "$(awk '/^[a-z].*:$/ && seen[FILENAME, $0]++ || / $/ { print FILENAME ": " $0 }' "$scratch"/*.help)" '' \
	'no help has a heading twice, or a blank at the end of a line'
unsaid=$(awk '/^usage:.*SOURCE/ { asked[FILENAME] = 1 } /^SOURCE is|Without a SOURCE/ { said[FILENAME] = 1 }
	END { for (file in asked) if (!said[file]) print file }' "$scratch"/*.help)
is "$unsaid" '' 'every help that asks for a SOURCE says what one is'
missing=
for other in $(cat "$pages"/*.1 | sed 's/\\f[BIR]//g; s/\\&//g; s/\\-/-/g' | grep -oE 'cairn-[a-z0-9]+\(1\)' | sort -u); do
	[ -s "$pages/${other%(1)}.1" ] || missing+="$other "
done
is "$missing" '' 'every page a page refers to is there'
done_testing
