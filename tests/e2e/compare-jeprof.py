"""Compare `cairn top --addresses --json` with `jeprof --text --addresses --show_bytes`, figure by figure.

compare-jeprof.py CAIRN.json JEPROF.txt CAIRN.raw METRIC prints what differs and exits 1 if anything does. CAIRN.raw is `cairn raw` of the
same profile. Known differences, allowed for here:
- jeprof shows every address but the leaf's less one; cairn shows the dump's own number. Both spellings of an address are tried.
- jeprof names addresses by the nearest symbol whatever its size: names are not compared.
- Where a wrapper called malloc or calloc was inlined into a function (the loader does it), jeprof takes the whole address for the
  allocator and drops the function with it; cairn drops the wrapper alone. Such stacks are counted jeprof's way before comparing.
- cairn rounds where jeprof truncates, so bytes may differ by one.
- jemalloc rounds the count that a sample stands for to eighths. cairn corrects the count where all objects have one size, so counts of
  objects may differ by up to 4 %, and by three where they are few or the difference of two counts.
"""
import json, re, sys

ALLOCATORS = {"malloc", "calloc", "realloc", "free"}
ours, metric = json.load(open(sys.argv[1])), sys.argv[4]
want_total, theirs = None, {}
for line in open(sys.argv[2], errors="replace"):
    words = line.split()
    if line.startswith("Total:"):
        want_total = int(words[1])
    elif len(words) >= 6 and words[1].endswith("%"):
        theirs[int(words[5], 16)] = (int(words[0]), int(words[3]))
mine = {int(row["name"].split()[0], 16): [row["flat"], row["cum"]] for row in ours["rows"]}

# jeprof's way for inlined wrappers: the flat figure goes to the caller, the address itself loses the sample.
samples, locations, section, column = [], {}, "", 0
for line in open(sys.argv[3], errors="replace"):
    if line.startswith("values:"):
        column = [w.rstrip("*").split("/")[0] for w in line.split()[1:]].index(metric)
    elif re.match(r"[a-z]+: \d+$", line):
        section = line.split(":")[0]
    elif section == "samples":
        values, _, stack = line.partition(":")
        samples.append((float(values.split()[column]), [int(w) for w in stack.split("|")[0].split()]))
    elif section == "locations":
        number, _, rest = line.strip().partition(": ")
        address = sum(int(part, 0) for part in rest.split()[0].split("+"))
        frames = rest.split(" ", 2)[2].split(" <- ") if len(rest.split(" ", 2)) > 2 else []
        locations[int(number)] = (address, len(frames) > 1 and frames[0].split()[0] in ALLOCATORS)
moved = 0
for value, stack in samples:
    wrapped = [i for i, number in enumerate(stack) if locations[number][1]]
    if wrapped and wrapped[-1] + 1 < len(stack) and value:
        address, caller = locations[stack[wrapped[-1]]][0], locations[stack[wrapped[-1] + 1]][0]
        mine[address][0] -= value
        mine[address][1] -= value
        mine[caller][0] += value
        moved += 1
if moved:
    mine = {address: [int(flat + 0.01), int(cum + 0.01)] for address, (flat, cum) in mine.items() if cum > 1 or address + 0 in theirs or address - 1 in theirs}

bad = []
def close(a, b):
    return abs(a - b) <= max(1, max(3, 0.04 * abs(b)) if metric.endswith("objects") else 0)


if want_total is None or not close(int(ours["total"]), want_total):
    bad.append(f"total: cairn {ours['total']}, jeprof {want_total}")
for address, figures in theirs.items():
    found = mine.get(address + 1, mine.get(address))
    if found is None:
        bad.append(f"{address:#x}: only jeprof has it, {figures}")
    elif not close(found[0], figures[0]) or not close(found[1], figures[1]):
        bad.append(f"{address:#x}: cairn {found}, jeprof {figures}")
if len(mine) != len(theirs):
    bad.append(f"{len(mine)} addresses, jeprof has {len(theirs)}")
print(f"{len(theirs)} addresses, total {want_total}: {len(bad)} differences")
print("\n".join(bad[:5]))
sys.exit(bool(bad) or not theirs)
