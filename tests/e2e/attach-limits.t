#!/usr/bin/env bash
# Where loading the agent takes too long, the program does not wait with it, and a thread that was borrowed is put back exactly.
. tests/e2e/lib.sh
. tests/e2e/agent.sh
need cc
. tests/e2e/attach.sh

# Another thread is in the constructor of a library, and so has the loader's lock.
cat >"$scratch/slow.c" <<'C'
#include <stdlib.h>
#include <unistd.h>
__attribute__((constructor)) static void wait_for_word(void)
{
	volatile long *go = (volatile long *)strtoull(getenv("ATTACH_GO"), NULL, 16);
	while (!*go)
		usleep(1000);
}
C
$cc -shared -fPIC -o "$scratch/libslow.so" "$scratch/slow.c" || broken "no library"
start loading 1 loading "$scratch/libslow.so"
wait_for 4 grep -q libslow "/proc/$pid/maps"
threads() { ls "/proc/$pid/task" | wc -l; }
before=$(threads)
forget "$scratch/loading" 144
like "$(attach "$pid" 2>&1)" "cairn: the loader of process $pid is busy*No thread of the program was kept waiting*" \
	"where another thread has the loader's lock, attach gives up"
works "$scratch/loading"
ok $? "the threads go on"
echo "#   the longest stall: $(number "$scratch/loading" 144) us"
like "$(attach "$pid" 2>&1)" "*earlier 'cairn attach' still waits*" "a second one says that the first still waits"
tell "$scratch/loading"
# The thread that had the lock ends, and so does the one that waited for it and has loaded the library.
has_loaded() { grep -q libcairn "/proc/$pid/maps" && [ "$(threads)" -lt "$before" ]; }
wait_for 10 has_loaded
like "$("$cairn" top "$pid" 2>&1)" "*does not answer*" "a library that is loaded too late starts nothing"
is "$(grep -c 'memfd:libcairn' <(readlink "/proc/$pid"/fd/*))" 0 "and its descriptor is closed"
like "$(attach "$pid" 2>&1)" "$pid: attached, sampling*" "once the lock is free, attach works"
detach "$pid" >/dev/null
works "$scratch/loading"
ok $? "and the threads go on"
end

# The program's own allocator waits for a lock: the borrowed thread has to, too.
build_target own -DOWN_ALLOCATOR || broken "no target with an allocator"
mkfifo "$scratch/in"
program=$scratch/own
start owned 0 allocator <>"$scratch/in"
exec 5<>"$scratch/in"
reads() { [ "$(number "$scratch/owned" 0)" = 1 ] && waits_in 0; }
wait_for 4 reads
said=$(attach "$pid" 2>&1)
like "$said" "*was put back to where it was; nothing was loaded" "a thread that has to wait in the allocator is put back"
is "$(awk '{ print $1 }' "/proc/$pid/syscall") $(number "$scratch/owned" 32)" "0 0" "it waits in read again, which has not returned"
like "$(cat "/proc/$pid/task/$pid/status")" "*SigBlk:?0000000000000800*" "its signal mask is its own"
printf x >&5
has_read() { [ "$(number "$scratch/owned" 32)" = 1 ]; }
wait_for 4 has_read
is "$(number "$scratch/owned" 32) $(number "$scratch/owned" 8)" "1 0" "read returns what it waited for, with errno as it was"
tell "$scratch/owned"
for _ in $(seq 200); do attach -q "$pid" 2>/dev/null && break; sleep 0.1; done
holds "once the allocator works again, attach does" "$cairn" status "$pid"
end
done_testing
