#!/usr/bin/env python3
"""compare-pprof.py CAIRN SOURCE-FOLDER PROFILE [BASE]: every view of cairn and of `go tool pprof` on the same profile, figure by
figure; prints TAP. Known differences, each with its reason:
- a place without a name is "module+0xoffset" here, so that two places are two rows; pprof calls all of a module "[module]".
- `bytes` is derived from values where samples have no such label; it is not compared then.
- by files, pprof counts a stack once for each function of a file, not once for the file; that granularity is not compared.
- --normalize scales the base to the profile, so that what there is now keeps its bytes; pprof scales the profile to the base.
  Every figure differs by that one factor, and is compared after applying it.
- the total of a function above `list` counts a stack once; pprof adds its lines up and counts recursion several times."""
import json
import re
import subprocess
import sys

cairn, sources, profile = sys.argv[1:4]
base = sys.argv[4] if len(sys.argv) > 4 else None
count = failed = 0


def run(*command):
    done = subprocess.run(command, capture_output=True, text=True)
    return done.stdout if done.returncode == 0 else None


run("go", "tool", "pprof", "-help")  # newer Go builds the tool the first time
pprof = run("go", "tool", "-n", "pprof").strip()


def ours(view, options, operands=()):
    text = run(cairn, view, *operands, "--json", "--full-names", "--all-frames", *options, profile)
    return json.loads(text) if text else None


def theirs(view, options):
    return run(pprof, "-symbolize=none", "-unit=B", "-nodecount=0", "-nodefraction=0", "-edgefraction=0",
               *options, "-" + view, profile)


def value(text):
    text = text.strip()
    return 0 if text == "." else int(re.match(r"-?\d+", text).group())


def name(text):
    text = re.sub(r" \((partial-)?inline\)$", "", text.strip())
    return re.sub(r"^\[(.*)\]$|^(.*)\+0x[0-9a-f]+$", lambda m: (m.group(1) or m.group(2)) + "+", text)


def merge(rows):
    merged = {}
    for key, *numbers in rows:
        merged[key] = [a + b for a, b in zip(merged.get(key, [0] * len(numbers)), numbers)]
    return {key: numbers for key, numbers in merged.items() if any(numbers)}


def top(options):
    text = theirs("top", options)
    got = ours("top", options)
    if text is None or got is None:
        return text, got
    rows = re.findall(r"^ *(-?\d+B?) +-?[\d.e-]+% +-?[\d.e-]+% +(-?\d+B?) +-?[\d.e-]+%  (.*)$", text, re.M)
    return (merge((name(n), value(f), value(c)) for f, c, n in rows),
            merge((name(r["name"]), r["flat"], r["cum"]) for r in got["rows"]))


def calls(view, options, operands=()):
    text = theirs(view + ("=" + operands[0] if operands else ""), options)
    got = ours(view, options, operands)
    if text is None or got is None:
        return text, got
    want, above, current = [], [], None
    for line in text.splitlines():
        edge = re.match(r"^ {20,}(-?\d+B?) +-?[\d.e-]+% \|   (.*)$", line)
        node = re.match(r"^ *(-?\d+B?) +-?[\d.e-]+% +-?[\d.e-]+% +(-?\d+B?) +-?[\d.e-]+% +\| (.*)$", line)
        if node:
            current = name(node.group(3))
            want.append((("node", current), value(node.group(1)), value(node.group(2))))
            want += [(("call", caller, current), weight, 0) for caller, weight in above]
        elif edge and current:
            want.append((("call", current, name(edge.group(2))), value(edge.group(1)), 0))
        elif edge:
            above.append((name(edge.group(2)), value(edge.group(1))))
        else:
            above, current = [], None
    have = []
    for row in got["rows"]:
        me = name(row["name"])
        have.append((("node", me), row["flat"], row["cum"]))
        have += [(("call", name(c["name"]), me), c["value"], 0) for c in row["callers"] if name(c["name"]) != me]
        have += [(("call", me, name(c["name"])), c["value"], 0) for c in row["callees"] if name(c["name"]) != me]
    want, have = merge(want), merge(have)
    if view == "tree":  # pprof shows calls from functions whose own sum is nothing, and which it does not show
        want = {key: figures for key, figures in want.items() if all(("node", end) in want for end in key[1:])}
    return want, have


def traces(options):
    text = theirs("traces", options)
    got = ours("traces", options)
    if text is None or got is None:
        return text, got
    want = []
    for part in re.split(r"^-+\+-+\n", text, flags=re.M)[1:]:
        labels = re.findall(r"^ *(\w+):  (.*)$", part, re.M)
        stack = re.findall(r"^ *(-?\d+B?)?   +(\S.*)$", re.sub(r"^ *\w+:  .*\n", "", part, flags=re.M), re.M)
        if stack and value(stack[0][0]):
            want.append((value(stack[0][0]), sorted(v for k, v in labels if k != "bytes"), [name(n) for _, n in stack]))
    have = [(t["value"], sorted(l["text"] for l in t["labels"] if "text" in l), [name(f["name"]) for f in t["stack"]])
            for t in got["traces"]]
    return merge(((*labels, *stack), number) for number, labels, stack in want), merge(((*labels, *stack), number) for number, labels, stack in have)


def tags(options):
    text = theirs("tags", options)
    got = ours("tags", options)
    if text is None or got is None:
        return text, got
    want, key = {}, None
    for line in text.splitlines():
        head = re.match(r"^ *(\w+): +Total (-?\d+B?)", line)
        row = re.match(r"^ *(-?\d+B?) \( *-?[\d.e-]+%\): +(.*)$", line)
        if head:
            key = head.group(1)
            want[key, "total"] = value(head.group(2))
        elif row:
            want[key, row.group(2)] = value(row.group(1))
    have = {}
    for tag in got["tags"]:
        if tag["key"] == "bytes" and ("bytes", "total") not in want:
            continue  # the mean size, which is derived here where the profile has none
        have[tag["key"], "total"] = tag["total"]
        for v in tag["values"]:
            have[tag["key"], v.get("text", f"{v.get('number')}B")] = v["value"]
    return want, have


def listing(options, pattern):
    text = theirs("list=" + pattern, ["-source_path=" + sources, "-trim_path=/build/shop", *options])
    got = ours("list", ["--source-path", sources, *options], [pattern])
    if text is None or got is None:
        return text, got
    want, routine = {}, None
    for line in text.splitlines():
        head = re.match(r"^ROUTINE =+ (.*) in (.*)$", line)
        row = re.match(r"^ *(-?\d+B?|\.) +(-?\d+B?|\.) +(\d+):(.*)$", line)
        if head:
            routine = head.group(1)
        elif row and (row.group(1), row.group(2)) != (".", "."):
            want[routine, int(row.group(3))] = (value(row.group(1)), value(row.group(2)), row.group(4).strip())
    have = {(r["name"], line["line"]): (line["flat"], line["cum"], line.get("code", "").strip())
            for r in got["routines"] for line in r["lines"]}
    return want, have


def total(path):
    return json.loads(run(cairn, "top", "--json", path))["total"]


def near(a, b):
    """Equal but for normalizing, and for pprof having rounded each of a handful of samples."""
    factor = total(base) / total(profile)
    numbers = [(x if isinstance(x, (list, tuple)) else [x]) for x in (a, b)]
    return len(numbers[0]) == len(numbers[1]) and all(abs(x - factor * y) <= 8 for x, y in zip(*numbers))


def same(title, want, have):
    if "normalize" not in title or not isinstance(want, dict) or not isinstance(have, dict):
        return want == have
    return want.keys() == have.keys() and all(near(want[key], have[key]) for key in want)


def check(title, pair):
    global count, failed
    count += 1
    want, have = pair
    if not want and not have:
        print(f"ok {count} - {title}: neither finds any")
        return
    good = bool(want) and same(title, want, have)
    failed += not good
    print(f"{'ok' if good else 'not ok'} {count} - {title}{f': {len(want)} figures' if want else ''}")
    if not good:
        if isinstance(want, dict) and isinstance(have, dict):
            for key in list(dict.fromkeys([*want, *have])):
                if want.get(key) != have.get(key):
                    print(f"#   {key}: pprof {want.get(key)}, cairn {have.get(key)}")
        else:
            print(f"#   pprof {str(want)[:400]}\n#   cairn {str(have)[:400]}")


def compare(pattern, cases):
    for number, case in enumerate(cases):
        options = [f"--{o}" for o in case]
        told = " ".join(options) or "as it is"
        check(f"traces {told}", traces(options))
        # The other views are sums over the same stacks: each case takes two of them in turn, the plain one and a base's all.
        views = [lambda: check(f"top {told}", top(options)), lambda: check(f"tree {told}", calls("tree", options)),
                 lambda: check(f"tags {told}", tags(options)), lambda: check(f"peek {told}", calls("peek", options, [pattern]))]
        for turn, view in enumerate(views):
            if not case or "base" in case[0] or turn % 2 == number % 2:
                view()


def main():
    # pprof takes these names with one dash or two, and "_" where we take "-" as well.
    cases = [[], ["inuse_objects"], ["alloc_space"], ["alloc_objects"], ["noinlines"]]
    if sources != "-":
        cases += [["lines"], ["focus=json"], ["ignore=json"], ["focus=handle", "ignore=cache"], ["hide=json_value"],
                  ["show=main|cache"], ["show_from=handle"], ["focus=shop\\.c"], ["focus=srv/shop"], ["hide=buffer", "focus=buffer"],
                  ["tagfocus=bytes=4kb:"], ["tagfocus=:4kb"], ["tagfocus=thread=worker"], ["tagignore=idle"], ["tagfocus=64b"],
                  ["tagfocus=1kb:8kb", "show_from=main"]]
    if base:
        cases += [[f"base={base}"], [f"base={base}", "normalize"], [f"base={base}", "focus=cache"]]
    pattern = "json|main" if sources != "-" else "main|runtime|cairn_profile"
    compare(pattern, cases)
    if sources != "-":
        for case in [], ["noinlines"], ["focus=json"], ["inuse_objects"]:
            check(f"list {case}", listing([f"--{o}" for o in case], "json|cache|main|handle"))
    print(f"1..{count}")
    sys.exit(failed > 0)


main()
