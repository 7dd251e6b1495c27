#!/usr/bin/env bash
# Cairn's own sampler through the life of a process: fork handlers that use the loader, daemons and their workers, stop and start.
. tests/e2e/lib.sh
need cc curl python3
. tests/e2e/agent.sh
cc=${CC:-cc}
$cc -O1 -g -w -D_GNU_SOURCE tests/e2e/sampler-host.c -o "$scratch/host" -pthread -ldl || broken 'the test host does not build'

# fact PID KEY...: a member of the status
fact() { local pid=$1; shift; curl -s --max-time 60 --unix-socket "$sockets/$pid.sock" http://localhost/cairn/status | python3 -c 'import json, sys
value = json.load(sys.stdin)
for key in sys.argv[1:]: value = value[key]
print("" if value is None else str(value).lower() if isinstance(value, bool) else value)' "$@"; }

# Fork handlers of a library that call dlsym after a dlopen. Its constructor runs before the agent's, so that its handler runs between the
# agent's two.
cat >"$scratch/handler.c" <<'C'
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>
static int calls;
static void look(void) { calls += dlsym(RTLD_DEFAULT, "getpid") != NULL; }
__attribute__((constructor)) static void start(void)
{
	const char *when = getenv("HANDLER");
	pthread_atfork(when[0] == 'b' ? look : NULL, when[0] == 'a' ? look : NULL, NULL);
}
int handler_calls(void) { return calls; }
C
cat >"$scratch/forks.c" <<'C'
#include <dlfcn.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>
int handler_calls(void);
int main(void)
{
	for (int i = 0; i < 3; i++) {
		int status = -1;
		if (!dlopen(i % 2 ? "libm.so.6" : "libpthread.so.0", RTLD_NOW)) return puts("no library"), 1;
		pid_t child = fork();
		if (child == 0) _exit(7);
		if (waitpid(child, &status, 0) != child || WEXITSTATUS(status) != 7) return puts("no child"), 1;
	}
	return printf("%d calls\n", handler_calls()), 0;
}
C
$cc -O1 -w -shared -fPIC "$scratch/handler.c" -o "$scratch/libhandler.so" -pthread -ldl &&
	$cc -O1 -w "$scratch/forks.c" -o "$scratch/forks" -L"$scratch" -lhandler -Wl,-rpath,"$scratch" -ldl || broken 'the forking host does not build'
for when in before after; do
	HANDLER=$when LD_PRELOAD=$library CAIRN_CONF=enable_heap_profiling:true,engine:cairn timeout 300 "$scratch/forks" >"$scratch/out" 2>&1
	is "$? $(tail -n 1 "$scratch/out")" "0 3 calls" "a handler $when a fork may call dlsym after dlopen"
done

# A daemon: none of its processes has a ledger yet when it forks the next one.
LD_PRELOAD=$library CAIRN_CONF=enable_heap_profiling:true,engine:cairn,period:4K "$scratch/host" daemon >"$scratch/out" 2>&1
wait_for 60 grep -q ready "$scratch/out"
read -r _ master _ worker < <(grep '^master' "$scratch/out")
children+=($master $worker)
is_sampled() { "$cairn" ps --json | of_json "[1 for p in r['processes'] if p['pid'] == $1 and p['samples']][0]"; }
holds "the process that a daemon has become after two forks is sampled" wait_for 60 is_sampled $master
holds "and so is the worker that it has forked at once" wait_for 60 is_sampled $worker
kill -9 $master $worker

# A worker is sampled since it is there, whatever its parent did before.
cat >"$scratch/worker.c" <<'C'
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
static void *volatile objects[2000];
static void allocate(void) { for (int i = 0; i < 2000; i++) objects[i] = malloc(10000); }
static bool dump(const char *path)
{
	return ((bool (*)(const char *, char *, size_t))dlsym(RTLD_DEFAULT, "cairn_snapshot_file"))(path, NULL, 0);
}
int main(int argc, char **argv)
{
	allocate();
	((bool (*)(uint64_t, char *, size_t))dlsym(RTLD_DEFAULT, "cairn_reset"))(0, NULL, 0);
	if (!dump(argv[1])) return 1;
	sleep(2); /* for the times to differ, also by the clock that the start of a process is told by */
	if (fork() == 0) {
		usleep(300000); /* its agent starts with the first sample then */
		allocate();
		_exit(!dump(argv[2]));
	}
	int status = -1;
	wait(&status);
	return status != 0;
}
C
$cc -O1 -w "$scratch/worker.c" -o "$scratch/worker" -ldl || broken 'the program with a worker does not build'
LD_PRELOAD=$library CAIRN_CONF=enable_heap_profiling:true,engine:cairn,period:4K timeout 300 "$scratch/worker" "$scratch/parent.heap" "$scratch/worker.heap"
is $? 0 "a program that was reset forks a worker"
line() { sed -n "s/^# cairn $2 //p" "$scratch/$1.heap"; }
holds "the parent tells of its reset: $(line parent reset_at)" [ -n "$(line parent reset_at)" ]
is "$(line worker reset_at)" "" "the worker does not"
holds "but of what it inherited: $(line worker active_before)" [ "$(line worker active_before)" -gt 0 ]
holds "and is sampled since $(line worker active_since), after its start at $(line worker start)" \
	awk -v since="$(line worker active_since)" -v start="$(line worker start)" 'BEGIN { exit !(since > 0 && since + 0 >= start + 0) }'

# What a program frees while the agent is stopped.
cat >"$scratch/stop.c" <<'C'
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
static void *objects[2000];
static void show(void)
{
	static char text[1 << 16];
	((size_t (*)(char *, size_t))dlsym(RTLD_DEFAULT, "cairn_status"))(text, sizeof text);
	char *ledger = strstr(text, "\"ledger\""), *live = ledger ? strstr(ledger, "\"live\"") : NULL, *reset = strstr(text, "\"reset_at\"");
	printf("%d %s\n", live ? atoi(strpbrk(live + 6, "0123456789")) : -1, reset && strncmp(reset + 10, ":null", 5) && strncmp(reset + 10, ": null", 6) ? "reset" : "-");
}
int main(void)
{
	for (int i = 0; i < 2000; i++) objects[i] = malloc(10000);
	show();
	((void (*)(void))dlsym(RTLD_DEFAULT, "cairn_stop"))();
	for (int i = 0; i < 2000; i++) free(objects[i]);
	if (!((bool (*)(void *, char *, size_t))dlsym(RTLD_DEFAULT, "cairn_start"))(NULL, NULL, 0)) return 1;
	show();
	for (int i = 0; i < 2000; i++) objects[i] = malloc(10000);
	show();
	return 0;
}
C
$cc -O1 -w "$scratch/stop.c" -o "$scratch/stop" -ldl || broken 'the program that stops does not build'
LD_PRELOAD=$library CAIRN_CONF=enable_heap_profiling:true,engine:cairn,period:4K timeout 300 "$scratch/stop" >"$scratch/out" 2>&1
read -r before mark < <(sed -n 1p "$scratch/out")
holds "a program holds 2,000 objects: $before samples" [ "${before:-0}" -gt 1500 ]
is "$mark" - "and there was no reset"
read -r between mark < <(sed -n 2p "$scratch/out")
holds "what it freed while the agent was stopped is not live when it starts again: $between samples" [ "${between:-9999}" -lt 100 ]
is "$mark" reset "the status says that samples were discarded"
read -r after mark < <(sed -n 3p "$scratch/out")
holds "what it allocates from then on is: $after samples" [ "${after:-0}" -gt 1500 ]
done_testing
