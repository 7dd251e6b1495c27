#!/usr/bin/env python3
"""flame-tree.py [--colors] A.svg B.svg: whether two flame graphs hold the same tree: name, depth, start and weight of every frame.

Start and weight are read from fg:x and fg:w where both have them. A picture of flamegraph.pl has pixels and a number in its title
instead: then weights are compared as that number and starts within 0.15 pixels. With --colors only the colour of each name is compared."""
import re
import sys
import xml.etree.ElementTree as tree

SVG = "{http://www.w3.org/2000/svg}"
FG = "{http://github.com/jonhoo/inferno}"


def color(fill):
    numbers = re.fullmatch(r"rgb\((\d+),(\d+),(\d+)\)", fill)
    return "#%02x%02x%02x" % tuple(map(int, numbers.groups())) if numbers else fill


def frames(path):
    found = []
    for group in tree.parse(path).iter():
        if group.tag not in (SVG + "g", SVG + "a") or group.find(SVG + "title") is None or group.find(SVG + "rect") is None:
            continue
        title, rect = group.find(SVG + "title").text.split("\n")[0], group.find(SVG + "rect")
        match = re.fullmatch(r"(.*) \((-?[\d,]+) [^()]*%[^()]*\)", title, re.S)
        x = rect.get("x")
        found.append({
            "name": match[1].strip(), "count": int(match[2].replace(",", "")), "y": float(rect.get("y")),
            "x": None if x.endswith("%") else float(x),
            "color": color(rect.get("fill")), "start": rect.get(FG + "x"), "weight": rect.get(FG + "w"),
        })
    rows = sorted({frame["y"] for frame in found})
    root = next(frame["y"] for frame in found if frame["name"] == "all")
    for frame in found:
        frame["depth"] = abs(rows.index(frame["y"]) - rows.index(root))
    return found


first, second = frames(sys.argv[-2]), frames(sys.argv[-1])
if sys.argv[1] == "--colors":
    one, two = ({frame["name"]: frame["color"] for frame in side} for side in (first, second))
    different = [(name, one[name], two.get(name)) for name in one if one[name] != two.get(name)]
    print(f"{len(one)} names, {len(different)} differ: {different[:5]}")
    sys.exit(len(different) > 0)
exact = all(frame["start"] is not None for frame in first + second)
if exact:
    def key(frame):
        return (frame["depth"], int(frame["start"]), int(frame["weight"]), frame["name"])
else:
    def key(frame):
        return (frame["depth"], frame["x"], frame["name"], frame["count"])
a, b = sorted(map(key, first)), sorted(map(key, second))
if exact:
    different = len(set(a) ^ set(b)) + abs(len(a) - len(b))
else:
    different = abs(len(a) - len(b)) + sum(
        one[0] != two[0] or abs(one[1] - two[1]) > 0.15 or one[2:] != two[2:] for one, two in zip(a, b))
print(f"{len(a)} and {len(b)} frames, {different} differ, {'starts and weights' if exact else 'pixels and counts'} compared")
if different:
    for one, two in list(zip(a, b))[:400]:
        if one != two:
            print(one, two)
            break
sys.exit(different > 0)
