"""Print what a pprof file says, free of its numbering: one sorted line for each sample, mapping and plain field.

Decodes profile.proto from its wire format, independently of Cairn. has_* flags and the default sample type are not printed: Go leaves out
those it could claim.
"""
import gzip, os, sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)) + "/../e2e")
import wire
from wire import signed

data = open(sys.argv[1], "rb").read()
if data[:2] == b"\x1f\x8b":
    data = gzip.decompress(data)


def fields(data):
    found = {}
    for number, value in wire.fields(data):
        found.setdefault(number, []).append(value)
    return found


def numbers(values):
    return (number for value in values for number in wire.packed(value))


def one(message, number):
    return message.get(number, [0])[-1]


top = fields(data)
strings = [text.decode() for text in top[6]]
assert strings[0] == "" and all(text.isprintable() or text == "" for text in strings)
tables = {}
for kind in 3, 4, 5:
    messages = [fields(message) for message in top.get(kind, [])]
    ids = [one(message, 1) for message in messages]
    assert ids == list(range(1, len(ids) + 1)), f"ids of table {kind} do not count from 1"
    tables[kind] = dict(zip(ids, messages))
text = lambda message, number: strings[one(message, number)]
value_type = lambda message: f"{text(message, 1)}/{text(message, 2)}"
mapping = {id: f"{one(m, 2):#x}-{one(m, 3):#x}+{one(m, 4):#x} {text(m, 5)} {text(m, 6)}" for id, m in tables[3].items()}
function = {id: f"{text(m, 2)} {text(m, 3)} {text(m, 4)} {one(m, 5)}" for id, m in tables[5].items()}
location = {}
for id, message in tables[4].items():
    lines = [fields(line) for line in message.get(4, [])]
    named = "; ".join(f"{function[one(line, 1)]}:{one(line, 2)}:{one(line, 3)}" for line in lines)
    location[id] = f"{one(message, 3):#x} [{mapping.get(one(message, 2), '')}] ({named}) {one(message, 5)}"
types = [value_type(fields(message)) for message in top[1]]
lines = [f"types {types}", f"period {one(top, 12)} {value_type(fields(one(top, 11) or b''))}"]
lines += [f"time {one(top, 9)} {one(top, 10)}", f"frames {strings[one(top, 7)]} {strings[one(top, 8)]} {strings[one(top, 15)]}"]
lines += [f"comment {strings[number]}" for number in numbers(top.get(13, []))]
lines += [f"mapping {what}" for what in mapping.values()]
for message in map(fields, top.get(2, [])):
    values = [signed(value) for value in numbers(message.get(2, []))]
    assert len(values) == len(types)
    labels = []
    for label in map(fields, message.get(3, [])):
        labels.append(f"{text(label, 1)}={text(label, 2)}|{signed(one(label, 3))}|{text(label, 4)}")
    stack = " <- ".join(location[id] for id in numbers(message.get(1, [])))
    lines.append(f"sample {values} {sorted(labels)} {stack}")
print("\n".join(sorted(lines)))
