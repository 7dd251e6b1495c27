"""Holds memory in the allocator of polars, or in one of pyarrow's pools. For each line it holds more, and says what it holds by now.
SPDX-License-Identifier: Apache-2.0"""
import sys

kept = []
if sys.argv[1] == "polars":
    import polars

    def hold():
        for i in range(4000):
            kept.append(polars.int_range(5000 + i % 2000, eager=True, dtype=polars.Int64))
            if i % 4 == 3:
                kept.pop(i // 2)
        return sum(series.estimated_size() for series in kept)
else:
    import pyarrow
    pool = getattr(pyarrow, sys.argv[1] + "_memory_pool")()

    def hold():
        for i in range(10000):
            kept.append(pyarrow.allocate_buffer(20000 + i % 1000 * 20, memory_pool=pool))
            if i % 4 == 3:
                kept.pop(i // 2)
        return pool.bytes_allocated()

print(0, flush=True)
for _ in sys.stdin:
    print(hold(), flush=True)
