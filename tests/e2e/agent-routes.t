#!/usr/bin/env bash
# Every family of routes against an unchanged redis-server: path, method, parameters, status, type and body as the contracts have them.
. tests/e2e/lib.sh
need redis-server redis-benchmark curl python3 jeprof
. tests/e2e/agent.sh

dumps=$scratch/dumps
mkdir "$dumps"
MALLOC=prof:true,prof_active:false,lg_prof_sample:12,prof_prefix:$dumps/je start_redis on || { ok 1 "redis-server starts"; done_testing; }
newline=$'\n'

table "$url_on" <<'T'
GET /debug/prof/mem/status             | 200 | application/json | {"active": false} |
POST /debug/prof/mem/activate          | 200 | text/plain* | Heap profiling activated |
GET /debug/prof/mem/status             | 200 | application/json | {"active": true} |
T
load "$port_on"
has_samples "$url_on" "redis is sampled"

table "$url_on" <<T
POST /debug/prof/mem                   | 200 | text/plain* | heap_v2/4096↵* |
POST /debug/prof/mem?output=text       | 200 | text/plain* | heap_v2/* |
POST /debug/prof/mem?output=proto      | 200 | application/octet-stream | pprof pprof - heap_v2/↵ |
POST /debug/prof/mem?output=flamegraph | 200 | image/svg+xml | <svg>flame - heap_v2/</svg>↵ |
POST /debug/prof/mem?output=png        | 400 | text/plain* | Failed to deserialize query string: *\`png\`* |
GET /debug/prof/mem                    | 405 | text/plain* | /debug/prof/mem answers POST, not GET↵ |
POST /debug/mem/pprof/heap             | 405 | text/plain* | /debug/mem/pprof/heap answers GET, not POST↵ |
GET /debug/prof/mem/activate           | 405 | text/plain* | * |
POST /debug/prof/mem/status            | 405 | text/plain* | * |
GET /debug/prof/mem/gdump              | 200 | application/json | {"active": false} |
POST /debug/prof/mem/gdump             | 200 | text/plain* | gdump activated | -d activate=true
GET /debug/prof/mem/gdump              | 200 | application/json | {"active": true} |
POST /debug/prof/mem/gdump             | 200 | text/plain* | gdump deactivated | -d activate=false
POST /debug/prof/mem/gdump             | 200 | text/plain* | gdump deactivated | -H 'Content-Type: Application/X-WWW-Form-Urlencoded; charset=utf-8' -d activate=false
POST /debug/prof/mem/gdump             | 415 | text/plain* | Form requests must have \`Content-Type: application/x-www-form-urlencoded\` | -H Content-Type:text/plain -d activate=true
POST /debug/prof/mem/gdump             | 422 | text/plain* | Failed to deserialize form body: *activate* | -d active=true
POST /debug/prof/mem/gdump             | 422 | text/plain* | Failed to deserialize form body: *true* | -d activate=yes
POST /debug/prof/mem/symbol            | 200 | image/svg+xml | <svg>flame --only-modules /dev/fd/3 - heap_v2/</svg>↵ | --data-binary heap_v2/1
POST /debug/prof/mem/symbol            | 400 | application/json | {"error":* |
GET /debug/home                        | 200 | text/html* | *href="/debug/pprof/profile?seconds=5"* |
GET /debug/mem/pprof/profile           | 200 | application/octet-stream | heap_v2/* |
GET /debug/mem/pprof/profile?seconds=0 | 200 | application/octet-stream | heap_v2/* |
GET /debug/mem/pprof/profile?seconds=30 | 200 | application/octet-stream | heap_v2/* |
GET /debug/mem/pprof/heap              | 200 | text/plain* | heap_v2/* |
POST /service/jemalloc/prof/disable    | 200 | text/plain* | OK↵ |
POST /service/jemalloc/prof/stat       | 200 | text/plain* | *Begin jemalloc statistics* |
POST /service/jemalloc/prof/enable     | 200 | text/plain* | OK↵ |
GET /service/jemalloc/prof/enable      | 405 | text/plain* | Unsupported method for this command: GET↵ |
POST /service/jemalloc/pprof/enable    | 200 | text/plain* | OK↵ |
POST /service/jemalloc/prof/dump       | 200 | text/plain* | OK↵ |
POST /service/jemalloc/prof/dump       | 200 | text/plain* | OK↵ |
GET /service/jemalloc/pprof/heap       | 200 | application/octet-stream | heap_v2/* |
POST /service/jemalloc/pprof/heap      | 405 | text/plain* | Unsupported method for this command: POST↵ |
GET /service/jemalloc/pprof/symbol     | 200 | text/plain* | num_symbols: 1↵ |
POST /service/jemalloc/pprof/symbol    | 200 | text/plain* | 0x10 name of 0x10↵0x20 name of 0x20↵ | -d 0x10+0x20
POST /service/jemalloc/pprof/symbol    | 400 | text/plain* | Request body contains an invalid address↵ | -d 0x10+x
POST /service/jemalloc/pprof/symbol    | 400 | text/plain* | Request body contains an invalid address↵ | -d 0x0
POST /service/jemalloc/pprof/symbol    | 400 | text/plain* | Request body contains an invalid address↵ |
GET /service/jemalloc/pprof/cmdline    | 200 | text/plain* | redis-server* |
POST /service/jemalloc/prof/bg_threads_set_max | 400 | text/plain* | missing 'count' argument |
POST /service/jemalloc/prof/bg_threads_set_max?count=x | 400 | text/plain* | invalid 'count' value: x |
POST /service/jemalloc/prof/bg_threads_set_max?count=2 | 200 | text/plain* | OK↵ |
POST /service/jemalloc/prof/bg_threads_enable  | 200 | text/plain* | OK↵ |
POST /service/jemalloc/prof/bg_threads_disable | 200 | text/plain* | OK↵ |
POST /service/jemalloc/prof/unknown    | 404 | text/plain* | Unsupported command. Supported commands are: * |
GET /api/monitor/dump_heap_profile/0   | 200 | application/json | {} |
GET /api/monitor/list_heap_profile/0   | 200 | application/json | {"dir":"$dumps","nameManually":\["*.manual.heap"\]} |
GET /api/monitor/list_heap_profile/7   | 500 | application/json | {"error":"worker node not found"* |
GET /api/monitor/analyze/0/L2V0Yy9wYXNzd2Q= | 500 | application/json | {"error":"the path is not in the dump folder"* |
GET /api/monitor/analyze/0/Li4vLi4vZXRjL3Bhc3N3ZA | 500 | application/json | {"error":* |
GET /debug/pprof/heap                  | 200 | application/octet-stream | pprof pprof --max-samples 16000 --max-bytes 4194304 - heap_v2/↵ |
GET /debug/pprof/heap?max_samples=100&max_bytes=0 | 200 | application/octet-stream | pprof pprof --max-samples 100 - heap_v2/↵ |
GET /debug/pprof/heap?max_samples=x    | 400 | text/plain* | * |
GET /debug/pprof/heap?seconds=1        | 200 | application/octet-stream | pprof pprof --max-samples 16000 --max-bytes 4194304 --since /dev/fd/3 - heap_v2/ base heap_v2/↵ |
GET /debug/pprof/heap?seconds=x        | 400 | text/plain* | * |
GET /debug/pprof/heap?debug=1          | 200 | text/plain* | heap_v2/* |
GET /debug/pprof/allocs                | 200 | application/octet-stream | pprof pprof --max-samples 16000 --max-bytes 4194304 --default-type alloc_space - heap_v2/↵ |
GET /debug/pprof/goroutine             | 200 | application/octet-stream | *goroutine* |
GET /debug/pprof/mutex                 | 200 | application/octet-stream | *contentions* |
GET /debug/pprof/block                 | 200 | application/octet-stream | *contentions* |
GET /debug/pprof/cmdline               | 200 | text/plain* | redis-server* |
GET /debug/pprof/symbol                | 200 | text/plain* | num_symbols: 1↵ |
GET /debug/pprof/                      | 200 | text/html* | *heap* |
GET /debug/pprof/heap_activate         | 500 | text/plain* | Already in Profiling |
GET /debug/pprof/heap_deactivate       | 200 | text/plain* | deactivate heap profile success |
GET /debug/pprof/heap_deactivate       | 200 | text/plain* | no heap profile is running |
GET /debug/pprof/heap_activate?interval=x | 400 | text/plain* | * |
GET /debug/pprof/heap_activate?interval=1 | 200 | text/plain* | activate heap profile success |
GET /debug/pprof/heap?jeprof=true      | 200 | image/svg+xml | <svg>flame - heap_v2/</svg>↵ |
GET /debug/pprof/heap?name=../x        | 500 | text/plain* | * |
GET /pprof/heap                        | 200 | text/plain* | heap_v2/* |
GET /pprof/growth                      | 200 | text/plain* | heap_v2/* |
GET /pprof/contention                  | 501 | text/plain* | * |
GET /pprof/symbol                      | 200 | text/plain* | num_symbols: 1↵ |
POST /pprof/symbol                     | 200 | text/plain* | 0x10 name of 0x10↵ | -d 0x10
GET /cairn/snapshot                    | 200 | text/plain* | heap_v2/* |
POST /cairn/snapshot                   | 405 | text/plain* | * |
POST /cairn/dump                       | 200 | application/json | {"version":1,"path":"$dumps/*.manual.heap","bytes":*}↵ |
POST /cairn/gdump?activate=maybe       | 400 | application/json | {"error":* |
GET /cairn/memory                      | 200 | text/plain* | # cairn trailer 1↵*stats.active* |
GET /cairn/report/flame                | 200 | image/svg+xml | <svg>flame - heap_v2/</svg>↵ |
GET /cairn/report/html?older=10m&peak=false | 200 | text/html* | *html --older=10m - heap_v2/* |
GET /cairn/report/flame?mappings=all&slack=true | 200 | image/svg+xml | *flame --mappings=all --slack - heap_v2/* |
GET /cairn/report/html?older=1%20--output%3Dx | 400 | application/json | {"error":*older* |
GET /cairn/report/flame?peak=maybe     | 400 | application/json | {"error":*peak* |
GET /cairn/report/churn?older=1m       | 400 | application/json | {"error":*--older=1m* |
GET /cairn/report/shell                | 404 | application/json | {"error":*churn* |
POST /cairn/report/top                 | 405 | text/plain* | * |
GET /cairn/                            | 200 | text/html* | *html - heap_v2/* |
GET /cairn/stats                       | 200 | text/plain* | *Begin jemalloc statistics* |
GET /cairn/stats?format=json           | 200 | application/json | {"jemalloc":* |
GET /                                  | 200 | text/html* | *href="/debug/pprof/heap?jeprof=true"*<table>*href="/service/jemalloc/prof/stat"*href="/pprof/heap"* |
GET /nothing                           | 404 | text/plain* | * |
T

curl -s "$url_on/" | grep -o 'href="[^"]*"' >"$scratch/links"
is "$(grep -c activate "$scratch/links")" 0 'no link of the page starts or stops anything'
while IFS='"' read -r _ link _; do
	curl -s --max-time 30 -o /dev/null -w "%{http_code} $link\n" "$url_on$link"
done < <(grep -v '/profile"' "$scratch/links") | grep -v '^200 ' >"$scratch/dead"
is "$(cat "$scratch/dead")" '' "each of the $(wc -l <"$scratch/links") links of the page leads somewhere"

body=$(curl -s -X POST "$url_on/service/jemalloc/prof/stat" | grep ' prof.active:')
is "$body" "  prof.active: true" "the page's grep finds ' prof.active:'"
ls "$dumps" | grep -cE "^je\.$pid_on\.[0-9]+\.m[0-9]+\.heap$" >"$scratch/count"
is "$(cat "$scratch/count")" 2 "userver's dumps are where the page looks for them, none overwritten"
touch "$dumps/je.$pid_on.2.m2.heap"
curl -s -X POST "$url_on/service/jemalloc/prof/dump" >/dev/null
[ ! -s "$dumps/je.$pid_on.2.m2.heap" ] && [ -s "$dumps/je.$pid_on.3.m3.heap" ]
ok $? "a file that is in the way is left alone"
rm "$dumps/je.$pid_on.0.m0.heap"
curl -s -X POST "$url_on/service/jemalloc/prof/dump" >/dev/null
is "$(ls -v "$dumps"/je.*.heap | tail -n 1)" "$dumps/je.$pid_on.4.m4.heap" "the latest dump has the highest number, also after one was removed"

name=$(ls "$dumps" | grep -m1 manual.heap)
path=$(printf %s "$dumps/$name" | base64 -w0 | tr '+/' '-_')
like "$(curl -s "$url_on/api/monitor/analyze/0/$path")" 'main;work *' "RisingWave's analyze takes a path from its list"
path=$(printf %s "$dumps/../${dumps##*/}/$name" | base64 -w0 | tr '+/' '-_')
like "$(curl -s "$url_on/api/monitor/analyze/0/$path")" 'main;work *' "however the folder is written"
wait_for 5 test -s "$dumps/000001.heap"
like "$(curl -s "$url_on/debug/pprof/heap_list")" '0000*.heap*' "TiKV's regular dumps are listed"
like "$(curl -s "$url_on/debug/pprof/heap?name=000001.heap")" 'heap_v2/*' "and fetched by name"
cp "$dumps/000001.heap" "$dumps/900001.heap"
sed -i "s/^# cairn process $pid_on\./# cairn process 1./" "$dumps/900001.heap"
printf 'heap_v2/524288\n  t*: 0: 0 [0: 0]\n\nMAPPED_LIBRARIES:\n' >"$dumps/900002.heap"
touch -d '1 hour ago' "$dumps/900002.heap"
curl -s "$url_on/debug/pprof/heap_deactivate" >/dev/null
[ ! -e "$dumps/000001.heap" ]
ok $? "and removed by heap_deactivate"
[ -e "$dumps/900001.heap" ] && [ -e "$dumps/900002.heap" ]
ok $? "but not dumps of such a name that this process did not write"
rm -f "$dumps"/90000?.heap
for i in 1 2 3; do
	curl -s "$url_on/debug/pprof/heap_activate?interval=1" >/dev/null
	curl -s "$url_on/debug/pprof/heap_deactivate" >/dev/null
done
curl -s "$url_on/debug/pprof/heap_activate?interval=1" >/dev/null
# The fifth comes four seconds after the first; if each of the four beginnings went on, after one.
wait_for 10 test -s "$dumps/000005.heap"
python3 -c 'import os, sys; first, fifth = (os.stat(name).st_mtime for name in sys.argv[1:]); sys.exit(fifth - first < 2.5)' \
	"$dumps/000001.heap" "$dumps/000005.heap"
ok $? "begun, ended and begun again they come once an interval, not once for each beginning"
curl -s -X POST "$url_on/cairn/deactivate" >/dev/null
is "$(curl -s "$url_on/debug/pprof/heap_deactivate")" "deactivate heap profile success" "heap_deactivate ends them also after sampling was switched off elsewhere"
[ ! -e "$dumps/000001.heap" ]
ok $? "and removes them"
python3 -c 'print("+".join(hex(i + 1) for i in range(39999)), end="")' >"$scratch/many"
like "$(curl -s -d "@$scratch/many" "$url_on/service/jemalloc/pprof/symbol" -w ' %{http_code}')" "*32768*413" "userver's limit on addresses"
head -c 1100000 /dev/zero | tr '\0' 0 >"$scratch/big"
like "$(curl -s --data-binary "@$scratch/big" "$url_on/service/jemalloc/pprof/symbol" -w ' %{http_code}')" "Request body is too large: 1100000 > 1048576 bytes*413" "and on the body"

metrics=$(curl -s "$url_on/metrics")
for gauge in jemalloc_allocated_bytes jemalloc_resident_bytes sys_jemalloc_resident sys_jemalloc_allocated cairn_snapshots_total; do
	[[ $metrics =~ (^|$newline)$gauge\ [1-9] ]]
	ok $? "metric $gauge"
done
like "$metrics" '*# HELP sys_jemalloc_allocated Bytes in live allocations*' "GreptimeDB's HELP texts are not swapped here"
is "$(curl -s -o /dev/null -w '%{http_code}' -I "$url_on/cairn/status")" 200 "HEAD"

# The real command names addresses; stock jeprof with and without the binary.
MALLOC=prof:true,lg_prof_sample:12 TOOL=$cairn start_redis real
load "$port_real"
has_samples "$url_real" "the second redis is sampled"
quick_nm
export JEPROF_TMPDIR=$scratch/jeprof
text=$(jeprof --text "$url_real/pprof/heap" 2>&1)
like "$text" '*Total: *zmalloc*' "jeprof without the binary, by our symbol route"
like "$(jeprof --text "$(command -v redis-server)" "$url_real/pprof/heap" 2>&1)" '*Total: *' "jeprof with the binary"
like "$(jeprof --text "$(command -v redis-server)" "$url_real/debug/mem" 2>&1)" '*Total: *' "jeprof on Databend's URL without a page"
curl -s "$url_real/pprof/heap" >"$scratch/with"
sed '/^# cairn /d' "$scratch/with" >"$scratch/without"
# Perl's hashes have another order in each run, and so have rows of the same size.
ordered() { PERL_HASH_SEED=0 PERL_PERTURB_KEYS=0 jeprof --text "$(command -v redis-server)" "$1" 2>/dev/null; }
is "$(ordered "$scratch/with")" "$(ordered "$scratch/without")" \
	"jeprof reads the same with and without the trailer"
for key in version time host pid start executable command jemalloc period opt.prof stats.allocated stats.resident smaps.rss module end; do
	grep -q "^# cairn $key" "$scratch/with"
	ok $? "the trailer has $key"
done

# userver's check, where the engine is Cairn's: on jemalloc, whose statistics then say nothing of a profiler, and on glibc's malloc.
CONF=engine:cairn MALLOC= start_redis engine
active() { curl -s --max-time 30 -X POST "$1/service/jemalloc/prof/stat" | grep ' prof.active:'; }
is "$(active "$url_engine")" "  prof.active: false" "stat says that Cairn's engine does not sample, in one line"
curl -s -X POST "$url_engine/service/jemalloc/prof/enable" >/dev/null
is "$(active "$url_engine")" "  prof.active: true" "and when it does"
like "$(curl -s -X POST "$url_engine/service/jemalloc/prof/stat")" '*Begin jemalloc statistics*' "below jemalloc's own statistics"
port=$(free_port)
LD_PRELOAD=$library CAIRN_CONF=listen:127.0.0.1:$port python3 -c 'import time; time.sleep(900)' &
children+=($!)
url_glibc=http://127.0.0.1:$port
wait_for 10 curl -s "$url_glibc/cairn/status"
table "$url_glibc" <<T
POST /service/jemalloc/prof/disable | 200 | text/plain* | OK↵ |
POST /service/jemalloc/prof/stat    | 200 | text/plain* |   prof.active: false↵ |
POST /service/jemalloc/prof/enable  | 200 | text/plain* | OK↵ |
POST /service/jemalloc/prof/stat    | 200 | text/plain* |   prof.active: true↵ |
POST /service/jemalloc/prof/bg_threads_set_max?count=2 | 501 | text/plain* | 'jemalloc' profiling is not available.*no jemalloc in this process↵ |
POST /service/jemalloc/prof/bg_threads_enable  | 501 | text/plain* | 'jemalloc' profiling is not available.* |
POST /service/jemalloc/prof/bg_threads_disable | 501 | text/plain* | 'jemalloc' profiling is not available.* |
T
is "$(active "$url_glibc")" "  prof.active: true" "and the process runs on"

# Old contracts, on request.
CONF=compat:old,engine:jemalloc MALLOC=prof:false start_redis old
table "$url_old" <<T
GET /debug/prof/mem/status            | 200 | text/plain* | {"active": false} |
POST /service/jemalloc/prof/enable    | 200 | text/plain* | mallctl() returned error: No such file or directory↵ |
POST /service/jemalloc/prof/unknown   | 200 | text/plain* | Unsupported command |
POST /service/jemalloc/prof/disable   | 200 | text/plain* | OK↵ |
T
done_testing
