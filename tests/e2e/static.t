#!/usr/bin/env bash
# Programs that can load no agent: static ones, and those on musl. Each from its beginning and attached to while it runs: right, unharmed, and
# as any other to all commands.
. tests/e2e/lib.sh
need cc musl-gcc python3
. tests/e2e/agent.sh
cc=${CC:-cc}
export CAIRN_TOOL=$cairn

link() {
	case $1 in
	static) $cc -static "${@:2}" -o "$scratch/$1" ;;
	static-pie) $cc -static-pie -fPIE "${@:2}" -o "$scratch/$1" ;;
	musl-static) musl-gcc -static "${@:2}" -o "$scratch/$1" ;;
	musl) musl-gcc "${@:2}" -o "$scratch/$1" ;;
	esac
}
number() { od -An -td8 -j"$2" -N8 "$1" | tr -d ' '; }
kept() { number "$scratch/f" 0; }
forked() { [ "$(number "$scratch/f" 24)" != 0 ]; }
works() {
	local before
	before=$(number "$scratch/f" 8)
	worked() { [ "$(number "$scratch/f" 8)" -gt "$1" ]; }
	wait_for 1 worked "$before"
}
# start KIND THREADS: sets `pid`
start() {
	rm -f "$scratch/f"
	"$scratch/$1" "$scratch/f" "$2" &
	pid=$!
	children+=("$pid")
	wait_for 1 test -s "$scratch/f" && works
}
end() { kill -9 "$pid" && wait "$pid"; } 2>/dev/null
companion() { pgrep -f "^cairn-beside beside $pid\$"; }
kill_companion() {
	kill -9 "$(companion)"
	is_gone() { [ -z "$(companion)" ]; }
	wait_for 1 is_gone
}
# seen_of FUNCTION [PID]: live bytes below it
seen_of() { "$cairn" top --json -n 0 "${2:-$pid}" 2>/dev/null | python3 -c 'import json, sys; print(round(next((r["cum"] for r in json.load(sys.stdin)["rows"] if r["name"] == sys.argv[1]), 0)))' "$1"; }
# text_changed: how many bytes of the code of the program and its libraries differ from their files, in whole pages
text_changed() {
	python3 - "$pid" <<'P'
import sys
changed = 0
with open(f"/proc/{sys.argv[1]}/mem", "rb") as memory:
    for line in open(f"/proc/{sys.argv[1]}/maps"):
        part = line.split(None, 5)
        if "x" not in part[1] or len(part) < 6 or not part[5].startswith("/"): continue
        start, end = (int(n, 16) for n in part[0].split("-"))
        memory.seek(start)
        there = memory.read(end - start)
        file = open(part[5].strip(), "rb")
        file.seek(int(part[2], 16))
        changed += sum(a != b for a, b in zip(there, file.read(end - start)))
print(changed)
P
}

# From the beginning: every call site is as the program knows it, also in what is left of it after SIGKILL.
check_truth() {
	python3 - "$1" "$scratch/out" <<'P'
import json, math, sys
rows = {r["name"]: r for r in json.load(open(sys.argv[1]))["rows"]}
worst, text = 0, []
for line in open(sys.argv[2]):
    part = line.split()
    if part[:1] != ["site"]: continue
    name, size, true = part[1], float(part[2]), float(part[3])
    got, seen = rows.get(name, {}).get("cum", 0), 1 - math.exp(-size / 16384)
    off = abs(got - true) / (math.sqrt(size * true * (1 - seen) / seen) + 0.001 * true)
    worst = max(worst, off); text.append("%s %.3f" % (name.removeprefix("site_"), got / true))
print("worst %.1f sigma: %s" % (worst, " ".join(text))); sys.exit(worst > 5 or len(text) < 6)
P
}
kinds=(static musl)
is_long && kinds+=(static-pie musl-static)
for kind in "${kinds[@]}"; do
	link $kind -O1 -g -w -D_GNU_SOURCE tests/e2e/sampler-truth.c -pthread 2>"$scratch/log" || broken "$kind links"
	"$cairn" run --period 16K -o "$scratch/left.heap" -- "$scratch/$kind" >"$scratch/out" 2>"$scratch/err" &
	runner=$!
	children+=($runner)
	wait_for 6 grep -q ready "$scratch/out"
	pid=$(pgrep -P $runner -x $kind)
	"$cairn" top --json -n 0 "$pid" >"$scratch/top.json" 2>"$scratch/log"
	result=$(check_truth "$scratch/top.json")
	ok $? "$kind, from its beginning: $result"
	"$cairn" status --json "$pid" >"$scratch/status"
	is "$(python3 -c 'import json, sys; s = json.load(sys.stdin); print(s["state"], s["engine"]["name"], s["ledger"]["replaced"])' <"$scratch/status")" \
		"active cairn 0" "$kind: it is sampled, and no free was missed"
	kill -9 "$pid"
	wait $runner
	is $? 137 "$kind: its end is passed on"
	"$cairn" top --json -n 0 "$scratch/left.heap" >"$scratch/top.json" 2>"$scratch/log"
	result=$(check_truth "$scratch/top.json")
	ok $? "$kind, after SIGKILL: $result"
done

# Attached to while it runs. What was kept since lies between what had been kept when the command came back and when it was asked.
for kind in "${kinds[@]}"; do
	link $kind -O1 -g -w -D_GNU_SOURCE tests/e2e/static-host.c -pthread 2>"$scratch/log" || broken "$kind links"
	start $kind 3
	like "$("$cairn" doctor "$pid" 2>&1)" "*can be attached to*cairn attach $pid*" "$kind: doctor says that it can be attached to"
	before=$(kept)
	"$cairn" attach --period 4K "$pid" >"$scratch/log" 2>&1
	is $? 0 "$kind: attached to"
	sed 's/^/#   /' "$scratch/log"
	first=$(kept)
	enough() { [ $(($(kept) - first)) -gt 4000000 ]; }
	wait_for 2 enough
	least=$(($(kept) - first))
	seen=$(seen_of site_kept)
	most=$(($(kept) - before))
	# five standard deviations of a sum of that size
	margin=$(python3 -c "import math; q = 1 - math.exp(-1000 / 4096); print(round(5 * math.sqrt(1000 * $most * (1 - q) / q)))")
	[ "$seen" -gt $((least - margin)) ] && [ "$seen" -lt $((most + margin)) ]
	ok $? "$kind: what it has kept since is there: $seen of $least to $most"
	like "$("$cairn" traces "$pid" 2>/dev/null)" "*site_kept*main*" "$kind: with whole stacks"
	like "$("$cairn" churn "$pid" 2>/dev/null)" "*site_churned*" "$kind: what it allocates and frees again is told"
	like "$("$cairn" tags "$pid" 2>/dev/null)" "*worker*" "$kind: by threads that have names"
	like "$("$cairn" ps | grep " $pid\b")" "*active*" "$kind: it is listed"
	like "$("$cairn" ps)" "!(*cairn-beside beside $pid*)" "$kind: without its agent"
	like "$("$cairn" doctor "$pid" | tr -s " ")" "*allocator Cairn*own engine profiles *malloc in /*" "$kind: doctor names its allocator"
	# A forked child works, and is not counted.
	kill -USR1 "$pid"
	wait_for 2 forked
	works
	is "$(number "$scratch/f" 16)" 0 "$kind: a forked child ends as it should"
	# Detached, its code is as it was. Attached to again, samples are those since then.
	"$cairn" detach "$pid" >"$scratch/log" 2>&1
	is "$? $(text_changed)" "0 0" "$kind: detached, its code is as it was"
	is "$(companion)" "" "$kind: and nothing of ours runs"
	works && "$cairn" attach -q --period 4K "$pid"
	is $? 0 "$kind: attached to again"
	again=$(seen_of site_kept)
	[ "$again" -lt "$((seen + $(kept) - least))" ] && works
	ok $? "$kind: it begins anew"
	is "$(number "$scratch/f" 16)" 0 "$kind: it notices nothing"
	[ $kind = static ] || { end; continue; }

	# Whoever stands beside it is killed: it goes on, its profile can be read, and the next command takes over.
	kill_companion && works
	ok $? "its companion killed, it goes on"
	[ "$(seen_of site_kept)" -gt 0 ]
	ok $? "  and its profile is there"
	"$cairn" attach -q --period 4K "$pid"
	like "$? $("$cairn" status "$pid" 2>&1)" "0 *state: active*" "  and it is attached to again"
	kill_companion
	"$cairn" detach "$pid" >"$scratch/log" 2>&1
	is "$? $(text_changed)" "0 0" "  or detached"
	# There is one at a time.
	"$cairn" attach -q --period 4K "$pid"
	first=$(companion)
	said=$(printf 'engine:cairn,enable_heap_profiling:true' | timeout 60 "$cairn" beside "$pid")
	is "$? $said $(companion)" "1 process $pid already has an agent beside it $first" "a second companion is refused"
	"$cairn" detach "$pid" >"$scratch/log" 2>&1
	# A child that stays is a process like any other.
	"$cairn" attach -q --period 4K "$pid"
	forget() { dd if=/dev/zero of="$scratch/f" bs=1 seek=24 count=8 conv=notrunc status=none; }
	forget
	kill -USR2 "$pid"
	wait_for 2 forked
	child=$(number "$scratch/f" 24)
	children+=("$child")
	"$cairn" attach -q --period 4K "$child" 2>"$scratch/log"
	kept_there() { [ "$(seen_of site_kept "$child")" -gt 100000 ]; }
	wait_for 2 kept_there
	ok $? "a forked child is attached to: $(cat "$scratch/log")"
	kill -9 "$child"
	works && [ "$(seen_of site_kept)" -gt 0 ]
	ok $? "  and its parent is sampled on"
	end
done

# It executes another program, or itself again: that one has no agent until it is given one.
$cc -O1 -w -x c -static -o "$scratch/again" - <<'P'
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
static void again(int number) { execl("/proc/self/exe", "again", "again", NULL); }
int main(int count, char **arguments)
{
	sigset_t all;
	sigfillset(&all);
	sigprocmask(SIG_UNBLOCK, &all, NULL);
	signal(SIGUSR1, again);
	puts(count > 1 ? "again" : "ready");
	fflush(stdout);
	for (;; usleep(100))
		free(malloc(100));
}
P
"$scratch/again" >"$scratch/out" &
pid=$!
children+=("$pid")
wait_for 1 grep -q ready "$scratch/out"
"$cairn" attach -q "$pid"
kill -USR1 "$pid"
wait_for 1 grep -q again "$scratch/out"
has_no_companion() { [ -z "$(companion)" ]; }
wait_for 5 has_no_companion
ok $? "executing another program, it is left by its companion"
"$cairn" attach -q "$pid"
like "$? $("$cairn" status "$pid" 2>&1)" "0 *state: active*" "  and can be attached to again"
end

# What is refused, with nothing touched.
code_mapped() { grep -E ' r.x|cairn' "/proc/$pid/maps"; }
refuses() {
	local before said code
	before=$(code_mapped)
	said=$("$cairn" attach "$pid" 2>&1)
	code=$?
	like "$code $said" "1 $2" "refused: $1"
	is "$(code_mapped) $(text_changed)" "$before 0" "  and not touched"
}
strip -o "$scratch/stripped" "$scratch/static"
start stripped 1
like "$("$cairn" doctor "$pid" 2>&1 | tr -s ' ')" "!(*cairn attach*)wrong inside *no allocator is known by its functions' names*" "a stripped program: doctor says why it cannot be attached to"
said=$("$cairn" attach "$pid" 2>&1)
like "$? $said" "1 *no allocator is known by its functions' names*strip --strip-debug*" "a stripped program is refused, with what is missing"
is "$(text_changed)$(companion)" 0 "  and its code is as it was"
end
printf '.globl _start\n_start: mov $34, %%eax\n syscall\n jmp _start\n' >"$scratch/bare.s"
if [ "$(uname -m)" = x86_64 ]; then
	$cc -nostdlib -static "$scratch/bare.s" -o "$scratch/bare"
	"$scratch/bare" &
	pid=$!
	children+=("$pid")
	wait_for 1 sh -c "grep -q '^34' /proc/$pid/syscall"
	refuses "a program without a libc" "*a program without a libc*"
	end
else
	skip "a program without a libc" "its code is for x86_64"
fi
start static 1
python3 -c '
import ctypes, os, sys, time
libc = ctypes.CDLL(None, use_errno=True)
libc.ptrace.argtypes = [ctypes.c_long] * 4
assert libc.ptrace(0x4206, int(sys.argv[1]), 0, 0) == 0
print("traced", flush=True)
time.sleep(1000)' "$pid" >"$scratch/traced" &
tracer=$!
children+=($tracer)
wait_for 1 grep -q traced "$scratch/traced"
refuses "one that is traced" "*traced by process $tracer*"
kill $tracer
end
done_testing
