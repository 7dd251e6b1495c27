"""Dumps and programs of at most a megabyte that stand for very much more: make-bombs.py FOLDER writes one file for each kind."""
import gzip
import lzma
import os
import struct
import sys
import zlib
from elf_file import ABSENT, BASE, CODE, elf, unit
from wire import block, number, varint

folder = sys.argv[1] + "/"


def write(name, data):
    assert len(data) <= 1 << 20, f"{name} has {len(data)} bytes"
    with open(folder + name, "wb") as file:
        file.write(data)


def strings(*texts):
    return b"".join(block(6, text) for text in texts)


def pprof(name, *parts):
    """Its strings 1 and 2 are those of its values."""
    write(name, block(1, number(1, 1) + number(2, 2)) + b"".join(parts))


def sample(locations, labels=b""):
    return block(2, block(1, locations) + block(2, b"\x05") + labels)


def location(id, *functions):
    return block(4, number(1, id) + b"".join(block(4, number(1, each)) for each in functions))


def function(id, name):
    return block(5, number(1, id) + number(2, name))


head = strings(b"", b"inuse_space", b"bytes")
# An address with very many functions, which one stack, or many, names again and again
pprof("lines", sample(b"\1" * 400000), location(1, *[1] * 100000), function(1, 3), head, strings(b"main"))
pprof("lines-and-samples", sample(b"\1" * 1000) * 400, location(1, *[1] * 60000), function(1, 3), head, strings(b"main"))
pprof("many-lines", b"".join(sample(bytes(range(1, 101)) * 50) for _ in range(100)), *[location(i, *[1] * 700) for i in range(1, 101)],
      function(1, 3), head, strings(b"main"))
pprof("deep", sample(b"\1" * 1000000), location(1, 1), function(1, 3), head, strings(b"main"))
# A long name in very many places: frames of one address, addresses, files of mappings, labels, comments
pprof("long-name", sample(bytes(range(1, 128)) * 4) * 500, *[location(i, *[1] * 80) for i in range(1, 128)], function(1, 3), head, strings(b"x" * 500000))
pprof("long-names", sample(b"\1"), *[location(i, 1) for i in range(1, 30000)], function(1, 3), head, strings(b"x" * 500000))
pprof("long-paths", sample(b"\1"), location(1, 1), function(1, 3), *[block(3, number(1, i) + number(2, 4096 * i) + number(3, 4096 * i + 4096) + number(5, 3))
      for i in range(1, 25000)], head, strings(b"/" + b"x" * 500000))
pprof("long-labels", *[sample(b"\1", block(3, number(1, 3 + i % 2) + number(2, 3))) for i in range(40000)], location(1, 1), function(1, 3), head,
      strings(b"x" * 400000, b"y"))
pprof("labels", sample(b"\1", block(3, number(1, 3) + number(2, 3)) * 120000), location(1, 1), function(1, 3), head, strings(b"main"))
pprof("comments", sample(b"\1"), location(1, 1), function(1, 3), block(13, b"\3" * 500000), head, strings(b"x" * 500000))
# The same in the formats of text
calls = b"--".join([b"g"] * 150000)
write("symbolized", b"--- symbol\nbinary=/bin/x\n0x1 " + calls + b"\n---\n--- heap\nheap profile: 1: 1 [1: 1] @ heap_v2/1\n1: 1 [1: 1] @" + b" 0x1" * 140000 + b"\n")
write("folded-deep", b"a;" * 500000 + b"b 1\n")
write("folded-wide", b"".join(b"%d 1\n" % i for i in range(120000)))
dump = b"heap_v2/524288\n  t*: 1: 1 [0: 0]\n"
lines = b"".join(b"t%d:1:1[0:0]\n" % n for n in range(1, 40001))
write("threads", dump + b"@" + b" 0x1" * 100000 + b"\nt*:40000:40000[0:0]\n" + lines + b"\nMAPPED_LIBRARIES:\n")

# A program of a few kilobytes in which a thousand functions are inlined into each other at every address, and dumps with many addresses in
# it, or few in many stacks
extent = 1 << 24
place = struct.pack("<QI", BASE, extent - BASE)
abbrev = bytes([1, 0x11, 1, 0x11, 1, 0x12, 6, 0, 0, 2, 0x2E, 1, 3, 8, 0x11, 1, 0x12, 6, 0, 0, 3, 0x1D, 1, 3, 8, 0x11, 1, 0x12, 6, 0, 0, 0])


def nested(depth):
    return unit(b"\1" + place + b"\2f\0" + place + (b"\3g\0" + place) * depth + b"\0" * (depth + 2))


def program(name, info):
    elf(folder + name, [(".text", ABSENT, BASE, 0, extent - BASE), (".debug_info", CODE, 0, 0, info), (".debug_abbrev", CODE, 0, 0, abbrev)], extent=extent)


program("nested", nested(1000))
program("units", nested(100) * 400)
with open(folder + "addresses", "w") as file:
    file.write("".join("%x\n" % (BASE + 16 * i) for i in range(50000)))


def heap(name, elf_name, stacks):
    write(name, dump + stacks + b"\nMAPPED_LIBRARIES:\n%x-%x r-xp %x 0:0 1 %s\n" % (BASE, extent, BASE, os.fsencode(os.path.realpath(folder + elf_name))))


for elf_name in "nested", "units":
    heap(elf_name + "-addresses", elf_name, b"".join(b"@ %#x\nt*:1:1[0:0]\n" % (BASE + 16 * i + 1) for i in range(40000)))
heap("nested-stacks", "nested", (b"@" + b"".join(b" %#x" % (BASE + 16 * i + 1) for i in range(90)) + b"\nt*:1:1[0:0]\n") * 1000)
heap("nested-deep", "nested", b"@" + b" %#x" % (BASE + 1) * 120000 + b"\nt*:1:1[0:0]\n")
heap("nested-threads", "nested", b"@" + b" %#x" % (BASE + 1) * 50000 + b"\nt*:40000:40000[0:0]\n" + lines)

# The map of generated code, whose lines all cover everything, and a dump with addresses in it
os.mkdir(folder + "tmp")
write("tmp/perf-999999.map", b"".join(b"1000 ffffffffff f%d\n" % i for i in range(40000)))
write("generated", dump + b"".join(b"@ %#x\nt*:1:1[0:0]\n" % (0x2000 + 16 * i) for i in range(30000)) +
      b"\nMAPPED_LIBRARIES:\n\n# cairn trailer 1\n# cairn pid 999999\n# cairn end\n")


# A ledger whose stacks all have the same frames, and one whose modules all have the same path
def ledger(name, stacks=1, depth=1, modules=1, path=9):
    live = min(stacks, 1000)
    sizes = {"keys": (8, live), "samples": (64, live), "stacks": (256, stacks), "frames": (8, depth), "modules": (80, modules), "threads": (32, 1),
             "text": (1, path), "history": (64, 1)}
    contents = {
        "keys": b"".join(struct.pack("<Q", 4096 * i + 4096) for i in range(live)),
        "samples": b"".join(struct.pack("<IIIIQQQqQII", 0, i, 0, 0, 4096 * i + 4096, 100, 4096, 1, 256, 0, 0) for i in range(live)),
        "stacks": b"".join(struct.pack("<QII3Q", i + 2, 0, depth, 1, 256, 4096).ljust(256, b"\0") for i in range(stacks)),
        "frames": b"".join(struct.pack("<Q", 0x1000 + i) for i in range(depth)),
        "modules": b"".join(struct.pack("<IIQQQ32sIIQ", 2, 20, 0x1000 * i, 0x1000 * i + 0x1000, 0, b"b" * 20, 0, path, 0) for i in range(modules)),
        "text": b"/" * path,
    }
    at, areas, body = 4096, b"", b""
    for area, (size, count) in sizes.items():
        data = contents.get(area, b"").ljust(size * count, b"\0")
        data += b"\0" * (-len(data) % 8)
        areas += struct.pack("<QII", at, size, count)
        body, at = body + data, at + len(data)
    header = struct.pack("<QIIQ", 0x72656764654C6E43, 1, 1, 4096 + len(body)) + areas
    header += struct.pack("<iIQqqq", 4242, 1, 1, 1, 1, 1)
    write(name, header.ljust(4096, b"\0") + body)


ledger("ledger-stacks", stacks=1900, depth=51840)
ledger("ledger-deep", stacks=3300, depth=4000)
ledger("ledger-modules", modules=6000, path=500000)
# Packed until it is small: members that are added up
def packed(start, text, end, times):
    return gzip.compress(start) + gzip.compress(text * (1 << 20 >> len(text).bit_length() - 1), 9) * times + gzip.compress(end)


one = b"t*:1:1[0:0]\n"
write("heap.gz", packed(dump, b"@ 0x1 0x2 0x3\n" + one, b"\nMAPPED_LIBRARIES:\n", 200))
write("stack.gz", packed(dump + b"@", b" 0x1", b"\n" + one, 200))
write("folded.gz", packed(b"", b"a;b 1\n", b"", 200))
write("pprof.gz", packed(block(1, number(1, 1) + number(2, 2)) + location(1, 1) + function(1, 3) + head + strings(b"main"), sample(b"\1" * 100), b"", 100))
for kind, message in {"mappings.gz": b"\x1a\0", "locations.gz": b"\x22\0", "numbered.gz": block(3, number(1, 1))}.items():
    write(kind, packed(block(1, number(1, 1) + number(2, 2)) + head + strings(b"main"), message, b"", 39))
write("zeroes.gz", packed(b"", bytes(64), b"", 800))
write("folded.xz", lzma.compress(b"a;b 1\n" * 25000000, preset=0))


# A section that unfolds to nearly a gigabyte, or claims to, and a symbol table that does
def section(size, times):
    deflate = zlib.compressobj(9)
    start, piece = deflate.compress(bytes(1 << 20)) + deflate.flush(zlib.Z_FULL_FLUSH), deflate.compress(bytes(1 << 20)) + deflate.flush(zlib.Z_FULL_FLUSH)
    return struct.pack("<IIQQ", 1, 0, size, 1) + start + piece * (times - 1) + deflate.flush()


text = (".text", ABSENT, BASE, 0, extent - BASE)
elf(folder + "packed", [text, (".debug_info", CODE, 0, 0, section(900 << 20, 900)), (".debug_abbrev", CODE, 0, 0, abbrev)], extent=extent)
elf(folder + "claims", [text, (".debug_info", CODE, 0, 0, section(60 << 30, 100)), (".debug_abbrev", CODE, 0, 0, abbrev)], extent=extent)
elf(folder + "mini", [text, (".gnu_debugdata", CODE, 0, 0, lzma.compress(bytes(100 << 20), preset=0))], extent=extent)


# Files of a few kilobytes with very long holes
def hole(name, sections, size):
    """An ELF file of SECTIONS, the last of which is a hole of SIZE bytes behind them."""
    elf(folder + name, sections)
    with open(folder + name, "r+b") as file:
        data = bytearray(file.read())
        struct.pack_into("<QQ", data, struct.unpack_from("<Q", data, 40)[0] + 64 * len(sections) + 24, 1 << 20, size)
        file.seek(0)
        file.write(data)
        file.truncate((1 << 20) + size)


def stretch(name, size):
    os.truncate(folder + name, size)


names = (".strtab", 3, 0, 0, b"\0f\0")
hole("hole-symbols", [text, names, (".symtab", 2, 0, 2, b"@")], 3 << 30)
hole("hole-notes", [text, (".note", 7, 0, 0, b"@")], 3 << 30)
elf(folder + "hole-link", [text, (".gnu_debuglink", CODE, 0, 0, b"hole.debug".ljust(12, b"\0") + b"\1\2\3\4")])
elf(folder + "hole.debug", [text, (".debug_info", CODE, 0, 0, b"")])
stretch("hole.debug", 3 << 30)
write("tmp/perf-999998.map", b"1000 ffff f\n")
stretch("tmp/perf-999998.map", 6 << 30)
write("hole-generated", dump + b"@ 0x2000\nt*:1:1[0:0]\n\nMAPPED_LIBRARIES:\n\n# cairn trailer 1\n# cairn pid 999998\n# cairn end\n")
places = struct.pack("<QII", 4096, 8, 3 << 20) + struct.pack("<QII", 4096 + (24 << 20), 64, 3 << 20)
places += b"".join(struct.pack("<QII", 300 << 20, size, 1) for size in (256, 8, 80, 32, 8, 64))
header = struct.pack("<QIIQ", 0x72656764654C6E43, 1, 1, 1 << 30) + places
write("hole-ledger", header.ljust(4096, b"\0"))
stretch("hole-ledger", 1 << 30)
