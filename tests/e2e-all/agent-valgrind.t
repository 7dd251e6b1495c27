#!/usr/bin/env bash
# The preloaded library under valgrind, with the flag that lets jemalloc's functions be called: no error in a frame of ours.
. tests/e2e/lib.sh
need valgrind curl python3 cc
. tests/e2e/agent.sh
${CC:-cc} -g -O1 -w tests/e2e/host.c -o "$scratch/host" -ljemalloc -pthread
port=$(free_port)
# Whether a page of the stack can be read is asked of the kernel, which copies bytes of it and uses none.
cat >"$scratch/suppressions" <<'S'
{
   asked-of-the-kernel
   Memcheck:Param
   rt_sigprocmask(set)
   fun:syscall
   obj:*libcairn.so*
}
S
LD_PRELOAD=$library CAIRN_TOOL=/nonexistent CAIRN_CONF=listen:127.0.0.1:$port MALLOC_CONF=prof:true,lg_prof_sample:12 \
	valgrind --soname-synonyms=somalloc=nouserintercepts --error-limit=no --suppressions="$scratch/suppressions" --log-file="$scratch/valgrind.log" "$scratch/host" &
pid=$!
children+=($pid)
url=http://127.0.0.1:$port
wait_for 60 curl -s "$url/cairn/status" || { sed 's/^/# /' "$scratch/valgrind.log" | tail; }
sleep 3
count=$(curl -s --max-time 100 "$url/pprof/heap" | sed -n '2s/ *t\*: \([0-9]*\):.*/\1/p')
[ "${count:-0}" -gt 0 ]
ok $? "the host's allocations are seen: ${count:-no} samples"
for path in /cairn/status /metrics / /cairn/stats /debug/pprof/heap?debug=1 /nothing /pprof/symbol /pprof/cmdline /api/monitor/list_heap_profile/0; do
	curl -s --max-time 60 -o /dev/null "$url$path"
	ok $? "GET $path"
done
for path in /cairn/activate /cairn/deactivate /cairn/reset /debug/prof/mem /service/jemalloc/prof/enable; do
	curl -s --max-time 60 -o /dev/null -X POST "$url$path"
	ok $? "POST $path"
done
kill $pid
wait $pid 2>/dev/null
# An error counts when one of our functions is in its stack: jemalloc and the loader have their own.
is "$(grep -E '(by|at) 0x.*\(in .*libcairn|: cairn_|src/agent|src/http' "$scratch/valgrind.log" | sort -u | head -n 3)" "" "no error in ours"
grep -m 1 -B 12 ': cairn_' "$scratch/valgrind.log" | sed 's/^/#   /'
grep -q 'ERROR SUMMARY' "$scratch/valgrind.log"
ok $? "valgrind ran to the end"
done_testing
