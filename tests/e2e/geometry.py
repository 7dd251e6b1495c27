"""geometry.py GOLDEN PICTURE: whether the shapes of two SVG pictures lie at the same places: kind, numbers of each attribute, and texts. Of a
flame graph also that its boxes are as wide as they weigh, and that each stands on one that is at least as wide."""
import re, sys, xml.etree.ElementTree as tree

NUMBER = re.compile(r"-?\d+(?:\.\d+)?")
PLACES = "x", "y", "x1", "x2", "y1", "y2", "width", "height", "d", "points", "transform", "viewBox"
INFERNO = "{http://github.com/jonhoo/inferno}"


def shapes(path):
    """Each shape of the picture: its kind, text and numbers."""
    for item in tree.parse(path).iter():
        kind = item.tag.split("}")[-1]
        if kind in ("svg", "rect", "text", "path", "line", "polygon", "polyline", "title"):
            yield kind, (item.text or "").strip(), [float(n) for name in PLACES for n in NUMBER.findall(item.get(name, ""))]


def boxes(path):
    """The boxes of a flame graph: x, y, width, start and weight; the root is the first."""
    for item in tree.parse(path).iter("{http://www.w3.org/2000/svg}rect"):
        if item.get(INFERNO + "w"):
            yield [float(item.get(name)) for name in ("x", "y", "width", INFERNO + "x", INFERNO + "w")]


golden, picture = (list(shapes(path)) for path in sys.argv[1:])
assert len(golden) == len(picture) > 3, f"{len(picture)} shapes, {len(golden)} in the golden picture"
for want, got in zip(golden, picture):
    assert want[:2] == got[:2] and len(want[2]) == len(got[2]) and all(abs(a - b) < 0.11 for a, b in zip(want[2], got[2])), f"{got}, not {want}"
found = list(boxes(sys.argv[2]))
for x, y, width, start, weight in found:
    scale = found[0][2] / found[0][4]
    assert width > 0 and abs(width - weight * scale) < 0.11 and abs(x - found[0][0] - start * scale) < 0.11, (x, width, start, weight)
    below = [box for box in found if abs(abs(y - box[1]) - 16) < 0.01 and abs(box[1] - found[0][1]) < abs(y - found[0][1])]
    assert y == found[0][1] or any(box[3] <= start and start + weight <= box[3] + box[4] for box in below), f"{start} stands on nothing"
for y in {box[1] for box in found}:
    row = [box for box in found if box[1] == y]
    assert sum(box[2] for box in row) <= found[0][2] + 0.1 * len(row), f"the boxes at {y} are wider than all"
