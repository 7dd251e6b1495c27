#!/usr/bin/env bash
# The states told apart, and every refusal with its cause: not enabled, built without profiling, no jemalloc, handed over.
. tests/e2e/lib.sh
need redis-server curl python3 cc nm objcopy
. tests/e2e/agent.sh

CONF=engine:jemalloc MALLOC='' start_redis off || { ok 1 "redis-server starts"; done_testing; }
is "$(field "$url_off" state)" "not enabled" "started without prof:true"
like "$(field "$url_off" why)" "*MALLOC_CONF=prof:true*" "and the line that fixes it"
table "$url_off" <<T
GET /debug/prof/mem/status          | 200 | application/json | {"active": false} |
GET /debug/prof/mem/gdump           | 200 | application/json | {"active": false} |
POST /debug/prof/mem                | 400 | application/json | {"error":"Memory profiling is not enabled","cause":"*MALLOC_CONF=prof:true*"} |
POST /debug/prof/mem/activate       | 400 | application/json | {"error":"Memory profiling is not enabled"* |
POST /debug/prof/mem/deactivate     | 400 | application/json | {"error":"Memory profiling is not enabled"* |
POST /debug/prof/mem/gdump          | 400 | application/json | {"error":"Memory profiling is not enabled"* | -d activate=true
GET /debug/mem/pprof/profile        | 500 | text/plain* | *opt.prof is not ON,*MALLOC_CONF=prof:true* |
POST /service/jemalloc/prof/enable  | 503 | text/plain* | 'jemalloc' profiling is not available because the service was not started with a 'MALLOC_CONF' environment variable that contain 'prof:true'↵* |
POST /service/jemalloc/prof/disable | 200 | text/plain* | OK↵ |
GET /service/jemalloc/pprof/heap    | 503 | text/plain* | * |
POST /service/jemalloc/prof/stat    | 200 | text/plain* | * prof.active: false* |
GET /api/monitor/dump_heap_profile/0 | 500 | application/json | {"error":"Jemalloc profiling is not enabled on the node. Try start the node with \`MALLOC_CONF=prof:true\`"* |
GET /pprof/heap                     | 503 | text/plain* | *MALLOC_CONF=prof:true* |
GET /debug/pprof/heap               | 503 | text/plain* | *MALLOC_CONF=prof:true* |
GET /cairn/snapshot                 | 409 | application/json | *MALLOC_CONF=prof:true* |
POST /cairn/activate                | 409 | application/json | *MALLOC_CONF=prof:true* |
T

# A service whose jemalloc is inside the program, or has names of its own, and was not started with prof:true: Cairn's own engine does not
# see its memory, and does not pretend to.
warns() { [ -n "$(field "$1" engine warning)" ]; }
steady_inside "$scratch/inside"
steady_prefixed "$scratch/prefixed"
for kind in inside prefixed; do
	port=$(free_port)
	cd "$scratch"
	LD_PRELOAD=$library CAIRN_CONF=listen:127.0.0.1:$port CAIRN_TOOL=$stand_in "$scratch/$kind" "$scratch/$kind.ready" &
	children+=($!)
	cd "$root"
	wait_for 20 curl -s "http://127.0.0.1:$port/cairn/status"
	wait_for 20 warns "http://127.0.0.1:$port" # a jemalloc is found once it is used
	is "$(field "http://127.0.0.1:$port" engine name)" cairn "$kind: Cairn's engine"
	like "$(field "http://127.0.0.1:$port" engine warning)" '*MALLOC_CONF=prof:true' "$kind: which tells what it does not see"
	table "http://127.0.0.1:$port" <<T
POST /debug/prof/mem/activate        | 400 | application/json | {"error":"Memory profiling is not enabled","cause":"*MALLOC_CONF=prof:true"} |
POST /debug/prof/mem/deactivate      | 400 | application/json | {"error":"Memory profiling is not enabled"* |
POST /debug/prof/mem                 | 400 | application/json | {"error":"Memory profiling is not enabled"* |
POST /debug/prof/mem/gdump           | 400 | application/json | {"error":"Memory profiling is not enabled"* | -d activate=true
GET /debug/prof/mem/status           | 200 | application/json | {"active": false} |
GET /debug/pprof/heap?jeprof=true    | 500 | text/plain* | *MALLOC_CONF=prof:true* |
GET /debug/mem/pprof/profile         | 500 | text/plain* | *opt.prof is not ON,*MALLOC_CONF=prof:true* |
POST /service/jemalloc/prof/enable   | 503 | text/plain* | 'jemalloc' profiling is not available because *'prof:true'↵*MALLOC_CONF=prof:true↵ |
POST /service/jemalloc/prof/disable  | 200 | text/plain* | OK↵ |
POST /service/jemalloc/prof/dump     | 503 | text/plain* | * |
GET /service/jemalloc/pprof/heap     | 503 | text/plain* | * |
GET /api/monitor/dump_heap_profile/0 | 500 | application/json | {"error":"Jemalloc profiling is not enabled on the node. Try start the node with \`MALLOC_CONF=prof:true\`"* |
GET /debug/pprof/heap_activate       | 500 | text/plain* | *MALLOC_CONF=prof:true |
GET /pprof/heap                      | 503 | text/plain* | *MALLOC_CONF=prof:true* |
GET /debug/pprof/heap                | 503 | text/plain* | *MALLOC_CONF=prof:true* |
T
	is "$(curl -s -X POST "http://127.0.0.1:$port/service/jemalloc/prof/stat" | grep ' prof.active:')" '  prof.active: false' "$kind: prof.active"
	"$cairn" doctor "http://127.0.0.1:$port" >"$scratch/told" 2>&1
	like "$(tr -s ' ' <"$scratch/told")" '*wrong allocator m*MALLOC_CONF=prof:true*' "$kind: and so says the doctor"
done
# A jemalloc with a prefix may be one of two allocators: whoever chooses Cairn's engine gets what it sees.
port=$(free_port)
LD_PRELOAD=$library CAIRN_CONF=listen:127.0.0.1:$port,engine:cairn CAIRN_TOOL=$stand_in "$scratch/prefixed" "$scratch/chosen.ready" &
children+=($!)
wait_for 20 curl -s "http://127.0.0.1:$port/cairn/status"
table "http://127.0.0.1:$port" <<T
POST /debug/prof/mem/activate        | 200 | text/plain* | Heap profiling activated |
POST /debug/prof/mem                 | 200 | text/plain* | heap_v2/* |
T
curl -s "http://127.0.0.1:$port/cairn/snapshot" >"$scratch/chosen.heap"
like "$("$cairn" doctor "$scratch/chosen.heap" 2>&1 | tr -s ' ')" '*wrong allocator memory allocated through _rjem_malloc is not seen: *' 'a dump tells what it does not have'

# A missing folder is named, never "Bad address".
MALLOC=prof:true,prof_prefix:$scratch/missing/je start_redis folder
table "$url_folder" <<T
POST /service/jemalloc/prof/dump     | 500 | text/plain* | mallctl() returned error: the folder $scratch/missing does not exist* |
GET /api/monitor/list_heap_profile/0 | 500 | application/json | {"error":"cannot read the dump folder $scratch/missing: No such file or directory"} |
T
MALLOC=prof:true,prof_prefix:sub/je start_redis relative
table "$url_relative" <<T
POST /service/jemalloc/prof/dump     | 500 | text/plain* | mallctl() returned error: the folder $scratch/relative/sub does not exist* |
T

# Configuration: the file, the environment over it, and what is wrong in either.
cat >"$scratch/service.toml" <<T
[http]
addr = "127.0.0.1:1"
[memory]
enable_heap_profiling = true
[cairn]
seconds = 9
nonsense = 1
T
export CAIRN_CONFIG=$scratch/service.toml
MALLOC=prof:true,prof_active:false start_redis file
is "$(field "$url_file" state)" active "enable_heap_profiling = true activates at the start"
is "$(field "$url_file" config seconds value) $(field "$url_file" config seconds from)" "9 file" "a value from the file, and that it is from there"
like "$(field "$url_file" config_problems)" "*nonsense*" "an unknown key is shown"
sed -i 's/= true/= false/' "$scratch/service.toml"
CONF=seconds:8 start_redis file2
is "$(field "$url_file2" state)" inactive "false really leaves it off, whatever MALLOC_CONF says"
is "$(field "$url_file2" config seconds value)" 8 "CAIRN_CONF wins over the file"
unset CAIRN_CONFIG
start_redis plain
is "$(field "$url_plain" state)" active "without the key what MALLOC_CONF says stands"
like "$(field "$url_plain" active_since)" "[1-9]*" "active since the start"
# jemalloc's profiler is enabled, but Cairn's engine was chosen.
CONF=engine:cairn,enable_heap_profiling:true MALLOC=prof:true,prof_active:false start_redis chosen
since=$(field "$url_chosen" active_since)
like "$since" "[1-9]*" "Cairn's engine is active since the start, whatever jemalloc's is"
curl -s "$url_chosen/cairn/snapshot" >"$scratch/since.heap"
like "$(cat "$scratch/since.heap")" "*# cairn active_since *" "a snapshot says so"
is "$(field "$url_chosen" active_since)" "$since" "and looking does not change it"

# A tool that is not there, crashes, or takes too long.
TOOL=/nonexistent/cairn start_redis none
like "$(curl -s -X POST "$url_none/debug/prof/mem?output=proto" -w ' %{http_code}')" '*CAIRN_TOOL* 501' "501 where there is no tool"
like "$(curl -s "$url_none/cairn/" -w ' %{http_code}')" '*the cairn command is neither beside libcairn.so nor on PATH*501' 'and the page says that the command is not installed'
is "$(curl -s "$url_none/pprof/symbol")" "num_symbols: 0" "and no promise of symbols"
printf '#!/bin/sh\necho half; kill -SEGV $$\n' >"$scratch/crashing" && printf '#!/bin/sh\nsleep 60\n' >"$scratch/slow" && chmod +x "$scratch/crashing" "$scratch/slow"
TOOL=$scratch/crashing start_redis crash
like "$(curl -s -X POST "$url_crash/debug/prof/mem?output=proto" -w ' %{http_code}')" '*signal 11* 500' "a child that crashes is an error, not half an answer"
CONF=tool_seconds:1 TOOL=$scratch/slow start_redis late
like "$(curl -s -X POST "$url_late/debug/prof/mem?output=proto" -w ' %{http_code}')" '*took too long* 504' "a child that takes too long is ended"
is_gone() { ! pgrep -f "$scratch/slow"; }
wait_for 6 is_gone
ok $? "and is gone"
is "$(redis-cli -p "$port_crash" ping)" PONG "the host goes on"
done_testing
