#!/usr/bin/env bash
# A process may fork at any moment while it is attached to: neither it nor the child is harmed, and the child can be attached to as well.
. tests/e2e/lib.sh
. tests/e2e/agent.sh
need cc python3
. tests/e2e/attach.sh

# A child that was forked before its parent loaded the library from its memfd has that file open and has not loaded it. What the parent has
# loaded must stay: it has relocated it, and calls it.
cat >"$scratch/inherits.py" <<'P'
import ctypes, os, shutil, sys, time
library = sys.argv[1]
file = os.memfd_create("libcairn.so")
with open(library, "rb") as source, open(file, "wb", closefd=False) as copy:
    shutil.copyfileobj(source, copy)
child = os.fork()
if child == 0:
    while True:
        time.sleep(0.01)
agent = ctypes.CDLL("/proc/self/fd/%d" % file)
agent.cairn_stop()
print(child, flush=True)
sys.stdin.readline()
agent.cairn_stop()
print("works", os.fstat(file).st_size == os.path.getsize(library), flush=True)
os.kill(child, 9)
P
coproc host { exec python3 "$scratch/inherits.py" "$library"; }
parent=$host_PID
children+=("$parent")
out=${host[0]} in=${host[1]}
read -r -t 60 -u "$out" pid
children+=("$pid")
like "$(readlink "/proc/$pid"/fd/*)" '*/memfd:libcairn.so*' "a child has the file open that its parent has loaded the library from"
like "$(attach "$pid" 2>&1)" "$pid: attached, sampling*" "it is attached to"
is "$(grep -c 'memfd:libcairn' <(readlink "/proc/$pid"/fd/*))" 0 "and has the file closed"
echo >&"$in"
read -r -t 60 -u "$out" said # which the child has open as well
is "${said:-}" "works True" "its parent goes on with the library that it has loaded"
wait "$parent"
is $? 0 "and ends as it would have"

# A host that is asked to fork whenever the agent is about to look at the loader's list for the first time, and several times after that.
cat >"$scratch/forks.c" <<'C'
#include <dlfcn.h>
#include <link.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
enum { apart = 15, forks_most = 4 };
static atomic_int calls, forks_wanted, forks_made;
static pid_t first;
int dl_iterate_phdr(int (*visit)(struct dl_phdr_info *, size_t, void *), void *context)
{
	static int (*real)(int (*)(struct dl_phdr_info *, size_t, void *), void *);
	real = real ? real : dlsym(RTLD_NEXT, "dl_iterate_phdr");
	if (getpid() == first && gettid() != first && calls++ % apart == 0 && forks_wanted < forks_most) {
		int number = ++forks_wanted;
		while (forks_made < number)
			usleep(1000);
	}
	return real(visit, context);
}
int main(void)
{
	first = getpid();
	for (;;) {
		if (forks_made < forks_wanted && getpid() == first) {
			pid_t child = fork();
			if (child > 0) {
				printf("%d\n", (int)child);
				fflush(stdout);
				forks_made++;
			}
		}
		void *volatile held = malloc(100000);
		usleep(1000);
		free(held);
	}
}
C
$cc -w -O1 -g -D_GNU_SOURCE -rdynamic -o "$scratch/forks" "$scratch/forks.c" -ldl || broken "no host that forks"
"$scratch/forks" >"$scratch/forked" &
pid=$!
children+=("$pid")
wait_for 4 runs "$pid" "$scratch/forks"
like "$(attach "$pid" 2>&1)" "$pid: attached, sampling*" "a process is attached to that forks while its agent starts"
is "$(wc -l <"$scratch/forked")" 4 "four times"
for child in $(cat "$scratch/forked"); do
	children+=("$child")
	like "$(attach "$child" 2>&1)" "$child: *attached, sampling*" "the child is attached to"
	detach "$child" >/dev/null
	ok $? "and left"
done
detach "$pid" >/dev/null && attach -q "$pid" && detach "$pid" >/dev/null
ok $? "the process is left, attached to again and left"
done_testing
