"""hold.py - keeps arrays of numpy and buffers of another extension module, under two functions."""
import sys
import zlib

import numpy


def inner_hold(kept):
    kept.append((numpy.zeros(50000), zlib.compressobj(9)))


def outer_hold(kept):
    for _ in range(200):
        inner_hold(kept)


held = []
outer_hold(held)
print("ready", flush=True)
sys.stdin.readline()
