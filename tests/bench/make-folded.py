#!/usr/bin/env python3
"""make-folded.py MEGABYTES: folded text on standard output, as a big C++ service would give: random walks from main through a
call graph of 4,000 functions with long names. The same for the same size, always."""
import random
import sys

size = int(sys.argv[1]) << 20
rng = random.Random(7)
spaces = ["db", "net", "query", "storage", "util", "std::__detail", "rpc::server", "index::lsm"]
nouns = ["Table", "Session", "Block", "Cursor", "Filter", "Segment", "Writer", "Cache", "Planner", "Bucket"]
verbs = ["open", "append", "merge", "flush", "visit", "resolve", "allocate", "insert", "decode", "compact"]
names = []
for i in range(4000):
    name = f"{rng.choice(spaces)}::{rng.choice(nouns)}{i % 97}::{rng.choice(verbs)}_{i}"
    if i % 3 == 0:
        name += f"<{rng.choice(spaces)}::{rng.choice(nouns)}, std::allocator<char> >"
    names.append(name + "(unsigned long, std::string const&)")
callees = [[rng.randrange(4000) for _ in range(1 + i % 5)] for i in range(4000)]
out, written = [], 0
while written < size:
    at, stack = rng.randrange(8), ["main"]
    for _ in range(rng.randrange(8, 48)):
        stack.append(names[at])
        at = callees[at][int(rng.random() ** 2 * len(callees[at]))]
    line = f"{';'.join(stack)} {rng.randrange(1, 1 << 20)}\n"
    out.append(line)
    written += len(line)
    if len(out) == 10000:
        sys.stdout.write("".join(out))
        out = []
sys.stdout.write("".join(out))
