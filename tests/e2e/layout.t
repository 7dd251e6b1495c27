#!/usr/bin/env bash
# The rules of the source tree that a script can hold.
. tests/e2e/lib.sh
need zsh fish
holds 'a folder includes only from folders before it, and headers are in order' scripts/check-includes
holds 'every source file says its licence' bash -c '! grep -rL "SPDX-License-Identifier: Apache-2.0" src include tests/unit tests/fuzz tests/bench --include="*.[ch]" | grep .'
holds 'no file has more than 900 lines' bash -c '! find src include -name "*.[ch]" | xargs wc -l | awk "\$2 != \"total\" && \$1 > 900" | grep .'
is "$(grep -rnE '# SKIP' tests --include='*.t' --include='*.sh' --include='*.py' --include='*.mjs' --include='*.c' | grep -v '^tests/e2e/l[a-z]*\.\(sh\|t\):')" '' \
	'tests skip by the functions that list it'
unsaid=$(find src include tests -name '*.[ch]' -exec awk '{ lines[FILENAME]++ }
	FNR < 30 && /[Ll]onger than other files/ { said[FILENAME] = 1 } END { for (file in lines) if (lines[file] > 600 && !said[file]) print file }' {} +)
is "$unsaid" '' 'a file of more than 600 lines says why'
# ARCHITECTURE.md: its list of folders is the tree, and every file that it names is there.
is "$(sed -n '/^```$/,/^```$/s|^\(src/\)\?\( *[a-z0-9_]*/\).*|\1\2|p' ARCHITECTURE.md | awk '/^src/ { top = $1; print; next } /^ / { print top $1 }' | sort)" \
	"$(find src -mindepth 1 -maxdepth 2 -type d ! -path 'src/cmd/*' ! -path 'src/page/*' | sed 's|$|/|' | sort)" 'ARCHITECTURE.md lists every folder'
gone=$(python3 - <<'P'
import os, re
files = {os.path.join(at, name)[2:] for top in ("src", "tests", "scripts", "doc", "include", "data") for at, _, names in os.walk("./" + top) for name in names}
names = {os.path.basename(file) for file in files}
text = re.sub(r"^```.*?^```", "", open("ARCHITECTURE.md").read(), flags=re.M | re.S)
for word in re.findall(r"`([^`\s]+?)`", text):
    word = word.rstrip(":")
    if not re.search(r"\.(c|h|js|t|md|scd|build|css)$|^(src|tests|scripts|doc)/.*[^*]$", word) or "NAME" in word or "*" in word or word[0] == ".":
        continue
    if not (word in files or "src/" + word in files or "/" not in word and word in names or os.path.exists(word)
            or "/" in word and any(file.endswith("/" + word) for file in files)):
        print(word)
P
)
is "$gone" '' 'and names no file that is not there'
# Phrases that a native writer would not use, in what people read; comments are read most.
stilted='unless told|(is|are) told|is meant|asked wrongly|for want of|so many (bytes|frames|dumps)|tells of it|^(- )?Read are'
read_by_people=(./*.md doc/*.md doc/*.scd examples data include)
is "$(grep -rnE "$stilted" "${read_by_people[@]}")" '' 'what people read is in plain English'
stilted_comments='cannot be had|to be had|is nowhere|nobody.s growth|takes nobody|takes off from|taken off from|is numbered here|unasked|without a word|[Ww]here it is none|of it has come to|that it is of,|[Ww]hat came of'
is "$(grep -rnE "$stilted|$stilted_comments" src --include='*.[ch]' --include='*.mjs' --include='*.css')" '' 'and so are the comments in the code'
# Prose is at most 140 columns wide; tables, code and tags are as long as they need to be.
long=$(python3 - ./*.md doc/*.md doc/*.scd <<'P'
import sys
for name in sys.argv[1:]:
    code = False
    for number, line in enumerate(open(name, encoding="utf-8").read().split("\n"), 1):
        code ^= line.startswith("```")
        if len(line) > 140 and not code and not line.startswith(("|", "    ")) and not line.lstrip().startswith("alt="):
            print(f"{name}:{number}")
P
)
is "$long" '' 'prose has lines of at most 140 columns'
like "$(sed -n '/^[^#]/{s/\. .*//p;q}' README.md)" '*heap profiler*' 'the first sentence of the README says what Cairn is'
like "$(head -n 30 README.md)" '*doc/images/*cairn attach PID*cairn leaks PID*doc/performance.md*make install*make demo*make check*' \
	'its first screen has a picture, how to find a leak, what that costs, how to install, and the two commands'
lines=$(wc -l <README.md)
ok $((lines > 180)) "all of it has $lines lines"
links=$(grep -oE '\]\([A-Za-z][^):#]*' README.md doc/*.md | while IFS=: read -r file link; do
	[ -e "$(dirname "$file")/${link#](}" ] || echo "$file: ${link#](}"
done)
is "$links" '' 'every link of the README and the pages leads to a file'
missing=
for command in $("$cairn" help | awk '/^  [a-z0-9]/{print $1}'); do
	page=${CAIRN_BUILD:-build}/doc/cairn-$command.1
	[ -s "$page" ] || { missing+="no page for $command; "; continue; }
	text=$(sed 's/\\-/-/g; s/\\f[A-Z]//g' "$page")
	for option in $("$cairn" "$command" --help 2>/dev/null | grep -oE '^ +(-., )?--[a-z0-9-]+' | grep -oE '\-\-[a-z0-9-]+'); do
		[[ $text == *"$option"* ]] || missing+="$command $option; "
	done
done
is "$missing" '' 'every command has a man page and every option is in it'
for shell in bash zsh fish; do
	"$cairn" completion $shell >"$scratch/completion"
	holds "$shell takes its completions" $shell -n "$scratch/completion"
done
completes() { bash -c '. <("$0" completion bash); COMP_WORDS=("$@") COMP_CWORD=$(($# - 1)); _cairn; echo "${COMPREPLY[*]}"' "$cairn" "$@"; }
is "$(completes cairn lea)" leaks 'bash completes a command'
is "$(completes cairn help timel)" timeline 'also behind help'
is "$(completes cairn completion z)" zsh 'a shell behind completion'
is "$(completes cairn top --nodec)" --nodecount 'an option'
is "$(completes cairn top READ)" README.md 'and a file'
is "$(completes cairn flame --widths '')" 'change after' 'the words that an option takes'
mkdir "$scratch/bin" && printf '#!/bin/sh\n[ "$1" = ps ] && printf "PID STATE\\n 4242 active\\n"\n' >"$scratch/bin/cairn" && chmod +x "$scratch/bin/cairn"
is "$(PATH=$scratch/bin:$PATH completes cairn status 42)" 4242 'and the processes that can be asked'
is "$(completes cairn attach --engine '')" 'auto cairn jemalloc' 'the engines'
is "$(completes cairn graph --format p)" 'pdf png ps' 'formats'
like "$(completes cairn flame --color '')" 'hot mem *diff' 'palettes'
is "$(completes cairn attach $$)" $$ "and behind attach the user's own processes"
mkdir "$scratch/functions" && "$cairn" completion zsh >"$scratch/functions/_cairn"
is "$(zsh -fc "fpath=($scratch/functions); _describe() { print \$1 }; compdef() :; autoload -U _cairn; words=(cairn lea) CURRENT=2; _cairn" 2>&1)" command \
		'zsh completes the first time it is asked'
# SECURITY.md names the tests that hold its promises.
missing=
for name in $(grep -o '\[[a-z, -]*\]' SECURITY.md | tr -d '[],'); do [ -x "tests/e2e/$name.t" ] || missing+="$name "; done
is "$missing" '' 'the tests that SECURITY.md names are there'
done_testing
