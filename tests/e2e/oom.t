#!/bin/bash
# A real OOM kill: under a memory cgroup a process grows 50 MB/s to its limit of 512 MB, the kernel kills it, and its last dump is there.
# The last tenth is slower: on a busy machine the agent may get its turn a second late.
. tests/e2e/lib.sh
. tests/e2e/agent.sh
. tests/e2e/group.sh
need python3 curl
cc=${CC:-cc}
$cc -O2 -g tests/e2e/grow.c -o "$scratch/grow" -ljemalloc 2>"$scratch/log" || broken 'no jemalloc to link with'

megabytes=512
make_group $megabytes
case $group_limit in memory.max) counter=memory.events ;; *) counter=memory.oom_control ;; esac
trap 'end_children; rmdir "$group"; rm -rf "$scratch"' EXIT
kills() { awk '$1 == "oom_kill" { print $2 }' "$group/$counter"; }
[ -n "$(kills)" ] || skip_all "the kernel does not count OOM kills"

# run CONF: the growing process in the group. Sets code (how it ended) and had (bytes at the end).
run() {
	LD_PRELOAD=$library CAIRN_CONF=$1 MALLOC_CONF=prof:true,lg_prof_sample:15 bash -c 'echo $$ >"$0/cgroup.procs"; exec "$@"' \
		"$group" "$scratch/grow" 50 2048 4096 "$scratch/report" 460 &
	pid=$!
	children+=($pid)
	wait $pid 2>/dev/null
	code=$?
	had=$(python3 -c 'import struct, sys; print(struct.unpack("N", open(sys.argv[1], "rb").read(8))[0])' "$scratch/report")
}

# member EXPRESSION: of the listing, as Python sees it in `dumps`
member() {
	"$cairn" dumps --json "$dumps" | python3 -c 'import json, sys
dumps = json.load(sys.stdin)["dumps"]
print(eval(sys.argv[1]))' "$1"
}

dumps=$scratch/dumps before=$(kills)
run "dumps:$dumps,share:93%,high:100M,distance:1s"
is $code 137 "the process was killed"
is "$(kills)" $((before + 1)) "by the kernel, for want of memory"
last=$(member '[d["name"] for d in dumps if d["last_of_dead"]][0]')
like "$last" "*.auto.heap" "its last dump is there: $last"
is "$(member 'sum(d["last_of_dead"] for d in dumps)')" 1 "one dump is the last"
is "$(member '[d["oom"] for d in dumps if d["last_of_dead"]][0]')" True "of a process that ran out of memory"
is "$(member '[d["alive"] for d in dumps if d["last_of_dead"]][0]')" False "and is dead"
like "$("$cairn" dumps "$dumps")" "*process $pid, gone, its group ran out of memory*last of a dead process, out of memory*" "a person reads so"
memory=$(member '[d["memory"] for d in dumps if d["last_of_dead"]][0]')
[ $((memory * 100)) -ge $((had * 90)) ]
ok $? "it was taken at $((memory >> 20)) MiB of memory, and the process had allocated $((had >> 20)) MiB when it died"
tail -n 1 "$dumps/$last" | grep -q '^# cairn end$'
ok $? "the dump is complete"
total=$("$cairn" top --json "$dumps/$last" 2>/dev/null | python3 -c 'import json, sys; print(int(json.load(sys.stdin)["total"]))')
[ $((${total:-0} * 100)) -ge $((had * 90)) ]
ok $? "and has $((${total:-0} >> 20)) MiB in it: the last tenth of the growth began before"
like "$("$cairn" top "$dumps/$last" 2>/dev/null)" "*allocate_block*" "with the path that grew"
is "$(find "$dumps" -name '*.tmp' | wc -l)" 0 "nothing half-written is left"

# RisingWave's keys alone: 90 % of the limit.
dumps=$scratch/risingwave
printf '[server.heap_profiling]\nenable_auto = true\nthreshold_auto = 0.9\ndir = "%s"\n' "$dumps" >"$scratch/config.toml"
export CAIRN_CONFIG=$scratch/config.toml
run seconds:10
unset CAIRN_CONFIG
is $code 137 "a second process was killed, with RisingWave's configuration"
memory=$(member '[d["memory"] for d in dumps if d["last_of_dead"] and d["oom"] and d["reason"].startswith("share")][0]')
[ "$memory" -ge $((megabytes * 1048576 * 9 / 10)) ] 2>/dev/null
ok $? "and left a dump taken at $((${memory:-0} >> 20)) MiB of $megabytes"
done_testing
