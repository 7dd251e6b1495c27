#!/usr/bin/env bash
# `cairn run`: what it leaves and says when a command ends, in every way that commands end; programs that cannot be profiled; terminals;
# trees of processes; addresses that cannot be listened on.
. tests/e2e/lib.sh
need curl python3 cc nm objcopy strip
. tests/e2e/agent.sh
cc=${CC:-cc}
$cc -O1 -g -w tests/e2e/ends.c -o "$scratch/ends" -ljemalloc
$cc -O1 -g -w tests/e2e/forks.c -o "$scratch/forks" -ljemalloc
$cc -O2 -w tests/e2e/host.c -o "$scratch/host" -ljemalloc -pthread
cat >"$scratch/short.c" <<'C'
#include <stdlib.h>
#include <string.h>
int main(void) { for (int i = 0; i < 20000; i++) memset(malloc(4000), 1, 4000); return 5; }
C
$cc -O1 -g -w "$scratch/short.c" -o "$scratch/short"
export TMPDIR=$scratch/tmp
mkdir "$TMPDIR" "$scratch/here"
cd "$scratch/here"
# left: the profiles of the last run, which are removed from here
left() { ls cairn.* 2>/dev/null | tr '\n' ' '; }
# holder FILE: who holds most
holder() { "$cairn" top -n 1 "$1" 2>/dev/null | awk '/ Self% .* Name$/ {getline; print $NF}'; }
# mebibytes FILE: what is live
mebibytes() { "$cairn" top --json "$1" 2>/dev/null | python3 -c 'import json, sys; print(round(json.load(sys.stdin)["total"] / 2**20))'; }

out=$("$cairn" run -q --engine jemalloc -o on-jemalloc.heap --period 16K -- "$scratch/short" 2>&1)
like "$out" "*short has no jemalloc; it runs on*libjemalloc.so.2*" "--engine jemalloc adds a jemalloc and says so"
is "$(holder on-jemalloc.heap)" main "and leaves a profile of it"
rm -f on-jemalloc.heap
out=$("$cairn" run --engine tcmalloc -- "$scratch/short" 2>&1)
is "$?$out" "2cairn: --engine takes auto, cairn or jemalloc, not 'tcmalloc'" "there are no other engines"
out=$("$cairn" run --period 4K -- "$scratch/short" 2>&1)
is $? 5 "run passes the exit code through"
[[ $out != *jemalloc* ]]
ok $? "a program keeps the allocator it has"
is "$(wc -l <<<"$out")" 5 "a summary of five lines"
like "$out" "*short (process *) exited with code 5 after *, peak RSS *live at the end: 7?.? MiB in 1 process*held by: main 7?.? MiB*peak of private memory: at the end*profile: cairn.short.*.heap; 'cairn top cairn.short.*.heap' shows it" \
	"how it ended, how much was live, who held it, the highest moment, and where the profile is"
is "$(holder cairn.short.*.heap)" main "the profile is left, and holds what was sampled"
rm -f cairn.*
# Memory is that of the function that wanted it.
cat >"$scratch/wraps.c" <<'C'
#include <stdlib.h>
#include <string.h>
__attribute__((noinline)) void *xmalloc(size_t size) { void *memory = malloc(size); return memset(memory, 1, size); }
__attribute__((noinline)) void load_page(void) { static char *volatile last; last = xmalloc(4000); }
int main(void) { for (int i = 0; i < 5000; i++) load_page(); }
C
$cc -O1 -g -w "$scratch/wraps.c" -o "$scratch/wraps"
like "$("$cairn" run --period 4K -- "$scratch/wraps" 2>&1)" '*held by: load_page *' 'the summary charges memory to the caller of a wrapper'
rm -f cairn.*
# A script that becomes the program after a while: nothing of the program was allocated before sampling began.
"$cairn" run -q --period 16K -o script.heap -- sh -c "sleep 1.5; exec \"$scratch/short\"" >/dev/null 2>&1
is "$(holder script.heap) $("$cairn" top script.heap 2>/dev/null | grep -c 'sampling began')" "main 0" \
	"a script that becomes the program has been sampled from the program's start"
rm -f script.heap
out=$("$cairn" run -q --active --period 16K -o mine.heap -- "$scratch/short" 2>&1)
is "$out" "" "-q prints no summary"
is "$(left)$(holder mine.heap)" main "-o names the profile; --active is accepted"
# format FILE: of its content, whatever its name is
format() {
	local packing=
	if gzip -qt "$1" 2>/dev/null; then packing=gzip; fi
	"$cairn" top --json "$1" 2>/dev/null | python3 -c 'import json, sys; print(json.load(sys.stdin)["format"].split()[0], sys.argv[1])' "$packing"
}
for expected in "one.heap heap_v2 " "one.heap.gz heap_v2 gzip" "one.gz heap_v2 gzip" "one.pb.gz pprof gzip" "one.pb pprof " "one.pprof pprof gzip"; do
	read -r name _ <<<"$expected"
	"$cairn" run -q --period 16K -o $name -- "$scratch/short" >/dev/null 2>&1
	is "$name $(format $name) $(holder $name)" "$expected main" "$name is in the format of its name"
done
if command -v go >/dev/null; then
	like "$(go tool pprof -top one.pb.gz 2>&1)" "*main*" "go tool pprof reads it"
else
	skip "go tool pprof reads it" "no go here"
fi
rm -f one.*
mkdir folder
"$cairn" run -q --period 16K -o folder -- "$scratch/short" >/dev/null 2>&1
is "$(left)$(holder folder/cairn.short.*.heap)" main "-o may be a folder, as that of cairn dump"
rm -r folder
out=$("$cairn" run -o "$scratch/nowhere/a.heap" -- touch started 2>&1)
is "$? $out $(ls)" "2 cairn: --output: there is no folder $scratch/nowhere mine.heap" "-o is checked before the command is started"
mkdir gone
out=$("$cairn" run --period 16K -o gone/a.heap -- sh -c "rmdir gone; exec \"$scratch/short\"" 2>&1)
like "$out" "*gone/a.heap: No such file or directory; the profile is $TMPDIR/cairn.sh.*.heap instead*held by: main*profile: $TMPDIR/cairn.sh.*.heap;*" \
	"what can no longer be written there is written to TMPDIR"
is "$(holder "$TMPDIR"/cairn.sh.*.heap)" main "as a whole"
mkdir gone
out=$(TMPDIR=$scratch/nowhere "$cairn" run --period 16K -o gone/a.heap -- sh -c "rmdir gone; exec \"$scratch/short\"" 2>&1)
like "$out" "*gone/a.heap: No such file*$scratch/nowhere/cairn.sh.*: No such file*live at the end*" "and if that cannot be either, both are said"
is "$(grep -c 'no profile:\|profile: ' <<<"$out")" 0 "and nothing else is given as the reason"
rm -f "$TMPDIR"/cairn.*
out=$("$cairn" run --wait -- "$scratch/ends" return 20 2>&1)
like "$out" "*exited with code 6*no profile: nothing was sampled*'cairn activate'*" "--wait samples nothing until it is activated"
is "$(left)" "" "and leaves nothing"
cat >"$scratch/frees.c" <<'C'
#include <stdlib.h>
int main(void) { for (int i = 0; i < 20000; i++) free(memset(malloc(4000), 1, 4000)); return 0; }
C
$cc -O1 -w -include string.h -fno-builtin "$scratch/frees.c" -o "$scratch/frees"
out=$("$cairn" run --period 16K -- "$scratch/frees" 2>&1)
like "$out" "*live at the end: 0 B in 1 process*peak of private memory*profile: *" "a program that frees everything holds nothing"
is "$(grep -c 'held by' <<<"$out")" 0 "and no function is said to hold it"
rm -f cairn.*

# Ends.
for end in "exit 5" "return 6"; do
	out=$("$cairn" run --period 64K -- "$scratch/ends" ${end% *} 40 2>"$scratch/err")
	is $?$out "${end#* }" "a program that ends by ${end% *}"
	[ "$(holder cairn.ends.*.heap)" = keep_it ] && [ "$(mebibytes cairn.ends.*.heap)" -ge 30 ]
	ok $? "leaves what it held"
	rm -f cairn.*
done
start_term() {
	rm -f "$scratch/out" # the one before was ready
	"$cairn" run --period 64K -- "$scratch/ends" term 40 >"$scratch/out" 2>"$scratch/err" &
	runner=$!
	children+=($runner)
	wait_for 20 grep -q ready "$scratch/out"
	wait_for 20 pgrep -P $runner # the service, by its parent
	service=$(pgrep -P $runner)
	wait_for 20 is_loaded "$service"
}
start_term
kill -TERM $runner
wait $runner
is $? 0 "SIGTERM goes to the command"
is "$(cat "$scratch/out")" ready "nothing is added to its output"
[ "$(mebibytes cairn.ends.*.heap)" -ge 30 ]
ok $? "and the profile is from before it gave its memory back"
rm -f cairn.*
start_term
# has_snapshot MIB: the runner has one of so much at least; it keeps them in files without a name
has_snapshot() {
	local descriptor
	for descriptor in $(ls -l "/proc/$runner/fd" | grep -F "$TMPDIR/" | sed 's/ -> .*//; s/.* //'); do
		tail -n 1 "/proc/$runner/fd/$descriptor" | grep -q '^# cairn end' && [ "$(mebibytes "/proc/$runner/fd/$descriptor")" -ge "$1" ] && return
	done
	false
}
wait_for 20 has_snapshot 30
kill -KILL $service
wait $runner
is $? 137 "a command that is killed"
like "$(tail -n 5 "$scratch/err")" "*was killed by signal 9 (Killed)*live at ??:??:??: *held by: keep_it*" "shows its highest moment"
[ "$(mebibytes cairn.ends.*.heap)" -ge 30 ]
ok $? "and leaves the profile of that"
rm -f cairn.*
# run_peak OPTION...: a run that holds 60 MiB until a profile of that was taken, and then gives them back
run_peak() {
	rm -f "$scratch/given"
	"$cairn" run --period 64K "$@" -- "$scratch/ends" peak 60 "$scratch/given" 2>"$scratch/err" &
	runner=$!
	children+=($runner)
	wait_for 120 has_snapshot 50
	touch "$scratch/given"
	wait $runner
}
run_peak
like "$(cat "$scratch/err")" "*live at the end:*peak of private memory: [5-7]?.? MiB in 1 process at ??:??:??; its profile is cairn.ends.*.peak.heap*" \
	"what was highest and is gone at the end is shown"
[ "$(mebibytes cairn.ends.*.peak.heap)" -ge 50 ] && [ "$(mebibytes "$(ls cairn.ends.*.heap | grep -v peak)")" -le 10 ]
ok $? "and left beside the profile of the end"
like "$("$cairn" dumps .)" "*.peak.heap  \[first, highest\]*" "cairn dumps calls the same one the highest"
rm -f cairn.*
like "$("$cairn" run -- sh -c "$scratch/short; exit 3" 2>&1)" '*sh (process *) exited with code 3 after * s, peak RSS * MiB in its largest process*' \
	"the peak of a child is not said to be that of the command"
rm -f cairn.*
mkdir v1.2
run_peak -o v1.2/high.heap.gz
is "$(ls v1.2 | tr '\n' ' ')$(format v1.2/high.peak.heap.gz)" "high.heap.gz high.peak.heap.gz heap_v2 gzip" "with -o the name says so before its extension"
rm -r v1.2
"$cairn" run -- "$scratch/ends" return 20 2>&1 | head -n 1 >"$scratch/out"
like "$(cat "$scratch/out")" "*ends (process *" "a reader that goes away early"
is "$(ls -A "$TMPDIR")" "" "leaves nothing behind"
rm -f cairn.*
if [ "$(id -u)" = 0 ]; then
	chmod 755 "$scratch"
	"$cairn" run --period 64K -- "$scratch/ends" drop 20 >"$scratch/out" 2>"$scratch/err"
	is $? 6 "a host that has become another user"
	is "$(grep -v '^cairn: note:' "$scratch/out" "$scratch/err")" "" "says nothing, and neither does its jemalloc"
	is "$(holder cairn.ends.*.heap)" keep_it "and its profile is left"
	rm -f cairn.*
	mkdir -m 700 "$scratch/closed"
	(cd "$scratch/closed" && "$cairn" run --interval 1M -- "$scratch/ends" drop 20) >"$scratch/out" 2>"$scratch/err"
	is "$(grep -v '^cairn: note:' "$scratch/out" "$scratch/err")" "" "also when jemalloc cannot write a dump of its own"
	holds "setpriv changes its user while it keeps capabilities, which libc ends if a second thread does not" \
		"$cairn" run -q -- setpriv --reuid=65534 --regid=65534 --clear-groups true
else
	skip "a host that has become another user" "only root can"
fi

# Terminals: Ctrl-C reaches the command after its profile is taken, and a command that reads from the terminal can.
cat >"$scratch/terminal.py" <<'P'
import glob, os, pty, re, sys, time
def has_ledger():
    for maps in glob.glob("/proc/[0-9]*/maps"):
        try:
            if "cairn-ledger" in open(maps).read(): return True
        except OSError: pass
pid, terminal = pty.fork()
if pid == 0:
    os.execv(sys.argv[2], sys.argv[2:])
output = b""
for awaited, sent in [part.split("=") for part in sys.argv[1].split(",")]:
    while awaited.encode() not in output:
        piece = os.read(terminal, 4096)
        if not piece: sys.exit("nothing more after " + repr(output))
        output += piece
    while not has_ledger(): time.sleep(0.05)
    time.sleep(0.5)
    os.write(terminal, sent.encode().decode("unicode_escape").encode())
try:
    while True:
        piece = os.read(terminal, 4096)
        if not piece: break
        output += piece
except OSError: pass
print(output.decode().replace("\r", ""))
print("code", os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
P
out=$(timeout 600 python3 "$scratch/terminal.py" 'ready=\x03' "$cairn" run --period 64K -- "$scratch/ends" term 40)
like "$out" "*live at the end: [34]?.? MiB*held by: keep_it*code 3" "Ctrl-C: the profile is from before, and the command gets it"
rm -f cairn.*
out=$(timeout 600 python3 "$scratch/terminal.py" "?=anna\\n" "$cairn" run -q -- sh -c 'printf "?"; read name; echo "hello $name"')
like "$out" "*hello anna*code 0" "a command may read from the terminal"
rm -f cairn.*

# Trees.
mkfifo "$scratch/stop"
"$cairn" run -- "$scratch/forks" tree 2 30 <"$scratch/stop" >"$scratch/out" 2>"$scratch/err" &
runner=$!
children+=($runner)
exec 7>"$scratch/stop"
wait_for 30 grep -q idle "$scratch/out"
# all_hold: each of them has been sampled
all_hold() {
	local child
	for child in $(sed -n 's/child //p' "$scratch/out"); do
		"$cairn" top "$child" || return 1
	done
}
wait_for 30 all_hold
kill -TERM $runner
wait $runner
exec 7>&-
like "$(cat "$scratch/err")" "*live at the end: * in 3 processes*profile: cairn.forks.*.pb.gz*" "one profile of all processes of the tree"
is "$(left | wc -w)" 1 "in one file"
is "$("$cairn" tags cairn.forks.*.pb.gz 2>/dev/null | grep -c 'forks [0-9]')" 3 "that tells them apart"
rm -f cairn.*
out=$("$cairn" run --period 256 -- "$scratch/ends" forks 300 2>&1)
is "$(left | wc -w)" 1 "300 children that end leave one profile"
like "$out" "*in 1 process*" "of the process that goes on"
rm -f cairn.*
"$cairn" run -- "$scratch/dynamic" 2>/dev/null
is $? 127 "a command that is not there"
"$cairn" run -- "$root/README.md" >/dev/null 2>&1
is $? 126 "a file that is no program"
is "$("$cairn" run -- ./ 2>&1) $?" 'cairn: ./ is not executable 126' "a folder is none either"
is "$("$cairn" run -q --period 16K -- printf '<%s>' one --two '' 2>/dev/null)" '<one><--two><>' "run passes the arguments on, and nothing else"
rm -f cairn.*

# Dumps of jemalloc's own.
"$cairn" run --engine jemalloc --interval 16M --prefix "$scratch/dumps-" -- "$scratch/short" >/dev/null 2>&1
[ "$(ls "$scratch" | grep -cE '^dumps-\.[0-9]+\.[0-9]+\.i[0-9]+\.heap$')" -ge 2 ] && ls "$scratch" | grep -qE '^dumps-\.[0-9]+\.heap$'
ok $? "--interval leaves dumps, and the names of all begin with --prefix"
(mkdir "$scratch/rise" && cd "$scratch/rise" && cp ../short compute-node && RISEDEV_ENABLE_HEAP_PROFILE=1 "$cairn" run --engine jemalloc -q --interval 16M ./compute-node 2>/dev/null)
ls "$scratch/rise" | grep -qE '^compute-node\.[0-9]+\.[0-9]+\.i[0-9]+\.heap$'
ok $? "RISEDEV_ENABLE_HEAP_PROFILE leaves compute-node.PID.N.iN.heap"

# Programs that nothing can be preloaded into run as they are (static.t has their profiles): no setting of jemalloc's reaches them.
printf '#include <stdio.h>\n#include <stdlib.h>\nint main(int argc, char **argv) { free(malloc(argc)); return puts(argc == 2 ? argv[1] : "without its argument") < 0; }\n' >"$scratch/static.c"
whole="-Wl,--whole-archive -ljemalloc -Wl,--no-whole-archive -lm -lpthread -ldl -lstdc++"
holds "a static program with jemalloc links" $cc -static -w "$scratch/static.c" -o "$scratch/static" $whole
MALLOC_CONF=prof:true "$scratch/static" once >/dev/null 2>&1
is $? 134 "with prof:true it aborts"
is "$("$cairn" run -q -- "$scratch/static" once 2>"$scratch/err" | tr '\n' ' ')" "once " "under cairn run it runs"
is "$(cat "$scratch/err")" "" "and nothing is complained of"
holds "a position-independent one links" $cc -static-pie -w "$scratch/static.c" -o "$scratch/static-pie" "$($cc -print-file-name=libjemalloc_pic.a)" -lm -lpthread -ldl -lstdc++
is "$("$cairn" run -q -- "$scratch/static-pie" once 2>"$scratch/err" | tr '\n' ' ')" "once " "and runs"
is "$(cat "$scratch/err")" "" "as quietly"
holds "a program for musl links" musl-gcc -w "$scratch/static.c" -o "$scratch/musl"
is "$("$cairn" run -q -- "$scratch/musl" once 2>"$scratch/err" | tr '\n' ' ')" "once " "and runs"
is "$(cat "$scratch/err")" "" "as quietly"
is "$(left)" "" "who allocates next to nothing leaves no profile"
"$cairn" run -q --engine jemalloc -- "$scratch/musl" once >"$scratch/log" 2>"$scratch/err"
like "$(cat "$scratch/log" "$scratch/err")" "once*is linked with musl, so it runs without profiling*without --engine jemalloc*" "with --engine jemalloc it runs, and why it is not profiled is said"

# A stripped jemalloc with names of its own cannot be found: that is said before the program starts, and in place of the profile. One that is
# malloc is counted.
steady_inside "$scratch/inside"
steady_prefixed "$scratch/prefixed"
for kind in inside prefixed; do
	strip -o "$scratch/$kind-stripped" "$scratch/$kind"
	"$cairn" run -- "$scratch/$kind-stripped" "$scratch/$kind.ready" 2>"$scratch/err" &
	runner=$!
	children+=($runner)
	wait_for 20 test -s "$scratch/$kind.ready"
	service=$(cat "$scratch/$kind.ready")
	wait_for 20 is_loaded "$service"
	said=$("$cairn" doctor "$service" 2>&1 | tr -s ' ')
	if [ $kind = prefixed ]; then
		like "$(cat "$scratch/err")" "*the memory of $scratch/$kind-stripped will not be profiled: its jemalloc has no symbols*strip --strip-debug*" "jemalloc $kind and stripped: said at the start"
		like "$said" "*wrong allocator jemalloc 5* in $scratch/$kind-stripped, without symbols*to do: keep the symbol table*wrong inside jemalloc in $scratch/$kind-stripped is not sampled: its functions have no names*" "and the doctor says so of the process"
	else
		is "$(cat "$scratch/err")" "" "jemalloc $kind and stripped: nothing is said at the start"
		like "$said" "*right inside Cairn's own engine counts jemalloc in $scratch/$kind-stripped, at the entries of * functions*" "the doctor says that it is counted"
	fi
	kill $runner # which takes a profile first, however short the run
	wait $runner
	[ $kind = prefixed ] || like "$(cat "$scratch/err")" '*held by: inside-stripped+*profile: *' 'and there is a profile'
	rm -f cairn.*
done

# What the user says in MALLOC_CONF stays, unless an option says otherwise.
# started CONF OPTION...: state, period and prefix of the program with jemalloc inside, run with these options
started() {
	local conf=$1 runner service
	shift
	rm -f "$scratch/conf.ready"
	MALLOC_CONF=$conf "$cairn" run -q "$@" -- "$scratch/inside" "$scratch/conf.ready" 2>/dev/null &
	runner=$!
	wait_for 20 test -s "$scratch/conf.ready"
	service=$(cat "$scratch/conf.ready")
	wait_for 20 is_loaded "$service"
	"$cairn" status --json "$service" | of_json '"%s %s %s" % (r["state"], r["period"], r["jemalloc"]["prof_prefix"])'
	kill "$service"
	wait $runner
	rm -f cairn.*
}
is "$(started '')" "active 524288 $PWD/cairn.inside" 'jemalloc inside: the defaults of cairn run'
is "$(started "lg_prof_sample:14,prof_prefix:$scratch/mine,")" "active 16384 $scratch/mine" 'what MALLOC_CONF says stays'
is "$(started "lg_prof_sample:14,prof:false,prof_prefix:$scratch/mine" --period 64K --prefix "$scratch/other")" "active 65536 $scratch/other" 'options override it'
is "$(started prof_active:false)" "inactive 524288 $PWD/cairn.inside" 'prof_active:false is --wait'
is "$(started prof_active:false --active)" "active 524288 $PWD/cairn.inside" 'unless there is --active'
MALLOC_CONF=prof_final:true,prof_prefix:$scratch/final "$cairn" run -q --engine jemalloc -- "$scratch/short" 2>/dev/null
holds "a final dump that MALLOC_CONF asks for is written" sh -c "ls '$scratch'/final.*.f.heap"
rm -f cairn.*

# A script that starts such a program: what the script's environment has reaches it.
holds "a static program for musl links" musl-gcc -static -w "$scratch/static.c" -o "$scratch/musl-static"
for kind in static static-pie musl-static; do
	printf '#!/bin/sh\nexec %s "$@"\n' "$scratch/$kind" >"$scratch/start-$kind"
	chmod +x "$scratch/start-$kind"
	is "$("$cairn" run -q -- "$scratch/start-$kind" once 2>"$scratch/err"; echo $?)" "once
0" "a script that starts a program of the kind $kind runs"
	is "$(cat "$scratch/err")" "" "and nothing is said about it"
done
"$cairn" run -q --engine jemalloc -- "$scratch/start-static" once >/dev/null 2>"$scratch/err"
is $? 134 "with --engine jemalloc it aborts, since prof:true reaches it"
like "$(cat "$scratch/err")" "*a program that $scratch/start-static started has aborted: a static program with jemalloc*without --engine it runs*" "and why is said"
rm -f cairn.*

# Addresses.
port=$(free_port)
"$cairn" run -q --listen 127.0.0.1:$port -- "$scratch/host" --some --options 2>"$scratch/err" &
runner=$!
children+=($runner)
wait_for 10 curl -sf "http://127.0.0.1:$port/cairn/status"
ok $? "--listen"
is "$(cat "$scratch/err")" "" "of which nothing is said"
service=$(field "http://127.0.0.1:$port" pid)
like "$(tr '\0' ' ' </proc/$service/cmdline)" "*--some --options*" "the command keeps its own options"
like "$("$cairn" run -q --listen 127.0.0.1:$port -- "$scratch/short" 2>&1)" "*the agent cannot listen on 127.0.0.1:$port: Address already in use*" "a port that is taken is reported"
like "$("$cairn" run -q --listen 0.0.0.0:$(free_port) -- "$scratch/short" 2>&1)" "*the agent cannot listen on 0.0.0.0:*set a token*" "so is a public address without a token"
"$cairn" run -q --listen 127.0.0.1:$(free_port) --token a,b -- true 2>"$scratch/err"
is "$? $(cat "$scratch/err")" "2 cairn: a token has at least one character, and no comma" \
	"a token that the agent could not take is a usage error"
other=$(free_port)
"$cairn" run -q --listen 127.0.0.1:$other --token sesame --budget 2% -- "$scratch/host" 2>"$scratch/err" &
guarded=$!
children+=($guarded)
wait_for 10 curl -sf -H 'Authorization: Bearer sesame' "http://127.0.0.1:$other/cairn/status"
ok $? "--token"
is "$(curl -s -o /dev/null -w '%{http_code}' "http://127.0.0.1:$other/cairn/status")" 401 "without it nobody is answered"
like "$(curl -s -H 'Authorization: Bearer sesame' "http://127.0.0.1:$other/cairn/status?output=json")" '*"budget":0.02*' "--budget"
kill -TERM $guarded
wait $guarded 2>/dev/null
kill -TERM $runner
wait $runner
is $? 143 "a signal goes to the command, and its end comes back"
kill -0 "$service" 2>/dev/null
ok $((! $?)) "which is gone"
# More processes than a limit of 64 files allows to look at: the supervisor raises its own, and the command keeps it.
cat >"$scratch/many.py" <<'P'
import os, resource, subprocess, sys, time
held = [bytes(100000) for _ in range(400)]
many = [subprocess.Popen(["sleep", "1000"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) for _ in range(60)]
print(*(process.pid for process in many), file=open(sys.argv[1], "w"), flush=True)
def opened(): # what the supervisor has open
    folder, links = "/proc/%d/fd" % os.getppid(), []
    for name in os.listdir(folder):
        try:
            links.append(os.readlink(folder + "/" + name))
        except OSError:
            pass
    return links
for _ in range(3000): # until it has seen them all, or says that it cannot
    seen = {link.split("/")[2] for link in opened() if link.startswith("/proc/")}
    if all(str(process.pid) in seen for process in many):
        break
    time.sleep(0.02)
print(resource.getrlimit(resource.RLIMIT_NOFILE)[0], flush=True)
P
out=$(ulimit -Sn 64; "$cairn" run -o many.heap -- python3 "$scratch/many.py" "$scratch/many.pids" 2>&1)
like "$out" "64
*; 60 descendant processes still run*" "the memory of 60 descendants is read with a limit of 64 files, which the command keeps"
kill $(cat "$scratch/many.pids")

# Where no more can be opened at all, whoever ends waits a moment for the supervisor, which does not run round meanwhile.
cat >"$scratch/accepts.c" <<'C'
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
int accept4(int socket, struct sockaddr *address, socklen_t *length, int flags)
{
	if (strcmp(program_invocation_short_name, "cairn") != 0)
		return ((int (*)(int, struct sockaddr *, socklen_t *, int))dlsym(RTLD_NEXT, "accept4"))(socket, address, length, flags);
	int file = open("ACCEPTS", O_WRONLY | O_APPEND | O_CREAT, 0600);
	(void)!write(file, "x", 1);
	close(file);
	errno = EMFILE;
	return -1;
}
C
sed -i "s|ACCEPTS|$scratch/accepts|" "$scratch/accepts.c"
$cc -w -shared -fPIC -o "$scratch/accepts.so" "$scratch/accepts.c"
LD_PRELOAD=$scratch/accepts.so "$cairn" run -q -o refused.heap -- "$scratch/short" >"$scratch/out" 2>&1
is $? 5 "the command's code is passed through where no guest can be let in"
is "$(($(stat -c %s "$scratch/accepts") < 500))" 1 "accept() fails $(stat -c %s "$scratch/accepts") times, not without a pause"
done_testing
