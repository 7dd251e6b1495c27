#!/usr/bin/env bash
# Large compressed debug information: little of it is in memory at a time, and the answers are those of the same program uncompressed.
. tests/e2e/lib.sh
need gcc objcopy python3 nm readelf shuf
cd "$scratch" || exit 1
export CAIRN_THREADS=2

# Two kinds of unit, each of more than a megabyte of types, and as much of lines, linked many times. Names of two letters are in .debug_info itself, and in
# DWARF 4 those of source files in .debug_line.
for kind in a b; do
	python3 - $kind >$kind.c <<'P'
import sys
kind = sys.argv[1]
for i in range(12000):
    print(f"struct part_{i} {{ int first_{i}; long second_{i}; struct part_{max(i - 1, 0)} *next_{i}; char *name_{i}; }};")
print(f"static inline int {kind}i(int x) {{ volatile int y = x; for (int j = 0; j < x; j++) y += j; return y; }}")
for i in range(40):
    print(f"__attribute__((used)) static int {kind}_outer_{i}(int x) {{ return {kind}i(x) + {i}; }}")
print(f'__attribute__((used)) static int {kind}l(void) {{ asm volatile(".set line, 1\\n.rept 160000\\n.set line, (line * 7919) % 60013\\n.loc 1 line\\nnop\\n.endr"); return 1; }}')
P
	gcc -O2 -gdwarf-4 -fno-eliminate-unused-debug-types -c $kind.c || broken 'gcc could not build the sample'
done
copies=$(printf ' %s.o' {a,a,a}{,,,,} {b,b,b}{,,,,})
echo 'int main(void) { return 0; }' | gcc -o plain -x c - -x none $copies || broken 'gcc could not link the sample'
objcopy --compress-debug-sections=zlib plain packed && objcopy --remove-section=.debug_aranges packed bare
nm --defined-only plain | python3 -c '
import sys
for line in sys.stdin:
    start, _, name = line.split()
    steps = (2, 9) if "_outer_" in name else range(1, 160000, 9973) if name in ("al", "bl") else ()
    for step in steps:
        print(hex(int(start, 16) + step))' >addresses
shuf --random-source=plain -n 60 addresses >some
size=$(readelf -SW plain | python3 -c '
import re, sys
print(sum(int(size, 16) for size in re.findall(r"\.debug_(?:info|line) +PROGBITS +\w+ +\w+ +(\w+)", sys.stdin.read())) >> 10)')

# names FILE: answers for all addresses, and in $peak the memory that took, in KB
names() {
	peak=$(python3 - "$cairn" addr2line -a -f -i -e "$1" <<'P'
import os, subprocess, sys
child = subprocess.Popen(sys.argv[1:], stdin=open("addresses"), stdout=open("names.txt", "w"), stderr=open("log", "w"))
print(os.wait4(child.pid, 0)[2].ru_maxrss)
P
	)
}
names plain
cp names.txt plain.txt
is "$(grep -c '^a_outer_1$' plain.txt) $(grep -c '^ai$' plain.txt) $(grep -c '/a\.c:[1-9]' plain.txt)" '30 1200 2655' 'uncompressed, all addresses have names and lines'
for file in packed bare; do
	names $file
	holds "$file: the same answers" cmp plain.txt names.txt
	[ "$peak" -gt 0 ] && [ "$peak" -lt $((size * 9 / 10)) ]
	ok $? "$file: $peak KB of memory for sections of $size KB"
done

# One address after the other, here and there: what has left memory is decompressed again.
python3 - "$cairn" addr2line -a -f -i -e packed >slow.txt <<'P'
import subprocess, sys
child = subprocess.Popen(sys.argv[1:], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
for line in open("some"):
    child.stdin.write(line)
    child.stdin.write("0\n")
    child.stdin.flush()
    for answer in iter(child.stdout.readline, "0x0000000000000000\n"):
        if not answer:
            sys.exit("it has ended")
        print(answer, end="")
    child.stdout.readline(), child.stdout.readline()
P
"$cairn" addr2line -a -f -i -e plain <some >fast.txt
holds 'one after the other, the same answers' cmp fast.txt slow.txt
is "$(grep -c '^0x' slow.txt)" 60 'to all addresses'

# Damage in the middle of .debug_info: what comes before has names, the rest those of the symbol table.
python3 - <<'P'
import re, subprocess
listing = subprocess.run(["readelf", "-SW", "packed"], capture_output=True, text=True).stdout
offset, size = (int(x, 16) for x in re.search(r"\.debug_info +PROGBITS +\w+ +(\w+) +(\w+)", listing).groups())
data = bytearray(open("packed", "rb").read())
data[offset + size // 2 : offset + size // 2 + 64] = b"\xff" * 64
open("damaged", "wb").write(data)
P
names damaged
is "$(grep -c '^0x' names.txt)" "$(grep -c '^0x' plain.txt)" 'damaged: an answer to every address'
[ "$(grep -c '^ai$' names.txt)" -ge 600 ] && [ "$(grep -c '^bi$' names.txt)" -lt 1200 ]
ok $? 'with the names of the part that is whole'
done_testing
