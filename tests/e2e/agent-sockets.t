#!/usr/bin/env bash
# Finding agents: who may not open a socket is told so, stale sockets go away, and a process is followed through exec.
. tests/e2e/lib.sh
need curl python3 cc
. tests/e2e/agent.sh
${CC:-cc} -O1 -g -w tests/e2e/ends.c -o "$scratch/ends" -ljemalloc
export MALLOC_CONF=prof:true,lg_prof_sample:14 CAIRN_SOCKETS=$sockets

# exec: a shell that has no use for the agent becomes a service that has. A young process is waited for in any case, so this one is older.
CAIRN_CONF=engine:jemalloc LD_PRELOAD=$library sh -c "until [ -e $scratch/go ]; do sleep 0.1; done; exec $scratch/ends drop 20 600" >/dev/null 2>&1 &
shell=$!
children+=($shell)
grep_maps() { grep -q libcairn "/proc/$1/maps"; }
wait_for 10 grep_maps $shell
sleep 5.5
"$cairn" watch --once -o "$scratch/followed" $shell >"$scratch/out" 2>"$scratch/err" &
watcher=$!
children+=($watcher)
wait_for 10 test -s "$scratch/err"
touch "$scratch/go"
wait $watcher
is $? 0 "watch started before exec follows the exec"
like "$(cat "$scratch/out")" "*  ends $shell *start*ends-$shell-*.heap" "and names what the process has become"
like "$(cat "$scratch/err")" "cairn: note: process $shell has loaded the agent, which does not run in it yet; waiting*" "it says that it waits"
kill -KILL $shell
wait $shell 2>/dev/null

# Other users.
if [ "$(id -u)" = 0 ]; then
	chmod 755 "$scratch" "$scratch/run"
	"$cairn" --version >"$scratch/version"
	as_nobody() { setpriv --reuid=65534 --regid=65534 --clear-groups "$@"; }
	holds "the command runs as another user" as_nobody "$cairn" --version
	CAIRN_CONF=listen:unix LD_PRELOAD=$library "$scratch/ends" term 5 >/dev/null &
	rooted=$!
	children+=($rooted)
	CAIRN_CONF=listen:unix LD_PRELOAD=$library "$scratch/ends" drop 5 60 >/dev/null &
	dropped=$!
	children+=($dropped)
	wait_for 20 has_agent "$rooted" && wait_for 20 has_agent "$dropped"
	became_nobody() { grep -q '^Uid:.*65534' "/proc/$1/status"; }
	wait_for 20 became_nobody $dropped
	like "$(as_nobody "$cairn" status $rooted 2>&1)" "*process $rooted belongs to another user; its agent answers on $sockets/$rooted.sock only to that user and root*" \
		"the agent of another user"
	like "$(as_nobody "$cairn" status $dropped 2>&1)" "*process $dropped has an agent, but you may not open its socket $sockets/$dropped.sock: the process created it as another user*" \
		"one of a process that was another user"
	like "$(as_nobody "$cairn" status "$sockets/$rooted.sock" 2>&1)" "*you may not open it; an agent's socket is for its user and root*" "a socket by its path"
	like "$(as_nobody "$cairn" ps 2>&1)" "*processes with an agent answer only to another user and root; 'sudo cairn ps' shows them*" "ps says that there are more"
	like "$("$cairn" status $dropped)" "pid: $dropped*" "root may ask"
	# Sockets nobody answers on.
	kill -KILL $dropped $rooted
	wait $dropped $rooted 2>/dev/null
	[ -S "$sockets/$dropped.sock" ] && [ -S "$sockets/$rooted.sock" ]
	ok $? "processes that are killed leave their sockets"
	"$cairn" ps >/dev/null 2>&1
	is "$(ls "$sockets")" "" "which ps removes"
	MALLOC_CONF= "$cairn" run -q -o /dev/null -- "$scratch/ends" drop 5 2>/dev/null
	is "$(ls "$sockets")" "" "cairn run removes that of a process which may not do so itself"
else
	skip "the agent of another user" "root starts it"
fi
done_testing
