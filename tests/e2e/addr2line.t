#!/usr/bin/env bash
# `cairn addr2line` beside GNU addr2line: the same options, the same bytes, behind a pipe and under its name.
. tests/e2e/lib.sh
fixtures=$PWD/tests/fixtures/symbol
need gcc g++ addr2line nm python3

cd "$scratch" && cp "$fixtures/plain.c" . && cat >main.c <<'C'
int plain_sum(const int *numbers, int count);
int plain_outer(int depth);
int main(void) { int numbers[] = {3, 1, 2}; return plain_sum(numbers, 3) + plain_outer(1) > 0; }
C
gcc -O1 -g -o a.out plain.c main.c || broken 'gcc could not build the sample'
strip -o stripped a.out
mapfile -t addresses < <(nm -S --defined-only a.out | awk '$3 ~ /[tT]/ && NF == 4 && $4 !~ /^_/ { print $1 }')
text=$(readelf -SW a.out | awk '{ for (i = 1; i < NF; i++) if ($i == ".text") print $(i + 2) }')
many=("${addresses[@]}" 0 1 zz 0xffffffffffffffff 7fffffffffffffff)
printf '%s\n' "${many[@]}" >list

# GNU adds a discriminator to some lines; nobody else does
gnu() { command addr2line "$@" 2>/dev/null | sed 's/ (discriminator [0-9]*)//'; }
same() { is "$("$cairn" addr2line "$@" 2>/dev/null)" "$(gnu "$@")" "addr2line ${*:0:6}"; }

for options in '' -f -i -a -p -s '-f -i' '-a -f -p' '-a -f -i -p -s' '-f -C' '-afipsC' '-r -f' '-R -f' '--functions --inlines' '--exe=a.out --addresses' \
	'--pretty-print --functions --demangle=gnu-v3 --basenames'; do
	same $options "${many[@]}"
done
same -e a.out -f "${addresses[0]}"
same -f -j .text $(printf '%x ' $((0x${addresses[0]} - 0x$text)) $((0x${addresses[1]} - 0x$text)))
same -a -f -j .text $(printf '%x ' $((0x${addresses[0]} - 0x$text)) $((0x${addresses[1]} - 0x$text)))
same -a -f -j .init 0 1 100 200 1000 # beyond its end there is nothing
is "$("$cairn" addr2line -f -i -a <list)" "$(gnu -f -i -a <list)" 'addresses from a file on standard input'
is "$(cat list | "$cairn" addr2line -f -i)" "$(gnu -f -i <list)" 'from a pipe'
is "$(printf '%s' "${addresses[0]}" | "$cairn" addr2line)" "$(gnu "${addresses[0]}")" 'a last line without an end'
is "$("$cairn" addr2line -f </dev/null)" '' 'no address, no answer'
echo "-f -s ${addresses[0]}" >words
same @words
is "$("$cairn" addr2line -f -e stripped "${addresses[0]}" | tr '\n' ' ')" '?? ??:0 ' 'a stripped program'

# One line in, its answer out, while the pipe stays open
python3 - "$cairn" "${addresses[@]:0:3}" <<'P' >answers 2>&1
import subprocess, sys, select
program = subprocess.Popen([sys.argv[1], "addr2line", "-f"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1)
for address in sys.argv[2:]:
    program.stdin.write(address + "\n")
    program.stdin.flush()
    assert select.select([program.stdout], [], [], 100)[0], "no answer"
    print(program.stdout.readline(), program.stdout.readline(), sep="", end="")
program.stdin.close()
assert program.wait(100) == 0
P
is "$(cat answers)" "$(gnu -f "${addresses[@]:0:3}")" 'each line is answered while the writer waits'

# Standard input that somebody set not to wait, and a writer that comes late
python3 - "$cairn" "${addresses[0]}" <<'P' >late 2>&1
import fcntl, os, subprocess, sys, time
reader, writer = os.pipe()
fcntl.fcntl(reader, fcntl.F_SETFL, os.O_NONBLOCK)
program = subprocess.Popen([sys.argv[1], "addr2line", "-f"], stdin=reader)
time.sleep(0.2)
os.write(writer, sys.argv[2].encode() + b"\n")
os.close(writer)
sys.exit(program.wait())
P
is "$?: $(cat late)" "0: $(gnu -f "${addresses[0]}")" 'input that does not wait'

# A pipe that somebody set not to wait, and a reader that comes late
yes "$(cat list)" | head -n $((3000 * $(wc -l <list))) >long
python3 - "$cairn" <<'P' >late 2>&1
import fcntl, os, select, subprocess, sys, time
reader, writer = os.pipe()
fcntl.fcntl(writer, fcntl.F_SETFL, os.O_NONBLOCK)
program = subprocess.Popen([sys.argv[1], "addr2line", "-f"], stdin=open("long"), stdout=writer)
os.close(writer)
select.select([reader], [], [])
time.sleep(0.2)
while part := os.read(reader, 1 << 16):
    sys.stdout.buffer.write(part)
sys.exit(program.wait())
P
ok $? 'a pipe that does not wait: exit code 0'
cmp -s late <("$cairn" addr2line -f <long)
ok $? 'and every answer'

# GCC has no linkage names in DWARF for functions that are private to a file: the symbol table has their scopes and parameters
cat >private.cc <<'C'
#include <cstdlib>
namespace { __attribute__((noinline)) int parse(int x) { return x * 3 + rand(); } }
namespace { struct reader { int held; __attribute__((noinline)) reader(int x) : held(x + rand()) {} __attribute__((noinline)) ~reader() { held = rand(); } }; }
static __attribute__((noinline)) int privately(int x) { return parse(x) + 1 + rand(); }
static __attribute__((noinline)) int falls(int x) { if (__builtin_expect(x == 77, 0)) abort(); return x * 5 + rand(); }
template <class T> static __attribute__((noinline)) int sized(T x) { return sizeof x + rand(); }
extern "C" __attribute__((noinline)) int from_c(int x) { return x - 4 + rand(); }
int other(int);
__attribute__((noinline)) int publicly(int x) { return x - 5 + rand(); }
int main(int count, char **)
{
	auto first = [count](int x) __attribute__((noinline)) { return x + count + rand(); };
	auto second = [](int x) __attribute__((noinline)) { return x - 7 + rand(); };
	struct local { __attribute__((noinline)) int member(int x) { return x - 1 + rand(); } } local;
	reader reads(count);
	return first(1) + second(2) + local.member(3) + privately(4) + falls(5) + sized('c') + sized(2L) + from_c(6) + publicly(7) + other(8) + reads.held;
}
C
cat >other.cc <<'C'
#include <cstdlib>
namespace { __attribute__((noinline)) int parse(int x) { return x * 4 + rand(); } }
int other(int x) { return parse(x) + rand(); }
C
flags=(-O2 -g -fno-ipa-icf -fno-ipa-cp -fno-ipa-sra -fno-partial-inlining)
g++ "${flags[@]}" -o private private.cc other.cc || broken 'g++ could not build the sample'
mapfile -t starts < <(nm --defined-only private | awk '$2 ~ /[tTwW]/ && ($3 ~ /^_Z/ || $3 ~ /^(main|from_c)$/) && $3 !~ /\./ { print $1 }')
same -f -e private "${starts[@]}"
same -f -C -e private "${starts[@]}"
names=$("$cairn" addr2line -f -C -e private "${starts[@]}" | grep -v :[0-9?]*$)
is "$(sort <<<"$names" | grep -c 'main::{lambda(int)#[12]}::operator()(int) const')" 2 'two lambdas have two names'
is "$(grep -c '^(anonymous namespace)::parse(int)$' <<<"$names")" 2 'functions of unnamed namespaces have their scope'
is "$(grep -cx 'main\|from_c' <<<"$names")" 2 'main and extern "C" keep their names'
cold=$(nm private | awk '$3 ~ /falls.*\.cold/ { print $1 }')
is "$("$cairn" addr2line -f -C -s -e private "$cold" | head -n 1)" 'falls(int)' 'the cold part of a function has its name'
g++ "${flags[@]}" -gdwarf-2 -gstrict-dwarf -o strict private.cc other.cc
cold=$(nm strict | awk '$3 ~ /falls.*\.cold/ { print $1 }')
is "$("$cairn" addr2line -f -C -s -e strict "$cold" | head -n 1)" 'falls(int)' 'also in strict DWARF 2, where it is described as another function'
# Rust has dots for "::" in the names of implementations; what the compiler adds to a name is still cut off
copy='_ZN75_$LT$alloc..vec..Vec$LT$T$C$A$GT$$u20$as$u20$core..clone..Clone$GT$8my_clone17h0123456789abcdefE'
move='_ZN48_$LT$service..Row$u20$as$u20$core..ops..Moved$GT$7my_move17h0123456789abcdefE'
cat >dots.cc <<C
#include <cstdlib>
static int my_clone(int x) asm("$copy");
static int my_move(int x) asm("$move.llvm.1234567");
__attribute__((noinline)) static int my_clone(int x) { return x * 3 + rand(); }
__attribute__((noinline)) static int my_move(int x) { return x * 5 + rand(); }
int main(int count, char **) { return (my_clone(count) + my_move(count)) & 1; }
C
g++ "${flags[@]}" -o dots dots.cc || broken 'g++ could not build the sample'
# whole NAME: what addr2line prints for the symbol NAME
whole() { "$cairn" addr2line -f -e dots "$(nm dots | awk -v name="$1" '$3 == name { print $1 }')" | head -n 1; }
is "$(whole "$copy")" "$copy" 'a name of Rust is whole, with its dots'
is "$(whole "$move.llvm.1234567")" "$move" 'but for the mark of the compiler'
g++ "${flags[@]}" -gsplit-dwarf -o split private.cc other.cc && objcopy --only-keep-debug private private.debug &&
	objcopy --strip-all --add-gnu-debuglink=private.debug private apart || broken 'the samples could not be made'
is "$("$cairn" addr2line -f -C -e split "${starts[@]}")" "$("$cairn" addr2line -f -C -e private "${starts[@]}")" 'the same with split DWARF'
is "$("$cairn" addr2line -f -C -e apart "${starts[@]}")" "$("$cairn" addr2line -f -C -e private "${starts[@]}")" 'and from a debug file'

# A word is an address if it has only hexadecimal digits or begins with one; any other is a symbol, with an offset behind it
cat >words.cc <<'C'
extern "C" { int add(int x) { return x + 1; } int beef(int x) { return x - 1; } }
namespace space { int inside(int x) { return x * 3; } }
int main(int count, char **) { return add(count) + beef(count) + space::inside(count); }
C
g++ -g -O0 -o words.out words.cc || broken 'g++ could not build the sample'
for word in main main+4 main+0x4 main+010 main+-4 main+4zz main+zz main+ ' main' 'main +2' 'main+2 ' 'main beef' beef beef+2 beef+ add add+1 0xbeef 12zz 0xzz \
	nosuch nosuch+2 + '' '*' _ZN5space6insideEi 'space::inside(int)' 'space::inside(int)+4' 'space::inside' printf .text; do
	same -a -f -e words.out "$word"
done
printf '%s\n' main+4 1139 'space::inside(int)' >words.list
is "$("$cairn" addr2line -a -f -e words.out <words.list)" "$(gnu -a -f -e words.out <words.list)" 'symbols on standard input'
objcopy --only-keep-debug words.out words.debug && strip -o words.stripped words.out && objcopy --add-gnu-debuglink=words.debug words.stripped
is "$("$cairn" addr2line -f -e words.stripped beef+2)" "$(gnu -f -e words.out beef+2)" 'symbols of a debug file'

# Object files: every section begins at 0, and debug information refers to symbols
for flags in '' -ffunction-sections '-ffunction-sections -gz' '-gdwarf-4 -ffunction-sections' '-gdwarf-2 -gstrict-dwarf' -m32; do
	g++ -g -O2 -fno-inline $flags -c -o words.o words.cc || broken "g++ $flags could not build the sample"
	section=.text
	[[ $flags != *function-sections* ]] || section=.text._ZN5space6insideEi
	same -a -f -e words.o -j $section 0 1 2 100 # built with $flags
	same -a -f -e words.o 0 1 2 100
done
g++ -g -O2 -fno-inline -ffunction-sections -c -o words.o words.cc
is "$("$cairn" addr2line -s -f -e words.o beef+0 add+1 _ZN5space6insideEi | tr '\n' ' ')" \
	'beef words.cc:1 add words.cc:1 _ZN5space6insideEi words.cc:2 ' 'a symbol of an object file is looked up in its own section'
objcopy --only-keep-debug words.o words.debug && objcopy --strip-debug --add-gnu-debuglink=words.debug words.o apart.o
same -a -f -e apart.o -j .text.beef 0 1
like "$("$cairn" top --binary words.o "$root/tests/fixtures/small.heap" 2>&1)" '*Self*' 'to other commands it is no program'

# Styles of names
for style in none auto gnu-v3 rust dlang bogus ''; do
	ours=$("$cairn" addr2line -f --demangle="$style" -e words.out _ZN5space6insideEi 2>/dev/null)
	ours="$? $ours"
	theirs=$(command addr2line -f --demangle="$style" -e words.out _ZN5space6insideEi 2>/dev/null)
	is "$ours" "$? $theirs" "--demangle=$style"
done
same -f --demangle=none -C -e words.out _ZN5space6insideEi

# A linker that folds functions with the same code leaves both descriptions: name and line are of one and the same, whoever else is asked for
cat >folded.c <<'C'
int kept;
int before(int x) { return x + 11; }
int here(int x)
{
	kept += x * 7;
	return kept * 5;
}
int there(int x)
{
	kept += x * 7;
	return kept * 5;
}
int behind(int x) { return x * 12345; }
int main(int count, char **words) { return before(count) + here(count) + there(count) + behind(count) + !words; }
C
for linker in gold lld; do
	if gcc -O1 -g -fno-ipa-icf -fno-inline -ffunction-sections -fuse-ld=$linker -Wl,--icf=all folded.c -o folded 2>/dev/null; then
		place() { nm folded | awk -v name="$1" '$3 == name { print $1 }'; }
		alone=$("$cairn" addr2line -e folded -sfp "$(place here)")
		[[ $(place here) = "$(place there)" && $alone =~ ^(here.*:[45]|there.*:(9|10))$ ]]
		ok $? "functions folded by $linker: $alone"
		is "$("$cairn" addr2line -e folded -sfp "$(place here)" "$(place before)" "$(place behind)" "$(place main)" | head -n 1)" "$alone" 'the same among others'
	else
		skip "functions folded by $linker" 'no such linker here'
	fi
done

ln -s "$cairn" addr2line
is "$(./addr2line -f "${addresses[0]}")" "$(gnu -f "${addresses[0]}")" 'linked as addr2line it is that program'
"$cairn" addr2line -e missing 1 >out 2>err
is $? 1 'a missing file: exit code 1'
like "$(cat err)" '*missing*No such file*' 'and a sentence'
like "$("$cairn" addr2line -e list 1 2>&1)" '*not an ELF file*' 'a file that is no program'
like "$("$cairn" addr2line -j .nothing 1 2>&1)" '*no section .nothing*' 'a section that is not there'
"$cairn" addr2line --no-such-option 2>/dev/null
is $? 1 'an unknown option: exit code 1'
like "$("$cairn" addr2line --help)" '*--exe FILE*' '--help'
like "$("$cairn" addr2line -v)" '*cairn*' '--version'

# A file of 32 bits has addresses of eight digits
printf '.globl _start\n_start: nop\nret\n' >narrow.s
as --32 -g -o narrow.o narrow.s && ld -m elf_i386 -o narrow narrow.o || broken 'the program of 32 bits could not be linked'
same -a -f -e narrow "$(nm narrow | sed -n 's/ T _start//p')" 1234 ffffffff

# Code that the linker removed is at address 0 in DWARF. So is the ELF header, which may be in the same segment as code.
cat >removed.c <<'C'
int x;
#define R(a) x = x * a + a; if (x == a) x ^= a * 7;
#define R8(a) R(a##1) R(a##2) R(a##3) R(a##4) R(a##5) R(a##6) R(a##7) R(a##8)
#define R64(a) R8(a##1) R8(a##2) R8(a##3) R8(a##4) R8(a##5) R8(a##6) R8(a##7) R8(a##8)
int kept(int a) { return a * 3 + x; }
int main(int count, char **words) { return kept(count) + !words; }
void removed(void) { R64(1) R64(2) R64(3) R64(4) R64(5) }
C
gcc -g -O1 -fno-inline -ffunction-sections -Wl,--gc-sections -Wl,-z,noseparate-code removed.c -o removed || broken 'the sample could not be linked'
is "$("$cairn" addr2line -f -s -e removed "$(nm removed | sed -n 's/ T main//p')" | head -n 1)" main 'a function that was removed does not name another'

# Symbols without a size, as hand-written assembly has them, reach to the next symbol or to the end of their section.
cat >sizeless.s <<'S'
.text
.globl first, second
first: .skip 40, 0x90
second: .skip 24, 0x90
.section .other, "ax"
.globl third
third: .skip 16, 0x90
.section .last, "ax"
.skip 16, 0x90
S
gcc -nostdlib -static -Wl,-e,first -o sizeless sizeless.s || broken 'the assembly could not be linked'
# at NAME OFFSET: the address so many bytes behind a symbol
at() { printf '%x' $((0x$(nm sizeless | sed -n "s/ [tT] $1\$//p") + $2)); }
is "$("$cairn" addr2line -f -s -e sizeless "$(at first 0)" "$(at first 39)" "$(at second 0)" "$(at second 23)" "$(at third 15)" | grep -v : | tr '\n' ' ')" \
	'first first second second third ' 'a symbol without a size reaches to the next, or to the end of its section'
is "$("$cairn" addr2line -f -e sizeless "$(at third 17)" | head -n 1)" '??' 'but not into another section'

# Starting a thread, and waiting for its turn, takes longer than all else on a small program.
cat >count.c <<'C'
#include <dlfcn.h>
#include <pthread.h>
#include <unistd.h>
int pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*start)(void *), void *argument)
{
	int (*real)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
	*(void **)&real = dlsym(RTLD_NEXT, "pthread_create");
	if (write(2, "thread\n", 7) < 0)
		return 11;
	return real(thread, attributes, start, argument);
}
C
gcc -D_GNU_SOURCE -shared -fPIC -o count.so count.c
gcc -static -O1 -g -o static plain.c main.c
nm -S --defined-only static | awk '$3 ~ /[tT]/ && NF == 4 { print $1 }' | head -n 1500 >list
LD_PRELOAD=$PWD/count.so CAIRN_THREADS=4 "$cairn" addr2line -f -i -C -e static <list 2>err >out
is "$(cat err)" "" "a small static program is named without starting a thread"
is "$(wc -l <out)" $((2 * $(wc -l <list))) "all $(wc -l <list) of its functions"
for i in {1..6}; do cat list; done >long
LD_PRELOAD=$PWD/count.so CAIRN_THREADS=4 "$cairn" addr2line -f -i -C -e static <long 2>err >out
like "$(cat err)" "thread*" "and many answers are printed by several"

# Stock jeprof with our program as its tool names the functions of a real dump. Naming one tool, jeprof wants to be told where the others are.
jeprof=$(command -v jeprof || true)
if [ -n "$jeprof" ] && ldconfig -p | grep -q libjemalloc.so.2; then
	cat >leak.c <<'C'
#include <stdlib.h>
__attribute__((noinline)) static char *leak_some(size_t size) { return malloc(size); }
int main(void) { volatile char *kept = 0; for (int i = 0; i < 1000; i++) kept = leak_some(10000); return kept == 0; }
C
	gcc -O1 -g -o leak leak.c
	LD_PRELOAD=libjemalloc.so.2 MALLOC_CONF=prof:true,lg_prof_sample:0,prof_final:true,prof_prefix:leak ./leak
	tools=addr2line:$PWD/addr2line,$(dirname "$(command -v nm)")/
	like "$("$jeprof" --tools="$tools" --text ./leak leak.*.heap 2>/dev/null)" '*leak_some*' 'stock jeprof works with it'
	is "$("$jeprof" --tools="$tools" --lines --text ./leak leak.*.heap 2>/dev/null | grep leak.c)" \
		"$("$jeprof" --lines --text ./leak leak.*.heap 2>/dev/null | sed 's| (discriminator [0-9]*)||' | grep leak.c)" 'and prints what it prints with GNU addr2line'
else
	skip 'stock jeprof' 'no jeprof with libjemalloc here'
fi
cd - >/dev/null
done_testing
