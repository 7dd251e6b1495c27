#!/usr/bin/env bash
# make mutants: a change that a test notices is counted, one that none notices is listed, and what changes nothing is no mutant.
. tests/e2e/lib.sh
need python3 cc
mkdir -p "$scratch"/tree/{src/base,tests/unit/base,tests/e2e,scripts}
cp scripts/test-index "$scratch/tree/scripts/"
cd "$scratch/tree"
cat >meson.build <<'M'
project('tree', 'c', default_options: ['optimization=2'])
library = static_library('tree', 'src/base/sum.c')
subdir('tests')
executable('cairn', 'src/main.c', link_with: library)
M
echo "executable('base_sum_test', 'unit/base/sum_test.c', link_with: library)" >tests/meson.build
cat >src/base/sum.c <<'C'
/* sum.c - 1 + 1 == 2 in a comment, and in "1 + 1" it is no code. */
int sum(int a, int b) { return a + b; }
int tested_nowhere(int a) { return a > 100; }
int tested_by_the_program(int a) { return a * 50; }
int same(int a) { return a + 0; }
int pause(void);
int waits(int a) { return !a ? pause() : 0; }
C
cat >src/main.c <<'C'
int tested_by_the_program(int);
int main(void) { return tested_by_the_program(2) != 100; }
C
cat >tests/unit/base/sum_test.c <<'C'
int sum(int, int); int same(int); int waits(int);
int main(void) { return sum(2, 3) != 5 || same(7) != 7 || waits(3) != 0; }
C
printf '#!/bin/sh\n# Uses the sum.\nexec "$CAIRN_BUILD/cairn"\n' >tests/e2e/whole.t
chmod +x tests/e2e/whole.t

"$root/scripts/mutants" --count 100 src/base/sum.c >"$scratch/out" 2>&1
is $? 0 'mutants are made of a file'
# found LINE: what became of its mutants
found() { sed -n "s/^src\/base\/sum.c:$1: \(.*\)/\1/p" "$scratch/out" | sort; }
is "$(found 1)" '' 'a comment has none'
is "$(found 2)" "'+' -> '-': noticed by tests/base_sum_test" 'a sign that the unit test needs'
is "$(found 3)" "'100' -> '101': SURVIVES: int tested_nowhere(int a) { return a > 100; }
'>' -> '<': SURVIVES: int tested_nowhere(int a) { return a > 100; }
'>' -> '>=': SURVIVES: int tested_nowhere(int a) { return a > 100; }" 'what nothing tests survives, with its line and the change'
is "$(found 4)" "'50' -> '51': noticed by tests/e2e/whole.t" 'the test of the program notices the rest'
is "$(found 5)" "'0' -> '1': noticed by tests/base_sum_test" 'what leaves the machine code as it was is no mutant'
like "$(found 7)" "'!' -> '': noticed by tests/base_sum_test*" 'a test that does not end is noticed, too'
is "$(tail -n 1 "$scratch/out")" '5 of 8 mutants were noticed, 3 survive; changes that made none: 1 (seed 1)' 'the sum'
"$root/scripts/mutants" --count 2 src/base/sum.c >"$scratch/again"
is "$(sed '$d' "$scratch/again")" "$(head -n 2 "$scratch/out")" 'the same seed chooses the same mutants'
is "$(ls)" $'meson.build\nscripts\nsrc\ntests' 'and the tree is as it was'
"$root/scripts/mutants" src/none.c >"$scratch/out" 2>&1
is "$? $(cat "$scratch/out")" '1 mutants: there is no src/none.c' 'a file that is none'
done_testing
