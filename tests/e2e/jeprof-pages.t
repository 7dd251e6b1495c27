#!/usr/bin/env bash
# Every jeprof command line of the pages that people write about jemalloc: they run with ours as they stand there, only with the
# demo service for a program. Those that draw a call graph run where Graphviz is there.
. tests/e2e/lib.sh
need python3 curl
cd "$scratch" || exit 1
mkdir -p bin target/debug target/release build/services build/samples home
demo_dumps
for name in target/debug/databend-query target/debug/databend-meta target/release/databend-query target/release/risingwave \
	build/services/userver-sample build/samples/userver-sample greptime compute-node; do cp leaky $name; done
cp now.heap jeprof.198272.1283.i1283.heap && cp now.heap jeprof.5503.1.m1.heap && cp now.heap heap.prof && cp before.heap a.prof && cp now.heap b.prof
ln -s "$cairn" bin/jeprof && ln -s "$cairn" bin/flamegraph.pl
export PATH=$scratch/bin:$PATH HOME=$scratch/home
port=$(free_port)
: >names
python3 "$root/tests/e2e/pprof-server.py" "$port" now.heap names >requests 2>server.log &
children+=($!)
wait_for 10 curl -s "http://127.0.0.1:$port/pprof/cmdline"

picture() { # picture FILE NAME: an SVG flame graph
	like "$(head -c 200 "$1"; tail -c 20 "$1")" '*<svg*</svg>*' "$2"
}
# GreptimeDB
jeprof greptime now.heap --collapse 2>/dev/null | flamegraph.pl >mem-prof.svg
picture mem-prof.svg 'jeprof <binary> <profile> --collapse | flamegraph.pl'
jeprof greptime --base before.heap now.heap --collapse 2>/dev/null | flamegraph.pl >output.svg
picture output.svg 'jeprof <binary> --base <baseline> <profile> --collapse | flamegraph.pl'
# RisingWave
jeprof --collapsed compute-node jeprof.198272.1283.i1283.heap >heap.collapsed 2>/dev/null
like "$(cat heap.collapsed)" '*clone3;start_thread;worker;serve_request;look_up_page;load_page *' 'jeprof --collapsed binary_file heap_file'
flamegraph.pl --color=mem --countname=bytes heap.collapsed >flamegraph.svg
picture flamegraph.svg 'flamegraph.pl --color=mem --countname=bytes'
jeprof --collapsed target/release/risingwave now.heap 2>/dev/null | flamegraph.pl --color=mem --countname=bytes >flamegraph2.svg
picture flamegraph2.svg 'jeprof --collapsed | flamegraph.pl --color=mem --countname=bytes'
# databend: a shell on a profile from a server; without a terminal its text
said=$(jeprof --seconds=1 ./target/debug/databend-query "http://localhost:$port/debug/mem" 2>&1)
like "$said" "Using local file ./target/debug/databend-query.*Gathering CPU profile from http://localhost:$port/debug/mem/pprof/profile?seconds=1*Wrote profile to $HOME/jeprof/databend-query.*.localhost*Total: * MB*load_page*" \
	'jeprof ./target/debug/databend-query http://localhost:8080/debug/mem'
said=$(printf 'top\nquit\n' | jeprof --interactive --seconds=0 ./target/debug/databend-query "http://localhost:$port/debug/mem" 2>&1)
like "$said" "*Welcome to jeprof!  For help, type 'help'.*Total: * MB*load_page*" 'and its shell: top'
# userver
said=$(jeprof --show_bytes --text --cum build/samples/userver-sample jeprof.5503.1.m1.heap 2>&1)
like "$said" 'Using local file build/samples/userver-sample.
Using local file jeprof.5503.1.m1.heap.
Total: * B*load_page*' 'jeprof --show_bytes --text --cum'
# Call graphs.
if command -v dot >/dev/null; then
	jeprof --show_bytes --nodecount=1024 --nodefraction=0.001 --edgefraction=0.001 --maxdegree=64 --pdf ./target/debug/databend-meta --base=a.prof b.prof >mem.pdf 2>/dev/null
	is "$(head -c 4 mem.pdf)" %PDF 'jeprof --show_bytes --nodecount=1024 ... --pdf --base=a.prof b.prof'
	jeprof --pdf ./target/release/databend-query heap.prof >heap.pdf 2>/dev/null
	is "$(head -c 4 heap.pdf)" %PDF 'jeprof --pdf'
	jeprof --show_bytes --pdf build/services/userver-sample jeprof.5503.1.m1.heap >prof.pdf 2>/dev/null
	is "$(head -c 4 prof.pdf)" %PDF 'jeprof --show_bytes --pdf'
else
	skip 'the three --pdf commands' 'no Graphviz here'
fi
done_testing
