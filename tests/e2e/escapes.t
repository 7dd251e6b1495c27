#!/usr/bin/env bash
# Text that a stranger wrote, on its way to a terminal: names in dumps and programs, source code, file names, agents, servers. Every
# command is fed with it, into a pipe and on a terminal, and nothing that a terminal would act on may come out.
. tests/e2e/lib.sh
. tests/e2e/agent.sh
need python3 cc curl
cc=${CC:-cc}
cd "$scratch" || exit 1

cat >check.py <<'P'
"""Runs commands into pipes and on a terminal, and looks for what a terminal would act on: each line of standard input is "pipe" or "terminal"
and the words of one, each followed by a NUL. Answers with a line."""
import os, pty, re, subprocess, sys, threading
def run_piped(words):
    got = subprocess.run(words, stdin=subprocess.DEVNULL, capture_output=True, timeout=60)
    return got.stdout + got.stderr
def run_on_terminal(words):
    pid, fd = pty.fork()
    if pid == 0:
        os.environ["PAGER"] = "cat"
        os.execvp(words[0], words)
    timer = threading.Timer(60, lambda: os.kill(pid, 9)); timer.start()
    text = b""
    try:
        os.write(fd, b"top\nnonsense\ntraces\nquit\n" if b"shell" in words else b"\x04") # or the end of what it may read
        while True:
            part = os.read(fd, 65536)
            if not part: break
            text += part
    except OSError: pass
    timer.cancel(); os.waitpid(pid, 0)
    return text
def bad(text, terminal):
    if terminal: # our own: the terminal's line ends, colours of one code, and a line that is written anew
        text = text.replace(b"\r\n", b"\n").replace(b"\r\x1b[K", b"").replace(b"^D\x08\x08", b"")
        text = re.sub(rb"\x1b\[(0|1|2|3[0-7]|9[0-7]|38;5;\d+)?m", b"", text)
    found = re.findall(rb"[\x00-\x08\x0b-\x1f\x7f][^\n]{0,10}", text)
    try: shown = text.decode()
    except UnicodeDecodeError: return found + [b"not UTF-8"]
    return found + [c.encode() for c in re.findall("[\x80-\x9f\u202a-\u202e\u2066-\u2069]", shown)]
while line := sys.stdin.buffer.readline(): # a word may have line ends in it
    while not line.endswith(b"\0\n"): line += sys.stdin.buffer.readline()
    way, *words = line[:-2].split(b"\0")
    text = run_piped(words) if way == b"pipe" else run_on_terminal(words)
    found = bad(text, way != b"pipe")
    print("clean" if not found else "not clean: %r" % found[:3], "with it" if b"EVIL" in text else "without it", flush=True)
P

# What they feed us: a title, a cleared screen, colours, eight-bit codes, text that runs backwards, a carriage return.
evil=$'EVIL\e]0;title\a\e[2J\e[31;7m\xc2\x9b31m\xe2\x80\xae\x9b\r\x7f'
plain=${evil//$'\r'/}

# A program with such a function, compiled from such a source in such a file.
source="sou${plain}rce.c"
cat >"$source" <<C
#include <stdio.h>
/* $evil */
int work_EVIL_0123456789(int x) { return x + 1; } /* $evil */
int main(int count, char **arguments) { printf("%d\n", work_EVIL_0123456789(count)); return 0; }
C
$cc -w -g -O0 -no-pie -x c "$source" -o program 2>cc.log || { cat -v cc.log | sed 's/^/# /'; ok 1 "the program builds"; done_testing; }
python3 - program <<'P'
import sys
whole = open(sys.argv[1], "rb").read()
assert whole.count(b"EVIL_0123456789") >= 2
name = b"EVIL\x1b[2J\x1b]0;xy\x07"
assert len(name) == len(b"EVIL_0123456789")
open(sys.argv[1], "wb").write(whole.replace(b"EVIL_0123456789", name))
P
address=0x$(nm program | grep -a 'EVIL' | head -n 1 | cut -d ' ' -f 1)
like "$address" '0x0*[1-9a-f]*' "the function is where the tools see it"
module="$scratch/mod${plain}ule"
cp program "$module"
start=$((address & ~0xfff))
# dump TRAILER-LINES: a heap dump with a stack in the program, one in a module that is not there, and a thread of such a name
dump() {
	printf 'heap_v2/4096\n  t*: 4: 400000 [0: 0]\n  t1: 4: 400000 [0: 0] thr%sead\n' "$plain"
	printf '@ 0x%x 0x%x\n  t*: 2: 200000 [0: 0]\n  t1: 2: 200000 [0: 0]\n@ 0x70000010 0x70000020\n  t*: 2: 200000 [0: 0]\n  t1: 2: 200000 [0: 0]\n' $((address + 4)) $((address + 6))
	printf '\nMAPPED_LIBRARIES:\n%x-%x r-xp %08x fd:01 1 %s\n70000000-70001000 r-xp 00000000 fd:01 2 /gone/%s.so\n' $start $((start + 4096)) $((start - 0x400000)) "$module" "$plain"
	printf '# cairn trailer 1\n# cairn time %s.5\n# cairn pid %s\n# cairn process %s.%s.0000beef\n# cairn host h%sst\n# cairn executable /bin/%s\n# cairn command %s --x\n# cairn smaps.rss 1000000\n# cairn memory %s\n# cairn reason grow %s\n# cairn end\n' \
		"$1" 77 77 55 "$plain" "$plain" "$plain" "$2" "$plain"
}
mkdir dumps "fol${plain}der"
for i in 1 2 3 4 5 6; do dump 17000000$i"0" $((i * 100000)) | sed "s/: 200000/: $((i * 200000))/" >"dumps/00$i.heap"; done
cp dumps/006.heap "du${plain}mp.heap"
cp dumps/00*.heap "fol${plain}der/"
{ printf -- '--- symbol\nbinary=%s\n' "/bin/$plain"; printf '0x%016x %s::%s\n' 16 "$plain" "$plain"; printf -- '---\n--- profile\nheap profile: 2: 200 [0: 0] @ heap_v2/4096\n2: 200 [0: 0] @ 0x10\n'; } >symbolized
printf 'ma%sin;wo%srk 10\nma%sin;other 5\n' "$plain" "$plain" "$plain" >folded
printf 'not a profile %s\n' "$evil" >"bad${plain}.heap"

# An agent of that kind: everything it says holds it. It listens like one of ours, by its PID, and on TCP.
cat >agent.py <<'P'
import http.server, os, socket, socketserver, sys, threading
evil = open("evil", "rb").read().replace(b"\r", b"")
listing = b"/var/" + evil + b": 1 dump\n  2026 " + evil + b"\n"
status = b"".join(k + b": " + evil + b"\n" for k in (b"state", b"command", b"executable", b"host", b"period", b"samples", b"last snapshot", b"listen", b"config problems", b"listen problem", b"module", b"unwinder problem"))
class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    def answer(self):
        path, code, body, kind = self.path.split("?")[0], 200, b"said " + evil + b"\n", "text/plain"
        if path == "/cairn/status": body = status if "text" in self.path else b'{"state": "' + evil + b'"}'
        elif path == "/cairn/dumps": body = listing
        elif path in ("/cairn/snapshot", "/pprof/heap", "/cairn/cpu"): body = open("dumps/006.heap", "rb").read()
        elif path == "/cairn/memory": body = open("dumps/006.heap", "rb").read().split(b"# cairn trailer")[1]; body = b"# cairn trailer" + body
        elif path.startswith("/refuse"): code = 500
        self.send_response_only(code); self.send_header("Content-Type", kind); self.send_header("Content-Length", str(len(body))); self.end_headers(); self.wfile.write(body)
    do_GET = do_POST = do_DELETE = answer
    def log_message(self, *rest): pass
    def address_string(self): return "x"
class Unix(socketserver.ThreadingMixIn, socketserver.UnixStreamServer):
    def get_request(self): connection, _ = self.socket.accept(); return connection, ("x", 0)
folder = os.environ["XDG_RUNTIME_DIR"] + "/cairn"; os.makedirs(folder, 0o700, exist_ok=True)
unix = Unix("%s/%d.sock" % (folder, os.getpid()), Handler); threading.Thread(target=unix.serve_forever, daemon=True).start()
tcp = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
open("port.tmp", "w").write(str(tcp.server_port)); os.rename("port.tmp", "port")
tcp.serve_forever()
P
printf %s "$evil" >evil
python3 agent.py "$plain" &
agent=$!
children+=($agent)
wait_for 10 test -s port
url=http://127.0.0.1:$(cat port)

# check WAY COMMAND...: sets got. One Python for all of them: it takes longer to start than most of what it runs.
coproc checker { exec python3 check.py 2>&1; }
children+=($checker_PID)
exec {ask}>&"${checker[1]}" {answer}<&"${checker[0]}"
check() {
	printf '%s\0' "$@" >&$ask && echo >&$ask
	IFS= read -r got <&$answer || got='no answer'
}
declare -A covered
# feed COMMAND ARGUMENT...: both ways. `+` in front: what was fed must be seen, cleaned, in at least one of them
feed() {
	local wanted= way words seen=
	[ "$1" != + ] || { wanted=1; shift; }
	covered[$1]=1
	words=${*//[^[:print:]]/?}
	for way in pipe terminal; do
		check $way "$cairn" "$@"
		like "$got" "clean *" "${words:0:90} ($way)"
		[[ $got != *"with it"* ]] || seen=1
	done
	[ -z "$wanted" ] || [ -n "$seen" ]
	ok $? "it was there to be seen"
}
for dump in dumps/006.heap "du${plain}mp.heap"; do
	for view in top tree traces tags raw collapsed; do feed + $view "$dump"; done
	feed + list work "$dump" --source-path "$scratch"
	feed list . "$dump"
	feed + disasm work "$dump"
	feed + peek work "$dump"
	for view in flame html graph; do feed $view "$dump"; done
	for format in speedscope callgrind dot folded; do feed export --format $format "$dump"; done
done
for view in top traces tags list disasm; do feed $view --json $([ $view = list ] || [ $view = disasm ] && echo .) dumps/006.heap; done
for file in symbolized folded; do for view in top tree traces collapsed raw; do feed + $view $file; done; done
feed + diff dumps/001.heap "du${plain}mp.heap"
feed + top --base dumps/001.heap "du${plain}mp.heap"
feed + leaks "fol${plain}der"
feed leaks --json "fol${plain}der"
feed timeline "fol${plain}der" -o timeline.html
feed + rss "du${plain}mp.heap"
feed why "du${plain}mp.heap"
feed + doctor "du${plain}mp.heap"
feed + dumps "fol${plain}der"
feed dumps --json "fol${plain}der"
feed gallery "fol${plain}der" -o gallery
feed pprof "du${plain}mp.heap" -o out.pb.gz
feed + top "bad${plain}.heap"
feed + top "missing${plain}.heap"
feed + jeprof --text program "du${plain}mp.heap"
feed jeprof --traces program "du${plain}mp.heap"
feed + jeprof --list=. program "du${plain}mp.heap"
feed + jeprof --disasm=. program "du${plain}mp.heap"
check terminal "$cairn" jeprof --raw program dumps/006.heap
like "$got" "clean *" "jeprof --raw, which is a profile for other programs (terminal)"
feed jeprof --symbols program
feed jeprof --text program "$url/pprof/heap"
feed jeprof --text program "$url/refuse"
check terminal "$cairn" addr2line -f -e "$module" "$address"
like "$got" "clean with it" "addr2line, which into a pipe answers other programs (terminal)"
feed + addr2line -f -e "$scratch/missing$plain" "$address"
feed cache
feed completion bash
feed shell "du${plain}mp.heap"
feed + ps
feed ps --json
for target in $agent "$url"; do
	feed + status "$target"
	feed + status --json "$target"
	feed + stats "$target"
	feed + dumps "$target"
	feed dumps --remove x "$target"
	for command in activate deactivate reset; do feed $command "$target"; done
	feed gdump "$target" on
	feed doctor "$target"
	feed rss "$target"
	feed top "$target"
	feed dump "$target" -o saved.heap
	feed cpu --seconds 1 "$target" -o saved.cpu
done
feed + status "$url/refuse"
feed + top "$url/refuse/x.heap"
feed run -- "./missing$plain"
feed run --listen "$plain" -- /bin/true
feed watch "missing$plain"
feed + churn "du${plain}mp.heap"
feed attach "missing$plain"
feed detach "missing$plain"
feed serve "missing$plain"
feed store init "sqlite:missing$plain/fleet.db"
feed collect --store "sqlite:fleet.db" --spool "/dev/null/$plain"
feed symbols push --to "http://127.0.0.1:9/$plain" "missing$plain"
feed fleet services --store "sqlite:missing$plain/fleet.db"
# A service that calls itself so, and has a line of its own to say.
cat >service.c <<'C'
#include <stdlib.h>
#include <unistd.h>
int main(void) { for (int i = 0; i < 90; i++) { volatile char *q = malloc(1 << 20); *q = 1; } sleep(600); return 0; }
C
name="$plain
2026-11-18 19:00:00  forged"
$cc -o "$name" service.c || broken 'the service builds'
# `exec`, or its PID is that of a shell
(LD_PRELOAD=$library CAIRN_CONF=enable_heap_profiling:true exec "./$name") >/dev/null 2>&1 &
service=$!
children+=($service)
wait_for 10 "$cairn" status $service
ok $? 'a service of such a name has an agent'
"$cairn" watch --time 1s --folder kept $service >watch.log 2>watch.err &
watch=$!
children+=($watch)
wait_for 20 grep -qa 'EVIL.* time: ' watch.log
ok $? 'cairn watch keeps a dump of it'
kill $service
wait_for 20 grep -qa 'killed by signal' watch.err
ok $? 'and reports its end'
wait $watch # which ends with it
for log in watch.log watch.err; do
	check pipe cat $log
	like "$got" 'clean with it' "$log"
	is "$(grep -ac '^2026-11-18 19:00:00  forged' $log)" 0 'with no line but its own'
done
(LD_PRELOAD=$library CAIRN_CONF=enable_heap_profiling:true exec "./$name") >/dev/null 2>&1 &
service=$!
children+=($service)
wait_for 10 "$cairn" status $service
feed + watch --time 1s --for 3s --json --folder kept $service
cp "$(type -P true)" "quick$name"
for command in status ps doctor dumps rss top 'run -o run.heap --'; do
	words=($command)
	[[ $command != run* ]] && [ $command != ps ] && words+=($service)
	[[ $command != run* ]] || words+=("./quick$name")
	"$cairn" "${words[@]}" >said 2>&1
	check pipe cat said
	like "$got" 'clean *' "$command of it"
	is "$(grep -ac '^2026-11-18 19:00:00  forged' said)" 0 'has no forged line'
done
for command in $("$cairn" --help | sed -n 's/^  \([a-z0-9]*\)  .*/\1/p'); do
	[ -n "${covered[$command]:-}" ]
	ok $? "$command is covered here"
done
done_testing
