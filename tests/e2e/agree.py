"""agree.py addresses FILE COUNT: random addresses inside the functions of FILE, one a line.
agree.py compare FILE OURS ORACLE [OTHER...]: how far two symbolizers agree on FILE, frame by frame, on place (file name and line) and on
the function's last name component; OURS and the rest are the output of addr2line -a -f -i -C. Two symbols of one place are one function.
Lists the kinds of difference, and says for how many of them most of the OTHERs are with us. Fails under 99.9 % of places or 99.5 % of
both.

llvm-symbolizer names the outermost function by the symbol table, not by DWARF. So a part that the compiler split off or cloned has a suffix
(.cold, .constprop.0), which is left out here as demanglers set it apart too, and of several symbols of one place it takes the last."""
import collections
import random
import re
import subprocess
import sys


def symbols(path, *options):
    """(address, size, name) of the functions in the symbol table of PATH."""
    listing = subprocess.run(["nm", "-S", "--defined-only", *options, path], capture_output=True, text=True).stdout
    for line in listing.splitlines():
        parts = line.split(maxsplit=3)
        if len(parts) == 4 and parts[2] in "tTwWi" and int(parts[1], 16) > 0:
            yield int(parts[0], 16), int(parts[1], 16), parts[3]


def addresses(path, count):
    functions = [(address, size) for address, size, _ in symbols(path)]
    random.seed(7)
    for _ in range(count if functions else 0):
        start, size = random.choice(functions)
        print(hex(start + random.randrange(size)))


def load(path):
    answers, frames = [], None
    for line in open(path, errors="replace"):
        line = line.rstrip("\n")
        if re.fullmatch(r"0x[0-9a-fA-F]+", line):
            frames = []
            answers.append((int(line, 16), frames))
        elif line and frames is not None:
            frames.append(line)
    return answers


def leaf(name):
    """The last component of a name without templates, arguments and suffixes; None where demanglers spell it differently."""
    if name.startswith(("_Z", "_R")) or re.search(r"operator ?[<>]", name):
        return None
    if "$" in name:  # Rust's escapes, which some leave in
        name = re.sub(r"\$(LT|GT|u20|RF|BP|C)\$", lambda m: {"LT": "<", "GT": ">", "u20": " ", "RF": "&", "BP": "*", "C": ","}[m[1]], name).replace("..", "::")
    name = name.replace("(anonymous namespace)", "{anon}").replace("operator()", "operatorcall").replace("->", "~~")
    kept, depth = [], 0
    for character in name:
        depth += character in "<([{"
        if not depth:
            kept.append(character)
        if character in ">)]}":
            depth = max(0, depth - 1)
    parts = re.sub(r"\b(const|clone|volatile)\b.*$", "", "".join(kept)).strip().split("@")[0].split("::")
    if len(parts) > 1 and re.fullmatch(r"h[0-9a-f]{16}", parts[-1]):  # the hash of Rust's names, which some leave in
        parts.pop()
    last = parts[-1].strip().split(" ")[-1].lstrip("*&")
    return re.sub(r"(\.(cold|part|constprop|isra|lto_priv|llvm)(\.\d+)*)+$", "", last) or None


def frames(lines):
    result = []
    for name, place in zip(lines[::2], lines[1::2]):
        file, _, line = re.sub(r" \(discriminator \d+\)", "", place).rpartition(":")
        result.append((leaf(name), file.split("/")[-1], "0" if line == "?" else line))
    return result


class Aliases:
    """Which names belong to one place of the symbol table."""

    def __init__(self, path):
        self.places = collections.defaultdict(set)
        for address, _, name in symbols(path, "-C"):
            self.places[leaf(name)].add(address)

    def same(self, a, b):
        return a == b or None in (a, b) or bool(self.places.get(a, set()) & self.places.get(b, set()))


def kind(ours, theirs, aliases):
    """Why two lists of frames differ, in words."""
    if [f[1:] for f in ours] == [f[1:] for f in theirs]:
        for a, b in zip(ours, theirs):
            if not aliases.same(a[0], b[0]):
                return "function: the oracle takes the symbol's name, which is another"
        return None
    if len(ours) != len(theirs):
        return "inlining: %s frames than the oracle" % ("fewer" if len(ours) < len(theirs) else "more")
    if ours[0][1:] != theirs[0][1:]:
        if theirs[0][1] == "??" or ours[0][1] == "??":
            return "line: known to one of the two only"
        return "line: another row of the line table"
    return "call site: another file or line"


def compare(path, ours_path, theirs_path, others):
    ours, theirs, aliases = load(ours_path), load(theirs_path), Aliases(path)
    others = [dict(load(path)) for path in others]
    total = places = names = 0
    kinds, examples, with_us = collections.Counter(), {}, 0
    for (address, a), (_, b) in zip(ours, theirs):
        a, b = frames(a), frames(b)
        total += max(len(a), len(b))
        places += sum(p[1:] == q[1:] for p, q in zip(a, b))
        names += sum(p[1:] == q[1:] and aliases.same(p[0], q[0]) for p, q in zip(a, b))
        why = kind(a, b, aliases)
        if why:
            kinds[why] += 1
            examples.setdefault(why, (address, a, b))
            votes = [frames(other[address]) for other in others if address in other]
            with_us += sum([f[1:] for f in vote] == [f[1:] for f in a] for vote in votes) * 2 > len(votes) > 0
    place, name = 100 * places / max(total, 1), 100 * names / max(total, 1)
    print(f"# {len(ours)} addresses, {total} frames: file:line agrees on {place:.3f} %, with the function on {name:.3f} %")
    for why, count in kinds.most_common():
        print(f"#   {count:5} {why}")
        address, a, b = examples[why]
        print(f"#         such as {address:#x}: {a[:3]} and {b[:3]}")
    if others and kinds:
        print(f"#   for {with_us} of {sum(kinds.values())} differences most of the other symbolizers are with us on the places")
    good = total > 0 and len(ours) == len(theirs) and place >= 99.9 and name >= 99.5
    sys.exit(not good)


if sys.argv[1] == "addresses":
    addresses(sys.argv[2], int(sys.argv[3]))
else:
    compare(sys.argv[2], sys.argv[3], sys.argv[4], sys.argv[5:])
