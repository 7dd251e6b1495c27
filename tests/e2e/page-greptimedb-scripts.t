#!/usr/bin/env bash
# GreptimeDB's "Memory Analysis Process", step by step: its four scripts are Cairn's of the same names, and the demo service with the
# agent is greptimedb.
. tests/e2e/lib.sh
need curl python3 cc
. tests/e2e/page.sh
follow 001
build_service greptime
for script in dump.sh gen_flamegraph.sh; do ln -s "$scratch/compat/$script" .; done

# 1. jeprof, by the script: nothing is compiled, so there is nothing to find below this folder.
says '1. Get the `jeprof` tool script'
said=$(find_compiled_jeprof.sh)
like "$said" "Found jeprof at *
Copied jeprof to current directory and made it executable." 'find_compiled_jeprof.sh says what it did'
like "$(./jeprof --version)" '*jeprof*' 'jeprof is in the current directory'

# 2. The service, and dump.sh with its PID.
export XDG_RUNTIME_DIR=$scratch CAIRN_TOOL=$cairn
says 'with env var `MALLOC_CONF=prof:true`'
LD_PRELOAD=$library MALLOC_CONF=prof:true ./greptime >/dev/null 2>&1 &
service=$!
children+=("$service")
wait_for 10 cairn status $service
says 'execute the `dump.sh` script with the PID of the `greptimedb` process as an argument'
./dump.sh $service >dump.log 2>dump.errors &
watcher=$!
children+=("$watcher")
says 'Outputs `greptime-{timestamp}.gprof` files'
three() { [ "$(ls ./*.gprof | wc -l)" -ge 3 ]; }
wait_for 60 three
is "$?" 0 'dump.sh PID: dumps as memory grows by 20 MB'
is "$(ls ./*.gprof | grep -cvE '^\./greptime-[0-9]{14}(-[0-9]+)?\.gprof$')" 0 "named greptime-{timestamp}.gprof, numbered within a second: $(ls ./*.gprof | head -n 1)"
like "$(head -n 1 dump.log)" "Starting memory monitoring for 'greptime' process..." 'it begins as the script does'
kill $service
wait $service 2>/dev/null
wait_for 10 test ! -d /proc/$watcher
is "$?" 0 'it ends when the process does'
like "$(cat dump.errors)" "*process $service*" 'and says so'
count=$(ls ./*.gprof | wc -l)
script() { ./dump.sh "$@" 2>&1 | sed 1d; }
like "$(script)" '*: PID must be provided as a command-line argument.' 'dump.sh without a PID'
like "$(script x1)" "*: Invalid PID: 'x1'. PID must be a number." 'dump.sh with something else'
like "$(script $service)" "*: Failed to get memory usage for PID $service.*" 'dump.sh with the PID of a process that is gone'
sleep 1 &
timeout 200 ./dump.sh $! >/dev/null 2>&1
is "$(($? != 124))" 1 'dump.sh ends with a process that has no agent, too'

# GreptimeDB without Cairn: its memory is the process's, and the dump comes from its own port. Another process with an agent stands for that.
port=$(free_port)
LD_PRELOAD=$library MALLOC_CONF=prof:true CAIRN_CONF=listen:127.0.0.1:$port ./greptime >/dev/null 2>&1 &
children+=($!)
./greptime >/dev/null 2>&1 &
plain=$!
children+=("$plain")
answers "localhost:$port/debug/prof/mem/status"
mkdir alone && cd alone
sed "s/localhost:4000/localhost:$port/" ../dump.sh >dump-here.sh
sh dump-here.sh $plain >dump.log 2>dump.errors &
watcher=$!
children+=("$watcher")
wait_for 60 three
is "$?" 0 'dump.sh PID of a process without an agent: dumps as its memory grows, from the port'
like "$(sed -n '3p' dump.log)" "* $plain * grow: *" 'it is the memory of that process'
kill $plain
wait $watcher
is "$(grep -c "process $plain (greptime)" dump.errors)" 1 'and it ends with it'
cd ..
"$cairn" watch --for 10m --file-name 'x-%t' "http://localhost:$port/nothing" 2>errors &
watcher=$!
children+=("$watcher")
wait_for 30 grep -q 'answers 404' errors
kill $watcher
like "$(cat errors)" "*http://localhost:$port/nothing answers 404*" 'a page that is not there is named'

# 3. and 4. Flame graphs. flamegraph.pl is optional on the page; here it is made as the page says, by a script that downloads nothing.
says 'With 2-3 gprof files, run `gen_flamegraph.sh`'
says 'run the `get_flamegraph_tool.sh` script'
get_flamegraph_tool.sh
holds 'get_flamegraph_tool.sh puts flamegraph.pl into the current directory' test -x ./flamegraph.pl
says 'Usage: ./gen_flamegraph.sh <binary_path> <gprof_directory>'
is "$(./gen_flamegraph.sh)" 'Usage: ./gen_flamegraph.sh <binary_path> <gprof_directory>' 'the usage is the one on the page'
page './gen_flamegraph.sh ./greptime .'
like "$status $said" '0 Generating flamegraphs in ./flamegraphs*Flamegraph generation complete.' "$name"
says '`<gprof_directory>/flamegraphs` directory'
is "$(ls flamegraphs/*.svg | wc -l)" $((2 * count - 1)) "a picture of each of $count dumps, and of what changed between them"
is "$(ls flamegraphs/*.collapse | wc -l)" $((2 * count - 1)) 'and folded text beside each'
last=$(ls flamegraphs/*_diff.svg | tail -n 1)
holds 'the leak is in the last of them' grep -q remember_session "$last"
first=$(ls ./*.gprof | head -n 1)
is "$(./jeprof ./greptime "$first" --collapse 2>/dev/null | sed 's/\[inline\]//' | sort)" "$(sort "flamegraphs/$(basename "$first" .gprof).collapse")" "what jeprof makes of a dump is what is there"

# Without flamegraph.pl only folded text is sent; the developer draws it by the script that is beside the others.
mkdir sent && cp flamegraphs/*.collapse sent
said=$(gen_from_collapse.sh sent 2>&1)
like "$? $said" '0 Successfully generated sent/greptime-*.svg*Flame graph generation complete.' 'gen_from_collapse.sh DIRECTORY'
is "$(ls sent/*.svg | wc -l)" $((2 * count - 1)) 'a picture of each folded text'
is "$(cd sent && gen_from_collapse.sh nowhere; echo $?)" "Error: 'nowhere' is not a valid directory.
1" 'it says what is wrong, as the script does'
like "$(gen_from_collapse.sh)" 'Usage: *gen_from_collapse.sh <collapse_directory>' 'and its usage'

# 5. The folder is what is sent on.
says 'the entire folder of `<gprof_directory>/flamegraphs`'
holds 'it has a page that shows all of it' grep -q "<h2>$(basename "$first" .gprof)</h2>" flamegraphs/index.html

# The three ways to jeprof. cargo and jemalloc's own build are not run: what they are for is a jeprof, and that is here.
rm jeprof
says 'execute `find_compiled_jeprof.sh`'
find_compiled_jeprof.sh >/dev/null
newest=$(ls ./*.gprof | tail -n 1)
folds() { like "$("$1" --collapsed greptime "$newest" 2>/dev/null)" '*serve_request;remember_session [0-9]*' "$2"; }
folds ./jeprof 'after "cargo build": find_compiled_jeprof.sh'
here=('s/^cargo new \(.*\)/mkdir \1/' 's/^cargo build/true/')
page 'cargo new get_jeprof
cd get_jeprof'
says 'tikv-jemalloc-ctl = '
page 'cargo build'
says 'Now run `find_compiled_jeprof.sh` in current directory'
(cd get_jeprof && find_compiled_jeprof.sh >/dev/null)
folds get_jeprof/jeprof 'with the Rust toolchain: the same script'
says 'git clone https://github.com/tikv/jemalloc.git
cd jemalloc
git checkout e13ca993e8ccb9ba9847cc330696e02839f328f7'
says './configure
make'
says '`jeprof` is in `.bin/` directory'
done_testing
