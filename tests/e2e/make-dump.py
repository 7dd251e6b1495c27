"""make-dump.py ELF FUNCTION[,FUNCTION...] [PATH [TIME [SCALE [PID]]]]: a heap_v2 dump as of a process that ran the program ELF, loaded at an
address of its own, with one stack for each of the functions. PATH is what the program was called there, a place that is not here unless
told. SCALE MiB are live in each and ten times as much was allocated, in one object and ten."""
import struct, subprocess, sys

elf, functions = sys.argv[1], sys.argv[2].split(",")
path = sys.argv[3] if len(sys.argv) > 3 else "/srv/nowhere/app"
time = int(sys.argv[4]) if len(sys.argv) > 4 else 1790000000
scale = int(sys.argv[5]) if len(sys.argv) > 5 else 1
pid = int(sys.argv[6]) if len(sys.argv) > 6 else 77
BASE, PAGE = 0x555500000000, 4096
data = open(elf, "rb").read()
assert data[:5] == b"\x7fELF\x02", "64 bits"
table, count = struct.unpack_from("<Q", data, 32)[0], struct.unpack_from("<H", data, 56)[0]
build_id = next(line.split()[-1] for line in subprocess.run(["readelf", "-n", elf], capture_output=True, text=True).stdout.splitlines() if "Build ID" in line)
symbols = {fields[2]: int(fields[0], 16) for fields in (line.split() for line in subprocess.run(["nm", elf], capture_output=True, text=True).stdout.splitlines()) if len(fields) == 3}
for i in range(count):
    kind, flags, offset, address, _, size = struct.unpack_from("<IIQQQQ", data, table + 56 * i)
    if kind == 1 and flags & 1:
        break
start, end, offset = BASE + address // PAGE * PAGE, BASE + (address + size + PAGE - 1) // PAGE * PAGE, offset // PAGE * PAGE
total = len(functions) * (scale << 20)
print(f"heap_v2/1\n  t*: {len(functions)}: {total} [{10 * len(functions)}: {10 * total}]")
for name in functions:
    print(f"@ {BASE + symbols[name] + 8:#x}\n  t*: 1: {scale << 20} [10: {10 * (scale << 20)}]")
print(f"\nMAPPED_LIBRARIES:\n{start:x}-{end:x} r-xp {offset:08x} 00:00 1 {path}")
print(f"# cairn trailer 1\n# cairn time {time}.000000000\n# cairn pid {pid}\n# cairn start 1789999000.000000000")
print(f"# cairn module {start:x}-{end:x} {offset:x} {build_id} {path}\n# cairn end")
