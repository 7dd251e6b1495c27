"""querier.py URL json|proto|both METHOD [KEY=VALUE...]: asks Pyroscope's query interface, and prints what it says as JSON, whichever way it was
said. `both` asks in both ways, and fails unless the answers are the same.

Messages are encoded and decoded here by the field numbers and names of the public protocol, so that both spellings are checked against it.
KEY=[a,b] is a list, left.KEY=VALUE and right.KEY=VALUE are for Diff. `querier.py folded` turns a flame graph on stdin into folded text."""
import json, struct, sys, urllib.request, urllib.error

from wire import fields as fields_of, packed, signed, varint

TEXT, TEXTS, INT, REAL, INTS = "text", "texts", "int", "real", "ints"
PAIR = {1: ("name", TEXT), 2: ("value", TEXT)}
LABELS = {1: ("labels", [PAIR])}
LEVEL = {1: ("values", INTS)}
FLAME = {1: ("names", TEXTS), 2: ("levels", [LEVEL]), 3: ("total", INT), 4: ("maxSelf", INT), 5: ("leftTicks", INT), 6: ("rightTicks", INT)}
MERGE = {1: ("profileTypeID", TEXT), 2: ("labelSelector", TEXT), 3: ("start", INT), 4: ("end", INT), 5: ("maxNodes", INT)}
METHODS = {
    "ProfileTypes": ({1: ("start", INT), 2: ("end", INT)}, {1: ("profileTypes", [{1: ("ID", TEXT), 2: ("name", TEXT), 4: ("sampleType", TEXT),
                     5: ("sampleUnit", TEXT), 6: ("periodType", TEXT), 7: ("periodUnit", TEXT)}])}),
    "LabelNames": ({1: ("matchers", TEXTS), 2: ("start", INT), 3: ("end", INT)}, {1: ("names", TEXTS)}),
    "LabelValues": ({1: ("name", TEXT), 2: ("matchers", TEXTS), 3: ("start", INT), 4: ("end", INT)}, {1: ("names", TEXTS)}),
    "Series": ({1: ("matchers", TEXTS), 2: ("labelNames", TEXTS), 3: ("start", INT), 4: ("end", INT)}, {2: ("labelsSet", [LABELS])}),
    "SelectSeries": ({**{k: v for k, v in MERGE.items() if k < 5}, 5: ("groupBy", TEXTS), 6: ("step", REAL), 9: ("limit", INT)},
                     {1: ("series", [{1: ("labels", [PAIR]), 2: ("points", [{1: ("value", REAL), 2: ("timestamp", INT)}])}])}),
    "SelectMergeStacktraces": (MERGE, {1: ("flamegraph", FLAME)}),
    "Diff": ({1: ("left", MERGE), 2: ("right", MERGE)}, {1: ("flamegraph", FLAME)}),
}


def encode(values, fields):
    out = b""
    for number, (name, kind) in fields.items():
        if name not in values:
            continue
        value = values[name]
        if kind == INT:
            out += varint(number << 3) + varint(int(value))
        elif kind == REAL:
            out += varint(number << 3 | 1) + struct.pack("<d", float(value))
        else:
            for item in value if kind == TEXTS else [value]:
                item = encode(item, kind) if isinstance(kind, dict) else item.encode()
                out += varint(number << 3 | 2) + varint(len(item)) + item
    return out


def decode(data, fields):
    out = {}
    for number, value in fields_of(data):
        name, kind = fields[number]
        if kind == INT:
            assert isinstance(value, int), name
            out[name] = signed(value)
        elif kind == REAL:
            out[name] = struct.unpack("<d", struct.pack("<Q", value))[0]
        elif kind == INTS:
            out.setdefault(name, []).extend(map(signed, packed(value)))
        elif isinstance(kind, list):
            out.setdefault(name, []).append(decode(value, kind[0]))
        elif isinstance(kind, dict):
            out[name] = decode(value, kind)
        elif kind == TEXTS:
            out.setdefault(name, []).append(value.decode())
        else:
            assert kind == TEXT, name
            out[name] = value.decode()
    return out


def plain(value, kind):
    """JSON as the protocol spells it, with texts for whole numbers; nothing may be there that the protocol does not know."""
    if isinstance(kind, dict):
        known = dict(kind.values())
        return {k: plain(v, known[k]) for k, v in value.items() if v != []}
    if isinstance(kind, list):
        return [plain(v, kind[0]) for v in value]
    if kind in (INT, INTS):
        assert all(isinstance(v, str) for v in (value if kind == INTS else [value])), "a 64-bit number that is not a text"
    return int(value) if kind == INT else [int(v) for v in value] if kind == INTS else float(value) if kind == REAL else value


def folded(flame):
    """Box by box: a child lies within its parent, boxes of a row do not overlap, and what children leave is the self."""
    step, above, lines = 7 if "leftTicks" in flame else 4, None, []
    for level in flame["levels"]:
        row, ends = [], [0, 0]
        numbers = level.get("values", [])
        assert len(numbers) % step == 0
        for i in range(0, len(numbers), step):
            box = numbers[i:i + step]
            sides = [box[0:3], box[3:6]] if step == 7 else [box[0:3]]
            starts = []
            for s, (offset, total, own) in enumerate(sides):
                assert offset >= 0 and total >= own >= 0, box
                starts.append(ends[s] + offset)
                ends[s] = starts[s] + total
            totals, selfs = [s[1] for s in sides], [s[2] for s in sides]
            parents = [p for p in above if all(p[0][s] <= starts[s] and starts[s] + totals[s] <= p[0][s] + p[1][s] for s in range(len(sides)))] \
                if above is not None else [(starts, totals, "", [0, 0])]
            assert parents, "a box without a parent"
            # Where one side is empty, several parents may hold it: the one that lacks the most children.
            parent = max(parents, key=lambda p: sum(p[3])) if above is not None else parents[0]
            for s in range(len(sides)):
                parent[3][s] -= totals[s]
            path = (parent[2] + ";" if parent[2] else "") + flame["names"][box[-1]] if above is not None else ""
            row.append((starts, totals, path, [t - o for t, o in zip(totals, selfs)]))
            if any(selfs):
                lines.append((path, selfs))
        if above is not None:
            assert all(not any(p[3]) for p in above), "children that do not add up"
        above = row
    return "\n".join(f"{path} {' '.join(map(str, selfs))}" for path, selfs in sorted(lines))


if sys.argv[1] == "folded":
    print(folded(json.load(sys.stdin)["flamegraph"]))
    sys.exit()
url, codec, method = sys.argv[1:4]
request, response = METHODS[method]
values = {}
for argument in sys.argv[4:]:
    key, value = argument.split("=", 1)
    side, _, key = key.rpartition(".")
    into = values.setdefault(side, {}) if side else values
    into[key] = value[1:-1].split(",") if value.startswith("[") else value


def ask(codec):
    body = json.dumps(values).encode() if codec == "json" else encode(values, request)
    call = urllib.request.Request(f"{url}/querier.v1.QuerierService/{method}", body, {"Content-Type": f"application/{codec}"})
    try:
        with urllib.request.urlopen(call) as answer:
            data = answer.read()
            assert answer.headers["Content-Type"] == f"application/{codec}", answer.headers["Content-Type"]
            return json.dumps(plain(json.loads(data), response) if codec == "json" else decode(data, response), sort_keys=True)
    except urllib.error.HTTPError as error:
        return f"{error.code} {error.read().decode()}"


answers = [ask(each) for each in (("json", "proto") if codec == "both" else (codec,))]
print(answers[0])
if answers[0] != answers[-1]:
    sys.exit("as protobuf: " + answers[-1])
