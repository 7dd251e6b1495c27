#!/usr/bin/env bash
# Every command in the README's table and in the EXAMPLES of the manual pages runs and succeeds: on the demo service with either engine, on
# dumps of it, and on a process without an agent. Names of files, functions and ports are replaced by those of this test, times are shorter,
# and what other programs do with the output is left out.
. tests/e2e/lib.sh
need curl python3 cc
. tests/e2e/page.sh
cd "$scratch" || exit 1
${CC:-cc} -O2 -g -pthread "$root/examples/leaky/leaky.c" -DLEAKY_REST_US=20000 -o service -ljemalloc 2>"$scratch/log" || broken 'the demo service links with jemalloc'
${CC:-cc} -O2 -g -pthread "$root/examples/leaky/leaky.c" -DLEAKY_REST_US=5000 -o plain 2>"$scratch/log" || broken 'the demo service'
export XDG_RUNTIME_DIR=$scratch/run CAIRN_TOOL=$cairn HOME=$scratch/home
mkdir -m 700 run
mkdir -p home/.config/fish/completions home/src/redis dumps kept target/release bin
cp service target/release/service
old_tools "$scratch/compat"
ln -s "$cairn" bin/cairn
export PATH=$scratch/bin:$scratch/compat:$PATH

# start NAME COMMAND...: runs it; its number is in NAME
start() {
	local name=$1
	shift
	"$@" >"$name.log" 2>&1 &
	children+=($!)
	printf -v "$name" %s $!
}
start cairn_engine env LD_PRELOAD="$library" CAIRN_CONF=enable_heap_profiling:true,period:256K ./plain 1800
start jemalloc_engine env LD_PRELOAD="$library" MALLOC_CONF=prof:true,prof_accum:true,lg_prof_sample:13 CAIRN_CONF="dumps:$scratch/kept,auto:true,start:true" ./service 1800
start bare ./plain 1800
start bare_too ./plain 1800
for pid in $cairn_engine $jemalloc_engine; do wait_for 20 "$cairn" status "$pid" || broken 'the agents answer'; done
wait_for 20 ls "$scratch"/kept/*.heap || broken "the agent writes a dump"
for i in 1 2 3 4; do "$cairn" dump -q -o "dumps/$i.heap" "$cairn_engine" >/dev/null && sleep 0.3; done
"$cairn" dump -q -o before.heap "$jemalloc_engine" >/dev/null && sleep 0.5 && "$cairn" dump -q -o after.heap "$jemalloc_engine" >/dev/null || broken 'dumps'
for name in monday a; do cp before.heap $name.heap; done
for name in tuesday b redis dump last jeprof.4242.7.i7; do cp after.heap $name.heap; done
cp dumps/4.heap service.heap
printf '0x1234\n0x5678\n' >addresses

# What a process that was killed leaves: its ledger, with a row a second.
start killed env LD_PRELOAD="$library" CAIRN_CONF="enable_heap_profiling:true,period:256K,ledger:$scratch/left.ledger" ./plain 1800
has_history() { "$cairn" timeline -o history.svg left.ledger; }
wait_for 20 has_history || broken 'the ledger has a history'
kill -9 "$killed"
kept=$(basename "$(ls "$scratch"/kept/*.heap | head -n 1)") port=$(free_port)
python3 - "$root" "$cairn_engine" "$jemalloc_engine" "$bare" "$bare_too" "$kept" "$port" >commands <<'E'
import glob, re, sys
root, cairn_engine, jemalloc_engine, bare, bare_too, kept, port = sys.argv[1:]
examples = []
table = open(root + "/README.md", encoding="utf-8").read().split("| command | what it does |")[1].split("\n\n")[0]
for line in table.splitlines():
    cells = line.split(" | ")
    examples += [("README.md", span) for cell in cells for span in re.findall(r"`(cairn [^`]*)`", cell)]
for page in sorted(glob.glob(root + "/doc/*.scd")):
    part = re.search(r"^# EXAMPLES$(.*?)^# ", open(page, encoding="utf-8").read(), re.S | re.M)
    for text in re.findall(r"^\*(.*)\*(?:\+\+)?$", part[1] if part else "", re.M):
        examples.append((page.rsplit("/", 1)[1], re.sub(r"\\([_*<>])", r"\1", text)))
attached = {}
for page, text in examples:
    command = text.split()[1] if text.startswith("cairn ") else ""
    if re.fullmatch(r"cairn (top|jeprof|addr2line)", text) or command in ("shell", "fleet", "collect", "store", "serve") or " symbols " in text:
        continue # a name alone; or tested with a terminal or a store of its own
    pid = jemalloc_engine if command in ("gdump", "stats", "dumps", "reset", "deactivate") else cairn_engine
    if command in ("attach", "detach"):
        pid = bare if page == "README.md" or "sleep" in text or command == "detach" else bare_too
    text = re.sub(r" \| (less|jq .*)$| && go tool pprof.*$", "", text)
    text = text.replace("4242.7.i7", "\0").replace("4242", pid).replace("\0", "4242.7.i7")
    for old, new in (("sleep 60", "sleep 1"), ("127.0.0.1:9999", "127.0.0.1:" + port), ("--for 5s", "--for 3s"), ("--older 10m", "--older 1ms"),
                     ("/var/dumps", "dumps"), ("2026-11-15-07-31-06.auto.heap", kept), ("--focus cache", "--focus load_page"),
                     ("--focus parse", "--focus serve_request"), ("'^dictAdd$'", "'^load_page$'"), ("'^zmalloc'", "'^load_page'"),
                     (" zmalloc ", " load_page "), ("bytes=1M:", "bytes=1K:"), ("--service redis-server", "--service plain"),
                     ("--interval 1G", "--interval 64M"), ("service-%s-last.heap" % pid, "left.ledger"), ("--share 90%", "--share 0.01%"), ("-- ./service", "-- ./service 1"),
                     ("-- ./load-test", "-- true"),
                     ("cairn cpu " + pid, "cairn cpu --for 3s " + pid)):
        text = text.replace(old, new)
    if command == "watch":
        text = text.replace("cairn watch", "cairn watch --for 2s")
    if command == "run":
        text = text.replace("--wait ", "--wait -o waited.heap ")
    print(page, text, sep="\t")
E
count=0
while IFS=$'\t' read -r page command; do
	count=$((count + 1))
	timeout 600 bash -o pipefail -c "$command" >"out" 2>&1 </dev/null
	status=$?
	ok $status "$page: $command"
	[ $status -eq 0 ] || head -n 4 out | sed 's/^/#   /'
done <commands
[ "$count" -gt 70 ]
ok $? "so many commands are shown: $count"
done_testing
