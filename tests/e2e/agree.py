"""agree.py addresses FILE COUNT: random addresses inside the functions of FILE, one a line.
agree.py compare OURS ORACLE [OTHER...]: how far two symbolizers agree, frame by frame, on place (file name and line) and on the
function's last name component; each file is the output of addr2line -a -f -i -C. Lists the kinds of difference, and says for how many
of the places that differ the OTHERs are with us. Fails under 99.9 % of places or 99.5 % of both."""
import collections
import random
import re
import subprocess
import sys


def addresses(path, count):
    functions = []
    listing = subprocess.run(["nm", "-S", "--defined-only", path], capture_output=True, text=True).stdout
    for line in listing.splitlines():
        parts = line.split()
        if len(parts) >= 4 and parts[2] in "tTwWi" and int(parts[1], 16) > 0:
            functions.append((int(parts[0], 16), int(parts[1], 16)))
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
    name = name.replace("(anonymous namespace)", "{anon}").replace("operator()", "operatorcall").replace("->", "~~")
    kept, depth = [], 0
    for character in name:
        depth += character in "<([{"
        if not depth:
            kept.append(character)
        if character in ">)]}":
            depth = max(0, depth - 1)
    name = re.sub(r"\b(const|clone|volatile)\b.*$", "", "".join(kept)).strip().split("::")[-1].strip()
    return name.split(" ")[-1].lstrip("*&") or None


def frames(lines):
    result = []
    for name, place in zip(lines[::2], lines[1::2]):
        file, _, line = re.sub(r" \(discriminator \d+\)", "", place).rpartition(":")
        result.append((leaf(name), file.split("/")[-1], "0" if line == "?" else line))
    return result


def kind(ours, theirs):
    """Why two lists of frames differ, in words."""
    if [f[1:] for f in ours] == [f[1:] for f in theirs]:
        for a, b in zip(ours, theirs):
            if a[0] != b[0] and None not in (a[0], b[0]):
                if re.split(r"[.]", a[0])[0] == re.split(r"[.]", b[0])[0]:
                    return "function: the oracle takes the symbol's name, with a suffix (.cold, .part, .constprop)"
                return "function: the oracle takes the symbol's name, of another function folded into the same code"
        return None
    if len(ours) != len(theirs):
        return "inlining: %s frames than the oracle" % ("fewer" if len(ours) < len(theirs) else "more")
    if ours[0][1:] != theirs[0][1:]:
        if theirs[0][1] == "??" or ours[0][1] == "??":
            return "line: known to one of the two only"
        return "line: another row of the line table"
    return "call site: another file or line"


def compare(ours_path, theirs_path, others):
    ours, theirs = load(ours_path), load(theirs_path)
    others = [dict(load(path)) for path in others]
    total = places = names = 0
    kinds, examples, with_us = collections.Counter(), {}, 0
    for (address, a), (_, b) in zip(ours, theirs):
        a, b = frames(a), frames(b)
        total += max(len(a), len(b))
        places += sum(p[1:] == q[1:] for p, q in zip(a, b))
        names += sum(p[1:] == q[1:] and (p[0] == q[0] or None in (p[0], q[0])) for p, q in zip(a, b))
        why = kind(a, b)
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
    compare(sys.argv[2], sys.argv[3], sys.argv[4:])
