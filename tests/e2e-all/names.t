#!/usr/bin/env bash
# Names of languages and compilers that have their own ways: D, Fortran, Zig, C++ coroutines, clang's split DWARF without its other half, and
# what linkers add.
. tests/e2e/lib.sh
need gcc g++ gdc gfortran clang++ nm objcopy llvm-symbolizer powerpc64le-linux-gnu-gcc
cd "$scratch" || exit 1
# address_of PROGRAM PATTERN: of the first symbol like that
address_of() { nm "$1" | awk -v pattern="$2" '$3 ~ pattern { print "0x" $1; exit }'; }
# name_of PROGRAM PATTERN [OPTION...]: what the code at that symbol is called
name_of() { "$cairn" addr2line -f "${@:3}" -e "$1" "$(address_of "$1" "$2")" | head -n 1; }

cat >d.d <<'D'
import core.stdc.stdlib;
T* make(T)(int n) { return cast(T*) malloc(n * T.sizeof); }
void main() { int k = 3; void nested() { auto p = make!int(k); free(p); } nested(); auto f = (int x) { k += x; return make!double(x); }; f(2); }
D
gdc -g -O0 d.d -o d 2>log || broken 'gdc builds a program'
for symbol in $(nm d | awk '$2 ~ /[tTW]/ && $3 ~ /^_D1d/ { print $3 }'); do
	is "$(name_of d "^$symbol\$")" "$symbol" "D: $symbol has its symbol's name"
done
is "$(nm d | grep -c ' [tTW] _D1d.*nested\|_D1d.*lambda')" 2 'a nested function and a lambda among them'

cat >f.f90 <<'F'
module shapes
contains
subroutine grow(n)
 integer :: n
 real, allocatable, save :: a(:)
 allocate(a(n))
end subroutine
end module
program simulate
 use shapes
 call grow(5)
end program
F
gfortran -g f.f90 -o f 2>log || broken 'gfortran builds a program'
is "$(name_of f '^MAIN__$') $(name_of f grow) $(name_of f '^main$')" 'MAIN__ __shapes_MOD_grow main' 'Fortran: the main program has the name that other tools give it'

cat >c.cc <<'C'
#include <coroutine>
#include <cstdlib>
struct task { struct promise_type { task get_return_object() { return {std::coroutine_handle<promise_type>::from_promise(*this)}; }
	std::suspend_always initial_suspend() { return {}; } std::suspend_always final_suspend() noexcept { return {}; }
	void return_void() {} void unhandled_exception() {} }; std::coroutine_handle<promise_type> h; };
task work(int n) { void *p = malloc(n); co_await std::suspend_always{}; free(p); }
int main(int c, char **) { task t = work(c); t.h.resume(); t.h.resume(); t.h.destroy(); }
C
g++ -std=c++20 -g -O0 c.cc -o c 2>log || broken 'g++ builds a coroutine'
like "$(name_of c 'work.*[.]actor$')" '*.actor' 'C++: the body of a coroutine'
like "$(name_of c 'work.*[.]destroy$')" '*.destroy' 'and what destroys it have names of their own'
printf 'heap_v2/1\n  t*: 2: 200 [0: 0]\n@ %#x\n  t*: 1: 100 [0: 0]\n@ %#x\n  t*: 1: 100 [0: 0]\n\nMAPPED_LIBRARIES:\n555555554000-555555558000 r-xp 00000000 fe:00 1 %s\n' \
	$((0x555555554005 + $(address_of c 'work.*[.]actor$'))) $((0x555555554005 + $(address_of c 'work.*[.]destroy$'))) "$scratch/c" >c.heap
is "$("$cairn" collapsed c.heap | sort | tr '\n' ' ')" 'work.actor 100 work.destroy 100 ' 'in reports, too'

# Zig's names, as its compiler writes them, in a program of our own
printf 'int zig(int n) { return n; }\nint plain(int n) { return n + 1; }\nint main(void) { return zig(plain(1)); }\n' >z.c
gcc -O0 -c z.c && objcopy --redefine-sym 'zig=__zig_is_named_enum_value_@typeInfo(main.Kind).Enum.tag_type' --redefine-sym 'plain=memory@GLIBC_2.2.5' z.o renamed.o
"$cairn" addr2line -f -e renamed.o 0 >out 2>log
is "$(head -n 1 out)" '__zig_is_named_enum_value_@typeInfo(main.Kind).Enum.tag_type' "Zig: a name is whole that contains '@'"
is "$("$cairn" addr2line -f -e renamed.o "0x$(nm renamed.o | awk '/memory/ { print $1 }')" | head -n 1)" memory 'a version is no part of a name'

# Skeletons that have the inlined calls themselves
cat >a.cc <<'C'
#include <cstdlib>
namespace app {
template <class F> inline __attribute__((always_inline)) int apply(F f, int n) { return f(n) + 1; }
static inline __attribute__((always_inline)) int twice(int n) { return rand() * n; }
__attribute__((noinline)) int go(int n) { return apply([](int k) { return twice(k) ^ rand(); }, n); }
}
int main(int c, char **) { return app::go(c); }
C
for version in 4 5; do
	clang++ -gdwarf-$version -O2 -gsplit-dwarf -fsplit-dwarf-inlining -c a.cc -o a.o 2>log && clang++ a.o -o skeleton || broken 'clang builds a skeleton'
	start=$(address_of skeleton app2go)
	places=$(for i in $(seq 0 24); do printf '%#x ' $((start + i)); done)
	"$cairn" addr2line -a -f -i -e skeleton $places | sed 's/ (discriminator.*//' >whole
	rm a.dwo
	"$cairn" addr2line -a -f -i -e skeleton $places 2>/dev/null | sed 's/ (discriminator.*//' >alone
	# Names of inlined functions are the linker's there, and those of the source here.
	holds "DWARF $version: without the other half, the same calls inlined" diff <(grep '^0x\|^/.*a.cc:' whole) <(grep '^0x\|^/.*a.cc:' alone)
	is "$(grep -c '^twice$' alone) $(grep -c '^_ZN3app2goEi$' alone)" "$(grep -c 'twice' whole) 25" 'with their names, and the function by its symbol'
done

printf '#include <stdio.h>\nint main(void) { puts("x"); return 0; }\n' >p.c
powerpc64le-linux-gnu-gcc -g p.c -o p 2>log || broken 'a program for 64-bit PowerPC links'
like "$(name_of p plt_call.puts)" '????????.plt_call.puts' 'PowerPC: what the linker adds has a name'
is "$("$cairn" addr2line -f -e p "$(printf %#x $(($(address_of p plt_call.puts) + 8)))" | head -n 1)" "$(name_of p plt_call.puts)" 'in all of it'
cd "$root" || exit 1
done_testing
