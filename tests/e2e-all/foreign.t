#!/usr/bin/env bash
# Programs of other machines, of 32 and 64 bits, little- and big-endian, against llvm-symbolizer: every instruction of the sample's C part,
# by DWARF and by symbol tables. And forms that only some of them have: a .debug_aranges with zeros in its midst, functions without a size.
. tests/e2e/lib.sh
. tests/e2e/agree.sh
need llvm-symbolizer llvm-readelf python3

# text FILE: an address in each four bytes of its code
text() {
	llvm-readelf -SW "$1" | python3 -c '
import re, sys
for line in sys.stdin:
    found = re.search(r"\] \.text +PROGBITS +([0-9a-f]+) [0-9a-f]+ ([0-9a-f]+)", line)
    if found:
        start, size = (int(part, 16) for part in found.groups())
        print(*map(hex, range(start, start + size, 4)), sep="\n")'
}

# same NAME FILE
same() {
	text "$2" >"$scratch/all"
	# The linker's stubs and places inside of functions have private labels; the oracle takes those for functions, and we do not.
	oracle "$2" <"$scratch/all" |
		awk '/^0x/ { at = $0; next } { if (at != "" && !/plt_|got_label|__glink|load_gp|^\$/) print at; at = "" }' >"$scratch/addresses"
	oracle "$2" <"$scratch/addresses" >"$scratch/theirs"
	"$cairn" addr2line -a -f -i -C -e "$2" <"$scratch/addresses" >"$scratch/ours"
	python3 tests/e2e/agree.py compare "$2" "$scratch/ours" "$scratch/theirs" >"$scratch/said"
	ok $? "$1"
	cat "$scratch/said"
}

cat >"$scratch/driver.c" <<'C'
int summed(const int *values, int count);
void empty(void);
void unused(void) {}
int main(int count, char **arguments) { int values[4] = {count, 2, 3, arguments[0][0]}; empty(); return summed(values, 4); }
C
cat >"$scratch/summed.c" <<'C'
static inline int tripled(int value) { return value > 2 ? value * 3 : value; }
int summed(const int *values, int count) { int sum = 0; for (int i = 0; i < count; i++) sum += tripled(values[i]); return sum; }
void empty(void) {}
C
for machine in i686-linux-gnu arm-linux-gnueabihf powerpc-linux-gnu powerpc64-linux-gnu s390x-linux-gnu riscv64-linux-gnu \
	aarch64-linux-gnu; do
	for flags in '-g -O0' '-O2 -gdwarf-4' '-O2 -gdwarf-5 -ffunction-sections -Wl,--gc-sections' '-g -O1 -gz' '-O2 -gsplit-dwarf' \
		'-O2'; do
		rm -f "$scratch/program"
		(cd "$scratch" && $machine-gcc $flags -o program driver.c summed.c) && same "$machine $flags" "$scratch/program"
	done
done
done_testing
