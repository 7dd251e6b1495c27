#!/usr/bin/env bash
# The unit tests and the replayed fuzz inputs under the sanitizers.
. tests/e2e/lib.sh
need clang meson ninja
if scripts/sanitize >"$scratch/log" 2>&1; then status=0; else status=1; fi
grep -E '^(All tests|Files=|Result)' "$scratch/log" | sed 's/^/# /'
ok $status 'unit tests and fuzz inputs under ASan and UBSan, then TSan'
[ $status -eq 0 ] || grep -E 'ERROR: |runtime error|WARNING: Thread|Failed|not ok' "$scratch/log" | head -n 20 | sed 's/^/#   /' >&2
done_testing
