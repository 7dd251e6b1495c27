#!/usr/bin/env bash
# --older, --younger, --peak, --slack, --fragmentation and --mappings on every view and in every format: each shows what the
# option keeps, and not what it leaves out.
. tests/e2e/lib.sh
need cc python3
. tests/e2e/agent.sh
cat >"$scratch/host.c" <<'C'
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>
enum { count = 20000 };
static char *old[2 * count], *young[count], *gone[4 * count];
#define HOLD(name, objects, size) __attribute__((noinline)) static void name(char **to, int n) { for (int i = 0; i < n; i++) memset(to[i] = malloc(size), 1, size); }
HOLD(hold_old, old, 520)
HOLD(hold_young, young, 1000)
HOLD(hold_gone, gone, 900)
HOLD(hold_first, first, 700)
__attribute__((noinline)) static void map_some(size_t size)
{
	memset(mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), 1, size);
}
static void say(const char *word)
{
	puts(word);
	fflush(stdout);
	pause();
}
static void go_on(int signal) { (void)signal; }
int main(void)
{
	static char *first[1000];
	signal(SIGUSR1, go_on);
	hold_first(first, 1000);
	map_some(1 << 20);
	say("first");
	puts("goes on");
	fflush(stdout);
	hold_old(old, 2 * count);
	map_some(32 << 20);
	hold_gone(gone, 4 * count);
	for (int i = 0; i < 4 * count; i++)
		free(gone[i]);
	for (int i = 0; i < 2 * count; i += 2)
		free(old[i]);
	for (time_t end = time(NULL) + 4; time(NULL) < end;)
		sleep(1); /* which another signal may end, and that leaves at least three seconds in all */
	hold_young(young, count);
	say("ready");
}
C
${CC:-cc} -O1 -g -w "$scratch/host.c" -o "$scratch/host" -ljemalloc || broken 'the test host does not build'
LD_PRELOAD=$library CAIRN_CONF=enable_heap_profiling:true,engine:cairn,period:4K "$scratch/host" >"$scratch/out" 2>&1 &
pid=$!
children+=($pid)
wait_for 60 grep -q first "$scratch/out"
"$cairn" dump -o "$scratch/first.heap" $pid >/dev/null 2>&1
until grep -q 'goes on' "$scratch/out"; do kill -USR1 $pid && sleep 0.2; done # the signal may come before it waits
wait_for 60 grep -q ready "$scratch/out"
"$cairn" dump -o "$scratch/one.heap" $pid >/dev/null 2>&1
# The limit lies in the middle of the three seconds between the two, however slow the machine was: of the pauses that are as long, it is the
# last one. Before what is old there may be a longer one.
limit=$(python3 - "$scratch/one.heap" <<'P'
import sys
ages = sorted(int(line.split()[8]) for line in open(sys.argv[1]) if line.startswith("# cairn live "))
print("%dms" % next((a + b) // 2000 for a, b in zip(ages, ages[1:]) if b - a > 2.5e6))
P
)

# What each option keeps and what it leaves out, by function.
options=("--older $limit" "--younger $limit" --peak --slack --fragmentation '--mappings anonymous')
keeps=(hold_old hold_young hold_gone hold_old hold_old map_some)
drops=(hold_young hold_old zzz hold_gone hold_gone hold_old)

# text VIEW OPTION...: what the view shows, as text, whatever its format
text() {
	local view=$1 out=$scratch/view one=$scratch/one.heap
	shift
	case $view in
	top | tree | traces | raw | collapsed) "$cairn" "$view" "$@" "$one" ;;
	json) "$cairn" top --json "$@" "$one" ;;
	peek | disasm) "$cairn" "$view" 'hold_|map_some' "$@" "$one" ;;
	list) "$cairn" list 'hold_|map_some' "$@" "$one" | grep ROUTINE ;; # around its lines there are others, of any function
	diff) "$cairn" diff --cum "$@" "$scratch/first.heap" "$one" ;;
	flame) "$cairn" flame "$@" -o "$out.svg" "$one" && cat "$out.svg" ;;
	html) "$cairn" html "$@" -o "$out.html" "$one" && python3 tests/e2e/read-page.py "$out.html" ;;
	graph) "$cairn" graph "$@" -o "$out.dot" "$one" && cat "$out.dot" ;;
	pprof) "$cairn" pprof "$@" -o "$out.pb.gz" "$one" && "$cairn" top "$out.pb.gz" ;;
	export-*) "$cairn" export --format "${view#*-}" "$@" -o "$out" "$one" && strings -a "$out" ;;
	shell) printf 'top\n' | "$cairn" shell "$@" "$one" ;;
	esac
}
for view in top json tree traces peek list disasm raw collapsed diff flame html graph pprof export-speedscope export-callgrind export-folded \
	export-symbolized shell; do
	for i in "${!options[@]}"; do
		text "$view" ${options[i]} >"$scratch/text" 2>"$scratch/err"
		code=$?
		grep -aq "${keeps[i]}" "$scratch/text" && ! grep -aq "${drops[i]}" "$scratch/text"
		status=$?
		ok $((code + status)) "$view ${options[i]}: ${keeps[i]} and not ${drops[i]}"
		[ $((code + status)) = 0 ] || { sed 's/^/#   /' "$scratch/err"; head -c 1500 "$scratch/text" | tr -d '\0' | sed 's/^/#   /' | head -n 14; }
	done
done
# Views without functions: their total is that of `top`.
total() { python3 -c 'import json, sys; print(round(json.load(sys.stdin)["total"]))'; }
for i in "${!options[@]}"; do
	is "$("$cairn" tags --json ${options[i]} "$scratch/one.heap" 2>/dev/null | total)" "$("$cairn" top --json ${options[i]} "$scratch/one.heap" 2>/dev/null | total)" \
		"tags ${options[i]}: the total is the same"
done
# A command that is not named here is a view that was forgotten.
has_option() { "$cairn" "$1" --help 2>/dev/null | grep -q -- '--peak'; }
is "$(for command in $("$cairn" --help | sed -n 's/^  \([a-z0-9]*\) .*/\1/p'); do has_option "$command" && echo "$command"; done | sort | tr '\n' ' ')" \
	"collapsed diff disasm export flame gallery graph html leaks list peek pprof raw shell tags timeline top traces tree " \
	'these are all views that take the options'

# The size of an object is that of the value shown, however it was chosen; with a base, of what there was before and after.
counted() { # counted FILE LIVE-OBJECTS: ten live objects of 100 bytes or so, of 40 with 10,000 bytes
	printf 'heap_v2/1\n  t*: %d: 1000 [40: 10000]\n@ 0x401234 0x401100\n  t*: %d: 1000 [40: 10000]\n\nMAPPED_LIBRARIES:\n' "$2" "$2" >"$1"
	printf '00400000-00403000 r-xp 00000000 00:00 1 /srv/none\n' >>"$1"
}
counted "$scratch/ten.heap" 10
counted "$scratch/twenty.heap" 20
sizes() { "$cairn" tags --json "$@" 2>/dev/null | python3 -c 'import json, sys; print([v["number"] for t in json.load(sys.stdin)["tags"] if t["key"] == "bytes" for v in t["values"]])'; }
is "$(sizes "$scratch/ten.heap")" '[100]' 'the size of live objects'
is "$(sizes --alloc "$scratch/ten.heap") $(sizes --alloc-space "$scratch/ten.heap")" '[250] [250]' 'and of all that were allocated, by either option'
is "$(sizes --objects "$scratch/twenty.heap" --base "$scratch/ten.heap")" '[66]' 'with a base, the mean of both'
"$cairn" diff --cum "$scratch/ten.heap" "$scratch/twenty.heap" --objects >"$scratch/out" 2>/dev/null
like "$(cat "$scratch/out")" *$'\n'"grown: 2"$'\n'* 'with --cum, callers and callees are not added up'

done_testing
