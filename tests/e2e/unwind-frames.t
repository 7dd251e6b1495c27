#!/usr/bin/env bash
# The unwind rules of every function of libc, libstdc++, redis-server and jemalloc are readelf's; on aarch64 too, under qemu.
. tests/e2e/lib.sh
need python3 readelf
frames=$PWD/${CAIRN_BUILD:-build}/tests/frames
library_path() { ldconfig -p | awk -v name="$1" '$1 == name { print $NF; exit }'; }
# same READER FILE: its rules are readelf's
same() {
	python3 tests/unwind/compare-frames.py "$1" "$2" >"$scratch/compared" 2>&1
	ok $? "$(basename "$2"): $(head -n 1 "$scratch/compared")"
	sed '1d; s/^/#   /' "$scratch/compared" | head -n 5
}
for file in "$(library_path libc.so.6)" "$(library_path libjemalloc.so.2)" \
	$(is_long && echo "$(library_path libstdc++.so.6)" "$(command -v redis-server)"); do
	[ -n "$file" ] || { skip 'a file that is not installed' 'not here'; continue; }
	same "$frames" "$file"
done

sysroot=/usr/aarch64-linux-gnu
if command -v aarch64-linux-gnu-gcc >/dev/null && command -v qemu-aarch64 >/dev/null && [ -e $sysroot/lib/libc.so.6 ]; then
	cross() { aarch64-linux-gnu-gcc -O2 -g -std=gnu17 -D_GNU_SOURCE -Isrc -Itests "$@" -pthread -ldl; }
	holds 'the reader is built for aarch64' cross tests/unwind/frames.c src/frame/eh_frame.c -o "$scratch/frames"
	printf '#!/bin/sh\nexec qemu-aarch64 -L %s "%s" "$@"\n' $sysroot "$scratch/frames" >"$scratch/frames-qemu"
	chmod +x "$scratch/frames-qemu"
	! is_long || same "$scratch/frames-qemu" $sysroot/lib/libc.so.6
	holds 'the unwinder is built for aarch64' cross tests/unit/agent/unwind/unwind_test.c src/agent/unwind/{unwind,stack,code,code_table,known,local,object,rule_cache}.c src/frame/{eh_frame,expression}.c -o "$scratch/unwind_test"
	qemu-aarch64 -L $sysroot "$scratch/unwind_test" >"$scratch/unwind.tap" 2>&1
	ok $? "aarch64: $(grep -c ^ok "$scratch/unwind.tap") tests of the unwinder hold"
	grep -A2 '^not ok' "$scratch/unwind.tap" | sed 's/^/#   /' | head -n 6
else
	skip 'aarch64' 'no gcc-aarch64-linux-gnu, libc6-dev-arm64-cross or qemu-user here'
fi
done_testing
