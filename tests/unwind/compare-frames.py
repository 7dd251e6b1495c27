#!/usr/bin/env python3
"""compare-frames.py FRAMES FILE [READELF]: the rules of every row of every FDE of FILE, at its first address and at its last,
as `readelf --debug-dump=frames-interp` prints them and as FRAMES (tests/unwind/frames.c) finds them. Prints how many agree, then
the first that do not; exits 1 when any differ.
SPDX-License-Identifier: Apache-2.0"""
import re
import subprocess
import sys

frames, file = sys.argv[1:3]
readelf = sys.argv[3] if len(sys.argv) > 3 else "readelf"
wanted, entries = {}, 0


def finish(rows, end):
    """Notes the rows of one entry, which ends before END."""
    for index, (address, rules) in enumerate(rows):
        until = rows[index + 1][0] if index + 1 < len(rows) else end
        if until > address:
            wanted[address] = rules
            wanted[until - 1] = rules


rows, columns, start, end, is_common = [], [], 0, 0, False
common, name, inherited = {}, None, None  # the last rules of each CIE, which hold in an entry without rows of its own
text = subprocess.run([readelf, "--wide", "--debug-dump=frames-interp", file], capture_output=True, text=True, errors="replace").stdout
for line in text.splitlines():
    # 00000018 0000000000000014 0000001c FDE cie=00000000 pc=...
    m = re.match(r"([0-9a-f]+) [0-9a-f]+ [0-9a-f]+ (CIE|FDE)(.*)", line)
    if m or line.startswith("Contents of the"):
        if rows and not is_common:
            finish(rows, end)
        elif not is_common and inherited is not None and end > start:
            finish([(start, inherited)], end)
        if is_common and rows:
            common[name] = rows[-1][1]
        rows, inherited = [], None
        if not m:
            if ".eh_frame" not in line:
                break
            continue
        is_common = m.group(2) == "CIE"
        if is_common:
            name = m.group(1)
        else:
            entries += 1
            cie = re.search(r"cie=([0-9a-f]+)", m.group(3)).group(1)
            start, end = (int(x, 16) for x in re.search(r"pc=([0-9a-f]+)\.\.([0-9a-f]+)", m.group(3)).groups())
            inherited = common.get(cie)
        continue
    if re.match(r"\s+LOC\s+CFA", line):
        columns = line.split()[1:]
        continue
    m = re.match(r"([0-9a-f]{8,16}) (.*)", line)
    if m and columns and "ZERO terminator" not in line:
        cells = re.sub(r"r\d+ \((\w+)\)", r"\1", m.group(2)).split()
        rules = dict(zip(columns, cells))
        rows.append((int(m.group(1), 16), rules))
if rows and not is_common:
    finish(rows, end)

addresses = sorted(wanted)
answer = subprocess.run([frames, file], input="\n".join(f"{a:x}" for a in addresses), capture_output=True, text=True).stdout
agreed, different = 0, []
for address, line in zip(addresses, answer.splitlines()):
    words = line.split()
    got = dict(w.split("=", 1) for w in words[1:] if "=" in w)
    want = {}
    for column, cell in wanted[address].items():
        key = "cfa" if column == "CFA" else column
        # An undefined rule is printed as "u", and so is a register that no rule mentions yet.
        if cell == "s" or re.fullmatch(r"v\d+", column):  # vectors do not matter
            continue
        if cell == "u":
            if got.get(key) == "u" or key not in got:
                got.pop(key, None)
                continue
        want[key] = cell
    if int(words[0], 16) == address and got == want:
        agreed += 1
    else:
        different.append(f"{line}   wanted {want}")
print(f"{entries} entries, {agreed} of {len(addresses)} rules agree")
for line in different[:5]:
    print("# " + line)
sys.exit(bool(different) or len(answer.splitlines()) != len(addresses) or not addresses)
