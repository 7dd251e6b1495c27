"""ELF files, written here byte by byte, for the programs of the tests that have to be odd."""
import struct

NOTHING, CODE, STRINGS, SYMBOLS, ABSENT = 0, 1, 3, 2, 8
PACKED = 0x800  # a flag of compressed sections
BASE, SIZE = 0x1000, 0x40000


def elf(path, sections, machine=62, extent=0):
    """SECTIONS: (name, type, address, link, data); they are numbered from 1. Data may be a number: so many bytes that are not in the file.
    EXTENT is how much of the file is loaded, if that is more than there is."""
    sections = [("", NOTHING, 0, 0, b"")] + sections + [(".shstrtab", STRINGS, 0, 0, None)]
    names, places = b"", []
    for section in sections:
        places.append(len(names))
        names += section[0].encode() + b"\0"
    out, headers = bytearray(64 + 56), bytearray()
    for place, (name, kind, address, link, data) in zip(places, sections):
        data = names if data is None else data
        size, data = (data, b"") if isinstance(data, int) else (len(data), data)
        flags = 6 if name == ".text" else PACKED if data[:8] == b"\1\0\0\0\0\0\0\0" and name.startswith(".debug") else 0
        headers += struct.pack("<IIQQQQIIQQ", place, kind, flags, address, len(out), size, link, 0, 1, 24 if kind == SYMBOLS else 0)
        out += data
    table = len(out)
    out += headers
    ident = b"\x7fELF\2\1\1".ljust(16, b"\0")
    out[:64] = ident + struct.pack("<HHIQQQIHHHHHH", 3, machine, 1, BASE, 64, table, 0, 64, 56, 1, 64, len(sections), len(sections) - 1)
    out[64:120] = struct.pack("<IIQQQQQQ", 1, 5, 0, 0, 0, max(len(out), extent), max(BASE + SIZE, extent), 4096)
    open(path, "wb").write(out)


text = (".text", CODE, BASE, 0, b"\x90" * SIZE)


def dwarf(path, info, abbrev, line=b"", line_str=b""):
    elf(path, [text, (".debug_info", CODE, 0, 0, info), (".debug_abbrev", CODE, 0, 0, abbrev), (".debug_line", CODE, 0, 0, line), (".debug_line_str", CODE, 0, 0, line_str)])


def sized(body):
    return struct.pack("<I", len(body)) + body


def unit(entries):
    return sized(struct.pack("<HIB", 4, 0, 8) + entries)
