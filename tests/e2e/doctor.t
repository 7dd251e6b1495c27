#!/usr/bin/env bash
# The doctor on real diagnosiss: redis as it should be and in every way people get it wrong, other allocators, static and stripped programs,
# processes that are gone or belong to others, and dumps.
. tests/e2e/lib.sh
need redis-server redis-cli python3 curl
. tests/e2e/agent.sh

# sees CODE PATTERN NAME OPERAND: the doctor ends with CODE and says what is like PATTERN, each check as "LEVEL CHECK TEXT"
sees() {
	report=$("$cairn" doctor "$4" 2>&1)
	local code=$?
	report=$(echo "$report" | tr -s ' ')
	if [ "$code" = "$1" ] && [[ $report == $2 ]]; then ok 0 "$3"; else
		ok 1 "$3"
		printf '#   ended with %s:\n' "$code"
		echo "${report:-(nothing)}" | sed 's/^/#   /'
	fi
}
# lone CONF...: a redis without an agent; `pid` is its number. Its title is written over its environment.
lone() {
	local port
	port=$(free_port)
	env -u MALLOC_CONF "$@" redis-server --port "$port" --save "" --dir "$scratch" >"$scratch/lone.log" 2>&1 &
	pid=$!
	children+=("$pid")
	wait_for 10 redis-cli -p "$port" ping
}
ldd "$(command -v redis-server)" | grep -q libjemalloc || broken 'redis here has no libjemalloc.so'

MALLOC=prof:true,lg_prof_sample:12 start_redis good || broken 'redis does not start'
load "$port_good"
sees 0 '*right agent *right allocator *jemalloc 5*right in use *right enabled *right active *right period *right samples *live*right unwinder *' 'a redis as it should be' "$pid_good"
sees 0 '*right samples *' 'by the socket of its agent' "$sockets/$pid_good.sock"
sees 0 '*right agent *right allocator *jemalloc 5*right samples *' 'by its URL' "$url_good"
holds 'as JSON' python3 - <<P
import json, subprocess
answer = json.loads(subprocess.run(["$cairn", "doctor", "--json", "$pid_good"], capture_output=True).stdout)
assert answer["right"] is True and answer["kind"] == "process"
assert {"check", "level", "text", "fix", "advice"} == set(answer["findings"][0]) and len(answer["findings"]) > 12
assert not [f for f in answer["findings"] if f["level"] == "wrong"]
P
curl -s -X POST "$url_good/cairn/deactivate" >/dev/null
sees 1 "*wrong active *sampling is off*cairn activate $pid_good*" 'sampling turned off' "$pid_good"
curl -s -X POST "$url_good/cairn/reset" >/dev/null
sees 1 "*wrong samples *no samples, because sampling is off*-> cairn activate $pid_good*" 'and nothing sampled' "$pid_good"
MALLOC=prof:true,lg_prof_sample:40 start_redis sparse
sees 1 '*note samples *1 sample is few*' 'one sample' "$pid_sparse"
curl -s -X POST "$url_sparse/cairn/reset" >/dev/null
sees 1 '*wrong samples *no samples yet: less was allocated*to do: wait*' 'nothing sampled yet' "$pid_sparse"
curl -s -X POST "$url_good/cairn/activate" >/dev/null
redis-cli -p "$port_good" set one 1 >/dev/null
for i in $(seq 40); do redis-cli -p "$port_good" set "key$i" "$(printf %4000d 1)"; done >/dev/null
sees 1 '*wrong samples *samples show*before sampling began*' 'sampling that began late is told by what the allocator counts' "$pid_good"
CONF=budgett:1,engine:jemalloc MALLOC=prof:false start_redis off
sees 1 "*wrong agent's settings *unknown key 'budgett'; did you mean 'budget'?*to do: restart it with CAIRN_CONF=key:value*" 'a setting of the agent misspelt' "$pid_off"
sees 1 '*wrong enabled *to do: MALLOC_CONF=prof:false,prof:true in its environment*' 'started without prof:true, with an agent' "$pid_off"
CONF=engine:cairn MALLOC=prof_thread_active_init:false,prof_final:true,prof_prefix:/nowhere/x start_redis own
sees 1 "*right allocator Cairn's own engine*wrong active *-> cairn activate $pid_own*" "Cairn's own engine, beside options of a profiler that is off" "$pid_own"
is "$(grep -c ' threads \| dump folder ' <<<"$report")" 0 'which do not matter then'
# By a URL alone the agent is who knows the variable; here it is that of a Rust program.
curl -s "$url_off/cairn/status" | sed 's/"MALLOC_CONF"/"_RJEM_MALLOC_CONF"/' >"$scratch/status"
python3 - "$scratch/status" >"$scratch/port" <<'E' &
import http.server, sys
class Page(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        body = open(sys.argv[1], "rb").read()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
    def log_message(self, *_): pass
server = http.server.HTTPServer(("127.0.0.1", 0), Page)
print(server.server_port, flush=True)
server.serve_forever()
E
children+=($!)
wait_for 10 test -s "$scratch/port"
sees 1 '*wrong enabled *to do: _RJEM_MALLOC_CONF=prof:true in its environment*' 'the variable is the one the agent names' "http://127.0.0.1:$(cat "$scratch/port")"

lone MALLOC_CONF=prof:true,lg_prof_sample:16
sees 0 '*note agent *cairn run -- COMMAND*right allocator *right in use *right environment *MALLOC_CONF=prof:true*right enabled *by its options*right active *' 'without an agent' "$pid"
# What an agent that is added as it runs does without is at most worth a note, where one can be added.
lone A=1
unprofiled=note code=0 fix="-> cairn attach $pid"
if ! "$cairn" doctor "$pid" | grep -q 'it can be attached to'; then unprofiled=wrong code=1 fix='to do: MALLOC_CONF=prof:true in its environment'; fi
sees $code "*note environment *MALLOC_CONF is not set*$unprofiled enabled *without prof:true*$fix*" 'without an agent and without prof:true' "$pid"
kill -STOP "$pid"
wait_for 10 is_stopped "$pid"
sees 1 '*note attach *cannot be attached to*is stopped*wrong enabled *only a restart enables jemalloc*to do: MALLOC_CONF=prof:true in its environment*' 'the same, stopped' "$pid"
kill -CONT "$pid"
lone MALLOC_CONFF=prof:true
sees 1 '*wrong environment *MALLOC_CONFF is set, but this jemalloc reads MALLOC_CONF*to do: MALLOC_CONF=prof:true*' 'a variable misspelt' "$pid"
lone _RJEM_MALLOC_CONF=prof:true
sees 1 '*wrong environment *_RJEM_MALLOC_CONF is set, but*to do: MALLOC_CONF=prof:true*' 'a variable of another prefix' "$pid"
lone MALLOC_CONF=prof=true,lg_prof_smaple:16
sees 1 '*wrong options *malformed*to do: MALLOC_CONF=prof:true,lg_prof_sample:16*enabled *without prof:true*' 'equals signs for colons' "$pid"
lone MALLOC_CONF=opt.prof:true
sees 1 "*wrong options *no option 'opt.prof'*to do: MALLOC_CONF=prof:true*enabled *without prof:true*" 'the name of mallctl for that of the option' "$pid"
lone MALLOC_CONF=prof:True
sees 1 "*wrong options *'prof' takes true or false, not 'True'*to do: MALLOC_CONF=prof:true*enabled *without prof:true*" 'true in capitals' "$pid"
lone MALLOC_CONF=prof:true,prof:false
sees $code "*$unprofiled enabled *without prof:true*" 'the last of two wins' "$pid"
lone MALLOC_CONF=prof:true,prof_active:false
sees 0 '*cannot tell active *prof_active:false*' 'what only an agent knows is said to be so' "$pid"
lone MALLOC_CONF=prof:true,lg_prof_sample:30,prof_thread_active_init:false,prof_final:true,prof_prefix:/nowhere/x
sees 1 '*wrong threads *wrong period *1.0 GiB is coarse*wrong dump folder */nowhere*-> mkdir -p /nowhere*' 'too coarse, no threads, and no folder for dumps' "$pid"
lone MALLOC_CONF=prof:true,prof_prefix:/je,lg_prof_sample:16
sees 0 '*right dump folder *writes its dumps as /je*' 'dumps that go to the root' "$pid"
lone MALLOC_CONF=prof:true,prof_final:true,prof_prefix:dumps/je,lg_prof_sample:16
mkdir "$scratch/dumps"
sees 0 "*right dump folder *$scratch/dumps/je*" 'a folder beside the working directory' "$pid"
if [ "$(id -u)" = 0 ]; then
	lone MALLOC_CONF=prof:true,lg_prof_sample:16
	chmod 755 "$scratch"
	cp "$cairn" "$scratch/cairn"
	as_other=$(setpriv --reuid=65534 --regid=65534 --clear-groups "$scratch/cairn" doctor "$pid" 2>&1)
	is $? 2 "another user's process cannot be looked at"
	like "$as_other" '*belongs to another user*' 'and it is said why'
	mkdir -m 770 "$scratch/shared" && chgrp 4242 "$scratch/shared"
	lone setpriv --reuid=65534 --regid=65534 --groups=4242 env "MALLOC_CONF=prof:true,prof_final:true,prof_prefix:$scratch/shared/je,lg_prof_sample:16"
	sees 0 "*right dump folder *$scratch/shared/je*" 'a folder that a supplementary group of the process may write to' "$pid"
	chgrp 4243 "$scratch/shared"
	sees 1 "*wrong dump folder *user 65534 has no permission to write to $scratch/shared*" 'and one of another group' "$pid"
else
	skip "another user's process, and folders of groups" 'not root'
fi
lone LD_PRELOAD=/nowhere/libcairn.so MALLOC_CONF=prof:true,lg_prof_sample:16
sees 1 "*wrong agent *was not loaded*to do: put libcairn.so at /nowhere/libcairn.so*" 'an agent that is not there' "$pid"
LD_PRELOAD=$library sleep 600 &
children+=($!)
wait_for 10 is_loaded "$!"
sees 1 "*right agent *right allocator Cairn's own engine profiles*libc*wrong active *-> cairn activate $!*" "an agent in a process on libc's malloc" $!
(ulimit -f 8; exec sleep 600) &
children+=($!)
wait_for 3 runs $! sleep
sees 1 '*wrong limits *files of at most*-> prlimit --pid * --fsize=unlimited*' 'a limit on the size of files' $!
if [ $unprofiled = note ]; then fix="cairn attach $!"; else fix='cairn run -- sleep 600'; fi
sees 1 "*$unprofiled allocator *no jemalloc*-> $fix*" "a process on libc's malloc" $!

# A service that is attached to, in each of its states.
"${CC:-cc}" -O2 -g -o "$scratch/steady" tests/hosts/steady.c
sees 0 "*right allocator it does not contain jemalloc; Cairn's own engine profiles its allocator*-> cairn run -- $scratch/steady*" 'a program without jemalloc' "$scratch/steady"
steady() {
	rm -f "$scratch/number"
	"$scratch/steady" "$scratch/number" &
	pid=$!
	children+=("$pid")
	wait_for 20 test -s "$scratch/number"
}
steady
if [ $unprofiled = wrong ]; then
	skip 'what is said of an agent that was attached' 'processes here cannot be attached to'
else
	sees 0 "*note attach *-> cairn attach $pid*note allocator *nothing is profiled*-> cairn attach $pid*" 'before it is attached to' "$pid"
	"$cairn" attach -q --period 1T "$pid" && "$cairn" dump "$pid" -o "$scratch/none.heap" >/dev/null
	kill "$pid"
	steady
	"$cairn" attach -q --period 512K "$pid"
	# It replaces what it holds; a few of its objects are sampled by and by.
	is_sampled() { "$cairn" doctor "$pid" | grep -q 'samples are few\|sample is few'; }
	wait_for 20 is_sampled
	sees 0 "*note period *512.0 KiB is coarse*discards the samples so far*-> cairn reset --period 64K $pid*note samples *-> cairn reset --period 64K $pid*right on disk *steady and its libraries*" 'attached: no jemalloc option is advised, and the agent is no library that was replaced' "$pid"
	is "$(grep -c 'MALLOC_CONF\|prof_\|prof:' <<<"$report")" 0 'nor a setting of jemalloc anywhere'
	sees 1 "*wrong samples *no samples*to do: 'cairn activate PID' *'cairn reset --period 64K PID'*wrong period *to do: 'cairn reset --period 512K PID'*cannot tell leaks *no samples*" 'a dump without samples is not judged, and its advice is of the engine that wrote it' "$scratch/none.heap"
	kill -STOP "$pid"
	wait_for 10 is_stopped "$pid"
	sees 1 "*wrong agent *cannot answer, since the process is stopped*-> kill -CONT $pid*cannot tell allocator *only the agent can tell*" 'stopped: the agent is there, and cannot answer' "$pid"
	is "$(grep -c 'cairn run' <<<"$report")" 0 'and no other is advised'
	kill -CONT "$pid"
	"$cairn" detach "$pid" >/dev/null
	sees 0 "*note agent *loaded but does not run: it was detached*note attach *-> cairn attach $pid*note allocator *-> cairn attach $pid*right on disk *" 'detached: it is said that it was' "$pid"
	is "$(grep -c "cairn doctor" <<<"$report")" 0 'and doctor does not refer to itself'
fi
kill "$pid"

sees 2 '*no process 999999999*' 'a process that is not there' 999999999
sleep 0.1 &
gone=$!
wait $gone
sees 2 '*no process*' 'one that has ended' $gone
python3 -c 'import os, time
child = os.fork()
if child == 0: os._exit(0)
print(child, flush=True); time.sleep(600)' >"$scratch/zombie" &
children+=($!)
is_zombie() { grep -q '^State:.Z' "/proc/$(<"$scratch/zombie")/status"; }
wait_for 10 is_zombie
sees 2 '*has ended*' 'one that nobody has waited for' "$(<"$scratch/zombie")"
sees 2 '*' 'a file that is nothing of the kind' /etc/passwd
sees 2 '*No such file*' 'a file that is not there' "$scratch/nothing"

# A program that takes its memory from the kernel: no sample of the heap is missing, and the judge looks at what it mapped.
cat >"$scratch/maps.c" <<'C'
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
int main(void)
{
	memset(mmap(NULL, 64 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), 1, 64 << 20);
	write(1, "ready\n", 6);
	pause();
}
C
${CC:-cc} -O1 -g "$scratch/maps.c" -o "$scratch/maps" || broken 'a program that maps its memory does not build'
LD_PRELOAD=$library CAIRN_CONF=enable_heap_profiling:true,engine:cairn "$scratch/maps" >"$scratch/out" &
pid=$!
children+=("$pid")
wait_for 20 grep -q ready "$scratch/out"
"$cairn" dump "$pid" -o "$scratch/maps.heap" >/dev/null
sees 0 "*note samples there are no samples: the program mapped its memory itself, 64.0 MiB, past the allocator*-> cairn top --mappings anonymous $pid*leaks too early to tell*" 'one that maps its memory: who did, and what the judge says' "$pid"
sees 0 '*note samples there are no samples: the program mapped its memory itself, 64.0 MiB, *' 'so does its dump' "$scratch/maps.heap"
is "$(grep -c 'reset --period' <<<"$report")" 0 'and no shorter period is advised'
kill "$pid"

# Programs.
cat >"$scratch/service.c" <<'C'
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#ifdef CONF
const char *malloc_conf = CONF;
#endif
static __attribute__((noinline)) void *keep(size_t size) { char *volatile memory = malloc(size); memory[0] = 1; return memory; }
int main(void)
{
	for (int i = 0; i < 20000; i++)
		keep(1000);
	puts("ready");
	fflush(stdout);
	pause();
}
C
if ${CC:-cc} -O2 -g "$scratch/service.c" -o "$scratch/dynamic" -ljemalloc 2>/dev/null; then
	sees 0 '*right allocator *libjemalloc*right names *functions and lines*right stacks *right loading *' 'a program that loads jemalloc' "$scratch/dynamic"
	strip -o "$scratch/bare" "$scratch/dynamic"
	sees 1 '*wrong names *stripped*to do: put its debug file at /usr/lib/debug/.build-id/*' 'a stripped one' "$scratch/bare"
	objcopy --only-keep-debug "$scratch/dynamic" "$scratch/dynamic.debug"
	sees 2 '*a separate debug file*' 'its debug file alone' "$scratch/dynamic.debug"
	${CC:-cc} -O2 -Wl,--build-id=none "$scratch/service.c" -o "$scratch/nameless" -ljemalloc
	sees 0 '*note build-id *to do: link it with -Wl,--build-id*note names *no source lines*' 'one without a build-id' "$scratch/nameless"
	${CC:-cc} -O2 -g "$scratch/service.c" -o "$scratch/leaving" -ljemalloc
	MALLOC_CONF=prof:true,lg_prof_sample:14 "$scratch/leaving" >"$scratch/out" &
	pid=$!
	children+=("$pid")
	wait_for 10 grep -q ready "$scratch/out"
	if [ "$(id -u)" = 0 ]; then
		install -o 65534 -m 4755 "$scratch/dynamic" "$scratch/privileged"
		MALLOC_CONF=prof:true "$scratch/privileged" >"$scratch/out2" &
		children+=($!)
		wait_for 10 grep -q ready "$scratch/out2"
		if [ "$(od -An -tu8 -w16 "/proc/$!/auxv" | awk '$1 == 23 {print $2}')" = 1 ]; then
			sees 1 '*wrong privileges *not trusted*-> ln -sf prof:true /etc/malloc.conf*wrong enabled *' 'a program with the privileges of another user' $!
		else
			skip 'a program with the privileges of another user' 'set-user-ID has no effect here'
		fi
		mkdir -p "$scratch/jail"
		if chroot / true 2>/dev/null && ldd "$scratch/dynamic" | awk '/=> \//{print $3} /^\t\//{print $1}' | xargs -I{} cp --parents {} "$scratch/jail" && cp "$scratch/dynamic" "$scratch/jail/"; then
			MALLOC_CONF=prof:true,lg_prof_sample:14 chroot "$scratch/jail" /dynamic >"$scratch/out3" &
			children+=($!)
			wait_for 10 grep -q ready "$scratch/out3"
			sees 0 '*right allocator *right enabled *note container *its own file system*right on disk */dynamic*right names *' 'a program in a root of its own' $!
		else
			skip 'a program in a root of its own' 'chroot is not allowed'
		fi
	else
		skip 'privileged programs' 'not root'
	fi
	cp "$scratch/nameless" "$scratch/other"
	mv "$scratch/other" "$scratch/leaving"
	sees 0 "*note on disk *replaced by another build while it runs*disappears when the process ends*-> cp /proc/$pid/exe leaving.$pid*" \
		'a program replaced while it runs: it can be read as long as it does' "$pid"
	rm "$scratch/leaving"
	sees 0 "*note on disk *removed*-> cp /proc/$pid/exe leaving.$pid*" 'and removed' "$pid"
else
	skip 'programs on libjemalloc.so' 'no jemalloc to link with'
fi
archive=$(${CC:-cc} -print-file-name=libjemalloc.a)
if [ -e "$archive" ] && ${CC:-cc} -O2 -g '-DCONF="prof:true,lg_prof_sample:14"' "$scratch/service.c" -o "$scratch/inside" "$archive" -lm -lpthread -ldl -lstdc++ 2>"$scratch/log"; then
	sees 0 '*right allocator *jemalloc 5*inside*right built to profile *right environment *MALLOC_CONF*right options *compiled in*right enabled *compiled in*' 'jemalloc and its options compiled in' "$scratch/inside"
	rm -f "$scratch/out" # it says that the one before is ready
	"$scratch/inside" >"$scratch/out" &
	pid=$!
	children+=("$pid")
	wait_for 10 grep -q ready "$scratch/out"
	sees 0 '*right enabled *read from its memory*right active *read from its memory*right period *16.0 KiB*' 'its options are read from its memory' "$pid"
	strip -o "$scratch/hidden" "$scratch/inside"
	sees 1 '*right allocator *without symbols: only*right built to profile *right environment *MALLOC_CONF*' 'stripped, it is still found' "$scratch/hidden"
	if ${CC:-cc} -static -O2 -g "$scratch/service.c" -o "$scratch/static" "$archive" -lm -lpthread -lstdc++ 2>"$scratch/log"; then
		sees 0 '*right allocator *note enabled *in whose unwinder jemalloc aborts*counts its calls*note loading *static program*' 'a static program' "$scratch/static"
		"$cairn" doctor "$scratch/static" | grep -q 'MALLOC_CONF=prof:true'
		ok $((! $?)) 'and is not told to start with prof:true, which ends it'
	else
		skip 'a static program' "it does not link: $(tail -n 1 "$scratch/log")"
	fi
else
	skip 'jemalloc compiled in' "no libjemalloc.a that links: $(tail -n 1 "$scratch/log")"
fi

# Code without unwind tables and frame pointers: the agent's own counts say how many stacks lack their callers.
cat >"$scratch/untold.c" <<'C'
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
__attribute__((noinline)) void *hold(int size) { return memset(malloc(size), 1, size); }
__attribute__((noinline)) int work(int depth) { return depth ? work(depth - 1) + 1 : hold(5000) != 0; }
int main(void) { for (int i = 0; i < 2000; i++) work(9); pause(); }
C
${CC:-cc} -O1 -w -fomit-frame-pointer -fno-asynchronous-unwind-tables -fno-unwind-tables -fno-optimize-sibling-calls "$scratch/untold.c" -o "$scratch/untold"
LD_PRELOAD=$library CAIRN_CONF=engine:cairn,enable_heap_profiling:true,period:4K "$scratch/untold" &
pid=$!
children+=("$pid")
# It sleeps when it has allocated all of it.
sampled() { grep -q '^State:.S' "/proc/$pid/status" && "$cairn" status "$pid" | grep -q '^state: active' && "$cairn" top "$pid"; }
wait_for 30 sampled
sees 1 '*wrong stacks * of * stacks (* %) lack their callers: most of them end in code without unwind tables and frame pointers*to do: compile with -fasynchronous-unwind-tables*' \
	'stacks that end too early are counted' "$pid"

# Dumps.
"$cairn" dump "$pid_good" -o "$scratch/good.heap" >/dev/null
sees 1 '*right trailer *whole*wrong coverage *' 'a dump that shows part of what is live' "$scratch/good.heap"
mkdir "$scratch/folder" "$scratch/none"
cp "$scratch/good.heap" "$scratch/folder"
sees 1 '*right trailer *whole*wrong coverage *' 'the newest dump of a folder' "$scratch/folder"
sees 2 '*none: no heap dump in this folder*' 'a folder without any' "$scratch/none"
head -c -30 "$scratch/good.heap" >"$scratch/cut.heap"
sees 1 '*wrong trailer *cut short*' 'a dump cut short' "$scratch/cut.heap"
printf 'heap_v2/1073741824\n  t*: 0: 0 [0: 0]\n\nMAPPED_LIBRARIES:\n' >"$scratch/empty.heap"
sees 1 '*wrong samples *no samples*to do: MALLOC_CONF=prof:true*wrong period *1.0 GiB*to do: lg_prof_sample:19*' 'an empty one, too coarse' "$scratch/empty.heap"
printf 'heap_v2/524288\n  t*: 200: 4000000 [0: 0]\n@ 0x5555 0x6666\n  t*: 200: 4000000 [0: 0]\n' >"$scratch/bare.heap"
sees 1 '*wrong memory map *no memory map*' 'one without a memory map' "$scratch/bare.heap"
sees 1 '*wrong names */srv/leaky: the file is gone*--binary*' 'one whose program is not here' tests/fixtures/small.heap
done_testing
