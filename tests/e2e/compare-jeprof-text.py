"""Compare the output of stock jeprof and of `cairn jeprof` for the same command line, field by field.

compare-jeprof-text.py KIND THEIRS OURS prints what differs and exits 1 if anything does that is not one of the known differences. With - it
does so for each line `KIND THEIRS OURS` of standard input, and prints a line for each: `same`, or what differs. The known differences, each with
its reason:

- A place that no symbol covers is module+0xoffset with us; jeprof takes the nearest symbol below it, however far, or the bare address.
  Such rows are compared by their figures alone.
- jeprof shows inlined functions only where the module has a symbol _fini; we show them wherever the debug information has them, so
  rows "… (inline)" that only we have, and lines of the function around them, are no difference.
- binutils writes ./a/./a/file.c for a file that was compiled in ./a, and appends (discriminator N); we do not.
- jeprof tags names with <address> in folded text; we do not, since it makes two builds differ.
- jeprof's running sum (the third column) counts rows in its own order of names; it is compared at the last row only.
- addr2line's discriminators break jeprof's callgrind output: the callee is lost. Such calls are left out.
- Stacks that come to zero have no line in our folded text.
"""
import os, re, sys
from collections import Counter, defaultdict


def compare_lines():
    """Returns in a process of its own for each line."""
    for line in sys.stdin:
        result, output = os.pipe()
        if os.fork() == 0:
            os.dup2(output, 1)
            sys.argv[1:] = line.split()
            return
        os.close(output)
        said = open(result).read()
        print("same" if os.wait()[1] == 0 else " ".join(said.split()), flush=True)
    sys.exit()


if sys.argv[1] == "-":
    compare_lines()
kind, theirs_path, ours_path = sys.argv[1:4]
bad = []


def read(path):
    return open(path, errors="replace").read().splitlines()


def clean(name):
    name = re.sub(r" \(discriminator \d+\)", "", name)
    name = re.sub(r"(^|\s)(\./[^/\s]+/)\2", r"\1\2", name)
    name = re.sub(r"@@?(GLIBC|GLIBCXX)\S*", "", name)
    name = re.sub(r"@[0-9a-f]+", "", name)
    return re.sub(r":\?$|:0$", "", name)


def unknown(name):
    return re.search(r"\+0x[0-9a-f]+|\?\?|^[0-9a-f]{16}( |$)(?!\S+ \S+:\d)|^\S+\.so[.\d]*$", name) is not None


def rows(lines):
    table, totals, order = defaultdict(Counter), [], []
    for line in lines:
        if line.startswith("Total"):
            totals.append(line)
            continue
        match = re.fullmatch(r" *(\S+) +(\S+) +(\S+) +(\S+) +(\S+) (.*)", line)
        if not match or len(line) < 40:
            bad.append(f"not a row: {line}")
            continue
        flat, flat_part, _, cum, cum_part, name = match.groups()
        # The widths, without the running sum.
        shape = "%8s %6s %8s %6s" % (flat, flat_part, cum, cum_part)
        table[len(totals), clean(name)][flat, flat_part, cum, cum_part, shape] += 1
        order.append((flat, cum, clean(name)))
    return table, totals, order


def compare_text():
    theirs, their_totals, their_order = rows(read(theirs_path))
    ours, our_totals, our_order = rows(read(ours_path))
    if their_totals != our_totals:
        bad.append(f"totals: theirs {their_totals[:3]}, ours {our_totals[:3]}")
    shared = [key for key in theirs if key in ours]
    for key in shared:
        if theirs[key] != ours[key]:
            bad.append(f"{key}: theirs {list(theirs[key])}, ours {list(ours[key])}")
    only_theirs = [key for key in theirs if key not in ours]
    only_ours = [key for key in ours if key not in theirs and "(inline)" not in key[1]]
    # What only one has is a place that the other could not name: the same figures under another name.
    figures = lambda table, keys: sum((Counter({f[:4]: n for f, n in table[key].items()}) for key in keys), Counter())
    left, right = figures(theirs, only_theirs), figures(ours, only_ours)
    for key in only_ours:
        if not unknown(key[1]) and not all(figure[:4] in left or figure[0].strip("-0.") == "" for figure in ours[key]):
            bad.append(f"only ours: {key} {list(ours[key])}")
    for figure, count in left.items():
        if right[figure] == 0 and figure[0].strip("-0.") != "":
            bad.append(f"only theirs: {figure} {[k for k in only_theirs if any(f[:4] == figure for f in theirs[k])]}")
    names = [name for _, _, name in their_order]
    mine = [name for _, _, name in our_order if name in set(names)]
    both = [name for name in names if name in set(mine)]
    if Counter(mine) == Counter(both) and mine != both:
        bad.append("the order of rows differs")
    print(f"{len(shared)} rows equal, {len(only_theirs)} only theirs, {len(only_ours)} only ours")
    return len(shared)


def by_address(lines):
    table, total = {}, None
    for line in lines:
        words = line.split()
        if line.startswith("Total"):
            total = line
        elif len(words) > 5:
            table.setdefault(words[5], set()).add((words[0], words[1], words[3], words[4]))
    return table, total


def compare_addresses():
    theirs, their_total = by_address(read(theirs_path))
    ours, our_total = by_address(read(ours_path))
    if their_total != our_total:
        bad.append(f"totals: theirs {their_total}, ours {our_total}")
    # The allocator's own frames stay where jeprof has no name for them; with us they are cut off, and the caller holds what they held.
    missing = [address for address in theirs if address not in ours]
    # An allocation function that was inlined: jeprof cuts the whole address, we the inlined part; its caller's flat moves there.
    moved = {figure[0] for address in ours if address not in theirs for figure in ours[address] if figure[0] == figure[2]}
    for address in ours:
        if address not in theirs:
            continue
        (their_flat, *_), (our_flat, *_) = min(theirs[address]), min(ours[address])
        if {f[2:] for f in theirs[address]} == {f[2:] for f in ours[address]} and float(our_flat) == 0 and their_flat in moved:
            continue
        if not ours[address] & theirs[address]:
            bad.append(f"{address}: theirs {theirs[address]}, ours {ours[address]}")
    print(f"{len(ours)} addresses, {len(missing)} only theirs")
    if len(moved) > 2:
        bad.append(f"only ours: {moved}")
    if len(missing) > 8:
        bad.append(f"only theirs: {missing[:8]}")
    return len(ours)


def folded(path):
    stacks = Counter()
    for line in read(path):
        stack, _, count = line.rpartition(" ")
        stack = re.sub(r"<[0-9a-f]{16}>", "", stack)
        stacks[";".join("?" if unknown(clean(f)) else clean(f) for f in stack.split(";") if "[inline]" not in f)] += int(count)
    return +stacks


def compare_folded():
    theirs, ours = folded(theirs_path), folded(ours_path)
    # The leaf or root that one of them could not name: compared by what is left.
    exact = [stack for stack in theirs if abs(theirs[stack] - ours.get(stack, 10**18)) <= 1]
    if abs(sum(theirs.values()) - sum(ours.values())) > len(theirs) + len(ours):
        bad.append(f"sums: theirs {sum(theirs.values())}, ours {sum(ours.values())}")
    weight = sum(theirs[stack] for stack in exact) / max(1, sum(theirs.values()))
    if weight < float(sys.argv[4] if len(sys.argv) > 4 else 0.95):
        bad.append(f"only {weight:.3f} of the weight is in stacks that are equal")
        bad.extend(f"theirs: {stack} {theirs[stack]}" for stack in list(theirs)[:5] if stack not in exact)
    print(f"{len(exact)} of {len(theirs)} stacks equal, {weight:.4f} of the weight")
    return len(exact)


def listing(path):
    routines, name = defaultdict(dict), None
    for line in read(path):
        match = re.match(r"ROUTINE =+ (.*?)(?: in (.*))?$", line)
        if match:
            name = match.group(1)
            continue
        match = re.match(r" *(\S+) +(\S+) +Total|^ *(\S+) +(\S+) \S+ \(flat, cumulative\) (\S+) of total", line)
        if match:
            routines[name]["total"] = [g for g in match.groups() if g]
            continue
        match = re.match(r" *(\S+) +(\S+) +([0-9a-f]+): (.*)", line)
        if match and (match.group(1), match.group(2)) != (".", "."):
            routines[name][match.group(3)] = (match.group(1), match.group(2), match.group(4).split())
    return routines


def compare_listing():
    theirs, ours = listing(theirs_path), listing(ours_path)
    for name, lines in theirs.items():
        if name not in ours:
            bad.append(f"{name}: not in ours")
        elif lines != ours[name]:
            bad.extend(f"{name} {k}: theirs {lines.get(k)}, ours {ours[name].get(k)}" for k in {*lines, *ours[name]} if lines.get(k) != ours[name].get(k))
    print(f"{len(theirs)} routines")
    return len(theirs)


def calls(path):
    names, found = {}, Counter()
    block = {}
    for line in read(path) + [""]:
        match = re.match(r"(c?f[ln])=(?:\((\d+)\) ?)?(.*)", line)
        if match:
            key, number, name = match.groups()
            if number:
                name = names.setdefault((key[-1], number), clean(name))
            block[key] = name
        elif line.startswith("calls="):
            block["callee_line"] = line.split()[1]
        elif re.match(r"\d* -?\d+$", line):
            block["line"], block["value"] = line.split(" ")
        elif not line and block:
            found[tuple(block.get(k) for k in ("fl", "fn", "cfl", "cfn"))] += int(block.get("value") or 0)
            block = {}
    return found


def compare_calls():
    theirs, ours = calls(theirs_path), calls(ours_path)
    # A place with a discriminator is lost to jeprof, and with it the callee: its calls then look like the caller's own.
    # Lines are not compared: where the two see different inlined functions, theirs is the inlined line.
    known = {call[:2] for call in ours} | {call[2:] for call in ours}
    considered = [c for c in theirs if c[:2] in known and (c[2:] in known if c[3] else c in ours)]
    for call in considered:
        if abs(theirs[call] - ours.get(call, 10**18)) > 1:
            bad.append(f"theirs: {call} {theirs[call]}, ours {ours.get(call)}")
    print(f"{len(considered)} of {len(theirs)} calls compared")
    return len(considered)


compared = {"text": compare_text, "addresses": compare_addresses, "folded": compare_folded, "listing": compare_listing, "calls": compare_calls}[kind]()
print("\n".join(bad[:8]))
sys.exit(bool(bad) or compared == 0)
