#!/usr/bin/env bash
# The code of `cairn attach` for aarch64: all of it is built, and under qemu the piece that a borrowed thread runs comes back with every register, and
# functions whose first instructions are moved do what they did.
# Emulators of one program have no ptrace, so that stopping a thread is not tested here.
. tests/e2e/lib.sh
need aarch64-linux-gnu-gcc qemu-aarch64
sysroot=/usr/aarch64-linux-gnu
cross() { aarch64-linux-gnu-gcc -O2 -g -std=gnu17 -Wall -Wextra -Werror -D_GNU_SOURCE -Isrc -Itests "$@"; }
for file in src/live/attach/*.c src/arch/machine.c src/arch/aarch64/*.c; do holds "$(basename "$file") is built for aarch64" cross -c "$file" -o "$scratch/object.o"; done
holds 'the test of the piece is built' cross tests/unit/arch/machine_test.c src/arch/machine.c src/arch/aarch64/machine.c src/arch/aarch64/visit.c -o "$scratch/machine_test" -pthread -lm
qemu-aarch64 -L $sysroot "$scratch/machine_test" >"$scratch/machine.tap" 2>&1
ok $? "$(grep -c ^ok "$scratch/machine.tap") tests of the piece hold"
grep -A2 '^not ok' "$scratch/machine.tap" | sed 's/^/#   /' | head -n 6
holds 'the test of moved instructions is built' cross tests/unit/arch/move_test.c src/arch/aarch64/move.c src/arch/aarch64/stub.c src/base/error.c -o "$scratch/move_test" -lm
qemu-aarch64 -L $sysroot "$scratch/move_test" >"$scratch/move.tap" 2>&1
ok $? "$(grep -c ^ok "$scratch/move.tap") tests of moved instructions and stubs hold"
grep -A2 '^not ok' "$scratch/move.tap" | sed 's/^/#   /' | head -n 6
done_testing
