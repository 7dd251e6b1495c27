"""Compare `cairn top --addresses --json` with `jeprof --text --addresses --show_bytes`, figure by figure.

compare-jeprof.py CAIRN.json JEPROF.txt prints what differs and exits 1 if anything does. Known differences, allowed for here:
- jeprof shows every address but the leaf's less one; cairn shows the dump's own number. Both spellings of an address are tried.
- jeprof merges nothing across modules and neither do we, but it names addresses by the nearest symbol whatever its size: names are not compared.
"""
import json, sys

ours = json.load(open(sys.argv[1]))
want_total, theirs = None, {}
for line in open(sys.argv[2], errors="replace"):
    words = line.split()
    if line.startswith("Total:"):
        want_total = int(words[1])
    elif len(words) >= 6 and words[1].endswith("%"):
        theirs[int(words[5], 16)] = (int(words[0]), int(words[3]))
mine = {}
for row in ours["rows"]:
    address = int(row["name"].split()[0], 16)
    mine[address] = (row["flat"], row["cum"])
bad = []
if want_total is None or int(ours["total"]) != want_total:
    bad.append(f"total: cairn {ours['total']}, jeprof {want_total}")
missing = 0
for address, figures in theirs.items():
    found = mine.get(address + 1, mine.get(address))
    if found is None:
        missing += 1
        bad.append(f"{address:#x}: only jeprof has it, {figures}")
    elif found != figures:
        bad.append(f"{address:#x}: cairn {found}, jeprof {figures}")
if len(mine) != len(theirs):
    bad.append(f"{len(mine)} addresses, jeprof has {len(theirs)}")
print(f"{len(theirs)} addresses, total {want_total}: {len(bad)} differences")
print("\n".join(bad[:5]))
sys.exit(bool(bad) or not theirs)
