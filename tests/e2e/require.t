#!/usr/bin/env bash
# What scripts/require says where packages are missing: what to install, in one sentence, whoever asks and whatever is there to install with.
. tests/e2e/lib.sh
tools=$scratch/tools
mkdir "$tools"
tool() { printf '#!/bin/sh\n%s\n' "$2" >"$tools/$1" && chmod +x "$tools/$1"; }
tool dpkg-query 'exit 1' # nothing is installed
ln -s "$(command -v env)" "$tools/env"

# says USER PATTERN NAME: run by user number USER it fails and its last sentence is like PATTERN
says() {
	tool id "echo $1"
	PATH=$tools "$BASH" scripts/require deb >"$scratch/out" 2>"$scratch/log"
	is "$? $(cat "$scratch/out" "$scratch/log" | head -n 1)" '1 Missing packages: dpkg-dev xz-utils' "$3: it fails and names them"
	like "$(tail -n 1 "$scratch/log")" "$2" "$3: and says what to do"
}
how='To install them, as root: apt-get install dpkg-dev xz-utils'
says 0 'There is no apt-get here; install them by other means.' 'no apt-get'
tool apt-get "echo \"\$*\" >>'$scratch/asked'; echo 'E: not today' >&2; exit 100"
CAIRN_NO_INSTALL=1 says 0 "Not installing them, since CAIRN_NO_INSTALL is set. $how" 'told not to'
says 1000 "Installing them takes root. $how" 'an ordinary user'
is "$(cat "$scratch/asked" 2>/dev/null)" '' 'and apt-get was not asked'
says 0 "They could not be installed. $how" 'apt-get fails'
like "$(cat "$scratch/log")" '*E: not today*' 'its own reason is shown'

tool apt-get "case \$1 in update) : >'$scratch/updated' ;; *) [ -e '$scratch/updated' ] ;; esac"
PATH=$tools "$BASH" scripts/require deb >"$scratch/out" 2>"$scratch/log"
is "$? $(cat "$scratch/log")" '0 ' 'lists that are old or missing are fetched, and then it works'
is "$(make -n check | grep -o 'scripts/require.*' | head -n 1)" 'scripts/require build check' 'make check asks for everything at once'
done_testing
