#!/usr/bin/env bash
# What strangers try on a service: files laid in its way, uploads that name files, tokens that cannot be asked for, paths with line ends;
# and hosts with little room for us.
. tests/e2e/lib.sh
. tests/e2e/agent.sh
need redis-server redis-cli curl python3 cc
cc=${CC:-cc}
cd "$scratch" || exit 1

# A file of the working directory that is called like something the loader lists, or like the configuration. `timeout` is not preloaded.
cat >quick.c <<'C'
#include <stdlib.h>
int main(void) { return malloc(100000) == NULL; }
C
$cc -O0 -w quick.c -o plain && $cc -O0 -w quick.c -o quick -ljemalloc || { ok 1 "the test hosts build"; done_testing; }
mkdir trap
for name in linux-vdso.so.1 linux-gate.so.1 '[vdso]' libc.so.6 libjemalloc.so.2 conf; do mkfifo "trap/$name"; done
in_trap() { (cd trap && timeout 100 env LD_PRELOAD="$library" "$@"); }
in_trap ../plain
is $? 0 "a pipe that is called like the vdso holds nobody up"
in_trap ../quick
is $? 0 "nor a program with jemalloc"
in_trap CAIRN_CONFIG=conf ../quick
is $? 0 "nor does a pipe that is to be the configuration"

# The runtime folder of another user, as sudo may pass it on, is no place for a socket.
if [ "$(id -u)" = 0 ]; then
	mkdir -m 755 theirs && chown 65534:65534 theirs
	chmod 711 "$scratch"
	cat >sleeper.c <<-'C'
	#include <stdlib.h>
	#include <unistd.h>
	int main(void) { char *volatile kept = malloc(100000); sleep(60); return kept == NULL; }
	C
	$cc -O0 -w sleeper.c -o sleeper -ljemalloc
	CAIRN_CONF=listen:unix LD_PRELOAD=$library XDG_RUNTIME_DIR=$scratch/theirs ./sleeper &
	pid=$!
	children+=($pid)
	wait_for 20 test -S "/run/cairn/$pid.sock"
	ok $? "root's agent keeps out of another user's runtime folder"
	is "$(ls theirs)" "" "and leaves nothing there"
	like "$("$cairn" status $pid)" "pid: $pid*" "the command finds it all the same"
	kill $pid
fi

# Thread-local storage of the program's lies on every thread's stack.
cat >tls.c <<'C'
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
static _Thread_local char large[SIZE];
static char *volatile kept;
static void *work(void *context) { memset(large, 1, sizeof large); kept = malloc(100000); return context; }
int main(void)
{
	for (int i = 0; i < 100000 && access("stop", F_OK) != 0; i++) {
		pthread_t thread;
		large[i % SIZE] = 1;
		kept = malloc(3000 + i % 100);
		free((void *)kept);
		if (i % 100 == 0 && pthread_create(&thread, NULL, work, NULL) == 0)
			pthread_join(thread, NULL);
		usleep(1000);
	}
	return 0;
}
C
for kilobytes in 16 192 225 232 240 247 256 300 512 1024; do
	$cc -O1 -w -DSIZE=$((kilobytes << 10)) tls.c -o tls$kilobytes -ljemalloc -pthread
	LD_PRELOAD=$library MALLOC_CONF=prof:true,lg_prof_sample:12 CAIRN_CONF=dumps:$scratch/tls,start:true CAIRN_TOOL=$stand_in ./tls$kilobytes &
	pid=$!
	children+=($pid)
	wait_for 20 has_agent "$pid"
	is "$(curl -s -o /dev/null -w '%{http_code}' --max-time 200 --unix-socket "$sockets/$pid.sock" http://localhost/cairn/snapshot)" 200 \
		"a host with $kilobytes KiB of thread-local storage has its snapshot"
	kill -0 $pid
	ok $? "and goes on"
	kill $pid
	wait $pid 2>/dev/null
done

# Tokens.
long=$(printf 'x%.0s' $(seq 4096))
CONF=token:$long start_redis long 2>/dev/null
wait_for 10 curl -sf -H "Authorization: Bearer $long" "$url_long/cairn/status"
table "$url_long" <<T
GET /cairn/status | 200 | application/json | {* | -H "Authorization: Bearer $long"
GET /cairn/status | 401 | text/plain* | * | -H "Authorization: Bearer ${long%x}"
GET /cairn/status | 401 | text/plain* | * | -H "Authorization: Bearer ${long%x}y"
GET /cairn/status | 401 | text/plain* | * | -H "Authorization: Bearer ${long}x"
GET /cairn/status | 401 | text/plain* | * |
T
like "$("$cairn" status --token "$long" "$url_long")" "pid: $pid_long*" "the command sends one of 4 KiB"
kill "$pid_long"
# refused NAME PROBLEM SETTING...: with that in its environment the agent runs and does not listen
refused() {
	local name=$1 problem=$2 port
	shift 2
	port=$(free_port)
	env LD_PRELOAD="$library" MALLOC_CONF=prof:true "${@//PORT/$port}" redis-server --port "$(free_port)" --save "" --dir "$scratch" >/dev/null 2>&1 &
	children+=($!)
	wait_for 20 has_agent "$!"
	wait_for 10 eval "curl -s --unix-socket '$sockets/$!.sock' 'http://localhost/cairn/status?format=text' | grep -q 'listen problem'"
	like "$("$cairn" status $! | tr '\n' '|')" "*listen problem: 127.0.0.1:$port: the token cannot be used|*config problems: *$problem*" "$name: the status says why"
	curl -s --max-time 2 "http://127.0.0.1:$port/cairn/status" >/dev/null
	is $? 7 "$name: nothing listens on TCP"
	kill $!
	(cd "$scratch" && timeout 300 env "${@//PORT/$port}" "$cairn" run -- ./quick) >run.out 2>run.err
	is $? 1 "$name: cairn run fails"
	like "$(cat run.err)" "*the agent cannot use its token, so it would not listen on 127.0.0.1:$port: *" "$name: and says why"
}
refused "too long" "token is longer than 4096 bytes" "CAIRN_CONF=listen:127.0.0.1:PORT,token:${long}x"
refused "empty" "token is empty" "CAIRN_CONF=listen:127.0.0.1:PORT,token:"
refused "mistyped" "did you mean 'token'?" "CAIRN_CONF=listen:127.0.0.1:PORT,tokn:secret"
refused "in a file that is not there" "CAIRN_CONFIG: " "CAIRN_CONF=listen:127.0.0.1:PORT" "CAIRN_CONFIG=$scratch/missing.toml"
cat >embed.c <<'C'
#include <cairn.h>
#include <stdio.h>
#include <string.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
int main(int count, char **arguments)
{
	char token[5000] = "", error[600] = "";
	memset(token, 'x', count > 1 ? (size_t)atoi(arguments[1]) : 0);
	struct cairn_options options = {.size = sizeof options, .listen = count > 1 ? arguments[2] : NULL, .token = count > 1 ? token : NULL};
	bool started = cairn_start(&options, error, sizeof error);
	printf("%d %s\n", started, error);
	struct cairn_reply reply;
	if (count > 1 || !started || !cairn_answer("GET", "/cairn/status", NULL, NULL, 0, &reply))
		return 0;
	fflush(stdout);
	pid_t child = fork();
	if (child == 0) { /* a reply belongs to the program, and so to its children */
		bool same = reply.status == 200 && reply.length > 2 && ((const char *)reply.body)[0] == '{' && !strchr(reply.headers, 1);
		cairn_reply_free(&reply);
		_exit(same ? 42 : 1);
	}
	int status = 0;
	waitpid(child, &status, 0);
	printf("child %d, still %c\n", WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status), ((const char *)reply.body)[0]);
	cairn_reply_free(&reply);
	return 0;
}
C
$cc -O1 -w -I"$root/include" embed.c -o embed "$library" -Wl,-rpath,"${library%/*}" -ljemalloc
is "$(timeout 100 ./embed 4096 127.0.0.1:"$(free_port)")" "1 " "cairn_start takes a token of 4 KiB"
like "$(timeout 100 ./embed 4097 127.0.0.1:"$(free_port)")" "0 *its token is invalid*token is longer than 4096 bytes" "and fails with one that is longer"
like "$(timeout 100 ./embed 0 127.0.0.1:"$(free_port)")" "0 *token is empty" "or empty"
is "$(timeout 100 ./embed | tr '\n' '|')" "1 |child 42, still {|" "a forked child reads and frees a reply of its parent's"

# A module whose path has a line end and an escape in it.
evil=$'e\nvil # cairn pid 1\n# cairn end\e[31m.so'
echo 'int evil(void) { return 1; }' | $cc -shared -fPIC -xc - -o "$evil"
cat >loads.c <<'C'
#include <dlfcn.h>
#include <stdlib.h>
#include <unistd.h>
int main(int count, char **arguments) { if (count < 2 || !dlopen(arguments[1], RTLD_NOW)) return 1; for (int i = 0; i < 100000; i++) { char *volatile kept = malloc(5000); free(kept); usleep(1000); } return 0; }
C
$cc -O1 -w loads.c -o loads -ljemalloc
CAIRN_CONF=listen:unix LD_PRELOAD=$library MALLOC_CONF=prof:true,lg_prof_sample:12 ./loads "$scratch/$evil" &
pid=$!
children+=($pid)
wait_for 20 has_agent "$pid"
curl -s --max-time 200 --unix-socket "$sockets/$pid.sock" http://localhost/cairn/snapshot >evil.heap
is "$(sed -n '/^# cairn trailer/,$p' evil.heap | grep -c $'[\001-\010\013-\037]')" 0 "a module's path brings no control character into the trailer"
is "$(sed -n '/^# cairn trailer/,$p' evil.heap | grep -vc '^# cairn ')" 0 "and no line of its own"
is "$(grep -c '^# cairn end' evil.heap)" 1 "the trailer ends once"
is "$(grep -a '^# cairn module ' evil.heap | grep -cF '/e\012vil # cairn pid 1\012# cairn end\033[31m.so')" 1 "it is there, with its control characters written out"
kill $pid

# Uploads.
echo 'int secret_function_of_a_stranger(int x) { return x * 7; } int main(int count, char **arguments) { return secret_function_of_a_stranger(count); }' |
	$cc -g -O0 -no-pie -xc - -o private
address=$(nm private | sed -n 's/^\(0[0-9a-f]*\) T secret_function_of_a_stranger/\1/p')
start=$((0x$address & ~0xfff))
upload() { # [MODULE-LINE]
	printf 'heap_v2/524288\n  t*: 1: 4096 [0: 0]\n@ 0x%x 0x%x\n  t*: 1: 4096 [0: 0]\n\nMAPPED_LIBRARIES:\n' $((0x$address + 4)) $((0x$address + 5))
	printf '%x-%x r-xp %08x fd:01 1 %s\n' $start $((start + 4096)) $((start - 0x400000)) "$scratch/private"
	[ -z "${1-}" ] || printf '# cairn trailer 1\n# cairn pid %s\n%s\n# cairn end\n' "$$" "$1"
}
upload >stranger.heap
like "$("$cairn" collapsed stranger.heap 2>/dev/null)" '*secret_function_of_a_stranger*' "a dump names a program's function to who may read the program"
CONF=seconds:20 TOOL=$cairn start_redis service || { ok 1 "redis starts"; done_testing; }
load "$port_service"
identity=$(readelf -n private | sed -n 's/.*Build ID: //p')
for kind in plain identified; do
	upload "$([ $kind = plain ] || printf '# cairn module %x-%x 1000 %s %s' $start $((start + 4096)) "$identity" "$scratch/private")" >stranger.heap
	got=$(curl -s --max-time 200 --data-binary @stranger.heap -o picture.svg -w '%{http_code}' "$url_service/debug/prof/mem/symbol")
	is "$got" 200 "an upload that names a program of somebody else's is drawn ($kind)"
	is "$(grep -c secret_function picture.svg)" 0 "without a name from that program ($kind)"
	is "$(grep -c "$scratch/private" picture.svg)" 0 "or its path ($kind)"
done
curl -s --max-time 200 "$url_service/pprof/heap" >own.heap
curl -s --max-time 200 --data-binary @own.heap "$url_service/debug/prof/mem/symbol" >picture.svg
grep -q 'aeMain\|main' picture.svg && grep -q 'zmalloc\|sdsnew\|createObject\|call' picture.svg
ok $? "the service's own dump has its names"
sed '/^# cairn trailer/,$d' own.heap >own-plain.heap
curl -s --max-time 200 --data-binary @own-plain.heap "$url_service/debug/prof/mem/symbol" >picture.svg
grep -q 'zmalloc\|sdsnew\|createObject\|call' picture.svg
ok $? "also one that jemalloc wrote, which has no build-ids"
# A server that sends us elsewhere, and a libcurl of before 7.85, which does not know protocols by name.
real=$(ldconfig -p | sed -n 's/.*libcurl\.so\.4 .*=> //p' | head -n 1)
[ -n "$real" ] || real=$(ls /usr/lib/*/libcurl.so.4 | head -n 1)
mkdir old
cat >old.c <<'C'
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdarg.h>
#include <stddef.h>
static void *find(const char *name)
{
	static void *library;
	if (!library)
		library = dlopen(REAL, RTLD_NOW | RTLD_LOCAL);
	return dlsym(library, name);
}
int curl_easy_setopt(void *handle, int option, ...)
{
	va_list list;
	va_start(list, option);
	void *value = va_arg(list, void *);
	va_end(list);
	if (option >= 10318 && option <= 10319) /* CURLOPT_PROTOCOLS_STR, CURLOPT_REDIR_PROTOCOLS_STR */
		return 48;
#ifdef NEITHER
	if (option == 181 || option == 182)
		return 48;
#endif
	return ((int (*)(void *, int, ...))find("curl_easy_setopt"))(handle, option, value);
}
int curl_easy_getinfo(void *handle, int info, ...)
{
	va_list list;
	va_start(list, info);
	void *value = va_arg(list, void *);
	va_end(list);
	return ((int (*)(void *, int, ...))find("curl_easy_getinfo"))(handle, info, value);
}
#define PASS(result, name, parameters, arguments) result name parameters { return ((result (*) parameters)find(#name)) arguments; }
PASS(void *, curl_easy_init, (void), ())
PASS(int, curl_easy_perform, (void *handle), (handle))
PASS(int, curl_global_init, (long flags), (flags))
PASS(void *, curl_slist_append, (void *list, const char *text), (list, text))
PASS(const char *, curl_easy_strerror, (int code), (code))
void curl_easy_cleanup(void *handle) { ((void (*)(void *))find("curl_easy_cleanup"))(handle); }
void curl_slist_free_all(void *list) { ((void (*)(void *))find("curl_slist_free_all"))(list); }
C
$cc -shared -fPIC -w -DREAL="\"$real\"" old.c -o old/libcurl.so.4
mkdir neither && $cc -shared -fPIC -w -DNEITHER -DREAL="\"$real\"" old.c -o neither/libcurl.so.4
cat >elsewhere.py <<'P'
import http.server, socket, sys, threading
ftp = socket.socket(); ftp.bind(("127.0.0.1", 0)); ftp.listen(5)
def count():
    while True:
        ftp.accept()[0].close(); open("visited", "a").write("x")
threading.Thread(target=count, daemon=True).start()
class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(302); self.send_header("Location", "ftp://127.0.0.1:%d/x" % ftp.getsockname()[1]); self.send_header("Content-Length", "0"); self.end_headers()
    def log_message(self, *rest): pass
server = http.server.HTTPServer(("127.0.0.1", 0), Handler)
open("port.tmp", "w").write(str(server.server_port)); import os; os.rename("port.tmp", "port")
server.serve_forever()
P
python3 elsewhere.py &
children+=($!)
wait_for 10 test -s port
for version in new old neither; do
	rm -f visited
	LD_LIBRARY_PATH=$([ $version = new ] || echo "$scratch/$version") timeout 300 "$cairn" top "http://127.0.0.1:$(cat port)/x.heap" >out 2>err
	is $? 1 "a redirection to FTP fails ($version libcurl)"
	[ ! -e visited ]
	ok $? "and nobody goes there ($version libcurl): $(tail -n 1 err | cut -c 1-150)"
done
like "$(cat err)" "*this libcurl cannot be restricted to HTTP*" "a libcurl that cannot be kept to HTTP is not used"
done_testing
