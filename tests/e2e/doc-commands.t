#!/usr/bin/env bash
# README and the pages for users of other systems: every command in them exists with the options shown, and every block of shell runs,
# from top to bottom, against the demo service under the names of those pages. Ports are different here, and /usr/libexec/cairn is a folder
# of links.
. tests/e2e/lib.sh
need curl python3 cc pgrep
. tests/e2e/page.sh

# Options: in README and pages, whatever follows `cairn COMMAND` up to the end of the code.
python3 - "$cairn" README.md doc/*.md >"$scratch/options" <<'PYTHON'
import re, subprocess, sys
cairn, *files = sys.argv[1:]
helps = {}
def options(command):
    if command not in helps:
        run = subprocess.run([cairn, command, "--help"], capture_output=True, text=True)
        helps[command] = None if run.returncode else set(re.findall(r"--?[a-z][a-z-]*|-[a-z]\b", run.stdout)) | {"--help"}
    return helps[command]
count = 0
for file in files:
    text = open(file, encoding="utf-8").read()
    blocks = re.findall(r"^```[a-z]*\n(.*?)^```", text, re.S | re.M)
    spans = re.findall(r"`([^`\n]+)`", re.sub(r"^```.*?^```", "", text, flags=re.S | re.M))
    for line in [line for block in blocks for line in block.splitlines()] + spans:
        for use in re.finditer(r"(?:^|[|&;($] *|== .*  |\bsudo |\bIMAGE )cairn ([a-z0-9]+)((?: [^|;&]*)?)", line):
            command, rest = use.group(1), use.group(2).split(" -- ")[0]
            if command in ("help",) or file.endswith("formats.md"):
                continue
            count += 1
            known = options(command)
            if known is None:
                print(f"{file}: no command: {line.strip()}")
            elif command not in ("jeprof", "addr2line"):
                for option in re.findall(r"(?<= )(--[a-z][a-z-]*|-[a-z])(?= |$|=)", rest):
                    if option not in known:
                        print(f"{file}: {command} has no {option}: {line.strip()}")
print(f"looked at {count}", file=sys.stderr)
assert count > 50
PYTHON
is "$? $(cat "$scratch/options")" '0 ' 'every cairn command shown has the options shown'

# Blocks.
for seconds in 900 12; do
	${CC:-cc} -O2 -g -pthread -DLEAKY_SECONDS=$seconds examples/leaky/leaky.c -o "$scratch/service-$seconds" -ljemalloc 2>"$scratch/log" ||
		broken 'no jemalloc to link with'
done
mkdir -p "$scratch/run" && chmod 700 "$scratch/run"
export XDG_RUNTIME_DIR=$scratch/run CAIRN_TOOL=$cairn
old_tools "$scratch/compat"
# Other tests run services of these names too; this finds only those of the page's own folder.
cat >"$scratch/compat/pgrep" <<'SCRIPT'
#!/bin/sh
for pid in $(PATH=${PATH#*:} pgrep -x "$2"); do
	[ "$(readlink "/proc/$pid/cwd")" != "$PWD" ] || echo "$pid"
done
SCRIPT
chmod +x "$scratch/compat/pgrep"
export PATH=$scratch/compat:$PATH
# Where a page sleeps, its service gets on meanwhile. On a busy machine that takes longer: until the leak is seen to have grown, or, where
# nothing is sampled yet, until the agent answers.
cat >"$scratch/sleep.sh" <<'SCRIPT'
were=$(pgrep -nx "$program") # a block that starts a service means that one, and not one of a block before
newest() { pgrep -nx "$program" | { [ -z "$started" ] && cat || grep -vxF "${were:-none}"; } | tail -n 1; }
# leaked: what the leak of the newest has so far; 0 if there is none, 1 if it is not sampled
leaked() {
	local pid
	pid=$(newest)
	if cairn status "${pid:-0}" 2>/dev/null | grep '^state: inactive' >/dev/null; then echo 1; return; fi
	cairn top --json -n 0 "${pid:-0}" 2>/dev/null | python3 -c 'import json, sys
text = sys.stdin.read()
print(int(sum(row["cum"] for row in json.loads(text)["rows"] if row["name"] == "remember_session")) if text else 0)'
}
sleep() {
	local started before now
	started=$(jobs -p)
	before=$(leaked) || true
	command sleep "$1"
	for _ in $(seq 600); do
		now=$(leaked) || true
		if [ "${now:-0}" -gt "${before:-0}" ]; then return 0; fi
		command sleep 0.5
	done
}
SCRIPT
has_dumps() { [ "$(find "$1" -maxdepth 1 -name '*.heap' | wc -l)" -ge "$2" ]; }
gone() { ! kill -0 "$1" 2>/dev/null; }
# run_page FILE SECONDS PORT PROGRAM...: the blocks of FILE, with PROGRAMs that run for SECONDS. PORT is the service's own; the agent must
# use another.
run_page() {
	local page=$1 seconds=$2 port=$3 other folder=$scratch/${1##*/} block number=0
	shift 3
	mkdir -p "$folder/tmp" "$folder/blocks"
	for program; do cp "$scratch/service-$seconds" "$folder/$program"; done
	other=$(free_port)
	awk -v folder="$folder/blocks" '/^```sh$/ { n++; inside = 1; next } /^```/ { inside = 0 }
		inside { print > sprintf("%s/%02d", folder, n) }' "$page"
	page=${page##*/}
	holds "$page leaves port $port to the service" bash -c '! grep -n ":$0\b" "$@"' "$port" "$folder"/blocks/*
	sed -i "s|/tmp/|$folder/tmp/|g; s/\(localhost\|127.0.0.1\):9999/\1:$other/g; s|/usr/libexec/cairn|$scratch/compat|
		s|LD_PRELOAD=libcairn.so.1|LD_PRELOAD=$library|; s/--time 10m --for 1d/--time 1s --distance 500ms --for 4s/
		s/--interval 512M/--interval 128M/" "$folder"/blocks/*
	for block in "$folder"/blocks/*; do
		number=$((number + 1))
		[ $page$number != from-risingwave.md2 ] || wait_for 300 has_dumps "$folder" 12 # a slow machine takes longer
		(cd "$folder" && program=$1 timeout 600 bash -euo pipefail -c '. "$1"; . "$2"; jobs -p >>pids' - \
			"$scratch/sleep.sh" "$block") >"$folder/out" 2>&1 </dev/null
		local status=$?
		cp "$folder/out" "$folder/out.$number"
		ok $status "$page, block $number: $(head -n 1 "$block" | cut -c 1-60)"
		[ $status -eq 0 ] || { sed 's/^/#   /' "$block" "$folder/out" | head -n 30; }
	done
	xargs -r kill <"$folder/pids" 2>/dev/null
	for pid in $(cat "$folder/pids"); do wait_for 20 gone "$pid"; done # so that nothing more is written to the folder
	[ "$number" -gt 0 ]
	ok $? "$page has blocks to run"
}
run_page README.md 12 8080 service
# What the README shows of `cairn run` is what it prints, but for numbers and for who held most after so short a time.
summary() {
	grep '^cairn: note: ' | head -n 5 | sed -E 's/(held by: ).*/\1/; s/[0-9]+(\.[0-9]+)?/N/g; s/(peak of private memory: N [KMG]iB) .*/\1/; s/[KMG]iB/MiB/g'
}
is "$(summary <"$scratch/README.md/out.1")" "$(summary <README.md)" "README.md shows what cairn run prints"
is "$(grep 'held by: .* 0 B' "$scratch/README.md/out.1")" '' "and names only functions that hold something"
holds "and cairn leaks judges the call paths" grep -qE '[0-9.]+% .* remember_session' "$scratch/README.md/out.2"
holds "and the endpoint draws it" grep -q remember_session "$scratch/README.md/now.svg"
is_long || done_testing # page-*.t cover what the other pages show
run_page doc/from-greptimedb.md 900 4000 greptime
run_page doc/from-risingwave.md 900 5691 compute-node
run_page doc/from-userver.md 900 1188 userver-sample
run_page doc/from-databend.md 900 8080 databend-query databend-meta
for picture in from-greptimedb.md/now.svg from-greptimedb.md/grown.svg from-greptimedb.md/output.svg from-risingwave.md/flamegraph.svg; do
	holds "$picture names the leak" grep -q remember_session "$scratch/$picture"
done
done_testing
