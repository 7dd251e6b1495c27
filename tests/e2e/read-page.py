"""read-page.py FILE: what a page of `cairn html` or `cairn timeline` holds, as JSON: the facts, each function's self and total as its call tree has them, and how
the values split. Fails where the page is not what it should be: one file, five script elements, a policy that lets only its own script run."""
import base64, hashlib, html.parser, json, re, sys, zlib


class Page(html.parser.HTMLParser):
    def __init__(self):
        super().__init__()
        self.scripts, self.open, self.policy, self.tags, self.title = [], None, "", [], None

    def handle_starttag(self, tag, attributes):
        attributes = dict(attributes)
        self.tags.append(tag)
        for name, value in attributes.items():
            assert not name.startswith("on"), f"{tag} has {name}"
            assert name not in ("src", "href"), f"{tag} refers to {value}"
        if attributes.get("http-equiv") == "Content-Security-Policy":
            self.policy = attributes["content"]
        if tag in ("script", "title"):
            self.open = [tag, attributes.get("id"), ""]

    def handle_data(self, data):
        if self.open:
            self.open[2] += data

    def handle_endtag(self, tag):
        if tag == "script" and self.open:
            self.scripts.append(self.open[1:])
        if tag == "title" and self.open and self.title is None:
            self.title = self.open[2]
        if tag in ("script", "title"):
            self.open = None


class Numbers:
    def __init__(self, text, facts):
        self.bytes, self.at, self.facts = zlib.decompress(base64.b64decode(text, validate=True)), 0, facts

    def number(self):
        value = shift = 0
        while True:
            byte = self.bytes[self.at]
            self.at += 1
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value

    def column(self, count):
        return [self.number() for _ in range(count)]

    def weights(self, count):
        """Of each value of the page, by its type: the numbers, and what they were in the base."""
        signed = (lambda n: -(n + 1) // 2 if n % 2 else n // 2) if self.facts["change"] else int
        columns = {}
        for column in self.facts["columns"]:
            value = [signed(n) for n in self.column(count)]
            columns[column["type"]] = value, self.column(count) if self.facts["base"] else [0] * count
        return columns


page = Page()
text = open(sys.argv[1], "rb").read().decode("utf-8")
page.feed(text)
assert [name for name, _ in page.scripts] == ["facts", "tree", "split", "film", None], page.scripts
digest = base64.b64encode(hashlib.sha256(page.scripts[4][1].encode()).digest()).decode()
assert f"script-src 'sha256-{digest}'" in page.policy and "default-src 'none'" in page.policy, page.policy
assert not re.search(r"url\(|@import|https?://(?!www\.w3\.org/2000/svg)", page.scripts[4][1]), "asks the network for something"
facts = json.loads(page.scripts[0][1])

tree = Numbers(page.scripts[1][1], facts)
lengths = tree.column(tree.number())
strings = []
for length in lengths:
    strings.append(tree.bytes[tree.at:tree.at + length].decode("utf-8"))
    tree.at += length
functions = tree.number()
names, files, lines, modules = (tree.column(functions) for _ in range(4))
nodes = tree.number()
steps, func = tree.column(nodes), tree.column(nodes)
columns, shown = tree.weights(nodes), facts["columns"][0]["type"]
value, base = columns[shown]
sample = tree.column(nodes) if facts["errors"] else []
parent, path, depth = [-1], [0], 0
for i in range(1, nodes):
    depth += 1 - steps[i]
    parent.append(path[depth - 1])
    path[depth:] = [i]
total = value[:]
for i in range(nodes - 1, 0, -1):
    total[parent[i]] += total[i]
sums = {}
above = [frozenset()]
for i in range(1, nodes):
    name = strings[names[func[i] - 1]] if func[i] else None
    row = sums.setdefault(name, {"self": 0, "total": 0, "base": 0})
    row["self"] += value[i]
    row["base"] += base[i]
    if func[i] not in above[parent[i]]:
        row["total"] += total[i]
    above.append(above[parent[i]] | {func[i]})
exact = {}
if facts["cut"]:
    selves, totals = tree.weights(functions), tree.weights(functions)
    exact = {strings[names[f]]: {"self": selves[shown][0][f], "total": totals[shown][0][f]} for f in range(functions)}
assert tree.at == len(tree.bytes), "bytes are left over"

threads, sizes, ages, dumps = {}, {}, {}, []
if "film" in facts:
    # What each function holds itself at each dump.
    film, points = Numbers(page.scripts[3][1], facts), len(facts["film"]["seconds"])
    step, used, node = film.number(), film.number(), 0
    dumps = [{"total": 0, "functions": {}} for _ in range(points)]
    for _ in range(used):
        node += film.number()
        name, level = strings[names[func[node] - 1]] if func[node] else None, 0
        for dump, more in zip(dumps, film.column(points)):
            level += -(more + 1) // 2 if more % 2 else more // 2
            assert level >= 0, "less than nothing"
            dump["total"] += level * step
            dump["functions"][name] = dump["functions"].get(name, 0) + level * step
    assert film.at == len(film.bytes), "bytes are left over"
else:
    split = Numbers(page.scripts[2][1], facts)
    groups = split.number()
    thread, size, age = split.column(groups), split.column(groups), split.column(groups)
    counts = split.column(nodes)
    group = split.column(sum(counts))
    parts = split.weights(sum(counts))[shown][0]
    for g, v in zip(group, parts):
        t = facts["threads"][thread[g]]
        threads[t["name"] or t["id"]] = threads.get(t["name"] or t["id"], 0) + v
        sizes[size[g]] = sizes.get(size[g], 0) + v
        ages[age[g]] = ages.get(age[g], 0) + v
    assert split.at == len(split.bytes), "bytes are left over"
sums.pop(None, None)
json.dump({"title": page.title, "facts": facts, "nodes": nodes, "total": total[0], "functions": sums, "exact": exact, "threads": threads, "sizes": sizes, "ages": ages, "dumps": dumps, "sample": sample, "values": {name: sum(column[0]) for name, column in columns.items()},
           "depth": max(len(a) for a in above), "files": sorted({strings[f] for f in files})}, sys.stdout)
