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
	agreed=$(grep '^ok' "$scratch/compared" | grep -vc 'neither finds any')
	ok $status "$name: $agreed of $(grep -E '^(not )?ok' "$scratch/compared" | grep -vc 'neither finds any') reports have the same figures"
	grep -A 4 '^not ok' "$scratch/compared" | sed 's/^/#   /'
	[ "$agreed" -ge 10 ]
	ok $? "$name: there was something to compare"
}

compare 'a profile with labels, inlined functions, recursion and a base' tests/fixtures/views tests/fixtures/views/now.pb tests/fixtures/views/base.pb
if go run tests/e2e/heap.go >"$scratch/go.pb.gz" 2>"$scratch/go.log"; then
	compare 'a heap profile of a Go program' - "$scratch/go.pb.gz"
else
	skip 'a heap profile of a Go program' "go cannot build here: $(tail -n 1 "$scratch/go.log")"
fi
# A heap dump of addresses in our own program, with names and inlined functions. pprof would cut the allocator's frames by the
# expression in the file; taking that out leaves both with the same stacks.
python3 tests/bench/make-dump.py "$scratch/ours.heap" 200 12 "$cairn"
"$cairn" pprof --uncompressed --threads -o "$scratch/cut.pb" "$scratch/ours.heap" 2>/dev/null
python3 - "$scratch/cut.pb" "$scratch/ours.pb" <<'PYTHON'
import sys
data, out, at = open(sys.argv[1], "rb").read(), b"", 0
def varint():
    global at
    value = shift = 0
    while True:
        value |= (data[at] & 127) << shift
        shift, at = shift + 7, at + 1
        if data[at - 1] < 128:
            return value
while at < len(data):
    start, tag = at, varint()
    length = varint()
    at += length if tag & 7 == 2 else 0
    if tag >> 3 != 7:  # drop_frames
        out += data[start:at]
open(sys.argv[2], "wb").write(out)
PYTHON
compare 'a heap dump, exported' - "$scratch/ours.pb"
done_testing
