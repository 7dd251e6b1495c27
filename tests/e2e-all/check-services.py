"""A bill in JSON on standard input against the kernel: check-services.py PID SERVICE ALLOCATOR TABLE

Reads /proc/PID/smaps by itself, with rules of its own, and compares. Appends a row to TABLE. Prints what is wrong.
SPDX-License-Identifier: Apache-2.0"""
import json
import re
import struct
import sys

pid, service, allocator, table = sys.argv[1:]
megabyte = 1 << 20
try:
    bill = json.load(sys.stdin)
except ValueError:
    sys.exit("there is no bill")
lines = {line["key"]: line["bytes"] for line in bill["lines"]}
total = bill["total"]
problems = []

def data_end(path, start, offset):
    """Where the data segment of the file ends in memory, .bss included, of which the part at START is at OFFSET of the file."""
    try:
        with open(f"/proc/{pid}/root" + path, "rb") as file:
            first = file.read(64)
            table, size, count = struct.unpack_from("<Q", first, 32)[0], *struct.unpack_from("<HH", first, 54)
            file.seek(table)
            headers = [struct.unpack_from("<IIQQQQQ", file.read(size)) for _ in range(count)]
    except (OSError, struct.error):
        return 0
    for kind, flags, at, address, _, in_file, in_memory in headers:
        if kind == 1 and flags & 2 and at // 4096 * 4096 <= offset < at + in_file + 4096:
            return start - (offset - at // 4096 * 4096) + address % 4096 + in_memory
    return 0

def resident_pages(start, end):
    with open(f"/proc/{pid}/pagemap", "rb") as pages:
        pages.seek(start // 4096 * 8)
        words = pages.read((end - start) // 4096 * 8)
    return sum(word >> 63 for (word,) in struct.iter_unpack("<Q", words)) * 4096

# The kernel's side: each mapping is of a file, shared memory, the ledger, a stack, or anonymous.
kernel = dict.fromkeys(["file", "data", "shared", "ledger", "stack", "anonymous", "other"], 0)
head = re.compile(r"([0-9a-f]+)-([0-9a-f]+) (....) (\S+) \S+ (\d+) *(.*)")
kind, bss = "other", 0
for line in open(f"/proc/{pid}/smaps"):
    match = head.match(line)
    if match:
        start, stop, mode, name = int(match[1], 16), int(match[2], 16), match[3], match[6]
        if name.startswith("/memfd:cairn-ledger"):
            kind = "ledger"
        elif name.startswith(("/dev/shm/", "/memfd:", "/SYSV", "/dev/zero", "[anon_shmem")) or (mode[3] == "s" and not name):
            kind = "shared"
        elif name.startswith("/"):
            kind = "data" if mode[1] == "w" and mode[3] == "p" else "file"
        elif name.startswith("[stack"):
            kind = "stack"
        elif name.startswith("[v"):
            kind = "other"
        elif mode[1] == "w" and not name and start < bss:
            kind = "data" if stop <= bss + 4095 else "split"
        else:
            kind = "anonymous"
        if kind == "data" and name:
            bss = data_end(name, start, int(match[4], 16))
    elif line.startswith("Rss:"):
        size = int(line.split()[1]) << 10
        if kind == "split":  # the kernel has joined .bss and what somebody mapped behind it
            inside = resident_pages(start, (bss + 4095) // 4096 * 4096)
            kernel["data"] += inside
            kernel["anonymous"] += size - inside
        else:
            kernel[kind] += size
resident = next(int(line.split()[1]) << 10 for line in open(f"/proc/{pid}/smaps_rollup") if line.startswith("Rss:"))

def compare(what, got, true, tolerance=0.02):
    if abs(got - true) > max(tolerance * total, megabyte):
        problems.append(f"{what}: {got / megabyte:.1f} MB in the bill, {true / megabyte:.1f} by smaps")

if sum(lines.values()) != total:
    problems.append("the lines do not add up to the total")
problems += [f"{key} is negative" for key, value in lines.items() if value < 0]
compare("all", total, resident)
compare("files", lines["files"], kernel["file"])
compare("data", lines["data"], kernel["data"])
compare("shared memory", lines["shared"], kernel["shared"])
compare("the ledger", lines["ledger"], kernel["ledger"], 0)
anonymous = [key for key in lines if key not in ("files", "data", "shared", "ledger", "kernel")]  # stacks of threads are anonymous, too
compare("anonymous memory", sum(lines[key] for key in anonymous), kernel["anonymous"] + kernel["stack"])
# Nobody says who has it: it is in a line of the kernel's kinds alone.
unexplained = lines["rest"] + lines["anonymous"] + lines["heap"] + lines["libc_arenas"]
if unexplained > 0.05 * total:
    problems.append(f"{unexplained / total:.1%} unexplained: " + ", ".join(
        f"{key} {lines[key] / megabyte:.1f} MB" for key in ("rest", "anonymous", "heap", "libc_arenas") if lines[key]))
named = sum(entry["resident"] for entry in bill["mapped"])
if abs(named - lines["mapped"]) > max(0.02 * total, megabyte):
    problems.append(f"mapped by the service: {lines['mapped'] / megabyte:.1f} MB, of which {named / megabyte:.1f} have a call path")
# What lives, by the allocator's own count or by the rest of its memory, against the profile's independent estimate of it.
# Objects that nobody touched and caches that the allocator counts as objects differ: it may be less, or a little more, but not much more.
live, profile = lines["live"] + lines["slack"], bill["profile"]["bytes"] if bill["profile"] else 0
if live > profile + 4 * (bill["profile"]["error"] if bill["profile"] else 0) + max(0.1 * total, megabyte):
    problems.append(f"live: {live / megabyte:.1f} MB, and the profile knows of {profile / megabyte:.1f}")
parts = ("live", "slack", "thread_caches", "fast_bins", "free", "top", "unused", "dirty", "muzzy", "metadata", "mapped", "anonymous",
         "stacks", "data", "files", "shared", "ledger")
with open(table, "a") as out:
    print(f"{service:11}{allocator:9}{total / megabyte:7.1f} MB  " +
          " ".join(f"{key} {100 * lines[key] / total:.1f}" for key in parts if lines[key] >= 0.001 * total) +
          f"  unexplained {100 * unexplained / total:.2f} %  live {live / megabyte:.1f} MB, by the profile {profile / megabyte:.1f} MB",
          file=out)
print("; ".join(problems) if problems else f"{total / megabyte:.1f} MB, {unexplained / total:.2%} unexplained")
sys.exit(bool(problems))
