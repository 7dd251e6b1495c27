#!/usr/bin/env bash
# cairn why of a large heap: what it costs, and of one that changes meanwhile: that the result is that of one that stands still.
. tests/e2e/lib.sh
need cc python3
cat >"$scratch/large.c" <<'C'
/* large GIGABYTES: objects of some 1,000 bytes, of which a third lives; then four threads free and allocate as fast as they can. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void *churn(void *argument)
{
	enum { slots = 20000 };
	void **own = calloc(slots, sizeof *own);
	for (unsigned random = (unsigned)(size_t)argument;; random = random * 1103515245u + 12345) {
		void **slot = &own[(random >> 8) % slots];
		free(*slot);
		size_t size = 16 + (random >> 16) % 2000;
		*slot = memset(malloc(size), 1, size);
		if (random % 512 == 0)
			usleep(1000);
	}
	return argument;
}

int main(int count, char **argument)
{
	size_t objects = (size_t)(atof(argument[count - 1]) * 1000000);
	void **all = malloc(objects * sizeof *all);
	for (size_t i = 0; i < objects; i++)
		all[i] = memset(malloc(1000 + i % 50), 1, 1000);
	for (size_t i = 0; i < objects; i++)
		if (i % 3)
			free(all[i]);
	for (size_t i = 1; i <= 4; i++) {
		pthread_t thread;
		pthread_create(&thread, NULL, churn, (void *)i);
	}
	sleep(2);
	puts("ready");
	fflush(stdout);
	pause();
}
C
${CC:-cc} -O1 -g -w -o "$scratch/large" "$scratch/large.c" -pthread || broken 'the test host does not build'
cat >"$scratch/measure.py" <<'P'
import json, os, resource, signal, subprocess, sys

cairn, host, size = sys.argv[1], sys.argv[2], float(sys.argv[3])
def why(pid):
    return json.loads(subprocess.run([cairn, "why", "--json", str(pid)], stdout=subprocess.PIPE, check=True).stdout)
with subprocess.Popen([host, str(size)], stdout=subprocess.PIPE, text=True) as process:
    process.stdout.readline()
    moving, still = [], []
    for _ in range(5):
        moving.append(why(process.pid))
        os.kill(process.pid, signal.SIGSTOP)
        still.append(why(process.pid))
        os.kill(process.pid, signal.SIGCONT)
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    process.kill()
bad = []
for key in ("live_bytes", "free_bytes", "pinned_bytes"):
    one, other = (sum(j[key] for j in walks) / len(walks) for walks in (moving, still))
    print(key, one, other, "%.2f %%" % (100 * abs(one / other - 1)))
    if abs(one / other - 1) > 0.02:
        bad.append(key)
# Ten calls, of two walks each where a walk takes less than half a second.
seconds = (used.ru_utime + used.ru_stime) / 20 / size
print("%.2f s of CPU a walk and GB, %.0f MB" % (seconds, used.ru_maxrss / 1024))
if seconds > 0.5:
    bad.append("CPU time")
if used.ru_maxrss / 1024 > 15 + 4 * size:
    bad.append("memory")
sys.exit(", ".join(bad) if bad else 0)
P
python3 "$scratch/measure.py" "$cairn" "$scratch/large" 1.5 >"$scratch/out" 2>&1
status=$?
sed 's/^/# /' "$scratch/out"
ok $status 'a heap of 1.5 GB that changes: within 2 % of one that stands still, half a second for each GB'
done_testing
