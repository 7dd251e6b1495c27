#!/usr/bin/env bash
# The command's side: ps, status, activate, deactivate, reset, dump, gdump, stats; live targets; services that embed the agent.
. tests/e2e/lib.sh
need redis-server curl python3 cc c++
. tests/e2e/agent.sh
cc=${CC:-cc}

MALLOC=prof:true,prof_active:false,lg_prof_sample:12 TOOL=$cairn start_redis live || { ok 1 "redis-server starts"; done_testing; }
like "$("$cairn" ps)" "*$pid_live  inactive*redis-server*" "ps"
is "$("$cairn" ps --json | python3 -c "import json,sys; print([p['state'] for p in json.load(sys.stdin)['processes'] if p['pid'] == $pid_live][0])")" inactive "ps --json"
row() { "$cairn" ps | awk -v pid="$pid_live" '$1 == pid {print $7}'; }
is "$(row)" 0 "ps counts no samples while sampling is off"
holds "activate" "$cairn" activate "$pid_live"
load "$port_live"
holds "ps counts the samples that are taken, before anybody took a snapshot" test "$(row)" -gt 0
like "$("$cairn" status "$pid_live")" *$'\n'"samples taken since the start: "[1-9]*$'\n'"snapshots: 0"* "and so does status"
has_samples "$url_live" "redis is sampled"
like "$("$cairn" status "$pid_live")" "*state: active*active since: 2*period: 4096*" "status by PID"
like "$("$cairn" status "$sockets/$pid_live.sock")" "pid: $pid_live*" "by socket"
like "$("$cairn" status "$url_live/")" "pid: $pid_live*" "by URL"
"$cairn" status --json "$pid_live" | python3 -c 'import json, sys; json.load(sys.stdin)'
ok $? "status --json is JSON"
like "$("$cairn" stats "$pid_live")" "*Begin jemalloc statistics*" "stats"
"$cairn" stats --json "$pid_live" | python3 -c 'import json, sys; json.load(sys.stdin)'
ok $? "stats --json is JSON"
name=$(cd "$scratch" && "$cairn" dump "$pid_live")
[[ $name =~ ^redis-server-$pid_live-.*-[0-9]{8}T[0-9]{6}Z-[0-9.]+[KMGiB]+\.heap$ ]] && head -c 8 "$scratch/$name" | grep -q heap_v2/
ok $? "dump names the file by program, PID, host, time and size: $name"
like "$("$cairn" dump -o "$scratch/my.heap" "$pid_live")" "$scratch/my.heap" "or as told"
is "$(for _ in 1 2 3 4 5 6 7 8; do curl -s "$url_live/cairn/snapshot" | grep -a '^# cairn start'; done | sort -u | wc -l)" 1 "every snapshot gives the same start of the process"
[ "$(grep -c '^# cairn end' "$scratch/my.heap")" = 1 ]
ok $? "with its trailer"
like "$("$cairn" top "$pid_live" 2>/dev/null)" "*process $pid_live*sdsnewlen*" "top of a live process"
like "$("$cairn" collapsed "$url_live" 2>/dev/null)" "*;*" "collapsed of a URL"
like "$("$cairn" status "${url_live#http://}")" "pid: $pid_live*" "by HOST:PORT, as curl takes it"
like "$("$cairn" top "${url_live#http://}/" 2>&1)" "*process $pid_live*sdsnewlen*" "top of HOST:PORT"
like "$("$cairn" top "${url_live#http://}/debug/pprof/heap" 2>&1)" "*sdsnewlen*" "and of a page there"
like "$("$cairn" watch --once --folder "$scratch/by-port" "${url_live#http://}" 2>&1)" "*${url_live#http://}*start*.heap" "watch takes it too"
(cd "$scratch" && cp "$name" localhost:1 && "$cairn" top localhost:1 2>&1) | grep -q sdsnewlen
ok $? "a file of such a name is a file"
like "$("$cairn" top "$scratch/my.heap" 2>/dev/null)" "*sdsnewlen*" "a snapshot with its trailer is a dump like any other"
like "$("$cairn" doctor "$scratch/my.heap")" "*right*all of its * files are here, in the same build*" "it has the build-id of every file"
libc=$(sed -n 's|^# cairn module [^ ]* [^ ]* \([^ ]*\) .*/libc\.so\.6$|\1|p' "$scratch/my.heap")
sed "s/^\(# cairn module .*\) $libc /\1 0123456789abcdef /" "$scratch/my.heap" >"$scratch/other.heap"
like "$("$cairn" doctor "$scratch/other.heap")" "*wrong*libc.so.6 is another build: its build-id is $libc, the profile's is 0123456789abcdef*" \
	"of another libc, that is said"
"$cairn" collapsed "$scratch/other.heap" 2>/dev/null | grep -q 'libc\.so\.6+0x'
ok $? "and its functions are not named after this one's"
"$cairn" pprof "$scratch/other.heap" 2>/dev/null | "$cairn" raw - 2>/dev/null | grep -q '/libc\.so\.6 build-id 0123456789abcdef$'
ok $? "nor is its build-id in a profile for others"
like "$("$cairn" gdump "$pid_live" on)" "$pid_live: jemalloc writes a dump at each new high of memory in use" "gdump on"
is "$(curl -s "$url_live/debug/prof/mem/gdump")" '{"active": true}' "is on"
like "$("$cairn" gdump "$pid_live" off)" "$pid_live: no more dumps are written at new highs" "gdump off"
like "$("$cairn" reset --period 64K "$pid_live")" "*discarded*" "reset says what is lost"
like "$("$cairn" status "$pid_live")" "*reset at: 2*period: 65536*" "and sets the period"
like "$("$cairn" deactivate "$pid_live")" "*sampling stopped*" "deactivate"
fails() { "$cairn" "${@:2}" >/dev/null 2>"$scratch/err"; [ $? -ne 0 ] && grep -q -- "$1" "$scratch/err"; ok $? "cairn ${*:2}: $1"; }
fails "no process 4194999" status 4194999

# On glibc's malloc, where Cairn's engine samples.
mkdir "$scratch/glibc"
(cd "$scratch/glibc" && LD_PRELOAD=$library CAIRN_CONF=listen:unix,enable_heap_profiling:true exec python3 -c 'import os, time
while not os.path.exists("go"): time.sleep(0.05)
kept = [b"x" * 100000 for i in range(300)]
open("done", "w").close()
time.sleep(900)') &
glibc=$!
children+=($glibc)
wait_for 20 has_agent $glibc
like "$("$cairn" gdump $glibc on)" "$glibc: the agent writes DATE.gdump.heap to its working folder at new highs of live memory, and keeps *limits" \
	"gdump says what the agent does"
touch "$scratch/glibc/go"
has_high() { ls "$scratch"/glibc/*.gdump.heap; }
wait_for 20 has_high
ok $? "and it does"
wait_for 20 test -e "$scratch/glibc/done"
like "$(cd "$scratch" && "$cairn" dump $glibc)" "python3*-$glibc-*-[1-5]?.?MiB.heap" "a dump's name has the size where only the profile knows it"
like "$("$cairn" gdump $glibc off)" "$glibc: no more dumps are written at new highs" "gdump off"
fails "the process does not use jemalloc; 'cairn rss PID' breaks down its memory" stats $glibc
fails "--period takes a size from 1 to 1T, such as 512K, not '0'" reset --period 0 $glibc
"$cairn" detach $glibc >/dev/null
detached="no agent runs in process $glibc: it was detached; 'cairn attach $glibc' starts it again"
fails "$detached" detach $glibc
fails "$detached" top $glibc
fails "$detached" status $glibc
holds "which is so" "$cairn" attach -q $glibc
kill $glibc
fails "gives it one now, or start it with" status $$
CAIRN_CONF=engine:jemalloc LD_PRELOAD=$library sleep 60 &
children+=($!)
loaded() { grep -q libcairn "/proc/$1/maps"; }
wait_for 10 loaded $!
fails "has loaded the agent, which does not answer; 'cairn doctor $!' explains why" top $!
kill -STOP $!
wait_for 10 is_stopped $!
fails "process $! is stopped, so nothing in it can answer; 'kill -CONT $!' resumes it" top $!
kill -KILL $!
is_zombie() { grep -q '^State:.Z' "/proc/$1/status"; }
python3 -c 'import os, time
child = os.fork()
if child == 0: os._exit(0)
print(child, flush=True); time.sleep(60)' >"$scratch/zombie" &
children+=($!)
wait_for 10 test -s "$scratch/zombie" && wait_for 10 is_zombie "$(cat "$scratch/zombie")"
fails "has ended and is a zombie" status "$(cat "$scratch/zombie")"
python3 -c 'import socket, time
s = socket.create_server(("127.0.0.1", 0)); print(s.getsockname()[1], flush=True); time.sleep(60)' >"$scratch/silent" &
children+=($!)
wait_for 10 test -s "$scratch/silent"
CAIRN_HTTP_TIMEOUT=1 fails "set CAIRN_HTTP_TIMEOUT=300 to wait" top "http://127.0.0.1:$(cat "$scratch/silent")"
fails "PID" activate nonsense
fails "cannot connect" status "http://127.0.0.1:1"
fails "takes a whole number, not '1m'" cpu --seconds 1m "$pid_live"
fails "up to 1h" cpu --seconds 4294967297 "$pid_live"
fails "up to 1h" cpu --for 2h "$pid_live"
fails "--for takes a time" cpu --for 5x "$pid_live"
# A server whose trailer knows the program and not its command.
printf 'HTTP/1.1 200 OK\r\nContent-Length: 92\r\n\r\nheap_v2/1\n@ 0x1\n t*: 1: 1 [0: 0]\n\nMAPPED_LIBRARIES:\n\n# cairn trailer 1\n# cairn executable /x' >"$scratch/answer"
python3 -c 'import socket, sys
server = socket.create_server(("127.0.0.1", 0)); print(server.getsockname()[1], flush=True)
peer = server.accept()[0]; peer.recv(4096); peer.sendall(open(sys.argv[1], "rb").read()); peer.close()' "$scratch/answer" >"$scratch/port" &
children+=($!)
wait_for 20 test -s "$scratch/port"
like "$(cd "$scratch" && "$cairn" dump "http://127.0.0.1:$(<"$scratch/port")" 2>&1)" "x-127.0.0.1_*-2*Z-*.heap" "a profile of an unknown command has a name"
like "$(curl -s -X POST "$url_live/debug/prof/mem/activate")" "Heap profiling activated" "sampled again"
load "$port_live"
like "$(curl -s -X POST "$url_live/debug/prof/mem?output=flamegraph" | head -c 400)" "*<svg*" "the real command draws"
curl -s -X POST "$url_live/debug/prof/mem?output=proto" >"$scratch/p.pb.gz"
like "$("$cairn" top "$scratch/p.pb.gz" 2>/dev/null)" "*sdsnewlen*" "and writes pprof"
curl -s "$url_live/debug/pprof/heap?seconds=1" >"$scratch/delta.pb.gz"
holds "also of a difference over a second" "$cairn" raw "$scratch/delta.pb.gz"

$cc -O2 -w tests/e2e/host.c -o "$scratch/host" -ljemalloc -pthread
$cc -O2 -w tests/e2e/host.c -o "$scratch/plain" -pthread
export TMPDIR=$scratch

# Services that embed the agent.
build=$(dirname "$library")
export MALLOC_CONF=prof:true,lg_prof_sample:12
holds "the C example builds" $cc -O2 -Wall -Werror -Iinclude examples/embed/embed.c -o "$scratch/embed" "$library" -Wl,-rpath,"$build" -ljemalloc
port=$(free_port)
"$scratch/embed" $port >/dev/null 2>&1 &
children+=($!)
wait_for 5 curl -sf "http://127.0.0.1:$port/debug/prof/mem/status"
is "$(curl -s "http://127.0.0.1:$port/debug/prof/mem/status")" '{"active": true}' "its own server answers our routes"
has_samples "http://127.0.0.1:$port" "and is sampled"
is "$(curl -s -o /dev/null -w '%{http_code}' -X POST "http://127.0.0.1:$port/debug/prof/mem/status")" 405 "with our refusals"
holds "the C example builds with the static library" $cc -O2 -Iinclude examples/embed/embed.c -o "$scratch/embed-static" "$build/libcairn.a" -ljemalloc -pthread
port=$(free_port)
"$scratch/embed-static" $port >/dev/null 2>&1 &
children+=($!)
wait_for 5 curl -sf "http://127.0.0.1:$port/debug/prof/mem/status"
has_samples "http://127.0.0.1:$port" "and is sampled too"
holds "the C++ example builds" c++ -O2 -Wall -Werror -Iinclude examples/embed/embed.cc -o "$scratch/embed-cxx" "$library" -Wl,-rpath,"$build" -ljemalloc
rm -f "$scratch/words.heap"
holds "and writes a snapshot" "$scratch/embed-cxx" "$scratch/words.heap"
like "$("$cairn" top "$scratch/words.heap" 2>/dev/null)" "*main*" "that names its functions"
"$scratch/embed-cxx" "$scratch/words.heap" >/dev/null 2>"$scratch/err"
is $? 1 "and not over an older one"
cat >"$scratch/handed.c" <<'C'
#include <cairn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
int mallctl(const char *, void *, size_t *, void *, size_t);
void malloc_stats_print(void (*)(void *, const char *), void *, const char *);
int main(int count, char **values)
{
	const char *path = values[1];
	struct cairn_options options = {.size = sizeof options, .mallctl = mallctl, .malloc_stats_print = malloc_stats_print};
	char error[256] = "", json[9000];
	bool started = cairn_start(&options, error, sizeof error);
	for (int i = 0; i < 2000; i++)
		memset(malloc(5000), 1, 5000);
	cairn_status(json, sizeof json);
	struct cairn_reply reply;
	cairn_answer("GET", "/pprof/heap", NULL, NULL, 0, &reply);
	printf("%d %d %s %d %.8s\n", started, cairn_state() == CAIRN_ACTIVE, strstr(json, "handed over") ? "handed over" : json, reply.status, (const char *)reply.body);
	cairn_reply_free(&reply);
	bool first = cairn_snapshot_file(path, error, sizeof error), again = cairn_snapshot_file(path, error, sizeof error);
	printf("%d %d %s\n", first, again, error);
	cairn_stop();
	printf("%d ", cairn_snapshot_file(path, error, sizeof error));
	puts(error);
	return 0;
}
C
$cc -O2 -w -Iinclude "$scratch/handed.c" -o "$scratch/handed" "$build/libcairn.a" "$($cc -print-file-name=libjemalloc.a)" -lstdc++ -lm -pthread && strip "$scratch/handed"
told=$("$scratch/handed" "$scratch/handed.heap")
is "$(sed -n 1p <<<"$told")" "1 1 handed over 200 heap_v2/" "a stripped static program hands jemalloc over"
like "$(sed -n 2p <<<"$told")" "1 0 *exist*" "cairn_snapshot_file writes a file, and never over another"
like "$(head -c 8 "$scratch/handed.heap") $(tail -n 1 "$scratch/handed.heap")" "heap_v2/ # cairn end" "it is whole"
like "$(sed -n 3p <<<"$told")" "0 the agent is not running*" "nor after cairn_stop"
cat >"$scratch/without.c" <<'C'
#include <cairn.h>
#include <stdio.h>
int main(void)
{
	struct cairn_reply reply;
	printf("%d", cairn_start(NULL, NULL, 0));
	cairn_answer("POST", "/service/jemalloc/prof/enable", NULL, NULL, 0, &reply);
	printf(" %d %d %.*s", cairn_state(), reply.status, (int)reply.length, (const char *)reply.body);
	cairn_reply_free(&reply);
	cairn_answer("POST", "/cairn/detach", NULL, NULL, 0, &reply);
	printf("\ndetach %d %.*s", reply.status, (int)reply.length, (const char *)reply.body);
	cairn_reply_free(&reply);
	char error[256] = "";
	printf("\nfile %d %s\n", cairn_snapshot_file("never.heap", error, sizeof error), error);
	printf("descriptor %d %s\n", cairn_snapshot_to(1, error, sizeof error), error);
}
C
$cc -O2 -w -Iinclude "$scratch/without.c" -o "$scratch/without" "$library" -Wl,-rpath,"$build"
told=$(CAIRN_CONF=engine:jemalloc "$scratch/without")
like "$told" "1 0 501 'jemalloc' profiling is not available.*no jemalloc in this process*" "a program without jemalloc is told so"
is "$(grep '^detach' <<<"$told")" "detach 403 only the agent's own socket takes this" "whoever asks through the service's own server cannot detach the agent"
like "$(grep '^file' <<<"$told")" "file 0 no jemalloc in this process*" "cairn_snapshot_file fails with a sentence"
like "$(grep '^descriptor' <<<"$told")" "descriptor 0 no jemalloc in this process*" "and so does cairn_snapshot_to"
cat >"$scratch/many.c" <<'C'
#include <cairn.h>
#include <dirent.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
enum { threads = 8, rounds = 10 };
static pthread_barrier_t together;
static int count_servers(void)
{
	int count = 0;
	char path[300], name[32];
	DIR *folder = opendir("/proc/self/task");
	for (struct dirent *entry; (entry = readdir(folder));) {
		snprintf(path, sizeof path, "/proc/self/task/%s/comm", entry->d_name);
		FILE *file = fopen(path, "r");
		count += file && fgets(name, sizeof name, file) && strcmp(name, "cairn\n") == 0;
		if (file)
			fclose(file);
	}
	closedir(folder);
	return count;
}
/* A thread that has ended and was waited for is in /proc for a moment more. */
static int servers(int wanted)
{
	int count = count_servers();
	for (int i = 0; i < 1000 && count != wanted; i++) {
		usleep(10000);
		count = count_servers();
	}
	return count;
}
static void *start_and_stop(void *first)
{
	for (int i = 0; i < rounds; i++) {
		pthread_barrier_wait(&together);
		cairn_start(NULL, NULL, 0);
		pthread_barrier_wait(&together);
		if (first)
			printf("%d", servers(1));
		pthread_barrier_wait(&together);
		cairn_stop();
	}
	return NULL;
}
int main(void)
{
	pthread_t thread[threads];
	char error[256] = "";
	pthread_barrier_init(&together, NULL, threads);
	for (int i = 0; i < threads; i++)
		pthread_create(&thread[i], NULL, start_and_stop, i == 0 ? thread : NULL);
	for (int i = 0; i < threads; i++)
		pthread_join(thread[i], NULL);
	printf(" %d %d", servers(0), cairn_start(&(struct cairn_options){.listen = "127.0.0.1:1"}, error, sizeof error));
	printf(" %s\n", error);
	return 0;
}
C
$cc -O2 -w -Iinclude "$scratch/many.c" -o "$scratch/many" "$library" -Wl,-rpath,"$build" -l:libjemalloc.so.2 -pthread
is "$("$scratch/many")" "1111111111 0 0 options.size is 0; set it to sizeof(struct cairn_options)" "started and stopped by many threads at once there is one agent, then none; options need their size"
done_testing
