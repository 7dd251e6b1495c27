#!/usr/bin/env bash
# "Profile memory usage of GreptimeDB", step by step, with the demo service in the place of greptime: its agent answers where
# GreptimeDB would.
. tests/e2e/lib.sh
need curl python3 cc
. tests/e2e/page.sh
follow 000
build_service target/debug/greptime
port=$(free_port)
here=("s/localhost:4000/localhost:$port/" 's|<path_to_jeprof>|target/debug/build/tikv-jemalloc-sys-0/out/build/bin/jeprof|'
	's|<path_to_greptime_binary>|./target/debug/greptime|' 's|<profile_data>|greptime.hprof|' 's|<baseline_prof>|baseline.hprof|'
	's|^sudo apt install.*|get_flamegraph_tool.sh|' 's|^curl https://raw.*|get_flamegraph_tool.sh|')

# Prerequisites. jeprof is looked for where cargo leaves it; here that is a link to Cairn. Nothing is installed or downloaded: the
# lines for apt and for flamegraph.pl on GitHub stand for Cairn's get_flamegraph_tool.sh.
mkdir -p target/debug/build/tikv-jemalloc-sys-0/out/build/bin && ln -s "$cairn" target/debug/build/tikv-jemalloc-sys-0/out/build/bin/jeprof
page "find . -name 'jeprof'"
page_is './target/debug/build/tikv-jemalloc-sys-0/out/build/bin/jeprof'
page 'chmod +x <path_to_jeprof>'
is "$status" 0 "$name"
says '`--collapsed` option'
like "$(jeprof --help 2>&1)" '*--collapsed*' 'jeprof has --collapsed'
page 'curl https://raw.githubusercontent.com/brendangregg/FlameGraph/master/flamegraph.pl > ./flamegraph.pl'
holds 'flamegraph.pl is in the current directory' test -x ./flamegraph.pl

# Profiling. What the service lacks of GreptimeDB, the port with the routes, comes from the preloaded agent.
export XDG_RUNTIME_DIR=$scratch CAIRN_CONF=listen:127.0.0.1:$port CAIRN_TOOL=$cairn LD_PRELOAD=$library
page_starts 'MALLOC_CONF=prof:true ./target/debug/greptime standalone start'
unset LD_PRELOAD
answers "localhost:$port/debug/prof/mem/status"
is "$?" 0 "$name: it answers"
first=$pid

# The docker image: it starts with the profiler off, and the configuration decides. The file is the page's own.
docker_starts() { # docker_starts FILE: what the status then is
	local docker
	docker=$(free_port)
	LD_PRELOAD=$library CAIRN_CONFIG=$1 CAIRN_CONF=listen:127.0.0.1:$docker MALLOC_CONF=prof:true,prof_active:false ./target/debug/greptime standalone start &
	children+=($!)
	answers "localhost:$docker/debug/prof/mem/status"
	curl -s "localhost:$docker/debug/prof/mem/status"
	kill $!
}
says '```toml'
printf '%s\n' "${text%%'```'*}" >config.toml
is "$(docker_starts config.toml)" '{"active": true}' "the page's configuration: $(tail -n 1 config.toml | head -c 40)$(grep enable_ config.toml)"
says 'set `enable_heap_profiling` to `false`'
sed -i 's/= true/= false/' config.toml
is "$(docker_starts config.toml)" '{"active": false}' 'enable_heap_profiling = false leaves it off'

# Control.
page 'curl -X GET localhost:4000/debug/prof/mem/status'
page_is '{"active": true}'
page 'curl -X POST localhost:4000/debug/prof/mem/activate'
page_is 'Heap profiling activated'
page 'curl -X POST localhost:4000/debug/prof/mem/deactivate'
page_is 'Heap profiling deactivated'
is "$(curl -s "localhost:$port/debug/prof/mem/status")" '{"active": false}' 'and it is off'
curl -s -X POST "localhost:$port/debug/prof/mem/activate" >/dev/null
page "curl -X POST localhost:4000/debug/prof/mem/gdump -d 'activate=true'"
page_is 'gdump activated'
written() { ls ./*."$first".*.u*.heap; }
wait_for 20 written
is "$?" 0 'dumps appear as virtual memory exceeds its previous maximum'
page "curl -X POST localhost:4000/debug/prof/mem/gdump -d 'activate=false'"
page_is 'gdump deactivated'
page 'curl -X GET localhost:4000/debug/prof/mem/gdump'
page_is '{"active": false}'

# Dump.
# A baseline, and later a dump in which the leak is some 20 samples larger.
curl -s -X POST "localhost:$port/debug/prof/mem" >baseline.hprof
grown() {
	curl -s -X POST "localhost:$port/debug/prof/mem" >later.hprof
	cairn top --json --base baseline.hprof later.hprof 2>/dev/null | python3 -c 'import json, sys
sys.exit(sum(row["cum"] for row in json.load(sys.stdin)["rows"] if row["name"] == "remember_session") < 10e6)'
}
wait_for 20 grown
page 'curl -X POST localhost:4000/debug/prof/mem > greptime.hprof'
like "$(head -n 1 greptime.hprof)" 'heap_v2/*' "$name: a dump of jemalloc"
page 'curl -X POST "localhost:4000/debug/prof/mem?output=flamegraph" > greptime.svg'
page_picture greptime.svg
holds 'it has names' grep -q remember_session greptime.svg
page 'curl -X POST "localhost:4000/debug/prof/mem?output=proto" > greptime.pprof'
is "$(head -c 2 greptime.pprof | od -An -tx1)" ' 1f 8b' "$name: packed by gzip"
like "$(cairn top greptime.pprof 2>/dev/null)" '*remember_session*' 'which has names too'
says 'compare them to find the delta memory usage'

# Analyze.
page 'sudo apt install -y libjemalloc-dev'
page 'jeprof <path_to_greptime_binary> <profile_data> --collapse | ./flamegraph.pl > mem-prof.svg'
page_picture mem-prof.svg
holds 'the leak is in it' grep -q remember_session mem-prof.svg
page 'jeprof <path_to_greptime_binary> --base <baseline_prof> <profile_data> --collapse | ./flamegraph.pl > output.svg'
page_picture output.svg 'what changed'
holds 'which is the leak' grep -q remember_session output.svg
# The same routes in the service's own server: the example that the page of Cairn about GreptimeDB calls complete.
build=${library%/*}
${CC:-cc} -O2 -g -Wall -Wextra -Werror -I"$root/include" "$root/examples/embed/embed.c" -o embed "$library" -Wl,-rpath,"$build" -ljemalloc 2>"$scratch/log" || broken 'the example of a server compiles'
own=$(free_port)
MALLOC_CONF=prof:true,lg_prof_sample:12 ./embed "$own" &
children+=($!)
answers "localhost:$own/debug/prof/mem/status"
is "$(curl -s -X POST "localhost:$own/debug/prof/mem/gdump" -d 'activate=true')" 'gdump activated' 'embedded: a form arrives with its content type and its body'
is "$(curl -s -X POST "localhost:$own/debug/prof/mem/gdump" -d 'activate=false')" 'gdump deactivated' 'and so does the next'
like "$(jeprof --text "http://localhost:$own/pprof/heap" 2>/dev/null)" '*Total: *main*' 'embedded: jeprof gets names'
curl -s -X POST "localhost:$own/debug/prof/mem" >own.hprof
curl -s -X POST --data-binary @own.hprof "localhost:$own/debug/prof/mem/symbol" >own.svg
like "$(cat own.svg)" '*<svg*main*</svg>*' 'embedded: a dump that is sent comes back as a picture'
done_testing
