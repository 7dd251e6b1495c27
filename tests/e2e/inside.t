#!/usr/bin/env bash
# Allocators linked into programs and libraries: they are counted by `cairn run` and `cairn attach`, no byte of them stays changed after detach,
# and who cannot be counted is named, by attach and doctor in the same words.
. tests/e2e/lib.sh
need cc g++ objcopy strip python3
archive() { ${CC:-cc} -print-file-name="lib$1.a"; }

# code PID FILE...: what the process has of these files where it cannot write, which are code and tables of functions
cat >"$scratch/code.py" <<'P'
import hashlib, sys
total = hashlib.sha256()
with open("/proc/%s/maps" % sys.argv[1]) as maps, open("/proc/%s/mem" % sys.argv[1], "rb") as memory:
    for line in maps:
        fields = line.split()
        if fields[-1] in sys.argv[2:] and "w" not in fields[1]:
            start, end = (int(part, 16) for part in fields[0].split("-"))
            memory.seek(start)
            total.update(memory.read(end - start))
print(total.hexdigest())
P
code() { python3 "$scratch/code.py" "$@"; }

# within PID SITE=MIB...: what Cairn's profile shows at each call site, within a quarter: 512 samples have an error of 4.5 %
within() {
	"$cairn" top --json -n 0 "$1" >"$scratch/top.json" 2>"$scratch/top.err" || { cat "$scratch/top.err"; return; }
	python3 -c '
import json, sys
rows = json.load(open(sys.argv[1]))["rows"]
for wanted in sys.argv[2:]:
    name, size = wanted.split("=")
    got = max([row["cum"] for row in rows if row["name"].split("::")[-1] == name] or [0]) / 2**20
    if abs(got - float(size)) > float(size) / 4:
        print("%s: %.1f MiB, not %s" % (name, got, size), end=" ")' "$scratch/top.json" "${@:2}" 2>&1
}

# begin COMMAND...: starts the host, which then says "ready"; step WORD: has it go on until it says that
begin() {
	coproc host { exec "$@" 2>"$scratch/err"; }
	children+=("$host_PID")
	read -r -t 60 said <&"${host[0]}" && [ "$said" = ready ]
}
step() {
	echo >&"${host[1]}"
	read -r -t 60 said <&"${host[0]}"
	is "$said" "$1" "${2:-it goes on}"
}
end() { kill -9 "$1" 2>/dev/null; wait "$host_PID" 2>/dev/null; }

steady_prefixed "$scratch/steady" # which makes libprefixed.a
cp "$scratch/libprefixed.a" "$scratch/libjustc.a" && ar d "$scratch/libjustc.a" jemalloc_cpp.pic.o
ok $? "jemalloc without its operator new, as Rust has it"
links() { local name=$1; shift; holds "$name: links" ${CXX:-g++} -O1 -g -w -fno-builtin -o "$scratch/$name" tests/e2e/inside-host.cc "$@" -pthread; }
links jemalloc "$(archive jemalloc_pic)" -lm
links tcmalloc "$(archive tcmalloc_minimal)"
links prefixed -DPREFIX=_rjem_ "$scratch/libprefixed.a" -lm
links static -static
links static-jemalloc -static "$(archive jemalloc)" -lm
links static-tcmalloc -static -Wl,--whole-archive "$(archive tcmalloc_minimal)" -Wl,--no-whole-archive
kinds=(jemalloc tcmalloc prefixed static static-jemalloc static-tcmalloc)
declare -A seen=([jemalloc]="jemalloc in $scratch/jemalloc, at the entries of" [tcmalloc]="tcmalloc in $scratch/tcmalloc, at the entries of"
	[static]="malloc in $scratch/static, at the entries of" [static-jemalloc]="jemalloc in $scratch/static-jemalloc, at the entries of"
	[static-tcmalloc]="tcmalloc in $scratch/static-tcmalloc, at the entries of" [prefixed]="jemalloc (_rjem_) in $scratch/prefixed, at the entries of" [rust]="jemalloc (_rjem_) in $scratch/rust, by * slots")
sites=(hold_small=8 hold_zeroed=8 hold_aligned=8 hold_grown=8)
if command -v rustc >/dev/null; then
	rustc -O -g --edition 2021 -o "$scratch/rust" tests/e2e/inside-host.rs -L "$scratch" -l static=justc -C link-arg=-lm 2>"$scratch/log"
	ok $? "rust: links"
	kinds+=(rust)
else
	skip "a Rust program with jemalloc inside" "no rustc here"
fi

for kind in "${kinds[@]}"; do
	program=$scratch/$kind
	begin "$program" || broken "$kind starts"
	pid=$host_PID
	like "$("$cairn" doctor "$pid" 2>&1 | tr -s ' ')" "*right inside cairn attach counts ${seen[$kind]}*" "$kind: the doctor says that it can be counted"
	before=$(code "$pid" "$program")
	said=$(timeout 100 "$cairn" attach --period 16K "$pid" 2>&1)
	like "$said" "$pid: counts ${seen[$kind]%%, *}*attached, sampling with engine cairn*, all * were stopped for * ms" "$kind: attach names it"
	[ "$(code "$pid" "$program")" != "$before" ]
	ok $? "$kind: its code or its slots are changed"
	step holds
	is "$(within "$pid" "${sites[@]}" hold_new=8 $([ $kind = rust ] || echo hold_nothrow=8))" "" "$kind: attached to, each call site has what it holds"
	like "$("$cairn" doctor "$pid" 2>&1 | tr -s ' ')" "*right inside Cairn's own engine counts ${seen[$kind]}*" "$kind: the doctor says that it is counted"
	if [[ $kind = *tcmalloc ]]; then
		bill=$("$cairn" rss --json "$pid" | python3 -c '
import json, sys
lines = {line["key"]: line["bytes"] / 2**20 for line in json.load(sys.stdin)["lines"]}
good = lines["live"] + lines["before"] > 32 and lines["heap"] + lines["anonymous"] < 2
print("good" if good else lines)')
		is "$bill" good "$kind: the bill says what its heap holds"
	fi
	step freed
	is "$(within "$pid" hold_small=4 hold_zeroed=8)" "" "$kind: what is freed is gone"
	holds "$kind: detach" timeout 100 "$cairn" detach "$pid"
	is "$(code "$pid" "$program")" "$before" "$kind: every byte is as it was"
	timeout 100 "$cairn" attach -q "$pid" >/dev/null 2>&1 && [ "$(code "$pid" "$program")" != "$before" ]
	ok $? "$kind: attached to again"
	[ $kind = rust ] || step caught "$kind: an exception gets through"
	timeout 100 "$cairn" detach "$pid" >/dev/null 2>&1
	is "$(code "$pid" "$program")" "$before" "$kind: and left again"
	end "$pid"

	cd "$scratch"
	begin "$cairn" run -q --engine cairn --period 16K -o "$scratch/left.heap" -- "$program" || broken "$kind starts under cairn run"
	cd "$root"
	pid=$(pgrep -P "$host_PID" -x "$kind")
	step holds
	is "$(within "$pid" "${sites[@]}" hold_new=8 $([ $kind = rust ] || echo hold_nothrow=8))" "" "$kind: under cairn run, each call site has what it holds"
	[ $kind = rust ] || { step freed && step caught "$kind: an exception gets through" && is "$(within "$pid" hold_new=16)" "" "$kind: and counting goes on"; }
	is "$(cat "$scratch/err")" "" "$kind: nothing is said"
	end "$pid"
done

# A jemalloc without its profiler is not told of it, and complains of nothing.
sed 's|heap_v2/%|heap_vX/%|' "$scratch/prefixed" >"$scratch/unable"
chmod +x "$scratch/unable"
cd "$scratch"
begin "$cairn" run -q --period 16K -o "$scratch/left.heap" -- "$scratch/unable" || broken "a jemalloc without profiling starts"
cd "$root"
pid=$(pgrep -P "$host_PID")
step holds
is "$(tr '\0' '\n' <"/proc/$pid/environ" | grep -c MALLOC_CONF)$(cat "$scratch/err")" 0 "a jemalloc without profiling gets no setting, and nobody complains"
is "$(within "$pid" "${sites[@]}")" "" "Cairn's own engine counts it"
end "$pid"

# Without names nothing is known of it; the rest is sampled.
strip -o "$scratch/stripped" "$scratch/prefixed"
begin "$scratch/stripped" || broken "the stripped program starts"
pid=$host_PID
reason="jemalloc in $scratch/stripped is not sampled: its functions have no names: keep the symbol table (strip --strip-debug instead of strip), or install the debug file of this build"
like "$("$cairn" doctor "$pid" 2>&1 | tr -s ' ')" "*wrong inside $reason*" "stripped: the doctor says why it cannot be counted"
like "$(timeout 100 "$cairn" attach --period 16K "$pid" 2>&1)" "cairn: note: $reason*attached, sampling*" "stripped: attach says so in the same words"
step holds
timeout 100 "$cairn" detach "$pid" >/dev/null
end "$pid"

# Somebody else's change of an entry is respected.
begin "$scratch/prefixed" || broken "the program starts again"
pid=$host_PID
python3 - "$pid" "$scratch/prefixed" "$(nm "$scratch/prefixed" | awk '$3 == "_rjem_calloc" {print $1}')" <<'P'
import sys
pid, path, offset = sys.argv[1:]
start = next(int(line.split("-")[0], 16) for line in open("/proc/%s/maps" % pid) if line.split()[-1] == path)
with open("/proc/%s/mem" % pid, "r+b", 0) as memory:
    memory.seek(start + int(offset, 16))
    memory.write(b"\xcc")
P
before=$(code "$pid" "$scratch/prefixed")
said=$(timeout 100 "$cairn" attach --period 16K "$pid" 2>&1)
like "$said" "cairn: note: jemalloc (_rjem_) in $scratch/prefixed is not sampled: its function _rjem_calloc cannot be counted: its code is not what its file has*attached*" \
	"a breakpoint in one of its functions: the whole allocator is left alone, and the function is named"
timeout 100 "$cairn" detach "$pid" >/dev/null
is "$(code "$pid" "$scratch/prefixed")" "$before" "and the breakpoint is still there"
end "$pid"

# One that comes later keeps detach from being done, and from saying so.
begin "$scratch/prefixed" || broken "the program starts once more"
pid=$host_PID
before=$(code "$pid" "$scratch/prefixed")
timeout 100 "$cairn" attach -q "$pid" >/dev/null 2>&1
entry=$(nm "$scratch/prefixed" | awk '$3 == "_rjem_calloc" {print $1}')
# poke BYTE: over the first byte of the jump there, behind a landing pad
poke() {
	python3 - "$pid" "$scratch/prefixed" "$entry" "$1" <<-'P'
		import sys
		pid, path, offset, byte = sys.argv[1:]
		start = next(int(line.split("-")[0], 16) for line in open("/proc/%s/maps" % pid) if line.split()[-1] == path) + int(offset, 16)
		with open("/proc/%s/mem" % pid, "r+b", 0) as memory:
		    memory.seek(start)
		    start += 4 if memory.read(4) == b"\xf3\x0f\x1e\xfa" else 0
		    memory.seek(start)
		    memory.write(bytes([int(byte, 16)]))
	P
}
poke cc
said=$(timeout 100 "$cairn" detach "$pid" 2>&1)
is "$?" 1 "a breakpoint over a jump of ours: detach fails"
like "$said" "*the code at * is not what its file has: something else has changed it, such as a breakpoint*" "and says where it is"
poke e9
holds "without it, detach is done" timeout 100 "$cairn" detach "$pid"
is "$(code "$pid" "$scratch/prefixed")" "$before" "and every byte is as it was"
end "$pid"

# A library that is unloaded, and loaded again: what was changed in it has gone with it.
cat >"$scratch/loads.c" <<'C'
#include <dlfcn.h>
#include <stdio.h>
int main(int count, char **arguments)
{
	char line[16];
	void *library = NULL;
	for (const char *word = "ready"; printf("%s\n", word), fflush(stdout), fgets(line, sizeof line, stdin); word = "done") {
		if (line[0] == 'o')
			library = dlopen(arguments[count - 1], RTLD_NOW);
		else if (line[0] == 'c')
			dlclose(library);
		else
			((void (*)(void))dlsym(library, "hold_inside"))();
	}
	return 0;
}
C
holds "the library is built" cc -O1 -g -shared -fPIC -fno-builtin -o "$scratch/libinside.so" tests/e2e/inside-library.c
holds "and what loads it" cc -O1 -o "$scratch/loads" "$scratch/loads.c" -ldl
begin "$scratch/loads" "$scratch/libinside.so" || broken "it starts"
pid=$host_PID
order() {
	echo "$1" >&"${host[1]}"
	read -r -t 60 said <&"${host[0]}"
}
order open
timeout 100 "$cairn" attach -q --period 16K "$pid" >/dev/null 2>&1
order hold
is "$(within "$pid" hold_inside=8)" "" "a library that was loaded later is counted"
order close
is "$("$cairn" status "$pid" 2>&1 | grep -c -e '^pid:' -e 'allocators inside')" 1 "unloaded, it is not counted any more"
order open
like "$("$cairn" doctor "$pid" 2>&1 | tr -s ' ')" "*wrong inside mimalloc in $scratch/libinside.so is not sampled*" "loaded again, it is not, and the doctor says so"
like "$(timeout 100 "$cairn" attach "$pid" 2>&1)" "*counts mimalloc in $scratch/libinside.so*" "attach counts it again"
order hold
is "$(within "$pid" hold_inside=16)" "" "with what it held before"
holds "detach" timeout 100 "$cairn" detach "$pid"
end "$pid"

# Under cairn run it is counted when it is loaded, also where the same program has loaded something before that only looks like it.
echo 'void resembles_mi_free(void) {} void hold_inside(void) {}' >"$scratch/resembles.c"
holds "a library that only looks like it is built" cc -shared -fPIC -o "$scratch/libresembles.so" "$scratch/resembles.c"
cat >"$scratch/both" <<SH
printf 'open\nhold\n' | "$scratch/loads" "$scratch/libresembles.so" >"$scratch/first"
exec "$scratch/loads" "$scratch/libinside.so"
SH
begin "$cairn" run -q --engine cairn --period 16K -o "$scratch/left.heap" -- sh "$scratch/both" || broken "it starts under cairn run"
pid=$(pgrep -P "$host_PID" -x loads)
is "$(cat "$scratch/first" | tr '\n' ' ')" "ready done done " "the first has run"
order open
order hold
is "$(within "$pid" hold_inside=8)" "" "under cairn run, a library that was loaded later is counted"
is "$(cat "$scratch/err")" "" "and nothing is said"
end "$pid"
done_testing
