#!/usr/bin/env bash
# Every view against `go tool pprof` on the same profile: the fixture with all filters, and a heap profile of Go's own runtime.
. tests/e2e/lib.sh
PATH=$PATH:/usr/local/go/bin
need go python3
export PPROF_TMPDIR=$scratch GOFLAGS=-mod=mod

compare() {
	local name=$1
	shift
	python3 tests/e2e/compare-pprof.py "$cairn" "$@" >"$scratch/compared" 2>&1
	local status=$? agreed
	agreed=$(grep -c '^ok' "$scratch/compared")
	ok $status "$name: $agreed of $(grep -cE '^(not )?ok' "$scratch/compared") reports have the same figures"
	grep -A 4 '^not ok' "$scratch/compared" | sed 's/^/#   /'
	[ "$agreed" -ge 15 ]
	ok $? "$name: there was something to compare"
}

compare 'a profile with labels, inlined functions, recursion and a base' tests/fixtures/views tests/fixtures/views/now.pb tests/fixtures/views/base.pb
if go run tests/e2e/heap.go >"$scratch/go.pb.gz" 2>"$scratch/go.log"; then
	compare 'a heap profile of a Go program' - "$scratch/go.pb.gz"
else
	skip 'a heap profile of a Go program' "go cannot build here: $(tail -n 1 "$scratch/go.log")"
fi
done_testing
