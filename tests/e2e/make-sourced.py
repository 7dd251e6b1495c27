#!/usr/bin/env python3
"""make-sourced.py OUT FILE...: writes a heap profile for pprof whose functions at0, at1, … are in the source files that are named, on line 1."""
import gzip
import sys

from wire import block, number, varint


files = sys.argv[2:]
strings = ["", "inuse_objects", "count", "inuse_space", "bytes", "space"]
profile = block(1, number(1, 1) + number(2, 2)) + block(1, number(1, 3) + number(2, 4))
for i, file in enumerate(files):
    strings += [f"at{i}", file]
    name = len(strings) - 2
    profile += block(2, block(1, varint(i + 1)) + block(2, varint(1) + varint(1000)))
    profile += block(4, number(1, i + 1) + block(4, number(1, i + 1) + number(2, 1)))
    profile += block(5, number(1, i + 1) + number(2, name) + number(3, name) + number(4, name + 1))
for text in strings:
    profile += block(6, text.encode())
profile += number(9, 1790000000 * 10**9) + block(11, number(1, 5) + number(2, 4)) + number(12, 1)
with open(sys.argv[1], "wb") as out:
    out.write(gzip.compress(profile))
