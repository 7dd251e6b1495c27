#!/usr/bin/env bash
# cairn rss --group: what a control group is charged, until it adds up.
. tests/e2e/lib.sh
. tests/e2e/group.sh
need python3
mkdir -p "$scratch/v2/inner"
printf '%s\n' 100000000 >"$scratch/v2/memory.current"
echo 200000000 >"$scratch/v2/memory.max"
printf '%s\n' $$ >"$scratch/v2/inner/cgroup.procs"
: >"$scratch/v2/cgroup.procs"
printf 'nr_descendants 1\nnr_dying_descendants 3\n' >"$scratch/v2/cgroup.stat"
stat() { # stat ANON FILE: memory.stat of the made-up group
	printf 'anon %s\nfile %s\nkernel 9000000\nkernel_stack 1000000\npagetables 2000000\nsec_pagetables 0\npercpu 500000\nsock 700000\nshmem 5000000\nslab 4000000\n' "$1" "$2" \
		>"$scratch/v2/memory.stat"
}
check() { # check EXPRESSION: of the bill in the file one, with its lines as l
	python3 -c "
import json, sys
j = json.load(open(sys.argv[1]))
l = {line['name']: line['bytes'] for line in j['lines']}
print(j)
sum_is_exact = sum(l.values()) == j['total_bytes'] and min(l.values()) >= 0
items_fit = all(sum(item['bytes'] for item in line['items']) <= line['bytes'] for line in j['lines'])
sys.exit(not (sum_is_exact and items_fit and ($1)))" "$scratch/one"
}
why_says() { # why_says EXPRESSION: of what cairn why wrote to the file one
	python3 -c "import json, sys; j = json.load(open(sys.argv[1])); print(j['sentence'], j['reasons']); sys.exit(not ($1))" "$scratch/one"
}
stat 60000000 20000000
"$cairn" rss --json --group "$scratch/v2" >"$scratch/one" 2>"$scratch/err"
holds 'version 2: lines add up, groups inside are part of it' check 'j["cgroup"] == 2 and j["limit_bytes"] == 200000000 and j["processes"] == 1 and j["removed_groups"] == 3 and l["page_cache"] == 15000000 and l["tmpfs"] == 5000000 and l["slab"] == 4000000 and l["kernel"] == 2000000 and l["sockets"] == 700000 and l["kernel_stacks"] == 1000000 and l["page_tables"] == 2000000 and l["processes"] > 0 and l["processes"] + l["left"] == 60000000 and l["rest"] == 10300000'
stat 60000000 90000000
"$cairn" rss --json --group "$scratch/v2" >"$scratch/one" 2>"$scratch/err"
holds 'counts that are too high give way, and nothing is negative' check 'l["page_cache"] == 25300000 and l["rest"] == 0'
like "$("$cairn" rss --group "$scratch/v2")" '*95.4 MiB charged, of a 190.7 MiB limit*left by processes that have ended or moved*3 groups inside it were removed*' 'the same as text'
mkdir -p "$scratch/v1/inner"
printf '%s\n' $$ >"$scratch/v1/inner/cgroup.procs"
: >"$scratch/v1/cgroup.procs"
echo 100000000 >"$scratch/v1/memory.usage_in_bytes"
echo 9223372036854771712 >"$scratch/v1/memory.limit_in_bytes"
echo 9000000 >"$scratch/v1/memory.kmem.usage_in_bytes"
echo 700000 >"$scratch/v1/memory.kmem.tcp.usage_in_bytes"
printf 'cache 1000\nrss 2000\nshmem 500\ntotal_cache 20000000\ntotal_rss 60000000\ntotal_shmem 5000000\n' >"$scratch/v1/memory.stat"
"$cairn" rss --json --group "$scratch/v1" >"$scratch/one" 2>"$scratch/err"
holds 'version 1: counts with those of groups inside; buffers of sockets are charged elsewhere' check 'j["cgroup"] == 1 and j["limit_bytes"] == 0 and j["processes"] == 1 and l["page_cache"] == 15000000 and l["tmpfs"] == 5000000 and l["sockets"] == 0 and l["slab"] > 0 and l["slab"] + l["page_tables"] + l["kernel_stacks"] == 9000000 and l["processes"] + l["left"] == 60000000 and l["rest"] == 11000000'
"$cairn" rss --group "$scratch" >/dev/null 2>"$scratch/err"
is "$? $(cat "$scratch/err")" "1 cairn: $scratch is not the folder of a control group whose memory is counted" 'another folder'
"$cairn" rss --group 1 2 >/dev/null 2>"$scratch/err"
is $? 2 'not together with a process'
if try_group 400; then
	head -c 120000000 /dev/zero >"$scratch/cached"
	cat >"$scratch/host.py" <<'P'
import mmap, os, sys, time
anonymous = mmap.mmap(-1, 50 << 20, flags=mmap.MAP_PRIVATE)
anonymous.write(b"x" * (50 << 20))
memory = os.memfd_create("shared")
os.write(memory, b"x" * (20 << 20))
cached = open(sys.argv[1], "rb")
os.posix_fadvise(cached.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
cached.read()
print("ready", flush=True)
time.sleep(1000)
P
	sync "$scratch/cached"
	bash -c 'echo $$ >"$0/cgroup.procs"; exec "$@"' "$group" python3 "$scratch/host.py" "$scratch/cached" >"$scratch/ready" &
	children+=($!)
	wait_for 60 grep -q ready "$scratch/ready"
	"$cairn" rss --json --group "$group" >"$scratch/one" 2>"$scratch/err"
	holds 'a real group: its process, its memfd, its file' check '50e6 < l["processes"] < 70e6 and l["tmpfs"] > 19e6 and l["left"] < 8e6'
	holds 'and the file by its name' check 'not j["lines"][2]["items"] or any("cached" in i["name"] and i["bytes"] > 20e6 for i in j["lines"][2]["items"])'
	if check 'l["page_cache"] > 100e6' >/dev/null; then
		"$cairn" why --json "${children[-1]}" >"$scratch/one" 2>"$scratch/err"
		holds 'cairn why of its process: most of what the container is charged is page cache' why_says \
			'j["cause"] == "page_cache" and "page cache of files" in j["sentence"] and "charged to the control group" in j["sentence"] and j["reasons"][0]["cause"] == "page_cache" and 1e8 < j["reasons"][0]["bytes"] < 1.5e8'
	else
		skip 'cairn why of its process' 'files here are not kept in the page cache of who reads them'
	fi
	end_children -KILL
	rmdir "$group"
else
	skip 'a real group' 'no memory cgroup can be made here'
fi
done_testing
