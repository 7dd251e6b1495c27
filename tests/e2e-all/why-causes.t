#!/usr/bin/env bash
# cairn why on thirty programs of known memory, on four allocators each: the cause, what is returnable, and who pins the rest.
. tests/e2e/lib.sh
need cc python3
folder=/usr/lib/$(${CC:-cc} -print-multiarch)
${CC:-cc} -O1 -g -w -D_GNU_SOURCE tests/e2e/why-host.c -o "$scratch/host" -pthread || broken 'the test host does not build'
python3 tests/e2e/why.py "$cairn" "$scratch/host" all glibc= jemalloc="$folder/libjemalloc.so.2" mimalloc="$folder/libmimalloc.so.2" \
	tcmalloc="$folder/libtcmalloc_minimal.so.4" >"$scratch/out" 2>&1
status=$?
grep -E '^ |right$|  (cause|returnable|pinned|who)' "$scratch/out" | sed 's/^/# /'
ok $status 'causes, predictions and pins'
done_testing
