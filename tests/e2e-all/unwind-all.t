#!/usr/bin/env bash
# The unwinder at length: rules of every function of ceph-osd, and two minutes of signals at random instants, also under
# ThreadSanitizer.
. tests/e2e/lib.sh
need python3 readelf
build=${CAIRN_BUILD:-build}
if command -v ceph-osd >/dev/null; then
	holds "ceph-osd: $(python3 tests/unwind/compare-frames.py "$build/tests/frames" "$(command -v ceph-osd)" | head -n 1)" \
		python3 tests/unwind/compare-frames.py "$build/tests/frames" "$(command -v ceph-osd)"
else
	skip 'ceph-osd' 'not installed'
fi
UNWIND_SECONDS=120 "$build/tests/agent_unwind_unwind_test" >"$scratch/unwind.tap" 2>&1
ok $? "$(sed -n 's/.*\(signals at random instants.*\)/\1/p' "$scratch/unwind.tap")"
grep -A4 '^not ok' "$scratch/unwind.tap" | sed 's/^/#   /' | head -n 8
if command -v clang >/dev/null; then
	holds 'it is built with ThreadSanitizer' clang -fsanitize=thread -fno-omit-frame-pointer -O1 -g -std=gnu17 -D_GNU_SOURCE -Isrc -Itests tests/unit/agent/unwind/unwind_test.c \
		src/agent/unwind/{unwind,stack,code,code_table,known,local,object,rule_cache}.c src/frame/{eh_frame,expression}.c -o "$scratch/unwind-tsan" -pthread -ldl
	UNWIND_SECONDS=60 "$scratch/unwind-tsan" >"$scratch/tsan.tap" 2>&1
	ok $? 'ThreadSanitizer: a minute of signals without a complaint'
	# On standard error, where prove lets it through: what failed once and not again has to be seen.
	grep -A4 -E '^not ok|WARNING' "$scratch/tsan.tap" | sed 's/^/#   /' | head -n 8 >&2
else
	skip 'ThreadSanitizer' 'no clang here'
fi
done_testing
