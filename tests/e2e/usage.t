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

# A store that is not there is not made by a question.
told 1 "nope.db: no such file; 'cairn store init sqlite:nope.db' makes a store" fleet leaks --store sqlite:nope.db
told 1 "nope.db: no such file; 'cairn store init sqlite:nope.db' makes a store" top 'sqlite:nope.db?service=api'
told 1 "nope.db: no such file; 'cairn store init sqlite:nope.db' makes a store" serve --store sqlite:nope.db
[ ! -e nope.db ]
ok $? 'no file was made'

# Operands.
told 2 'usage: cairn symbols push FILE... --to URL' symbols "$cairn"
done_testing
