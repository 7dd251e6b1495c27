#!/usr/bin/env bash
# "How to Profile Databend", step by step, with the demo service in the place of databend-query and databend-meta: what they are
# built with by cargo, jemalloc with its profiler, the demo service is linked with; the routes are those of the preloaded agent.
. tests/e2e/lib.sh
need curl python3 cc nm script
. tests/e2e/page.sh
follow 003
port=$(free_port)
export XDG_RUNTIME_DIR=$scratch CAIRN_CONF=listen:127.0.0.1:$port CAIRN_TOOL=$cairn
build_service target/debug/databend-query target/debug/databend-meta target/release/databend-query
service_starts() { LD_PRELOAD=$library page_starts "$1"; answers "localhost:$port/debug/mem/pprof/profile"; }

# The CPU profile comes first on the page, of a service that runs already. 20 seconds are 10 here, in which a busy machine still
# lets the service work for some samples; pprof would wait for the answer only half as long again.
LD_PRELOAD=$library ./target/debug/databend-query >/dev/null 2>&1 &
children+=($!)
query=$!
answers "localhost:$port/debug/home"
here=("s/localhost:8080/localhost:$port/" 's/seconds=20/seconds=10/' 's/^go tool pprof /&-timeout 300 /')
if command -v go >/dev/null; then
	page 'go tool pprof http://localhost:8080/debug/pprof/profile?seconds=20' <<<top
	shape=${text%%'(pprof) top'*}
	like "$said" "*Showing nodes accounting for *total*flat  flat%   sum%        cum   cum%*%*" "$name, then top, prints the page's table"
	like "$said$(cat "$scratch/errors")" "*Type: cpu*" "and says what the page shows: $(grep -o 'Type: cpu' <<<"$shape")"
	saved=$(ls "$HOME"/pprof/*.pb.gz | tail -n 1)
else
	says 'go tool pprof http://localhost:8080/debug/pprof/profile?seconds=20'
	saved=$HOME/pprof.cpu.001.pb.gz
	curl -s "http://localhost:$port/debug/pprof/profile?seconds=10" >"$saved"
	skip 'go tool pprof URL, then top' 'no go here'
fi
like "$(cairn top --cum "$saved" 2>/dev/null)" '*Self   Self%    Sum%        Total  Total%*serve_request*' 'cairn top reads what was saved, without go'
# A browser on a server of pprof is a page of Cairn's, which needs no server.
says 'go tool pprof -http=0.0.0.0:8081 $HOME/pprof/pprof.cpu.007.pb.gz'
cairn html "$saved" -o cpu.html 2>/dev/null
like "$(python3 "$root/tests/e2e/read-page.py" cpu.html)" '*serve_request*' 'cairn html in the place of go tool pprof -http'
kill "$query"
wait "$query" 2>/dev/null

export TERM=xterm # whatever it is here: without one, less asks for a key
# Memory. cargo build is done above by cc.
says 'cargo build --features memory-profiling'
here=("s/localhost:8080/localhost:$port/" 's/seconds=30/seconds=3/')
service_starts 'MALLOC_CONF=prof:true ./target/debug/databend-query'
is "$?" 0 "$name: it answers"
# jeprof on a terminal enters its shell. What it says is the page's but for ports and paths, one line after the other.
here+=('s|^jeprof |printf "top\\nquit\\n" >keys; script -qec "jeprof --seconds=3 |' 's|/debug/mem$|/debug/mem" /dev/null <keys|')
page 'jeprof ./target/debug/databend-query http://localhost:8080/debug/mem'
said=$(sed 's/\r$//; s/.*\r\x1b\[K//; s/\x1b\[[0-9;?]*[a-zA-Z]//g; s/\x1b[=>]//g' <<<"$said" | # without what is drawn over: the progress
	grep -vxE '([0-9]+ s, [0-9.]+ [KMG]?i?B)?(top|quit)') # nor what the terminal showed of the keys before somebody read them
like "$said" "*Using local file ./target/debug/databend-query.
Gathering CPU profile from http://localhost:$port/debug/mem/pprof/profile?seconds=3 for 3 seconds to*$HOME/jeprof/databend-query.[0-9]*.localhost
Be patient...
Wrote profile to $HOME/jeprof/databend-query.[0-9]*.localhost*
Welcome to jeprof!  For help, type 'help'.*" "$name: the page's words"
row=' *[0-9]+\.[0-9] +[0-9]+\.[0-9]% +[0-9]+\.[0-9]% +[0-9]+\.[0-9] +[0-9]+\.[0-9]% [^ ]+'
says '(jeprof) top'
holds "the page's top has rows of this shape" grep -qxE "$row" <<<"${text%%'(jeprof)'*}"
holds 'and so has ours' grep -qE "$row" <<<"$said"
like "$said" '*Total: [0-9]*.[0-9] MB*load_page*' "under the page's line of the total"

here=("s/localhost:8080/localhost:$port/")
page "curl 'http://localhost:8080/debug/mem/pprof/profile?seconds=0' > mem.prof"
like "$(head -n 1 mem.prof)" 'heap_v2/*' "$name: a dump of jemalloc"
# On a busy machine ten seconds may be too few for the leak to show: with a sample for each 512 KiB, it has 20 more samples then.
leaked() {
	curl -s "http://localhost:$port/debug/mem/pprof/profile?seconds=0" >later.prof
	cairn top --json --base a.prof later.prof 2>/dev/null | python3 -c 'import json, sys
sys.exit(sum(row["cum"] for row in json.load(sys.stdin)["rows"] if row["name"] == "remember_session") < 10e6)'
}
here+=('s/^sleep 10$/&; wait_for 20 leaked/')
page "curl 'http://localhost:8080/debug/mem/pprof/profile?seconds=0' > a.prof
sleep 10
curl 'http://localhost:8080/debug/mem/pprof/profile?seconds=0' > b.prof"
like "$status $(head -n 1 a.prof) $(head -n 1 b.prof)" '0 heap_v2/* heap_v2/*' 'two, ten seconds apart'

# jeprof's graph. The page's command goes over ten lines.
graph='jeprof \
    --show_bytes \
    --nodecount=1024 \
    --nodefraction=0.001 \
    --edgefraction=0.001 \
    --maxdegree=64 \
    --pdf \
    ./target/debug/databend-meta \
    --base=a.prof \
    b.prof \
    > mem.pdf'
page_pdf "$graph" mem.pdf "jeprof … --pdf ./target/debug/databend-meta --base=a.prof b.prof"
jeprof --show_bytes --text ./target/debug/databend-meta --base=a.prof b.prof 2>/dev/null | sed -n 2p >grown
holds "the leak is what grew: $(cat grown)" grep -q remember_session grown
kill "$pid"
wait "$pid" 2>/dev/null

# Simplified: a dump for every 2^30 bytes, in the current folder.
service_starts 'MALLOC_CONF=prof:true,lg_prof_interval:30 ./target/release/databend-query'
written() { ls jeprof.*.2.i2.heap; }
wait_for 60 written
is "$?" 0 "$name: dumps appear"
cp "$(ls -v jeprof.*.heap | tail -n 1)" heap.prof
page_pdf 'jeprof --pdf ./target/release/databend-query heap.prof > heap.pdf' heap.pdf

# Fast jeprof: ours needs no other addr2line, and is one.
here=('s/^git clone .*/true/' 's/^cd .*/true/' 's/^cargo .*/true/' 's|^cp ./target/release/addr2line <.*>|ln -s "$cairn" ./addr2line|')
page 'git clone https://github.com/gimli-rs/addr2line'
page 'cd addr2line'
page 'cargo build --features bin'
page 'cp ./target/release/addr2line <your-addr2line-find-with-whereis-addr2line>'
address=$(nm target/release/databend-query | sed -n 's/ t remember_session$//p')
like "$(./addr2line -f -e target/release/databend-query "0x$address")" $'remember_session\n*/leaky.c:[0-9]*' "$name: it names functions and lines"
done_testing
