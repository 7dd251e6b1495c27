"""Compare `cairn raw` with `google-pprof --text --addresses --show_bytes`, figure by figure.

compare-pprof.py RAW VALUE PPROF.txt [SCALE] prints what differs and exits 1 if anything does. VALUE is a value type such as inuse_space; SCALE
divides ours first. google-pprof takes one off every address but the leaf's, which in a heap profile is a return address as well: both spellings are tried.
It cuts the allocator's own frames off by their names: frames at the leaf's end that it does not list are cut off ours. It lists nothing that is 0.
Figures are truncated as google-pprof prints them; sums of estimates may differ in the last digit by the order they were added in.
"""
import collections, re, sys

raw, value, text = sys.argv[1:4]
scale = float(sys.argv[4]) if len(sys.argv) > 4 else 1
section, column, samples, address = "", None, [], {}
for line in open(raw, errors="replace"):
    if not line.startswith(" "):
        section, _, rest = line.partition(":")
        if section == "values":
            column = [name.split("/")[0] for name in rest.split()].index(value)
    elif section == "samples":
        values, _, stack = line.partition(":")
        samples.append((float(values.split()[column]), [int(word) for word in stack.partition("|")[0].split()]))
    elif section == "locations":
        number, where = re.match(r" (\d+): (0x[0-9a-f]+)", line).groups()
        address[int(number)] = int(where, 16)

theirs, want_total, known = {}, None, set(address.values())
for line in open(text, errors="replace"):
    words = line.split()
    if line.startswith("Total:"):
        want_total = int(words[1])
    elif len(words) >= 6 and words[1].endswith("%"):
        where = int(words[5], 16)
        theirs[where if where in known else where - 1] = (int(words[0]), int(words[3]))

flat, cumulative, total = collections.Counter(), collections.Counter(), 0
for amount, stack in samples:
    total += amount
    stack = [address[number] for number in stack]
    while stack and stack[0] not in theirs:
        stack.pop(0)
    if stack:
        flat[stack[0]] += amount
    for where in set(stack):
        cumulative[where] += amount
cumulative = {where: amount for where, amount in cumulative.items() if amount}
bad = []
if want_total is None or abs(total / scale - want_total) > 1:
    bad.append(f"total: cairn {total / scale}, google-pprof {want_total}")
for where, (want_flat, want_cumulative) in theirs.items():
    if where not in cumulative:
        bad.append(f"{where:#x}: only google-pprof has it")
    elif abs(flat[where] / scale - want_flat) > 1 or abs(cumulative[where] / scale - want_cumulative) > 1:
        bad.append(f"{where:#x}: cairn {flat[where] / scale}, {cumulative[where] / scale}; google-pprof {want_flat}, {want_cumulative}")
if len(theirs) != len(cumulative):
    bad.append(f"{len(cumulative)} addresses, google-pprof has {len(theirs)}")
print(f"{len(theirs)} addresses, total {want_total}: {len(bad)} differences", *bad[:5], sep="\n")
sys.exit(bool(bad) or not theirs)
