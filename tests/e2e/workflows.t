#!/usr/bin/env bash
# The workflow files of continuous integration and the checklist of a release: every command in them exists, and is one that this tree runs.
. tests/e2e/lib.sh
need python3 make git meson
# Every command line of the files: what stands behind `run:` and `command:`.
cat >"$scratch/commands.py" <<'P'
import re, sys
for name in sys.argv[1:]:
    text = open(name).read()
    lines = re.findall(r"^\s*- (?:run|command): (.*)$", text, re.M) if name.endswith(".yml") else \
        [line for line in text.splitlines() if re.match(r"[a-z.]", line)] if name.endswith("run") else \
        [line for line in re.findall(r"`([^`]+)`", text) if re.match(r"make |FUZZ_SECONDS|scripts/", line)]
    for line in lines:
        for command in re.split(r"\|\||&&|;|\|", re.sub(r"\$\{\{ matrix\.compiler \}\}", "gcc", line)):
            command = re.sub(r">\S*|2>&1|[{}]|\$\{\{ matrix\.command ", "", command).strip()
            command = re.sub(r"^(?:[A-Z_]+=\S+ )+", "", command)
            if command:
                print(name, command)
P
python3 "$scratch/commands.py" .github/workflows/*.yml .ci/run RELEASING.md >"$scratch/commands"
# known FILE COMMAND...: there is such a command
known() {
	case $2 in
	make) make -n "${@:3}" ;;
	scripts/* | .ci/*) [ -x "$2" ] && bash -n "$2" ;;
	set | cd | exit | export) : ;;
	*) command -v "$2" ;;
	esac >"$scratch/said" 2>&1 </dev/null
}
while read -r -a line; do
	known "${line[@]}"
	ok $? "${line[*]}"
done <"$scratch/commands"
for wanted in 'push.yml .ci/run' 'nightly.yml make sanitize' 'nightly.yml make fuzz FUZZ_SECONDS=600' 'nightly.yml make check-all' \
	'nightly.yml make bench' 'run make check' 'run make check-long' 'RELEASING.md make sanitize' 'RELEASING.md scripts/release VERSION'; do
	holds "one of them is $wanted" grep -qE "(^|/)$wanted" "$scratch/commands"
done
is "$(known x make no-such-target; echo $?) $(known x scripts/no-such-script; echo $?) $(known x no-such-command; echo $?)" '2 1 1' \
	'a command that does not exist is noticed'
is "$(meson introspect --buildoptions meson.build | python3 -c 'import json, sys; print(*(o["value"] for o in json.load(sys.stdin) if o["name"] == "werror"))')" \
	False 'warnings are no errors where others build'
holds 'and are in continuous integration' grep -q '^export MESON_OPTIONS=-Dwerror=true$' .ci/run
holds 'also at night' grep -q ' MESON_OPTIONS: -Dwerror=true$' .github/workflows/nightly.yml

# A release: what is missing is said, and nothing is made.
says() {
	"${@:3}" >"$scratch/out" 2>"$scratch/err"
	like "$? $(cat "$scratch/out" "$scratch/err")" "$1" "$2"
}
tree=$scratch/tree
mkdir -p "$tree/scripts"
cp scripts/release "$tree/scripts/"
printf "project('cairn', 'c',\n  version: '0.1.0',\n" >"$tree/meson.build"
printf '# Changelog\n\n## 0.1.0 (not released yet)\n' >"$tree/CHANGELOG.md"
commit() { git -C "$tree" add -A && git -C "$tree" -c user.name=x -c user.email=x@example.org commit -qm "$1"; }
git init -q -b main "$tree" && commit first || broken 'git'
says '2 usage: *' 'a release needs a version' "$tree/scripts/release"
says "1 release: meson.build has another version than 0.2.0*CHANGELOG.md has no section '## 0.2.0 (DATE)'" 'that of the tree' "$tree/scripts/release" 0.2.0
says "1 release: CHANGELOG.md has no section '## 0.1.0 (DATE)'" 'and a date' "$tree/scripts/release" 0.1.0
sed -i 's/(not released yet)/(2026-12-01)/' "$tree/CHANGELOG.md"
says '1 release: the tree has changes that are not committed' 'and a clean tree' "$tree/scripts/release" 0.1.0 --make
commit second
says '0 0.1.0 can be released*' 'then it can be made' "$tree/scripts/release" 0.1.0
is "$(git -C "$tree" tag)" '' 'which this did not'

# The index of the tests has every one of them, with what it covers.
scripts/test-index >"$scratch/index"
is "$(find tests -name '*.t' -o -path 'tests/unit/*_test.c' | LC_ALL=C sort)" "$(grep -v '^tests/fuzz/' "$scratch/index" | cut -d: -f1)" 'the index lists every test'
is "$(awk -F': ' 'length($0) - length($1) < 12' "$scratch/index")" '' 'with what it covers'
holds 'and finds those of a word' grep -q '^tests/unit/base/lock_test.c' <(scripts/test-index lock thread)
done_testing
