#!/usr/bin/env bash
# --thread over several dumps, of which some do not have the thread: threads come and go.
. tests/e2e/lib.sh
need jeprof python3
cd "$scratch" || exit 1

# with_threads BYTES...: a dump with one sample of so many bytes by thread 1, then 2 and so on; a thread with 0 bytes does not exist
with_threads() {
	local thread=0 bytes
	printf 'heap_v2/1\n  t*: 1: 1 [0: 0]\n'
	for bytes; do [ "$((++thread, bytes))" = 0 ] || echo "  t$thread: 1: $bytes [0: 0] worker $thread"; done
	printf '@ 0x401010 0x401020\n  t*: %d: %d [0: 0]\n' "$#" "$(($(printf '%s+' "$@")0))"
	thread=0
	for bytes; do [ "$((++thread, bytes))" = 0 ] || echo "  t$thread: 1: $bytes [0: 0]"; done
	printf '\nMAPPED_LIBRARIES:\n00400000-00500000 r-xp 00000000 00:00 0 /srv/none\n'
}
total() { "$cairn" top --json "$@" 2>/dev/null | of_json 'round(r["total"])'; }
said() { "$cairn" "$@" 2>&1 >/dev/null; }

with_threads 5000 >before.heap
with_threads 6000 70000000 >after.heap
is "$(total --thread 2 --base before.heap after.heap)" 70000000 'a base without the thread takes nothing away'
is "$(total --thread 2 --base after.heap before.heap)" -70000000 'and a profile without it is less all of the base'
is "$(total --thread 'worker 2' --sum before.heap after.heap)" 70000000 'a sum has what one of them has'
like "$("$cairn" top --thread 2 --base before.heap after.heap 2>/dev/null)" '*change of live memory*' 'it is a difference'
like "$("$cairn" diff --thread 2 before.heap after.heap 2>/dev/null)" '*0 B before, 66.8 MiB after*' 'and so does diff say'
like "$(said top --thread 3 --sum before.heap after.heap)" "*no samples of thread '3'; its threads are 1 (worker 1), 2 (worker 2)" \
	'a thread that none of them has; those that there are, once each'
is "$("$cairn" jeprof --thread=2 --base=before.heap /bin/true after.heap 2>/dev/null | head -n 1)" \
	"$(jeprof --thread=2 --base=before.heap /bin/true after.heap 2>/dev/null | head -n 1)" 'jeprof: the total of stock jeprof'

mkdir series
for i in 1 2 3 4 5 6; do
	with_threads 5000 $((i < 3 ? 0 : i * 10000000)) >series/svc.77.$i.i$i.heap
	touch -d "$((10 - i)) hours ago" series/svc.77.$i.i$i.heap
done
like "$("$cairn" leaks --thread 2 series 2>&1)" '*6 dumps over 5.0 hours*' 'over time, a dump without the thread counts as one that has nothing of it'
like "$(said leaks --thread 3 series)" "*no samples of thread '3'; its threads are 1 (worker 1), 2 (worker 2)" 'and a thread that no dump has is a mistake'
done_testing
