#!/usr/bin/env bash
# RisingWave's "Memory (Heap) Profiling Guide", step by step. A cluster of RisingWave is stood for by two demo services under the
# names of its nodes, and risedev by a script that starts them with `cairn run`, which reads the same environment variable.
. tests/e2e/lib.sh
need curl python3 cc nm
. tests/e2e/page.sh
follow 002
build_service compute-node          # jemalloc as a library: Cairn's engine profiles it
build_static_service compactor      # jemalloc inside, as in RisingWave's own programs: its profiler does, and writes the dumps
cat >risedev <<'SCRIPT'
#!/bin/sh
cairn run -q -- ./compute-node & nodes=$!
cairn run -q -- ./compactor & nodes="$nodes $!"
trap 'kill $nodes' TERM
wait
SCRIPT
chmod +x risedev

# Step 1: deploy and run. A dump for every 4 GB allocated, named after the node, in the current folder, where earlier dumps stay.
export XDG_RUNTIME_DIR=$scratch
earlier_dumps 150
page_starts 'RISEDEV_ENABLE_HEAP_PROFILE=1 ./risedev d full'
says 'every 4GB memory allocation'
says 'compactor.266308.15.i15.heap'
says 'compute-node.266187.116.i116.heap'
both() { ls compactor.*.2.i2.heap compute-node.*.2.i2.heap; }
wait_for 100 both
is "$?" 0 "$name: dumps appear in the current folder"
is "$(ls ./*.heap | grep -cvE '^\./(compactor|compute-node|earlier)\.[0-9]+\.([0-9]+)\.i\2\.heap$')" 0 'named as on the page'
is "$(earlier_left)" 150 'beside all the dumps that were there'
rm -f earlier.*.heap
kill "$pid"
wait "$pid" 2>/dev/null
latest=$(ls -v compute-node.*.heap | tail -n 1)

# Step 2: analyze. jeprof lies where cargo would have left it.
says 'simply pick the latest file'
hash=22f0d47d5c562226
mkdir -p target/release/build/tikv-jemalloc-sys-$hash/out/build/bin && ln -s "$cairn" target/release/build/tikv-jemalloc-sys-$hash/out/build/bin/jeprof
page "find . -name 'jeprof'"
page_is "./target/release/build/tikv-jemalloc-sys-$hash/out/build/bin/jeprof"
page "chmod +x ./target/release/build/tikv-jemalloc-sys-$hash/out/build/bin/jeprof"
is "$status" 0 "$name"
here=('s/binary_file/compute-node/' "s/heap_file\([^.]\)/$latest\1/")
page 'jeprof --collapsed binary_file heap_file > heap_file.collapsed'
like "$(cat heap_file.collapsed)" '*worker;serve_request;remember_session [0-9]*' "$name: call paths with bytes"
here=("s|/home/ubuntu/risingwave/.risingwave/bin/risingwave/compute-node|./compute-node|" "s|/home/ubuntu/risingwave/jeprof.198272.1283.i1283.heap|$latest|")
page './target/release/build/tikv-jemalloc-sys-22f0d47d5c562226/out/build/bin/jeprof --collapsed /home/ubuntu/risingwave/.risingwave/bin/risingwave/compute-node /home/ubuntu/risingwave/jeprof.198272.1283.i1283.heap > jeprof.198272.1283.i1283.collapsed'
is "$(cat jeprof.198272.1283.i1283.collapsed)" "$(cat heap_file.collapsed)" 'by its full path it says the same'

# Faster jeprof: an addr2line in the place of GNU's. That of gimli is not built here; ours takes its place, and its name is on PATH.
here=('s/^git clone .*/true/' 's/^cd .*/true/' 's/^cargo .*/true/' 's|^cp ./target/release/examples/addr2line <your-path>|ln -s "$cairn" ./addr2line|')
page 'git clone https://github.com/gimli-rs/addr2line'
page 'cd addr2line'
page 'cargo b --examples -r'
page 'cp ./target/release/examples/addr2line <your-path>'
holds "$name: there is an addr2line" test -x ./addr2line
address=$(nm compute-node | sed -n 's/ t remember_session$//p')
like "$(./addr2line -f -e compute-node "0x$address")" $'remember_session\n*/leaky.c:[0-9]*' 'it names functions and lines'
stock=$(PATH=${PATH#*:} command -v jeprof)
if [ -n "$stock" ]; then
	# jeprof lists stacks of which nothing is left with a zero, and ours does not.
	sums() { sed 's/<[0-9a-f]*>//g' | grep -o 'serve_request;[^ ]* [0-9]*' | grep -v ' 0$' | sort; }
	is "$(PATH=$PWD:$PATH "$stock" --collapsed compute-node "$latest" 2>/dev/null | sums)" "$(sums <heap_file.collapsed)" "jemalloc's own jeprof, with our addr2line, says the same"
else
	skip "jemalloc's own jeprof with our addr2line" 'no jeprof here'
fi

# Step 3: flame graphs.
here=('s|heap_file.collapsed|jeprof.198272.4741.i4741.collapsed|')
get_flamegraph_tool.sh
cp heap_file.collapsed jeprof.198272.4741.i4741.collapsed
page './flamegraph.pl --color=mem --countname=bytes heap_file.collapsed > flamegraph.svg'
page_picture flamegraph.svg
page './flamegraph.pl --color=mem --countname=bytes jeprof.198272.4741.i4741.collapsed > flamegraph.svg'
page_picture flamegraph.svg
holds 'it counts bytes' grep -q 'remember_session ([0-9,]* bytes' flamegraph.svg
mkdir -p "$HOME/FlameGraph" && ln -s "$cairn" "$HOME/FlameGraph/flamegraph.pl"
mkdir -p target/release && cp compute-node target/release/risingwave
here=("s|compute-node.10404.2466.i2466.heap|$latest|" 's|flamegraph.svg|one-line.svg|')
page 'jeprof --collapsed target/release/risingwave compute-node.10404.2466.i2466.heap | ~/FlameGraph/flamegraph.pl --color=mem --countname=bytes > flamegraph.svg'
page_picture one-line.svg
holds 'and is the same picture' cmp flamegraph.svg one-line.svg
done_testing
