#!/usr/bin/env bash
# The code of `cairn attach` for aarch64: all of it is built, and the piece that a borrowed thread runs comes back with every register, under qemu.
# Emulators of one program have no ptrace, so that stopping a thread is not tested here.
. tests/e2e/lib.sh
need aarch64-linux-gnu-gcc qemu-aarch64
sysroot=/usr/aarch64-linux-gnu
cross() { aarch64-linux-gnu-gcc -O2 -g -std=gnu17 -Wall -Wextra -Werror -D_GNU_SOURCE -Isrc -Itests "$@"; }
for file in src/cmd/attach/*.c; do holds "$(basename "$file") is built for aarch64" cross -c "$file" -o "$scratch/object.o"; done
holds 'the test of the piece is built' cross tests/unit/cmd/attach/machine_test.c src/cmd/attach/machine.c src/cmd/attach/machine_aarch64.c -o "$scratch/machine_test" -pthread -lm
qemu-aarch64 -L $sysroot "$scratch/machine_test" >"$scratch/machine.tap" 2>&1
ok $? "$(grep -c ^ok "$scratch/machine.tap") tests of the piece hold"
grep -A2 '^not ok' "$scratch/machine.tap" | sed 's/^/#   /' | head -n 6
done_testing
