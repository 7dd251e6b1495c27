"""A pprof profile, written here without Cairn, for the programs of the tests."""
from wire import block, number, varint


class Profile:
    """Values are (type, unit); samples are lists of names, leaf first. A name may be a tuple: functions inlined into each other, innermost
    first; or a number: an address without a name."""

    def __init__(self, *values):
        self.strings, self.functions, self.locations, self.body = [""], {}, {}, b""
        for value in values:
            self.value_type(1, *value)

    def text(self, text):
        if text not in self.strings:
            self.strings.append(text)
        return self.strings.index(text)

    def value_type(self, field, kind, unit):
        self.body += block(field, number(1, self.text(kind)) + number(2, self.text(unit)))

    def function(self, name):
        if name not in self.functions:
            self.functions[name] = len(self.functions) + 1
            self.body += block(5, number(1, self.functions[name]) + number(2, self.text(name)) + number(3, self.text(name)))
        return self.functions[name]

    def location(self, name):
        if name not in self.locations:
            self.locations[name] = len(self.locations) + 1
            head, names = number(1, self.locations[name]), name if isinstance(name, tuple) else (name,)
            if isinstance(name, int):
                rest = number(3, name)
            else:
                rest = b"".join(block(4, number(1, self.function(each)) + number(2, 1)) for each in names)
            self.body += block(4, head + rest)
        return self.locations[name]

    def sample(self, stack, values, **labels):
        places = b"".join(varint(self.location(name)) for name in stack)
        texts = b"".join(block(3, number(1, self.text(key)) + number(2, self.text(text))) for key, text in labels.items())
        self.body += block(2, block(1, places) + block(2, b"".join(varint(value) for value in values)) + texts)

    def data(self):
        return self.body + b"".join(block(6, text.encode()) for text in self.strings)

    def write(self, path):
        with open(path, "wb") as file:
            file.write(self.data())
