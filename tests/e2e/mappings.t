#!/usr/bin/env bash
# What a service maps itself: every range exactly, with its call path, and none of its allocator's, against a program that knows the truth.
. tests/e2e/lib.sh
need cc jeprof python3
. tests/e2e/agent.sh

# right SOURCE: each call site and kind to the byte, and nothing else
right() {
	python3 - "$cairn" "$1" "$scratch/out" <<'P'
import json, subprocess, sys
sites = [line.split()[1:] for line in open(sys.argv[3]) if line.startswith("site ")]
wrong = 0
for kind in ("anonymous", "reserved", "shared", "file", "brk"):
    command = [sys.argv[1], "top", "--json", "-n", "0", "--mappings", kind, sys.argv[2]]
    shown = json.loads(subprocess.run(command, capture_output=True).stdout)
    rows = {row["name"]: row["cum"] for row in shown["rows"]}
    true = {name: int(size) for name, its, size in sites if its == kind}
    for name, size in true.items():
        if rows.get(name, 0) != size: print(kind, name, "has", rows.get(name, 0), "not", size); wrong += 1
    if kind == "anonymous" and shown["total"] != sum(true.values()): print("in total", shown["total"], rows); wrong += 1
sys.exit(wrong > 0 or len(sites) != 11)
P
}
for allocator in libc tcmalloc_minimal mimalloc jemalloc; do
	[ $allocator = libc ] && link= || link="-Wl,--no-as-needed -l$allocator"
	${CC:-cc} -O1 -g -w -D_GNU_SOURCE tests/e2e/mappings-host.c -o "$scratch/host" -pthread $link ||
		broken "the test host does not build with $allocator"
	rm -f "$scratch/out"
	LD_PRELOAD=$library CAIRN_CONF=enable_heap_profiling:true,engine:cairn,period:64K,ledger:$scratch/$allocator "$scratch/host" \
		>"$scratch/out" 2>&1 &
	pid=$!
	children+=($pid)
	wait_for 60 grep -q ready "$scratch/out"
	"$cairn" dump -o "$scratch/$allocator.heap" $pid >/dev/null 2>&1
	holds "$allocator: every mapping of the service itself, to the byte" right "$scratch/$allocator.heap"
	kill -9 $pid
	wait $pid 2>/dev/null
	holds "$allocator: and in the ledger that it left" right "$scratch/$allocator"
	is "$("$cairn" top --json "$scratch/$allocator.heap" 2>/dev/null | python3 -c 'import json, sys
total = json.load(sys.stdin)["total"]; print(95e6 < total < 125e6)')" True "$allocator: the heap is as it was, without them"
done
one=$scratch/jemalloc.heap # of the program that was built last
like "$("$cairn" top --mappings anonymous "$one" 2>/dev/null)" \
	"*memory mapped by the service itself: 147.0 MiB in total*" "the head says what it is"
like "$("$cairn" top --mappings anonymous --errors "$one" 2>/dev/null)" "*no sampling error*" "and that it is exact"
holds "it works for pictures" "$cairn" flame --mappings all -o "$scratch/mappings.svg" "$one"
like "$(cat "$scratch/mappings.svg")" "*map_whole*" "with the call paths"
jeprof --show_bytes --text "$scratch/host" "$one" >"$scratch/jeprof" 2>/dev/null
"$cairn" top --json "$one" >"$scratch/one.json" 2>/dev/null
holds "stock jeprof reads the dump as before" python3 - "$scratch/jeprof" "$scratch/one.json" <<'P'
import json, sys
theirs, ours = int(open(sys.argv[1]).readline().split()[1]), json.load(open(sys.argv[2]))["total"]
print(theirs, ours); sys.exit(abs(theirs - ours) > 0.001 * ours)
P
"$cairn" top --mappings fish "$one" >/dev/null 2>"$scratch/err"
is $? 2 "a kind that is none is refused"
printf 'heap_v2/524288\n  t*: 1: 100 [0: 0]\n@ 0x1 0x2\n  t*: 1: 100 [0: 0]\n\nMAPPED_LIBRARIES:\n' >"$scratch/jemalloc.heap"
"$cairn" top --mappings all "$scratch/jemalloc.heap" >/dev/null 2>"$scratch/err"
is $? 1 "and a dump that does not know them"
like "$(cat "$scratch/err")" "*does not say what the service mapped itself*" "with the reason"

# Ranges that go while nobody sees it. What a reset leaves is still there.
cat >"$scratch/unseen.c" <<'C'
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
enum { size = 64 << 20 };
static bool control(const char *name) { return ((bool (*)(char *, size_t))dlsym(RTLD_DEFAULT, name))(NULL, 0); }
static bool reset(void) { return ((bool (*)(uint64_t, char *, size_t))dlsym(RTLD_DEFAULT, "cairn_reset"))(0, NULL, 0); }
int main(int argc, char **argv)
{
	char *mapped = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	bool good = true;
	memset(mapped, 1, size);
	if (strcmp(argv[1], "reset") == 0) {
		good = reset();
	} else if (strcmp(argv[1], "deactivate") == 0) {
		good = control("cairn_deactivate") && reset();
		munmap(mapped, size);
		good = good && control("cairn_activate");
	} else {
		((void (*)(void))dlsym(RTLD_DEFAULT, "cairn_stop"))();
		munmap(mapped, size);
		good = ((bool (*)(void *, char *, size_t))dlsym(RTLD_DEFAULT, "cairn_start"))(NULL, NULL, 0);
	}
	memset(malloc(size - (4 << 20)), 1, size - (4 << 20)); /* in its place, most likely */
	return !good || !((bool (*)(const char *, char *, size_t))dlsym(RTLD_DEFAULT, "cairn_snapshot_file"))(argv[2], NULL, 0);
}
C
${CC:-cc} -O1 -w "$scratch/unseen.c" -o "$scratch/unseen" -ldl || broken 'the program that unmaps unseen does not build'
for way in reset deactivate stop; do
	LD_PRELOAD=$library CAIRN_CONF=enable_heap_profiling:true,engine:cairn timeout 300 "$scratch/unseen" $way "$scratch/$way.heap"
	is "$? $(grep -ac "^# cairn mapping .*67108864.*anonymous" "$scratch/$way.heap")" "0 $([ $way = reset ] && echo 1 || echo 0)" "mapped ranges after $way"
done
done_testing
