#!/usr/bin/env bash
# cairn why on thirty programs of known memory, on four allocators each: the cause, its amount, what is returnable, and who pins the rest.
. tests/e2e/lib.sh
. tests/e2e/group.sh
need cc python3
folder=/usr/lib/$(${CC:-cc} -print-multiarch)
${CC:-cc} -O1 -g -w -D_GNU_SOURCE tests/e2e/why-host.c -o "$scratch/host" -pthread || broken 'the test host does not build'
try_group 1000 || group=
python3 tests/e2e/why.py "$cairn" "$scratch/host" all "$group" glibc= jemalloc="$folder/libjemalloc.so.2" mimalloc="$folder/libmimalloc.so.2" \
	tcmalloc="$folder/libtcmalloc_minimal.so.4" >"$scratch/out" 2>&1
status=$?
[ -z "$group" ] || wait_for 20 rmdir "$group"
grep -E '^ |right$|  (cause|amount|returnable|mapper|pinned|who)' "$scratch/out" | sed 's/^/# /'
ok $status 'causes, amounts, predictions and pins'
done_testing
