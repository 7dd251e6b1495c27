"""Programs that are small and ask for endless work or memory: make-hostile.py FOLDER writes one file for each kind, and the addresses to ask for."""
import struct
import sys
from elf_file import BASE, CODE, SIZE, STRINGS, SYMBOLS, dwarf, elf, sized, text, unit
from wire import varint


def symtab(path, symbols, strings):
    entries = bytes(24) + b"".join(struct.pack("<IBBHQQ", name, 0x12, 0, 1, address, size) for name, address, size in symbols)
    elf(path, [text, (".symtab", SYMBOLS, 0, 3, entries), (".strtab", STRINGS, 0, 0, strings)])


# 1: a unit that says nothing but where its lines are; 2: a function
abbrev = bytes([1, 0x11, 0, 0x10, 0x17, 0, 0, 2, 0x2E, 0, 0x11, 1, 0, 0, 0])
lines_at_0 = unit(b"\1" + struct.pack("<I", 0))
opcodes = bytes([1, 1, 1, 0xFB, 14, 13, 0, 1, 1, 1, 1, 0, 0, 0, 1, 0, 0, 1])


def lines_4(tables, program):
    header = opcodes + tables
    return sized(struct.pack("<HI", 4, len(header)) + header + program)


def lines_5(tables, program):
    header = opcodes + tables
    return sized(struct.pack("<HBBI", 5, 8, 0, len(header)) + header + program)


def set_address(address):
    return bytes([0, 9, 2]) + struct.pack("<Q", address) + b"\1"


folder = sys.argv[1] + "/"
open(folder + "addresses", "w").write("50\n" + "".join("%x\n" % (BASE + 16 * i) for i in range(12000)))

dwarf(folder + "shared-table", lines_at_0 * 200000, abbrev, lines_4(b"\0" + b"a\0\0\0\0" * 2000000 + b"\0", b""))
dwarf(folder + "back-and-forth", lines_at_0 * 8, abbrev, lines_4(b"\0a\0\0\0\0\0", (set_address(BASE) + set_address(BASE + SIZE - 16)) * 400000))
rows = 2000000
table = bytes([1, 1, 0x1F]) + varint(1) + bytes(4) + bytes([1, 1, 0x1F]) + varint(rows) + bytes(4 * rows)
dwarf(folder + "endless-files", lines_at_0, abbrev, lines_5(table, b"\1"), b"x" * 2000000)
symtab(folder + "underscores", [(1 + i, BASE, SIZE) for i in range(200000)], b"\0" + b"_" * 4000000 + b"\0")
symtab(folder + "long-symbols", [(1 + i, BASE + 16 * i, 16) for i in range(12000)], b"\0" + b"x" * 4000000 + b"@\0")
# every function has its name from another place of one long text, where each byte is an entry of its own: 120 is "x"
names = bytes([1, 0x11, 1, 0, 0, 2, 0x2E, 0, 0x11, 1, 0x12, 6, 0x31, 0x13, 0, 0, 120, 0x2E, 0, 0x3, 8, 0, 0, 0])
head = b"\1" + b"".join(b"\2" + struct.pack("<QII", BASE + 16 * i, 16, 11 + 1 + 12000 * 17 + 1 + i) for i in range(12000)) + b"\0"
dwarf(folder + "long-names", unit(head + b"x" * 4000000 + b"\0"), names)
# units that all lie in the file itself, as the compiler's -gsplit-dwarf=single has it, among as many that are none of them
def entry(name, identifier):
    return unit(b"\1" + name + struct.pack("<Q", identifier))


split = bytes([1, 0x11, 0, 0xB0, 0x42, 8, 0xB1, 0x42, 7, 0, 0, 2, 0x2E, 0, 0x11, 1, 0, 0, 0])
parts = bytes([1, 0x11, 0, 0xB1, 0x42, 7, 0, 0, 0])
elf(folder + "split-in-itself", [
    text,
    (".debug_info", CODE, 0, 0, b"".join(entry(b"split-in-itself\0", i) for i in range(60000))),
    (".debug_abbrev", CODE, 0, 0, split),
    (".debug_info.dwo", CODE, 0, 0, b"".join(entry(b"", 1 << 32 | i) for i in range(60000))),
    (".debug_abbrev.dwo", CODE, 0, 0, parts),
])

# a name in DWARF that looks like the one of its symbol wherever one begins to compare them
abbrev = bytes([1, 0x11, 1, 0x13, 0xB, 0, 0, 2, 0x2E, 0, 0x11, 1, 0x12, 6, 3, 8, 0, 0, 0])
ones = b"1" * 65000
function = b"\2" + struct.pack("<QI", BASE, SIZE) + ones[:11110] + b"2\0"
elf(folder + "ones", [
    text,
    (".debug_info", CODE, 0, 0, unit(b"\1\4" + function + b"\0")),
    (".debug_abbrev", CODE, 0, 0, abbrev),
    (".symtab", SYMBOLS, 0, 5, bytes(24) + struct.pack("<IBBHQQ", 1, 0x12, 0, 1, BASE, SIZE)),
    (".strtab", STRINGS, 0, 0, b"\0_Z" + ones + b"\0"),
])

# 64-bit PowerPC: a million functions without a size, whose descriptor points nowhere, and very many sections to look for that in
descriptors = struct.pack("<QQQ", 2 * SIZE, 0, 0)
functions = struct.pack("<IBBHQQ", 1, 0x12, 0, 4, 4 * SIZE, 0) * 1000000
elf(folder + "descriptors", [text, (".symtab", SYMBOLS, 0, 3, functions), (".strtab", STRINGS, 0, 0, b"\0f\0"), (".opd", CODE, 4 * SIZE, 0, descriptors)] +
    [("", CODE, 0, 0, b"")] * 64000, machine=21)
