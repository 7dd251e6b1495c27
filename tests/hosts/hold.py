"""hold.py - keeps objects of an extension module's kind: buffers that C allocates, under two functions."""
import sys
import zlib


def inner_hold(kept):
    kept.append(zlib.compressobj(9))


def outer_hold(kept):
    for _ in range(200):
        inner_hold(kept)


held = []
outer_hold(held)
print("ready", flush=True)
sys.stdin.readline()
