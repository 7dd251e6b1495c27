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

for how in cut bytes headers swapped; do
	for file in plain packed; do
		damaged $how 40 "$scratch/$file"
		worst=0
		for bad in "$scratch"/bad.*; do
			(ulimit -v 4000000; exec timeout 100 "$cairn" addr2line -a -f -i -C -e "$bad" <"$scratch/addresses" >"$scratch/out" 2>"$scratch/err")
			code=$?
			# 0 is an answer, 1 a sentence; all else is a crash, a hang, or memory without bounds
			[ $code -le 1 ] || { worst=$code; echo "# $(basename "$bad"): exit code $code"; }
			[ $code -ne 1 ] || [ -s "$scratch/err" ] || { worst=99; echo "# $(basename "$bad"): refused without a word"; }
		done
		ok $worst "$file, $how: 40 variants, each an answer or a sentence"
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
done_testing
