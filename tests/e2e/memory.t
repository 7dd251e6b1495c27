#!/bin/bash
# Naming beside a service: in a small control group, with --memory, and where there is no room at all.
. tests/e2e/lib.sh
. tests/e2e/group.sh
need python3 objcopy
cd "$scratch" || exit 1
demo_dumps

# The demo with debug information of 120 MB, compressed: much more than the group has.
objcopy --dump-section .debug_str=strings leaky
python3 - <<'P'
import random
random.seed(7)
words = [b"%d_some_name_of_a_type" % random.randrange(1 << 40) for _ in range(4000)]
with open("strings", "ab") as f:
    pieces = [b"\0".join(random.choices(words, k=36000))[:1 << 20] + b"\0" for _ in range(4)]
    for i in range(120):
        f.write(pieces[i % 4])
P
objcopy --update-section .debug_str=strings leaky big && objcopy --compress-debug-sections=zlib big leaky
rm strings big
touch -r now.heap leaky

fresh() { rm -rf "$XDG_CACHE_HOME"; "$@"; }
fresh "$cairn" collapsed now.heap >plain.txt 2>log
like "$(cat plain.txt)" "*load_page*" "with all memory there are names"

make_group 64
trap 'end_children; rmdir "$group"; rm -rf "$scratch"' EXIT
fresh in_group "$cairn" collapsed now.heap >group.txt 2>log
is $? 0 "in a group of 64 MB naming is not killed"
holds "it gives the same names" cmp plain.txt group.txt
is "$(cat log)" "" "and has nothing to say about it"
is "$(find "$XDG_CACHE_HOME" -type f | grep -vc '\.v[0-9]*$')" 0 "no file is left in the cache folder"
fresh in_group "$cairn" addr2line -f -e leaky 0 >/dev/null 2>log
is $? 0 "nor is addr2line killed"
fresh in_group "$cairn" collapsed --memory 600M now.heap >/dev/null 2>&1
is $? 137 "with --memory set too high it is killed: the group was small enough"

# A limit by hand: what a process took of memory that is its own, at most.
peak() {
	python3 - "$@" <<'P'
import subprocess, sys, time
child = subprocess.Popen(sys.argv[1:], stdout=open("limited.txt", "w"), stderr=open("log", "w"))
peak = 0
while child.poll() is None:
    try:
        for line in open("/proc/%d/status" % child.pid):
            if line.startswith("RssAnon"):
                peak = max(peak, int(line.split()[1]) >> 10)
    except OSError:
        pass
print(peak)
P
}
wide=$(fresh peak "$cairn" collapsed now.heap) narrow=$(fresh peak "$cairn" collapsed --memory 64M now.heap)
[ "$wide" -gt 64 ] && [ "$narrow" -lt 64 ]
ok $? "--memory 64M: $narrow MB of its own memory, without it $wide MB"
holds "and the same names" cmp plain.txt limited.txt

# The drop-ins for the old tools have the same limit.
symbol=0x$(nm leaky | awk '$3 == "load_page" { print $1; exit }')
for tool in "addr2line -f -e leaky $symbol" "jeprof --text leaky now.heap"; do
	set -- $tool
	name=$1
	shift
	wide=$(fresh peak "$cairn" "$name" "$@")
	mv limited.txt wide.txt
	narrow=$(fresh peak "$cairn" "$name" --memory 64M "$@")
	[ "$wide" -gt 64 ] && [ "$narrow" -lt 64 ]
	ok $? "$name --memory 64M: $narrow MB of its own memory, without it $wide MB"
	grep -q load_page limited.txt && cmp -s wide.txt limited.txt
	ok $? "and the same answer"
	"$cairn" "$name" --memory none "$@" >/dev/null 2>log && status=0 || status=$?
	is "$([ $status -ne 0 ] && grep -c -- '--memory takes a size' log)" 1 "$name refuses a limit that is no size"
done

# No disk either: the folders lie in memory, or cannot be written to.
mkdir memory
nowhere() {
	unshare -m bash -c 'for i in /tmp /var/tmp; do mount --bind $i $i && mount -o remount,ro,bind $i; done &&
		mount -t tmpfs none "$0/memory" &&
		XDG_CACHE_HOME=$0/memory TMPDIR=$0/memory "$@"; status=$?; ls -A "$0/memory" | wc -l; exit $status' "$scratch" "$@"
}
if nowhere true >/dev/null 2>&1; then
	nowhere "$cairn" collapsed --memory 64M now.heap >tables.txt 2>log
	is $? 0 "without room on a disk there is an answer"
	like "$(cat tables.txt)" "*load_page*" "with the names of symbol tables"
	like "$(cat log)" "*debug information takes 1?? MiB, more than --memory allows*names come from symbol tables*" "and it says why"
	id=$(readelf -n leaky | awk '/Build ID/ { print $3 }')
	is "$(nowhere bash -c '"$0" collapsed --memory 64M now.heap >/dev/null 2>&1; find "$XDG_CACHE_HOME" -name "$1*"' "$cairn" "$id" | sed '$d')" \
		"" "such an answer is not kept"
	nowhere "$cairn" collapsed --memory 600M now.heap 2>log | sed '$d' >roomy.txt
	holds "with memory there is one with everything" cmp plain.txt roomy.txt
else
	skip "without room on a disk there is an answer" "nothing can be mounted here"
fi
done_testing
