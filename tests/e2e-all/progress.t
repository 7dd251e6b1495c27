#!/usr/bin/env bash
# The line that tells what takes so long: which file is being named, on a terminal only, and gone when it is done.
. tests/e2e/lib.sh
need gcc python3 script
ldconfig -p | grep -q 'libdebuginfod\.so\.1' || skip_all 'no libdebuginfod.so.1 here'

# A debuginfod that takes its time to say that it has nothing.
cat >"$scratch/slow.py" <<'P'
import http.server, time
class Slow(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        time.sleep(2)
        self.send_error(404)
    def log_message(self, *arguments): pass
server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Slow)
print(server.server_port, flush=True)
server.serve_forever()
P
python3 "$scratch/slow.py" >"$scratch/port" &
children+=($!)
wait_for 10 grep -q . "$scratch/port"
export DEBUGINFOD_URLS=http://127.0.0.1:$(cat "$scratch/port") XDG_CACHE_HOME=$scratch/cache

cd "$scratch" && echo 'int main(void) { return 0; }' >slowly.c && gcc -s -Wl,--build-id=sha1 slowly.c -o slowly || broken 'gcc could not build the sample'
id=$(readelf -n slowly | sed -n 's/.*Build ID: //p')
cat >slow.heap <<D
heap_v2/524288
  t*: 1: 600000 [0: 0]
@ 0x401050
  t*: 1: 600000 [0: 0]

MAPPED_LIBRARIES:
00400000-00402000 r-xp 00000000 00:00 1 $scratch/slowly
# cairn trailer 1
# cairn module 00400000-00402000 0 $id $scratch/slowly
# cairn end
D
script -qec "'$cairn' top --debuginfod slow.heap" /dev/null >terminal 2>&1
like "$(tr '\r' '\n' <terminal)" '*naming addresses: 0 of 1, slowly*' 'the line names the file'
like "$(tr '\r' '\n' <terminal | sed -n '/naming addresses/,$p' | grep -v 'naming addresses' | head -n 1)" $'\033\\[K*' 'and is wiped out before the report'
rm -rf cache
script -qec "'$cairn' top -q --debuginfod slow.heap" /dev/null >terminal 2>&1
is "$(grep -c 'naming addresses' terminal)" 0 'whoever wants it quiet does not see it'
rm -rf cache
"$cairn" top --debuginfod slow.heap >out 2>err
is "$(cat out err | grep -c 'naming addresses')" 0 'nor does a file'
done_testing
