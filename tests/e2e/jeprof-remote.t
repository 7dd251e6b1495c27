#!/usr/bin/env bash
# Profiles from servers: jeprof's page rules, names from /pprof/symbol, where files are kept, and every way a server can fail.
. tests/e2e/lib.sh
need python3 jeprof curl
cd "$scratch" || exit 1
demo_dumps
ln -s "$cairn" jeprof
# What the server will call its addresses: some plain, some mangled, one with an inlined function.
./jeprof --raw leaky now.heap 2>/dev/null | sed -n '/^0x/p' | sed 's/ load_page$/ _ZN4page4loadEj/; s/ serve_request$/ serve_request--inlined_part/' >names
port=$(free_port)
python3 "$root/tests/e2e/pprof-server.py" "$port" now.heap names >requests 2>server.log &
children+=($!)
host=127.0.0.1:$port
wait_for 10 curl -s "http://$host/pprof/cmdline"
export JEPROF_TMPDIR=$scratch/kept HOME=$scratch/home
mkdir -p home
local_text=$(./jeprof --text --show_bytes leaky now.heap 2>/dev/null)

# With the program at hand.
is "$(./jeprof --text --show_bytes leaky "http://$host/pprof/heap" 2>err)" "$local_text" 'a heap profile by its URL reads like the file'
like "$(cat err)" "Using local file leaky.
Fetching /pprof/heap profile from http://$host/pprof/heap to
  $scratch/kept/leaky.*.127.0.0.1.pprof.heap
Wrote profile to $scratch/kept/leaky.*.127.0.0.1.pprof.heap*" 'it says what it fetches and where to, as jeprof does'
holds 'the file is kept whole' cmp now.heap kept/leaky.*.pprof.heap
is "$(./jeprof --text --show_bytes leaky "$host/pprof/heap" 2>/dev/null)" "$local_text" 'without http://'
is "$(./jeprof --text --show_bytes --seconds=1 leaky "http://$host/debug/mem" 2>err)" "$local_text" 'a prefix and no page: /pprof/profile below it'
like "$(cat err)" "*Gathering CPU profile from http://$host/debug/mem/pprof/profile?seconds=1 for 1 seconds to
  $scratch/kept/leaky.*.127.0.0.1
Be patient...*" 'and it is asked for --seconds'
like "$(cat requests)" '*GET /debug/mem/pprof/profile?seconds=1*' 'which the server was told'
is "$(./jeprof --text --show_bytes leaky "http://$host/" 2>/dev/null --seconds=0)" "$local_text" 'no page at all'
like "$(tail -n 1 requests)" 'GET /pprof/profile?seconds=0' 'is /pprof/profile'
is "$(./jeprof --text --show_bytes leaky "$host/pprof/heap" --base now.heap 2>/dev/null)" '' 'less a local base there is nothing left'
is "$(./jeprof --text --show_bytes leaky "$host/pprof/heap" "$host/base/pprof/heap" 2>err | head -n 1)" \
	"$(./jeprof --text --show_bytes leaky now.heap now.heap 2>/dev/null | head -n 1)" 'two are fetched and added up'
like "$(cat err)" '*Fetching 2 profiles, Be patient...*' 'side by side'
unset JEPROF_TMPDIR
./jeprof --text leaky "$host/pprof/heap" >/dev/null 2>&1
like "$(ls home/jeprof)" 'leaky.*.127.0.0.1.pprof.heap' 'the usual folder is ~/jeprof'
export JEPROF_TMPDIR=$scratch/kept

# Without: names and program come from the server.
./jeprof --text --show_bytes "http://$host/pprof/heap" >ours 2>err
like "$(cat err)" '*kept/thing.*.127.0.0.1.pprof.heap*' 'the program is what /pprof/cmdline says'
like "$(cat ours)" '*page::load*serve_request*' 'names come from /pprof/symbol, demangled'
like "$(cat ours)" '*inlined_part (inline)*' 'with inlined functions'
jeprof --text --show_bytes "http://$host/pprof/heap" >theirs 2>/dev/null
figures() { awk '/remember_session|worker/ { print $1, $2, $4, $5, $6 } /Total/' "$1"; } # without the running sum: names the server lacks are other rows
is "$(figures ours)" "$(figures theirs)" 'stock jeprof shows the same'
./jeprof --raw "http://$host/pprof/heap" >raw 2>/dev/null
like "$(cat raw)" '--- symbol*page::load*--- heap*heap_v2*MAPPED_LIBRARIES:*' '--raw of a remote profile carries its names'
is "$(./jeprof --text --show_bytes raw 2>/dev/null)" "$(cat ours)" 'and reads back the same'
./jeprof --text "http://$host/stripped/pprof/heap" >ours 2>err
like "$(cat err)" '*does not symbolize its addresses*no symbols*' 'a server without symbols is said to be one'
like "$(cat ours)" '*load_page*' 'and the files of the memory map give the names'
./jeprof --text "http://$host/nosymbol/pprof/heap" 2>err | grep -q load_page
is $? 0 'the same where there is no such page'

# What goes wrong.
export CAIRN_HTTP_LIMIT=20M
fails() { # fails PATTERN PAGE
	local said
	said=$(timeout 200 ./jeprof --text leaky "http://$host/$2" 2>&1 >/dev/null)
	is $? 1 "$2: exit code"
	like "$said" "$1" "$2: a sentence"
}
fails '*the server answers 503: profiling is off*' error/pprof/heap
fails '*answers 404: not found*' nowhere/pprof/heap
fails '*a web page, not a profile; add the profile*' page/pprof/heap
fails '*redirected more than 5 times*' loop/pprof/heap
fails '*rotocol*file*' file/pprof/heap
fails '*the answer is empty*' empty/pprof/heap
CAIRN_HTTP_TIMEOUT=1 fails '*did not answer; set CAIRN_HTTP_TIMEOUT*' hang/pprof/heap
fails '*larger than 20.0 MiB; set CAIRN_HTTP_LIMIT=4G to accept more*' endless/pprof/heap
fails '*closed the connection before its answer was complete*' cut/pprof/heap
is "$(./jeprof --text --show_bytes leaky "http://$host/moved/pprof/heap" 2>/dev/null)" "$local_text" 'a redirection is followed'
like "$(./jeprof --text leaky 127.0.0.1:1/pprof/heap 2>&1 >/dev/null)" '*cannot connect*' 'nobody listens'
like "$(./jeprof --text leaky "http://no.such.host.invalid/pprof/heap" 2>&1 >/dev/null)" '*unknown host*' 'no such host'
is "$(find kept -name '.*' -type f -o -name '*.pprof.heap' -size 0)" '' 'nothing half-written is left'
done_testing
