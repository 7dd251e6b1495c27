#!/usr/bin/env bash
# Programs that are cut short or damaged: an answer or a sentence, soon, and never a crash.
. tests/e2e/lib.sh
need gcc objcopy python3 nm timeout
fixtures=$PWD/tests/fixtures/symbol

gcc -O2 -g -c -o "$scratch/plain.o" "$fixtures/plain.c" && printf 'int plain_sum(const int*, int); int plain_outer(int); int main(void) { return plain_sum(0, 0) + plain_outer(1); }\n' |
	gcc -O2 -g -o "$scratch/plain" -x c - -x none "$scratch/plain.o" || broken 'gcc could not build the sample'
objcopy --compress-debug-sections=zlib "$scratch/plain" "$scratch/packed"
nm -S --defined-only "$scratch/plain" | awk '$3 ~ /[tT]/ && NF == 4 { print $1 }' >"$scratch/addresses"
echo 0 >>"$scratch/addresses"

# damaged HOW COUNT FILE: so many variants of FILE as $scratch/bad.N
damaged() {
	rm -f "$scratch"/bad.*
	python3 - "$1" "$2" "$3" "$scratch/bad" <<'P'
import random, subprocess, sys
how, count, path, out = sys.argv[1], int(sys.argv[2]), sys.argv[3], sys.argv[4]
data = open(path, "rb").read()
sections = []
for line in subprocess.run(["readelf", "-SW", path], capture_output=True, text=True).stdout.replace("[ ", "[").splitlines():
    parts = line.split()
    if len(parts) > 6 and parts[1].startswith((".debug_", ".symtab", ".strtab")):
        sections.append((int(parts[4], 16), int(parts[5], 16)))
random.seed(how)
for i in range(count):
    bad = bytearray(data)
    if how == "cut":
        bad = bad[: random.randrange(len(bad))]
    elif how == "bytes":  # a few bytes of the sections that are read
        for _ in range(random.choice([1, 5, 50])):
            offset, size = random.choice(sections)
            bad[offset + random.randrange(size)] = random.choice([0, 1, 0x7F, 0x80, 0xFF, random.randrange(256)])
    elif how == "headers":  # the ELF header, program headers, section headers
        table = int.from_bytes(data[40:48], "little")
        for _ in range(random.choice([1, 3])):
            place = random.choice([random.randrange(16, 64 + 56 * 8), table + random.randrange(len(data) - table)])
            bad[place] = random.choice([0, 1, 0x7F, 0x80, 0xFF, random.randrange(256)])
    elif how == "swapped":  # one section's bytes in place of another's
        (a, a_size), (b, b_size) = random.sample(sections, 2)
        size = min(a_size, b_size)
        bad[a : a + size] = data[b : b + size]
    open(f"{out}.{i}", "wb").write(bad)
P
}

variants=$(rounds 10 40)
for how in cut bytes headers swapped; do
	for file in plain packed; do
		damaged $how "$variants" "$scratch/$file"
		worst=0
		for bad in "$scratch"/bad.*; do
			(ulimit -v 4000000; exec timeout 100 "$cairn" addr2line -a -f -i -C -e "$bad" <"$scratch/addresses" >"$scratch/out" 2>"$scratch/err")
			code=$?
			# 0 is an answer, 1 a sentence; all else is a crash, a hang, or memory without bounds
			[ $code -le 1 ] || { worst=$code; echo "# $(basename "$bad"): exit code $code"; }
			[ $code -ne 1 ] || [ -s "$scratch/err" ] || { worst=99; echo "# $(basename "$bad"): refused without a word"; }
		done
		ok $worst "$file, $how: $variants variants, each an answer or a sentence"
	done
done

# A few megabytes that would be read for hours, or unfold to more than memory holds.
mkdir "$scratch/hostile" && python3 tests/e2e/make-hostile.py "$scratch/hostile"
for kind in shared-table back-and-forth endless-files underscores long-symbols long-names split-in-itself descriptors; do
	(ulimit -v 4000000; [ $kind != descriptors ] || ulimit -t 60; exec timeout 600 "$cairn" addr2line -f -i -C -e "$scratch/hostile/$kind" <"$scratch/hostile/addresses" >"$scratch/out" 2>"$scratch/err")
	is "$?: $(wc -l <"$scratch/out")" '0: 24002' "$kind: an answer for every address"
done
(ulimit -v 4000000 -t 60; exec "$cairn" addr2line -e "$scratch/hostile/ones" <"$scratch/hostile/addresses" >"$scratch/out" 2>"$scratch/err")
is "$?: $(wc -l <"$scratch/out")" '0: 12001' 'ones: an answer for every address'
is "$("$cairn" addr2line -f -e "$scratch/hostile/ones" 1000 | head -n 1 | tail -c 3)" 12 'with the name that DWARF has'

# Where the debug information says that more of it lies, there may be a pipe, which nobody writes to, or a device without an end.
for place in pipe device; do
	mkdir "$scratch/$place" && cp "$fixtures/plain.c" "$scratch/$place/"
	(cd "$scratch/$place" && printf 'int plain_sum(const int*, int); int plain_outer(int); int main(void) { return plain_sum(0, 0) + plain_outer(1); }\n' >main.c &&
		gcc -O2 -g -gsplit-dwarf -c plain.c && gcc -o plain main.c plain.o && rm plain.dwo &&
		if [ $place = pipe ]; then mkfifo plain.dwo; else ln -s /dev/zero plain.dwo; fi)
	(ulimit -v 4000000; exec timeout 100 "$cairn" addr2line -f -e "$scratch/$place/plain" "$(nm "$scratch/$place/plain" | awk '$3 == "plain_outer" { print $1 }')" >"$scratch/out" 2>&1)
	is "$?: $(head -n 1 "$scratch/out")" '0: plain_outer' "a .dwo that is a $place is passed over"
done

# named FILE: what is said of plain_outer in it, with 4 GB of memory
named() {
	(ulimit -v 4000000; exec timeout 100 "$cairn" addr2line -f -e "$1" "$(nm "$1" | awk '$3 == "plain_outer" { print $1 }')" >"$scratch/out" 2>&1)
	echo "$?: $(head -n 1 "$scratch/out")"
}

# Or a file of the kernel's, which may have no end: named as it is, by other ways, or through a link beside the program.
mkdir "$scratch/kernel"
cd "$scratch/kernel" || exit 1
gcc -O2 -g -gsplit-dwarf -gdwarf-5 -S -o plain.s "$fixtures/plain.c" && mkdir up && ln -s /proc/self/pagemap here.dwo && ln -s /proc/self proc &&
	printf 'int plain_sum(const int*, int); int plain_outer(int); int main(void) { return plain_sum(0, 0) + plain_outer(1); }\n' >main.c
for name in /proc/self/pagemap //proc//./self/pagemap /usr/../proc/self/pagemap ../../../../../../proc/self/pagemap /proc/self/root/proc/self/pagemap \
	"$PWD/here.dwo" here.dwo proc/pagemap /dev/zero /sys/kernel/notes /proc/kmsg /dev/watchdog; do
	sed "s#\"[^\"]*\.dwo\"#\"$name\"#" plain.s >hostile.s
	gcc -o hostile main.c hostile.s
	is "$(named hostile)" '0: plain_outer' "a .dwo called ${name#"$PWD/"} is passed over"
done
# So may the shared file and the debug file be said to be there.
for name in /proc/self/pagemap ../../../../../../../proc/self/pagemap; do
	{ printf '%s\0' "$name"; head -c 20 /dev/zero; } >alt
	objcopy --add-section .gnu_debugaltlink=alt "$scratch/plain" shared
	is "$(named shared)" '0: plain_outer' "a shared debug file called $name is passed over"
done
printf x >linked.debug && objcopy --strip-debug "$scratch/plain" linked && objcopy --add-gnu-debuglink=linked.debug linked
ln -sf /proc/self/pagemap linked.debug && ln -s /proc/self/pagemap linked.dwp
is "$(named linked)" '0: plain_outer' 'a debug file that is a link to there is passed over'
cd "$root" || exit 1
(ulimit -v 4000000; exec timeout 100 "$cairn" top /proc/self/pagemap >"$scratch/out" 2>&1)
is "$?: $(cat "$scratch/out")" '1: cairn: /proc/self/pagemap: more than 512 MiB of input' 'named as a dump, it is read only so far'

# A library that is copied over while it is read loses its end for a moment.
mkdir "$scratch/cut"
python3 -c 'for i in range(4000): print("int f%d(int x) { return x * %d; }" % (i, i))
print("int main(void) { return 0; }")' >"$scratch/cut/t.c"
gcc -w -g -O0 -o "$scratch/cut/t" "$scratch/cut/t.c" && cp "$scratch/cut/t" "$scratch/cut/whole"
{
	printf 'heap_v2/1\n  t*: 1: 1 [0: 0]\n'
	nm "$scratch/cut/t" | awk '$3 ~ /^f[0-9]/ { print $1 }' | python3 -c 'import sys
for line in sys.stdin: print("@ 0x%x\n  t*: 1: 100 [0: 0]" % (0x555555554000 + int(line, 16) + 5))'
	printf '\nMAPPED_LIBRARIES:\n555555554000-555556554000 r-xp 00000000 fe:00 1 %s\n' "$scratch/cut/t"
} >"$scratch/cut/dump.heap"
"$cairn" top --no-cache --rows 9999 "$scratch/cut/dump.heap" >"$scratch/cut/truth" 2>/dev/null
is "$(grep -c ' f[0-9]*$' "$scratch/cut/truth")" 4000 'a program of 4,000 functions'
python3 - "$scratch/cut" <<'P' &
import os, sys, time
path, whole = sys.argv[1] + "/t", open(sys.argv[1] + "/whole", "rb").read()
while not os.path.exists(sys.argv[1] + "/stop"):
    os.truncate(path, 8192); time.sleep(0.002)
    with open(path, "r+b") as file: file.write(whole)
    time.sleep(0.01)
os.rename(sys.argv[1] + "/whole", path)
P
cutter=$!
worst=0
for i in 1 2 3 4 5 6 7 8 9 10; do
	"$cairn" top "$scratch/cut/dump.heap" >"$scratch/out" 2>&1
	code=$?
	[ $code -le 1 ] || { worst=$code; echo "# exit code $code"; }
done
ok $worst 'it is cut short again and again: ten answers'
touch "$scratch/cut/stop"
wait $cutter
"$cairn" top --rows 9999 "$scratch/cut/dump.heap" >"$scratch/out" 2>/dev/null
holds 'and afterwards, nothing wrong is remembered' cmp "$scratch/out" "$scratch/cut/truth"

# Debug information names any file as source code, and a listing is made to be shown to others.
mkdir "$scratch/source" && printf 'the secret of this user\n' >"$scratch/source/secret"
printf '#include <stdlib.h>\n#line 1 "%s"\nint main(void) { return malloc(9) == 0; }\n' "$scratch/source/secret" >"$scratch/source/t.c"
gcc -g -O0 -o "$scratch/source/t" "$scratch/source/t.c"
printf 'heap_v2/1\n  t*: 1: 100 [0: 0]\n@ 0x%x\n  t*: 1: 100 [0: 0]\n\nMAPPED_LIBRARIES:\n555555554000-555555558000 r-xp 00000000 fe:00 1 %s\n' \
	$((0x$(nm "$scratch/source/t" | awk '$3 == "main" { print $1 }') + 0x555555554000 + 9)) "$scratch/source/t" >"$scratch/source/t.heap"
# listed ARGUMENT...: how many lines of the secret a listing has
listed() { (cd / && "$cairn" list main "$scratch/source/t.heap" "$@" 2>&1) | tee "$scratch/out" | grep -c 'the secret'; }
is "$(listed)" 1 'the source of our own program is listed'
if [ "$(id -u)" = 0 ]; then
	chown 65534 "$scratch/source/t"
	is "$(listed)" 0 'a file that only we may read is not, for a program of another user'
	like "$(cat "$scratch/out")" '*source withheld*--source-path*' 'with the reason'
	is "$(listed -o "$scratch/out.html"; grep -c 'the secret' "$scratch/out.html")" '0
0' 'nor in a page'
	is "$(listed --source-path "$scratch/source")" 1 'unless we ask for it'
	chown 0 "$scratch/source/t" && chown 65534 "$scratch/source/t.heap"
	is "$(listed)" 0 'nor for a dump of another user'
	is "$(cd / && "$cairn" jeprof --list=main "$scratch/source/t" "$scratch/source/t.heap" 2>&1 | grep -c 'the secret')" 0 'nor by jeprof'
	chown 0 "$scratch/source/t.heap"
else
	skip 'a program of another user' 'only root can make one'
fi
done_testing
