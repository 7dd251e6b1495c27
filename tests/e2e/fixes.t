#!/usr/bin/env bash
# Every command that doctor and top print as a fix, pasted into a shell on a host that has the problem: afterwards it is gone.
if [ -z "${CAIRN_TEST_INSIDE:-}" ] && [ "$(id -u)" = 0 ]; then # in mounts of its own: one of the fixes is about /etc
	CAIRN_TEST_INSIDE=1 exec unshare -m "$0"
fi
. tests/e2e/lib.sh
. tests/e2e/agent.sh
. tests/e2e/group.sh
need gcc python3 prlimit
jemalloc=$(ldconfig -p | awk '$1 == "libjemalloc.so.2" { print $NF; exit }')
export PATH=$(dirname "$cairn"):$PATH
gcc -O2 -g -o "$scratch/steady" tests/hosts/steady.c -ljemalloc || exit 1
gcc -O2 -g -o "$scratch/on libc" tests/hosts/steady.c || exit 1
service=$scratch/steady file="$scratch/its number"
cd "$scratch" || exit 1

# begin COMMAND...: starts it; sets pid
begin() {
	rm -f "$file"
	"$@" >/dev/null 2>&1 &
	children+=($!)
	wait_for 20 test -s "$file"
	pid=$(<"$file")
	children+=("$pid")
}
# look CHECK [WHAT]: prints the level and the fix that doctor has for it
look() { "$cairn" doctor --json "${2:-$pid}" 2>/dev/null | python3 -c 'import json, sys
for finding in json.load(sys.stdin)["findings"]:
    if finding["check"] == sys.argv[1]: print(finding["level"]); print(finding["fix"] or "")' "$1"; }
level() { look "$@" | head -n 1; }
answered() { [ -n "$("$cairn" status "$1" 2>/dev/null)" ]; }
# paste CHECK LEVEL NAME [restarts]: the finding is there at that level; its fix, pasted, does away with it
paste() {
	local fix before
	before=$(look "$1") fix=$(tail -n +2 <<<"$before")
	is "$(head -n 1 <<<"$before")" "$2" "$3: doctor sees it"
	if [ "${4:-}" = restarts ]; then
		kill "$pid" 2>/dev/null
		wait "$pid" 2>/dev/null
		rm -f "$file"
		(cd / && exec sh -c "$fix") >"$scratch/pasted" 2>&1 & # from another folder
		children+=($!)
		wait_for 20 test -s "$file" || { sed 's/^/# /' "$scratch/pasted"; echo "# $fix"; }
		pid=$(<"$file")
		children+=("$pid")
		! grep -q libcairn "/proc/$pid/maps" || wait_for 20 answered "$pid"
	else
		sh -c "$fix" >"$scratch/pasted" 2>&1
	fi
	gone() { case $(level "$check") in right | note | '') ;; *) false ;; esac; }
	local check=$1
	[ "$2" = note ] && gone() { case $(level "$check") in right) ;; '') answered "$pid" ;; *) false ;; esac; }
	wait_for 10 gone
	ok $? "$3: and its fix does away with it: $fix"
	kill "$pid" 2>/dev/null
	wait "$pid" 2>/dev/null
}
agent=(env "LD_PRELOAD=$library")

begin "$service" "$file"; paste agent note 'no agent' restarts
begin "$scratch/on libc" "$file"
unprofiled=(note) # and attaching does away with it; where that is not allowed, a restart
[ "$(level allocator)" = note ] || unprofiled=(wrong restarts)
paste allocator "${unprofiled[0]}" 'no jemalloc' ${unprofiled[1]:-}
begin env MALLOC_CONFF=prof:true "$service" "$file"; paste environment wrong 'a variable misspelt' restarts
begin env MALLOC_CONF=prof=true,lg_prof_smaple:16 "$service" "$file"; paste options wrong 'options misspelt' restarts
begin env CAIRN_CONF=engine:jemalloc "LD_PRELOAD=$library" "$service" "$file"; paste enabled wrong 'not enabled, with an agent' restarts
begin env MALLOC_CONF=narenas:2 "$service" "$file"; paste enabled "${unprofiled[0]}" 'not enabled, with other options' ${unprofiled[1]:-}
begin env "LD_PRELOAD=$library" "$service" "$file"; wait_for 20 answered "$pid"; kill -STOP "$pid"; wait_for 10 is_stopped "$pid"; paste agent wrong 'stopped'
if [ "${unprofiled[0]}" = note ]; then
	begin "$scratch/on libc" "$file"; "$cairn" attach -q "$pid" && "$cairn" detach "$pid" >/dev/null; paste attach note 'detached'
	is_partial() { look samples | grep -q 'cairn run'; }
	begin "$service" "$file" 32; "$cairn" attach -q "$pid"; wait_for 20 is_partial; paste samples wrong 'attached late' restarts
else
	skip 'what was attached to' 'processes here cannot be attached to'
fi
begin env MALLOC_CONF=prof:true,prof_active:false "$service" "$file"; paste active 'cannot tell' 'not active, as far as can be told' restarts
begin "${agent[@]}" MALLOC_CONF=prof:true,prof_active:false "$service" "$file"; wait_for 20 answered "$pid"; paste active wrong 'not active'
begin "${agent[@]}" MALLOC_CONF=prof:true,prof_active:false,lg_prof_sample:10 "$service" "$file"; wait_for 20 answered "$pid"; paste samples wrong 'no samples'
begin env MALLOC_CONF=prof:true,prof_thread_active_init:false "$service" "$file"; paste threads wrong 'threads are sampled only if they ask for it' restarts
begin env MALLOC_CONF=prof:true,lg_prof_sample:28 "$service" "$file"; paste period wrong 'too coarse' restarts
begin env MALLOC_CONF=prof:true,lg_prof_sample:8 "$service" "$file"; paste period note 'too dense' restarts
for engine in jemalloc cairn; do # the period of either is changed as it runs
	for period in wrong/268435456/28 note/512/9; do
		IFS=/ read -r found bytes logarithm <<<"$period"
		begin "${agent[@]}" "MALLOC_CONF=prof:true,lg_prof_sample:$logarithm" "CAIRN_CONF=engine:$engine,enable_heap_profiling:true,period:$bytes" "$service" "$file"
		wait_for 20 answered "$pid"
		paste period "$found" "a period of $bytes bytes, with engine $engine"
	done
done
begin env "MALLOC_CONF=prof:true,prof_final:true,prof_prefix:$scratch/not there/je" "$service" "$file"; paste 'dump folder' wrong 'no folder for dumps'
begin "${agent[@]}" MALLOC_CONF=prof:true CAIRN_CONF=listen:127.0.0.1:1,depth:99 "$service" "$file"
wait_for 20 answered "$pid"
python3 -c 'import socket, time; s = socket.socket(); s.bind(("127.0.0.1", 0)); s.listen(); open("taken", "w").write(str(s.getsockname()[1])); time.sleep(1800)' &
children+=($!)
kill "$pid"; wait_for 10 test -s taken
begin "${agent[@]}" MALLOC_CONF=prof:true "CAIRN_CONF=listen:127.0.0.1:$(<taken),depth:99" "$service" "$file"; wait_for 20 answered "$pid"; paste "agent's settings" wrong 'a port that is taken' restarts
begin "${agent[@]}" MALLOC_CONF=prof:true CAIRN_CONF=dumps:/proc/nowhere,time:1s "$service" "$file"
wait_for 20 answered "$pid"
complained() { [ "$(level "agent's settings")" = wrong ]; }
wait_for 20 complained; paste "agent's settings" wrong 'a folder for dumps that cannot be' restarts
rm -f "$file"; (ulimit -S -f 100; exec "$service" "$file") & children+=($!); wait_for 10 test -s "$file"; pid=$(<"$file"); paste limits wrong 'a limit on files'
rm -f "$file"; (ulimit -S -n 20; exec "$service" "$file") & children+=($!); wait_for 10 test -s "$file"; pid=$(<"$file"); paste limits wrong 'a limit on descriptors'
tcmalloc=$(ldconfig -p | awk '$1 ~ /^libtcmalloc_minimal.so.4/ { print $NF; exit }')
begin env "LD_PRELOAD=$tcmalloc" "$service" "$file"; paste 'in use' 'cannot tell' 'two allocators' restarts

# A program on disk.
gcc -O2 -g -o alone "$root/tests/hosts/steady.c" "$(gcc -print-file-name=libjemalloc.a)" -lstdc++ -lm -pthread
fix=$(look enabled ./alone | tail -n 1)
sh -c "exec env $fix" & child=$!
children+=("$child")
started() { [ "$(readlink "/proc/$child/exe")" = "$scratch/alone" ]; }
wait_for 10 started
is "$(tr '\0' '\n' <"/proc/$child/environ" | grep ^MALLOC_CONF)" MALLOC_CONF=prof:true "a program that does not profile by itself: $fix"
like "$(look allocator './on libc' | tail -n 1)" "cairn run -- './on libc'" 'a program without jemalloc: the command is quoted'

# The program is replaced while it runs.
cp steady replaced && begin "${agent[@]}" MALLOC_CONF=prof:true,lg_prof_sample:12 ./replaced "$file"
wait_for 20 answered "$pid"
gcc -O1 -g -o new "$root/tests/hosts/contained.c" -ljemalloc && mv new replaced
fix=$(look 'on disk' | tail -n 1)
"$cairn" dump -q -o replaced.heap "$pid" >/dev/null && sh -c "$fix"
kill "$pid"
ended() { ! kill -0 "$pid" 2>/dev/null; }
wait_for 20 ended
like "$("$cairn" top --no-cache --binary "replaced.$pid" replaced.heap 2>&1)" '*hold_steadily*' "a program replaced while it runs: $fix keeps its names"

if [ "$(id -u)" = 0 ]; then
	mount --make-rprivate / && cp -a /etc etc && mount --bind etc /etc
	cp steady privileged && chmod u+s,a+rx privileged && chmod 755 "$scratch" && touch "$file" && chmod 666 "$file"
	: >"$file"
	setpriv --reuid=65534 --regid=65534 --clear-groups ./privileged "$file" & children+=($!)
	wait_for 10 test -s "$file"
	pid=$(<"$file")
	fix=$(look privileges | tail -n 1)
	sh -c "$fix"
	is "$(readlink /etc/malloc.conf)" prof:true "a program of another user: $fix"
	kill -KILL "$pid"
else
	skip 'a program of another user' 'not root'
fi

if [ "$(id -u)" = 0 ]; then
	mkdir -m 700 closed
	rm -f "$file" && touch "$file" && chmod 666 "$file"
	begin_as_nobody() {
		: >"$file"
		setpriv --reuid=65534 --regid=65534 --clear-groups env "MALLOC_CONF=$1" "$service" "$file" & children+=($!)
		wait_for 20 test -s "$file"
		pid=$(<"$file")
		children+=("$pid")
	}
	begin_as_nobody "prof:true,prof_final:true,prof_prefix:$scratch/closed/je"
	paste 'dump folder' wrong 'a folder for dumps that it may not write to' restarts
else
	skip 'a folder for dumps that it may not write to' 'not root'
fi

# In a memory control group with a limit.
if try_group 64; then
	trap 'end_children -KILL; sleep 0.2; rmdir "$group"; rm -rf "$scratch"' EXIT
	begin_in_group() {
		rm -f "$file"
		in_group env MALLOC_CONF=prof:true,lg_prof_sample:19 "LD_PRELOAD=$library" "$service" "$file" & children+=($!)
		wait_for 20 test -s "$file"
		pid=$(<"$file")
		children+=("$pid")
		wait_for 20 answered "$pid"
	}
	begin_in_group
	limit_group $(($(awk '/^RssAnon/ { print $2 }' "/proc/$pid/status") * 1024 * 109 / 100))
	fix=$(look memory | tail -n 1)
	like "$fix" "cairn dump $pid" 'close to the limit: doctor sees it'
	(mkdir near && cd near && timeout 60 sh -c "$fix") >"$scratch/pasted" 2>&1
	is "$? $(find near -type f | wc -l)" "0 1" "and its fix leaves a dump: $(tail -n 1 "$scratch/pasted")"
	limit_group $((64 << 20))
	kill -KILL "$pid"
	wait "$pid" 2>/dev/null

	in_group python3 -c 'held = bytearray(500 << 20)' >/dev/null 2>&1
	is $? 137 'the OOM killer kills a process in the group'
	begin_in_group
	is "$(level memory)" note 'after an OOM kill: doctor sees it'
	fix=$(look memory | tail -n 1)
	like "$fix" "cairn watch $pid" 'and says to watch it'
	mkdir kept
	(cd kept && exec timeout 120 sh -c "exec $fix") >"$scratch/pasted" 2>&1 & watcher=$!
	children+=($watcher)
	first_is_there() { find kept -name '*.heap' | grep -q .; }
	wait_for 30 first_is_there
	ok $? "which keeps a dump: $fix"
	kill -KILL "$pid"
	wait $watcher
	is $? 0 'and ends with the process'
else
	skip 'close to the memory limit, and after an OOM kill' 'no memory control group can be made here'
fi

# What top says.
begin "$service" "$file"
said=$("$cairn" top "$pid" 2>&1)
fix=$(sed -n "s/.*start it with '\(.*\)'$/\1/p" <<<"$said")
kill "$pid"; rm -f "$file"
sh -c "$fix" >"$scratch/pasted" 2>&1 & children+=($!)
wait_for 20 test -s "$file"; pid=$(<"$file"); children+=("$pid")
wait_for 20 answered "$pid"
like "$("$cairn" top "$pid" 2>&1)" '*hold_steadily*' "top without an agent: $fix"
kill -STOP "$pid"
stopped() { grep -q '^State:.*T' "/proc/$pid/status"; }
wait_for 10 stopped
fix=$("$cairn" top "$pid" 2>&1 | sed -n "s/.*'\(kill -CONT [0-9]*\)'.*/\1/p")
sh -c "$fix"
wait_for 10 answered "$pid"
like "$("$cairn" top "$pid" 2>&1)" '*hold_steadily*' "top of a stopped process: $fix"
kill "$pid"
done_testing
